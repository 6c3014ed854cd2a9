"""How far keypoints are off for all of a take, told by the take: bones whose length wanders.

Noise passes from frame to frame; what a system is off throughout does not. It shows in lengths of
bones: on the left another than on the right, and another wherever the bone points, for a hip seen
too far ahead makes a thigh long that swings back. So lengths are explained by directions: by one
error that both sides have alike and that turns with the person, as networks that never saw a joint
have, by one for each side, or by one that stays in the room, as cameras have. How likely lengths
are under each, at every size that errors may have, is a sum over bones; the mean size remains.
What is off along a bone and turns with it changes no length: it is taken to be as large.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from osteon.human import Landmark, human
from osteon.maths import NORMAL_RATIO, quat
from osteon.typing import Array, Indices
from osteon.values import Recording

SYSTEMATIC_ERROR = 0.013
"""Metres per axis that keypoints are off their joint for all of a take. [Nakano 2020]: half of the
mean distances from markers' joints are below 20 mm, four fifths below 30 mm."""
DEEP_ERROR = 0.023
"""Metres per axis that keypoints of hips and knees are off: 30 to 50 mm in space [Needham 2021]."""
DEEP_JOINTS = ("thigh", "shin")
"""Bodies whose joints lie deep: networks learned them from people who pointed at pictures."""
KNEE_GLIDE = 0.006
"""Metres rms that thighs change their length by as knees bend, for these glide. Measured: 3 to 9 mm
from hip to knee in 12 takes of experts' models, 0.0 mm from knee to ankle."""
BLOCK_SECONDS = 0.5
"""Seconds after which what is left of a length is taken as seen anew. Chosen: half a stride."""
ODD_RATIO = 5.0
"""Ratio of a bone's deviation from its middle length to the usual one, from which an end of it
jumped. Chosen: honest ones are beyond once in a million."""
SHARES = np.geomspace(0.02, 2.0, 80)
"""Shares of what others have measured that are tried. Chosen: from a half millimetre to twice;
forty to a decade."""
USUAL_SPREAD = 0.48
"""Standard deviation of the logarithm of shares among systems. Derived of [Nakano 2020]: half of
the mean distances are below 20 mm, four fifths below 30 mm."""
MIRROR = np.array([1.0, -1.0, 1.0])
"""Left to right, in bodies whose y axis points left."""
UP_AXIS = np.array([0.0, 0.0, 1.0])
BROAD_PARTS = ("thigh", "upper_arm")
"""Bodies whose joints on both sides show where a person faces, surest first."""


class TwinBones(NamedTuple):
    """Keypoints between which a body is rigid, on the left and on the right."""

    sides: tuple[tuple[str, str], tuple[str, str]]
    variance: float
    """Square metres per axis that one end is off against the other, as others have measured."""
    glide: float
    """Metres rms by which its length may change."""


class Lengths(NamedTuple):
    """Of one bone, both sides and all takes after each other."""

    off: Array
    """(n_samples,) metres from the mean."""
    variance: float
    """Square metres, of what noise leaves in one of them."""
    directions: tuple[Array, ...]
    """(n_samples, 3 or 6) where it points, by way in which ends may be off: alike and with the
    person, each and with the person, each and in the room."""


class Sightings(NamedTuple):
    """Keypoints of a person in some frames."""

    labels: tuple[str, ...]
    seen: Array
    """(n_frames, n_points, 3) as they come, without jumps; metres."""
    posed: Array
    """(n_frames, n_points, 3) on the rig that was fitted to them."""
    noise: Array
    """(n_points,) white, metres per axis."""
    blocks: Indices
    """(n_frames,) number of the half second."""


def lasting_share(points: Sightings, found: dict[str, Landmark]) -> float:
    """Return the share of lasting errors as others have measured them that keypoints show, rms; 1
    where no bone is seen on both sides."""
    axes = _facing(points, found)
    odds = [
        [_odds(lengths, way, bone.variance) for way in lengths.directions]
        for bone in _bones({label: found[label] for label in points.labels})
        if (lengths := _lengths(points, bone, axes)) is not None
    ]
    if not odds:
        return 1.0
    total = np.sum(odds, axis=0)
    weights = np.exp(total - total.max()) * _usual()
    return float(np.sqrt(np.sum(weights * np.square(SHARES)) / weights.sum()))


def usual_error(body: str) -> float:
    """Return metres per axis that others have found a body's joint off."""
    return DEEP_ERROR if body.endswith(DEEP_JOINTS) else SYSTEMATIC_ERROR


def _usual() -> Array:
    """(n_shares,) how likely each is before anything is seen: as others have measured or, as
    likely, any."""
    measured = np.exp(-0.5 * (np.log(SHARES) / USUAL_SPREAD) ** 2)
    return measured / measured.sum() + 1.0 / len(SHARES)


def half_seconds(takes: Sequence[Recording]) -> Indices:
    """Return by frame of all takes after each other in which half second it lies."""
    numbers = [np.zeros(0, dtype=np.int64)]
    for take in takes:
        before = numbers[-1].max(initial=-1) + 1
        numbers.append(before + np.int64(np.arange(take.n_frames) / (BLOCK_SECONDS * take.rate)))
    return np.concatenate(numbers)


