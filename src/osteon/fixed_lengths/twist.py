"""How bones turn about themselves, by markers beside their joints.

Two joint centres say where a bone points and leave open how it turns about itself; markers that
ride on it tell. They say how that turn changes; that its mean is what the joints alone give, nobody
contradicts.
"""

from collections.abc import Sequence

import numpy as np

from osteon.fixed_lengths.directions import children_of, turned_to
from osteon.maths import quat
from osteon.typing import Array

MOST_WANDER = 0.025
"""Metres, rms, by which a marker's distances from the joints of its bone may vary. Chosen: skin on
a thigh, and a regression that misses the hip; the next bone's markers vary by more."""
LEAST_LEVER, MOST_LEVER = 0.02, 0.15
"""Metres from the bone, at the median. Chosen: less is a joint itself, more is another limb that
happens to keep still."""
USUAL_WANDER = 0.005
"""Metres, rms, that leave a marker its whole weight. Chosen: skin of a shin."""
ROUNDS = 4
"""Count of rounds of placing markers about a bone. Chosen: three change nothing seen."""


def turns_by_markers(
    positions: Array, offsets: Array, parents: Sequence[int], markers: Array
) -> tuple[Array | None, dict[int, list[int]]]:
    """Return (n_frames, n_joints, 4) how bodies are turned in the world, and the markers
    (n_frames, n_markers, 3) that tell the twist of a body, by their columns; None and none where no
    marker rides on a bone."""
    children, riders = children_of(parents), _riders(positions, parents, markers)
    if not riders:
        return None, {}
    world = quat.identity(positions.shape[:2])
    for joint, parent in enumerate(parents):
        if parent >= 0:
            world[:, joint] = world[:, parent]
        ends = children[joint]
        wanted = positions[:, ends] - positions[:, joint, None]
        world[:, joint] = turned_to(world[:, joint], offsets[ends], wanted)
        if joint in riders:
            columns = list(riders[joint])
            levers = markers[:, columns] - positions[:, joint, None]
            local = quat.rotate(quat.inverse(world[:, joint])[:, None], levers)
            axis = quat.normalise(offsets[ends[0]])
            wander = np.array(list(riders[joint].values()))
            twist = _twist(local, axis, 1.0 / (wander**2 + USUAL_WANDER**2))
            world[:, joint] = quat.multiply(world[:, joint], quat.exp(twist[:, None] * axis))
    return world, {joint: list(wander) for joint, wander in riders.items()}


def _riders(
    positions: Array, parents: Sequence[int], markers: Array
) -> dict[int, dict[int, float]]:
    """How much each marker wanders that rides on a bone between two joints, metres, by its column,
    by the body that carries the bone."""
    bones = [(j, below[0]) for j, below in enumerate(children_of(parents)) if len(below) == 1]
    found: dict[int, dict[int, float]] = {}
    for column in range(markers.shape[1]):
        seen = np.isfinite(markers[:, column]).all(axis=1)
        joints, place = positions[seen], markers[seen, column]
        if seen.sum() < 2 or _nearest(joints, place) < LEAST_LEVER:
            continue
        wander = {start: _wander(joints[:, start], joints[:, end], place) for start, end in bones}
        best = min(wander, key=wander.__getitem__, default=-1)
        if best >= 0 and wander[best] < MOST_WANDER:
            found.setdefault(best, {})[column] = wander[best]
    return found


def _nearest(joints: Array, place: Array) -> float:
    away = np.linalg.norm(joints - place[:, None], axis=-1)
    return float(np.median(away, axis=0).min())


def _wander(start: Array, end: Array, place: Array) -> float:
    """Metres, rms, that a marker's distances from both ends of a bone vary by, whichever more;
    infinite where it lies on the bone or far from it."""
    line, away = end - start, place - start
    along = (np.sum(away * line, axis=-1) / np.sum(line**2, axis=-1))[:, None]
    lever = np.median(np.linalg.norm(away - along * line, axis=-1))
    far = np.median(np.linalg.norm(away - np.clip(along, 0.0, 1.0) * line, axis=-1))
    if lever < LEAST_LEVER or far > MOST_LEVER:
        return np.inf
    apart = np.linalg.norm(np.stack([away, place - end]), axis=-1)
    return float(apart.std(axis=1).max())


def _twist(local: Array, axis: Array, weights: Array) -> Array:
    """(n_frames,) radians about the axis by which markers (n_frames, n, 3) turn; between frames
    that show none it goes on evenly."""
    across = quat.normalise(np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))]))
    seen = local @ across + 1j * (local @ np.cross(axis, across))
    known = np.isfinite(seen)
    seen = np.where(known, seen, 0.0)
    frames = np.flatnonzero(known.any(axis=1))
    first = frames[np.argmax(known[frames].sum(axis=1))]
    places, turn = seen[first], np.ones(len(seen), dtype=complex)
    for _ in range(ROUNDS):
        agreed = np.sum(weights * np.conj(places) * seen, axis=1)
        turn = np.where(agreed == 0.0, 1.0, agreed / np.maximum(np.abs(agreed), 1e-300))
        count = np.maximum(known.sum(axis=0), 1)
        places = np.sum(seen * np.conj(turn)[:, None], axis=0) / count
    angles = np.unwrap(np.angle(turn[frames] / np.mean(turn[frames])))
    return np.interp(np.arange(len(seen)), frames, angles)
