"""Which foot is on which plate, and what each foot is pushed with.

A plate's force goes to the foot whose sole is nearest to its centre of pressure. Where both feet
are on one plate nobody can tell their shares, and where a foot stands beside the plates its force
is not known; such frames are marked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.maths import runs
from osteon.posing import Standing, sole_paths
from osteon.typing import Array
from osteon.values import GroundReaction, Motion

REACH_DISTANCE = 0.1
"""Metres from a sole to a centre of pressure that is that foot's, at most. Chosen: soles are known
to a few centimetres, feet of one person are mostly farther apart."""
HALF_WIDTH = 0.04
"""Metres from the middle line of a sole to its side. Chosen: half of a foot's breadth."""
LIFT_HEIGHT = 0.06
"""Metres above the plate at which the lowest point of a sole is not on it. Chosen: above the error
of soles that no marker shows."""

STEP_FORCE = 50.0
"""Newtons that a step reaches at least. Chosen: belts of treadmills show up to 40 of each other."""


@dataclass(frozen=True, eq=False)
class FootLoads:
    """What acts on the feet, by the plates."""

    wrenches: Array
    """(n_frames, n_bodies, 6) force on each body and its moment about the world's origin."""
    known: dict[str, np.ndarray]
    """By foot (n_frames,) whether all that acts on it is known: on a plate alone, or in the air."""
    steps: tuple[tuple[int, str, int, int], ...]
    """Plate (from 1), foot, first and last frame on it; no foot where none is near."""


def foot_loads(
    motion: Motion, reactions: Sequence[GroundReaction], standing: Standing
) -> FootLoads:
    """Give the plates' forces to the feet."""
    names = [motion.skeleton.names[sole.body] for sole in standing.soles]
    paths = [sole_paths(motion, sole) for sole in standing.soles]
    n_frames, n_bodies = motion.rotations.shape[:2]
    wrenches, steps = np.zeros((n_frames, n_bodies, 6)), []
    grounded = {name: _grounded(standing, name, n_frames) for name in names}
    carried = {name: np.zeros(n_frames, bool) for name in names}
    shared = {name: np.zeros(n_frames, bool) for name in names}
    for number, reaction in enumerate(reactions, 1):
        force, moment, centre = at_frames(reaction, n_frames, motion.rate)
        on = np.isfinite(centre[:, 0])
        over = np.stack([_over(reaction, path) for path in paths], axis=-1)
        owners = _owners(centre, paths)
        for run in _steps(on, owners):
            if force[run, 2].max() < STEP_FORCE:
                continue
            owner = int(owners[run[0]])
            steps.append((number, names[owner] if owner >= 0 else "", int(run[0]), int(run[-1])))
            if owner < 0:
                continue
            body = standing.soles[owner].body
            wrenches[run, body, :3] += force[run]
            wrenches[run, body, 3:] += moment[run]
            carried[names[owner]][run] = True
            for other, name in enumerate(names):
                if other != owner:
                    both = run[over[run, other] & grounded[name][run]]
                    shared[name][both] = shared[names[owner]][both] = True
    known = {name: (carried[name] | ~grounded[name]) & ~shared[name] for name in names}
    return FootLoads(wrenches, known, tuple(steps))


def at_frames(reaction: GroundReaction, n_frames: int, rate: float) -> tuple[Array, Array, Array]:
    """Force, moment about the world's origin, and centre of pressure, (n_frames, 3) each.

    Means over the samples nearest to each frame.
    """
    ratio = max(1, round(reaction.rate / rate))
    middle = reaction.corners.mean(axis=0)
    about = reaction.moment + np.cross(middle, reaction.force)
    force = np.where(reaction.loaded[:, None], reaction.force, 0.0)
    about = np.where(reaction.loaded[:, None], about, 0.0)
    places = np.arange(n_frames) * ratio
    inside = places < len(force)
    centre = np.full((n_frames, 3), np.nan)
    centre[inside] = reaction.centre[places[inside]]
    return _mean_around(force, places, ratio), _mean_around(about, places, ratio), centre


def _mean_around(values: Array, places: np.ndarray, width: int) -> Array:
    """Means over ``width`` samples, made odd, about each place; zero beyond the samples."""
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(np.nan_to_num(values), axis=0)])
    low = np.clip(places - width // 2, 0, len(values))
    high = np.clip(places + width // 2 + 1, 0, len(values))
    return (sums[high] - sums[low]) / np.maximum(high - low, 1)[:, None]


def _grounded(standing: Standing, foot: str, n_frames: int) -> np.ndarray:
    found = np.zeros(n_frames, bool)
    for contact in standing.contacts:
        if contact.body == foot:
            found[contact.frames[0] : contact.frames[1] + 1] = True
    return found


def _over(reaction: GroundReaction, path: Array) -> np.ndarray:
    """(n_frames,) whether any point of a sole (n_frames, n_points, 3) is on the plate."""
    middle = reaction.corners.mean(axis=0)
    first, second, _, fourth = reaction.corners
    sides = np.stack([first - second, first - fourth])
    lengths = np.linalg.norm(sides, axis=1)
    along = (path - middle) @ (sides / lengths[:, None]).T
    inside = (np.abs(along) < 0.5 * lengths).all(axis=-1)
    return (inside & (path[..., 2] - middle[2] < LIFT_HEIGHT)).any(axis=-1)


def _owners(centre: Array, paths: Sequence[Array]) -> np.ndarray:
    """(n_frames,) the sole nearest to a centre of pressure; −1 where none is near."""
    if not paths:
        return np.full(len(centre), -1)
    gaps = np.stack([_beside(centre, path) for path in paths], axis=-1)
    gaps = np.where(np.isfinite(gaps), gaps, np.inf)
    nearest = np.argmin(gaps, axis=-1)
    return np.where(gaps.min(axis=-1) < REACH_DISTANCE, nearest, -1)


def _beside(centre: Array, path: Array) -> Array:
    """(n_frames,) how far a place is from a sole, seen from above; below 0 within it."""
    heel, tip = path[:, 0, :2], path[:, 3, :2]
    along = tip - heel
    share = np.sum((centre[:, :2] - heel) * along, axis=1) / np.sum(along**2, axis=1)
    foot = heel + np.clip(share, 0.0, 1.0)[:, None] * along
    return np.linalg.norm(centre[:, :2] - foot, axis=1) - HALF_WIDTH


def _steps(on: np.ndarray, owners: np.ndarray) -> list[np.ndarray]:
    """Frames of each stay on a plate by one foot; the foot is who is nearest most of the time, but
    where feet change on the plate, as on a treadmill, the stay ends."""
    found = []
    for first, last in runs(on):
        frames = np.arange(first, last + 1)
        changes = np.flatnonzero(np.diff(owners[frames])) + 1
        found += np.split(frames, changes)
    return found