def _odds(lengths: Lengths, way: Array, variance: float) -> Array:
    """(n_shares,) logarithm of how likely lengths are, against none off."""
    spread, axes = np.linalg.eigh(way.T @ way / lengths.variance)
    shown = axes.T @ (way.T @ lengths.off) / lengths.variance
    off = np.square(SHARES)[:, None] * variance
    grown = 1.0 + off * np.maximum(spread, 0.0)
    return 0.5 * np.sum(shown**2 * off / grown - np.log(grown), axis=-1)


def _bones(found: dict[str, Landmark]) -> Iterator[TwinBones]:
    """Between joints of a limb, and from a joint to other keypoints of its body."""
    bodies = human().bodies
    places = {(mark.body, *mark.at): label for label, mark in found.items() if mark.at is not None}
    joints = {name: places.get((name, *body.at)) for name, body in bodies.items()}
    for label, mark in found.items():
        if mark.at is None or not mark.body.startswith("left_"):
            continue
        on_joint = joints[mark.body] == label
        start = (bodies[mark.body].parent or "") if on_joint else mark.body
        twin = places.get((_right(mark.body), *(MIRROR * mark.at)))
        first, other = joints.get(start), joints.get(_right(start))
        if start.startswith("left_") and twin and first and other:
            ends = (start, mark.body) if on_joint else (start, "")
            variance = sum(usual_error(end) ** 2 for end in ends)
            glide = KNEE_GLIDE if start == "left_thigh" else 0.0
            yield TwinBones(((first, label), (other, twin)), variance, glide)


def _right(body: str) -> str:
    return "right_" + body.removeprefix("left_")


def _lengths(points: Sightings, bone: TwinBones, axes: Array) -> Lengths | None:
    off, ways, columns = [], [], []
    for number, ends in enumerate(bone.sides):
        first, last = (points.labels.index(end) for end in ends)
        way = quat.normalise(points.posed[:, last] - points.posed[:, first])
        along = np.sum(way * (points.seen[:, last] - points.seen[:, first]), axis=-1)
        own = np.einsum("fij,fj->fi", axes, way) * (MIRROR if number else 1.0)
        off.append(without_odd(along))
        ways.append((own, _of_side(own, number), _of_side(way, number)))
        columns += [first, last]
    if not all(np.isfinite(side).any() for side in off):
        return None
    lengths = np.concatenate(off)
    directions = [np.concatenate(each) for each in zip(*ways, strict=True)]
    known = np.isfinite(lengths) & np.isfinite(directions[0]).all(axis=-1)
    lengths = lengths[known] - np.mean(lengths[known])
    directions = tuple(each[known] - np.mean(each[known], axis=0) for each in directions)
    left = lengths - directions[1] @ np.linalg.lstsq(directions[1], lengths)[0]
    blocks = np.concatenate([points.blocks, points.blocks + points.blocks.max() + 1])[known]
    noise = 0.5 * float(np.sum(points.noise[columns] ** 2))
    variance = max(noise, _lasting_variance(left, blocks)) + len(lengths) * bone.glide**2
    return Lengths(lengths, variance, directions)


def _facing(points: Sightings, found: dict[str, Landmark]) -> Array:
    """(n_frames, 3, 3) rows: ahead of the person, to the left and up."""
    for part in BROAD_PARTS:
        ends = [_on_joint(points.labels, found, f"{side}_{part}") for side in ("left", "right")]
        if ends[0] is not None and ends[1] is not None:
            ahead = points.posed[:, ends[0]] - points.posed[:, ends[1]]
            ahead = quat.normalise(np.cross(ahead, UP_AXIS))
            up = np.broadcast_to(UP_AXIS, ahead.shape)
            return np.stack([ahead, np.cross(up, ahead), up], axis=-2)
    return np.broadcast_to(np.eye(3), (len(points.posed), 3, 3))


def _on_joint(labels: tuple[str, ...], found: dict[str, Landmark], body: str) -> int | None:
    at = human().bodies[body].at
    for column, label in enumerate(labels):
        mark = found[label]
        if mark.body == body and mark.at is not None and np.array_equal(mark.at, at):
            return column
    return None


def _of_side(way: Array, number: int) -> Array:
    """(n_frames, 6) with zeros for the other side."""
    none = np.zeros_like(way)
    return np.concatenate([none, way] if number else [way, none], axis=-1)


def _lasting_variance(left: Array, blocks: Indices) -> float:
    """Square metres: as white noise would have it whose means over blocks are as large."""
    _, own, counts = np.unique(blocks, return_inverse=True, return_counts=True)
    means = np.bincount(own, left) / counts
    return float(np.mean(counts * means**2))


def without_odd(lengths: Array) -> Array:
    """Return lengths (n_frames, ...) with NaN for those far from the usual."""
    seen = np.isfinite(lengths).any(axis=0)
    middle = np.where(seen, np.nanmedian(np.where(seen, lengths, 0.0), axis=0), np.nan)
    off = np.abs(lengths - middle)
    usual = NORMAL_RATIO * np.where(seen, np.nanmedian(np.where(seen, off, 0.0), axis=0), np.nan)
    return np.where(off > ODD_RATIO * usual, np.nan, lengths)
