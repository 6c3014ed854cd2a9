"""A creature on four legs whose bones are called as a person's is no human."""

from dataclasses import replace

import numpy as np
import pytest

import osteon as ost
from conftest import real
from osteon import synth
from osteon.errors import NotEnoughData
from osteon.human import figure_at_rest
from osteon.maths import quat
from osteon.pipeline import map_take, map_to
from osteon.retargeting import StreamCharacter
from osteon.values import Skeleton


def bowed(angle: float, arms: float) -> Skeleton:
    """The synthetic person with trunk bent forwards at the hips, and arms that many times as
    long; radians. Its legs go on hanging down."""
    figure = synth.human()
    sizes = {"upper_arm": arms, "forearm": arms}
    figure = synth.scaled(figure, {n: sizes.get(n.partition("_")[2], 1.0) for n in figure.names})
    forward = quat.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(angle))
    bodies = []
    for body in figure.bodies:
        limb = body.name.partition("_")[2]
        turn = forward if body.parent is None else quat.identity()
        if limb in ("thigh", "upper_arm"):
            turn = quat.inverse(forward)
        rest = quat.multiply(turn, body.joint.rest)
        bodies.append(replace(body, joint=replace(body.joint, rest=rest)))
    return replace(figure, bodies=tuple(bodies))


@pytest.mark.parametrize("angle", [0.0, 1.0, -1.0])
def test_who_bows_is_a_human(angle):
    assert not figure_at_rest(bowed(angle, 1.0)).on_four_legs()


def test_who_rests_on_hands_is_none():
    creature = bowed(1.5, 1.5)
    with pytest.raises(NotEnoughData, match="four legs"):
        figure_at_rest(creature)
    assert figure_at_rest(creature, {"left_thigh": "left_thigh"}).on_four_legs()


def test_a_fox_is_led_by_nobody():
    fox = ost.read(real("characters/Fox.glb")).skeleton()
    with pytest.raises(NotEnoughData, match="four legs"):
        StreamCharacter(fox, 60.0)


def test_it_is_refused_before_the_performer_is_calibrated(monkeypatch):
    """Which takes minutes of a long take."""
    take = synth.perform(synth.human(), synth.walk(1.0), seed=1)
    bodies = [replace(body, markers=()) for body in bowed(1.5, 1.5).bodies]
    creature = replace(bowed(1.5, 1.5), bodies=tuple(bodies))
    monkeypatch.setattr(map_take, "solve", lambda *_, **__: pytest.fail("calibrated"))
    with pytest.raises(NotEnoughData, match="four legs"):
        map_to(ost.Take(recordings=(take.recording,)), creature)
