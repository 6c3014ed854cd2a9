"""Where the soles are: markers and the floor under them say so, the template only how thick.

And toes that no markers show: a hinge at the ball of every foot, for heels to rise over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.calibration.adjustment import FramePoses
from osteon.calibration.guess import FEET, Ball, Guess
from osteon.calibration.subject_model import SubjectModel
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Body, Joint, Recording, Skeleton

UP = np.array([0.0, 0.0, 1.0])
STILL, OVER = 0.3, 0.04
"""Metres per second that a marker of a standing foot rises or sinks at most, and the seconds over
which that is told. On a treadmill it goes along at any speed."""
LOWEST, LOW = 5.0, 0.06
"""Per cent of the frames in which a marker is at its lowest, and metres above that within which it
may stand: floors are not level."""
FLAT = 0.015
"""Metres from its usual height within which every marker of a foot is where that stands flat."""
FEWEST = 3
"""Frames in which a foot stands flat, at least, before it is believed."""
AS_SAID = 0.06
"""Metres that the floor may seem to be from where the recording has it, z = 0 at its origin: shoes,
and where on the foot a marker was put."""
SLOPE = 0.01
"""Slope that floors have, standard deviation."""
STEEPEST = np.radians(30.0)
"""A sole that is farther from level on the template never stood on this floor."""


@dataclass(frozen=True)
class FootSole:
    """The floor under a foot that stands flat, as the foot has it."""

    up: Array
    """(3,) in the foot's frame."""
    below: float
    """The floor under the foot's joint, metres."""


def still_markers(recordings: Sequence[Recording], labels: Sequence[str]) -> np.ndarray:
    """(n_frames, n_labels) of all takes after each other: whether a marker keeps its height."""
    parts = []
    for take in recordings:
        half = max(1, round(0.5 * OVER * take.rate))
        part = np.zeros((take.n_frames, len(labels)), dtype=bool)
        columns = [take.index(label) if label in take.names else -1 for label in labels]
        known = np.flatnonzero(np.array(columns) >= 0)
        height = take.positions[:, [columns[k] for k in known], 2]
        rise = np.abs(height[2 * half :] - height[: -2 * half]) * take.rate / (2 * half)
        part[half : half + len(rise), known] = rise < STILL
        parts.append(part)
    return np.concatenate(parts)


def find_soles(
    guess: Guess, rig: SubjectModel, poses: FramePoses, frames: Array, still: np.ndarray
) -> dict[int, FootSole]:
    """Body → the sole of each foot that stands flat somewhere.

    Parameters
    ----------
    frames : (n_frames, n_markers, 3)
        Markers in the frames that ``poses`` are of, metres.
    still : (n_frames, n_markers)
        Whether they keep their height.
    """
    feet = [body for body, name in enumerate(rig.names) if name.endswith(FEET)]
    stood = {body: _stands(rig, frames, still, body) for body in feet}
    stood = {body: when for body, when in stood.items() if when.sum() >= FEWEST}
    slope, usual = _plane(rig, frames, stood)
    floor = _floor(guess, usual)
    if floor is None:
        return {}
    normal = quat.normalise(np.array([*-slope, 1.0]))
    joints, soles = poses.positions, {}
    for body, when in stood.items():
        flat = when & _as_usual(rig, frames, body, slope, usual)
        if flat.sum() < FEWEST:
            continue
        up = quat.normalise(np.mean(normal @ poses.rotations[flat, body], axis=0))
        if np.arccos(np.clip(up[2], -1.0, 1.0)) < STEEPEST:
            above = joints[flat, body, 2] - joints[flat, body, :2] @ slope - floor
            soles[body] = FootSole(up, float(np.median(above)))
    return soles


def _own(rig: SubjectModel, frames: Array, body: int) -> np.ndarray:
    """A foot's markers, as far as they are seen."""
    own = np.flatnonzero(rig.marker_bodies == body)
    return own[np.isfinite(frames[:, own, 2]).any(axis=0)]


def _stands(rig: SubjectModel, frames: Array, still: np.ndarray, body: int) -> np.ndarray:
    """(n_frames,) whether all markers of a foot, two or more, are still and low."""
    own = _own(rig, frames, body)
    if len(own) < 2:
        return np.zeros(len(frames), dtype=bool)
    low = np.nanpercentile(frames[:, own, 2], LOWEST, axis=0) + LOW
    return np.all(still[:, own] & (frames[:, own, 2] < low), axis=1)


def _plane(
    rig: SubjectModel, frames: Array, stood: dict[int, np.ndarray]
) -> tuple[Array, dict[int, float]]:
    """The floor's slope (2,), and marker → its height above a floor through the origin."""
    slope, usual, flat = np.zeros(2), {}, dict(stood)
    for _ in range(3):
        on = [(m, frames[flat[b], m]) for b in stood for m in _own(rig, frames, b) if flat[b].any()]
        if not on:
            break
        away = np.concatenate([places - places.mean(axis=0) for _, places in on])
        level = (FLAT / SLOPE) ** 2 * np.eye(2)
        slope = np.linalg.solve(away[:, :2].T @ away[:, :2] + level, away[:, :2].T @ away[:, 2])
        usual = {m: float(np.median(places[:, 2] - places[:, :2] @ slope)) for m, places in on}
        flat = {b: stood[b] & _as_usual(rig, frames, b, slope, usual) for b in stood}
    return slope, usual


def _as_usual(
    rig: SubjectModel, frames: Array, body: int, slope: Array, usual: dict[int, float]
) -> np.ndarray:
    """(n_frames,) whether all markers of a foot are as high above the floor as they usually are."""
    own = [marker for marker in _own(rig, frames, body) if marker in usual]
    heights = frames[:, own, 2] - frames[:, own, :2] @ slope
    return np.all(np.abs(heights - [usual[marker] for marker in own]) < FLAT, axis=1)


def _floor(guess: Guess, usual: dict[int, float]) -> float | None:
    """Height of the floor at the origin, metres: zero where feet stand on that, else as far below
    the markers as on the template."""
    known = [marker for marker in usual if np.isfinite(guess.heights[marker])]
    if not known:
        return None
    floor = float(np.median([usual[marker] - guess.heights[marker] for marker in known]))
    return 0.0 if abs(floor) < AS_SAID and min(usual.values()) > 0.0 else floor


def bone_tip(
    guess: Guess, rig: SubjectModel, body: int, sole: FootSole | None, turn: Array
) -> Array:
    """(3,) where a bone ends, in its frame as ``turn`` has left it, a foot's level on its
    ``sole``."""
    near = guess.ends.get(rig.names[body])
    tip = quat.rotate(turn, guess.tips[rig.names[body]])
    if near is not None:
        tip = near.shares @ rig.places[near.markers] + near.away
    if sole is not None:
        tip = np.array([tip[0], tip[1], -sole.below])
    return tip


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
        place = _ball_place(ball, rig, soles.get(index), turns[index])
        foot = replace(body, length=float(np.linalg.norm(place)), tip=None)
        bodies += [foot, _toes(ball, body.name, place, body.tip)]
    return replace(skeleton, bodies=tuple(bodies))


def _ball_place(ball: Ball, rig: SubjectModel, sole: FootSole | None, turn: Array) -> Array:
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
