"""``map --feet-only``: feet that slide, on a path scaled against the legs, are set down."""

from dataclasses import replace

import numpy as np
import pytest

import osteon as ost
from conftest import real
from osteon import synth
from osteon.clips import trim
from osteon.delivery import summary_of
from osteon.maths import quat
from osteon.pipeline.map_take import fix_feet
from osteon.posing import find_stances, slides_of, standing_of
from osteon.values import Motion
from sliding_feet import on_longer_path, quickest_turn, slid

FACTORS = (0.85, 1.15, 1.4)


@pytest.fixture(scope="module")
def walked() -> Motion:
    return synth.act(synth.human(), synth.walk(3.0), seed=2).motion


@pytest.mark.parametrize("factor", FACTORS)
def test_a_walk_on_a_scaled_path_stands(walked, factor):
    true, given = standing_of(walked), on_longer_path(walked, factor)
    assert np.median(slid(given, true)) > 30.0
    mended = fix_feet(ost.Take(motions=(given,)))
    assert slid(mended.motion, true).max() < 5.0
    # the legs give way: the body goes the way it is sent, a little lower on long steps
    off = mended.motion.root - given.root
    assert np.abs(off[:, :2]).max() < 0.03 and off[:, 2].min() > -0.06
    assert quickest_turn(mended.motion) < 15.0


@pytest.mark.parametrize("factor", (1.0, *FACTORS))
@pytest.mark.parametrize("name", ["cmu-02/02_01.bvh", "bvhtoolbox/test_freebvh.bvh"])
def test_recorded_walks_on_scaled_paths_stand(name, factor):
    given = ost.read(real(name)).motion()
    true, given = standing_of(given), on_longer_path(given, factor)
    mended = fix_feet(ost.Take(motions=(given,))).motion
    assert slid(mended, true).max() < 5.0
    assert quickest_turn(mended) < 15.0


@pytest.mark.slow
def test_jumps_that_stand_are_left_to_pins():
    """On its own path nothing slides far: setting feet down by whole steps would move them."""
    given = trim(ost.read(real("cmu-01/01_01.bvh")).motion(), 0, 900)
    mended = fix_feet(ost.Take(motions=(given,))).motion
    assert slid(mended, standing_of(given)).max() < 10.0


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(
    "name", ["bvhtoolbox/test_mocapbank.bvh", "cmu-asfamc-variants/Swagger.bvh"]
)
def test_what_cannot_be_held_is_told(name, factor):
    """Feet that turn on the floor: every stay of the true motion that still goes more than 5 mm
    lies in a step that is told, with its foot, frames and length."""
    given = ost.read(real(name)).motion()
    true = standing_of(given)
    mended = fix_feet(ost.Take(motions=(on_longer_path(given, factor),)))
    gone = slid(mended.motion, true)
    assert (gone > 5.0).any()
    for plant in (plant for plant, mm in zip(true.plants, gone, strict=True) if mm > 5.0):
        (first, last), own = plant.frames, [s for s in mended.slides if s.body == plant.body]
        assert any(first <= s.frames[1] and s.frames[0] <= last for s in own), plant
    assert all(s.length > 0.005 for s in mended.slides)
    told = next(note for note in mended.warnings if "some point of the sole goes farther" in note)
    worst = max(mended.slides, key=lambda slide: slide.length)
    assert f"{worst.body} {worst.frames[0]}–{worst.frames[1]}" in told
    assert summary_of(mended)["slides"][0]["frames"] == list(mended.slides[0].frames)


def test_what_is_told_is_what_is_there(walked):
    """The slide that is told is measured on what comes out, step by step."""
    given = on_longer_path(walked, 1.4)
    mended = fix_feet(ost.Take(motions=(given,)))
    standing = standing_of(given)
    steps = find_stances(given, standing)
    before, after = (
        1e3 * slides_of(each, steps, standing.ground.belt) for each in (given, mended.motion)
    )
    told = next(note for note in mended.warnings if note.startswith("soles slid"))
    assert f"up to {before.max():.0f} mm a step" in told and f"now up to {after.max():.0f}" in told
    assert before.max() > 150.0 and after.max() < 0.2 * before.max()


def test_steps_of_both_feet_are_found(walked):
    """By heights alone they are the steps that are there, however the path is scaled."""
    for factor in FACTORS:
        given = on_longer_path(walked, factor)
        steps = find_stances(given, standing_of(given))
        for sole in standing_of(walked).soles:
            name = walked.skeleton.names[sole.body]
            down = np.zeros(walked.n_frames, dtype=bool)
            for step in (step for step in steps if step.sole.body == sole.body):
                down[step.span] = True
            plants = [p for p in standing_of(walked).plants if p.body == name]
            stood = np.concatenate([np.arange(p.frames[0], p.frames[1] + 1) for p in plants])
            assert down[stood].mean() > 0.95
            assert 0.4 < down.mean() < 0.8  # walkers' feet are down 60 % of the time


def test_a_foot_held_in_the_air_is_left_alone(walked):
    """Nothing sets down the foot of somebody who stands on the other and swings it slowly."""
    skeleton, n_frames = walked.skeleton, 240
    poses = np.tile(walked.rotations[0] * 0.0 + [1.0, 0, 0, 0], (n_frames, 1, 1))
    swing = 0.2 * np.sin(np.linspace(0.0, 4.0 * np.pi, n_frames))
    bent = quat.from_axis_angle(np.array([0.0, 1.0, 0.0]), np.full(n_frames, -0.9) + swing)
    poses[:, skeleton.index("left_thigh")] = bent
    poses[:, skeleton.index("left_shin")] = quat.inverse(bent)
    root = np.tile([0.0, 0.0, 0.9], (n_frames, 1))
    held = replace(walked, rotations=poses, root=root, marks=(), held=())
    feet = {skeleton.names[step.sole.body] for step in find_stances(held, standing_of(held))}
    assert feet == {"right_foot"}
