"""Toes that no markers show: a hinge at the ball of every foot, for heels to rise over."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from osteon.calibration.guess import Ball, Guess
from osteon.calibration.soles import UP, FootSole
from osteon.calibration.subject_model import SubjectModel
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Body, Joint, Skeleton


def add_toes(
    skeleton: Skeleton,
    guess: Guess,
    rig: SubjectModel,
    soles: Mapping[int, FootSole],
    turns: Array,
) -> Skeleton:
    """Return the skeleton with toes on its feet; at rest they are straight.

    Parameters
    ----------
    soles, turns
        Of the rig's bodies, as they were found and as their frames were turned since.
    """
    bodies: list[Body] = []
    for index, body in enumerate(skeleton.bodies):
        ball = guess.balls.get(body.name)
        if ball is None or body.tip is None:
            bodies.append(body)
            continue
        place = _place(ball, rig, soles.get(index), turns[index])
        foot = replace(body, length=float(np.linalg.norm(place)), tip=None)
        bodies += [foot, _toes(ball, body.name, place, body.tip)]
    return replace(skeleton, bodies=tuple(bodies))


def _place(ball: Ball, rig: SubjectModel, sole: FootSole | None, turn: Array) -> Array:
    """(3,) the ball in the foot's frame: beside its markers, as high above its sole as on the
    template."""
    place = quat.rotate(turn, ball.at)
    if ball.near is not None:
        place = ball.near.shares @ rig.places[ball.near.markers] + ball.near.away
    if sole is not None:
        place = np.array([place[0], place[1], ball.height - sole.below])
    return place


def _toes(ball: Ball, foot: str, place: Array, tip: Array) -> Body:
    """The toes from the ball ahead, on the sole; they turn upwards about the foot's side axis."""
    along = quat.normalise(np.array([tip[0], tip[1], 0.0]))
    joint = Joint(
        kind="hinge",
        in_parent=place,
        axes=np.cross(along, UP)[None],
        covariance=ball.sigma**2 * np.eye(3),
    )
    return Body(name=ball.toes, parent=foot, joint=joint, tip=tip + ball.farther * along - place)
