"""What a take must have before joints can be looked for: a sentence for each thing it lacks.

Poses that cannot be: a tracker that flips to its other hemisphere for some frames.

Such a pose breaks every joint of its body at once. It is taken as not seen, and the joints are
fitted again without it.
"""

from dataclasses import replace

import numpy as np

from osteon.articulation.centre import PairFits
from osteon.errors import NotEnoughData
from osteon.typing import Array
from osteon.values import Bodies

MIN_FRAMES = 10


def check_bodies(bodies: Bodies) -> tuple[Bodies, list[str]]:
    """The bodies that can be used, and a warning for each that cannot."""
    if bodies.n_bodies < 2:
        held = bodies.names[0] if bodies.names else "none"
        raise NotEnoughData(f"joints lie between bodies: at least two are needed, got {held}")
    never = [
        name
        for name, seen in zip(bodies.names, bodies.seen.sum(0), strict=True)
        if seen < MIN_FRAMES
    ]
    if bodies.n_bodies - len(never) < 2:
        raise NotEnoughData(
            f"fewer than two bodies are seen in {MIN_FRAMES} frames or more; "
            f"never or hardly seen: {', '.join(never[:8])}"
        )
    if never:
        bodies = bodies.select([name for name in bodies.names if name not in never])
    _check_places(bodies)
    _check_twins(bodies)
    _check_together(bodies)
    return bodies, [f"{name} is hardly ever seen and was left out" for name in never]


def check_motion(bodies: Bodies, fits: PairFits) -> None:
    if fits.silent.all():
        turn = np.degrees(np.sqrt(2.0 * np.nanmax(fits.motion)))
        raise NotEnoughData(
            f"nothing moves: the {bodies.n_bodies} bodies turn by {turn:.1f}° at most against each "
            "other, no more than their noise; record a motion that bends the joints"
        )


def _check_places(bodies: Bodies) -> None:
    span = np.nanmax(bodies.positions, axis=(0, 1)) - np.nanmin(bodies.positions, axis=(0, 1))
    if span.max() < 1e-9:
        raise NotEnoughData(
            "the take has orientations but no positions (all bodies stay at one point): joints "
            "cannot be placed from orientations alone"
        )


def _check_twins(bodies: Bodies) -> None:
    twins: dict[str, str] = {}
    for i, name in enumerate(bodies.names):
        apart = np.abs(bodies.positions[:, i + 1 :] - bodies.positions[:, i : i + 1])
        worst = np.nanmax(np.where(np.isfinite(apart), apart, 0.0), axis=(0, 2), initial=0.0)
        both = (bodies.seen[:, i + 1 :] & bodies.seen[:, i : i + 1]).any(axis=0)
        for j in np.flatnonzero(both & (worst < 1e-9)).tolist():
            twins.setdefault(bodies.names[i + 1 + j], name)
    if twins:
        pairs = ", ".join(f"{name!r} and {other!r}" for other, name in twins.items())
        leave_out = " ".join(f"`exclude={other!r}`" for other in twins)
        raise NotEnoughData(
            f"the same sensor twice: {pairs}, whose positions never differ; leave one of each out: "
            f"{leave_out}"
        )


def _check_together(bodies: Bodies) -> None:
    """Every body must be seen together with others, directly or through a chain of them."""
    together = bodies.seen.T.astype(float) @ bodies.seen >= MIN_FRAMES
    reached = together[0]
    for _ in range(bodies.n_bodies):
        reached = reached | together[reached].any(axis=0)
    if not reached.all():
        alone = [name for name, there in zip(bodies.names, reached, strict=True) if not there]
        raise NotEnoughData(
            f"{', '.join(alone[:8])} and {bodies.names[0]} are never seen in the same frames, "
            f"so no joint between them can be found; leave them out: `exclude={alone[0]!r}`"
        )


def without_poses(bodies: Bodies, hidden: np.ndarray, did: str) -> Bodies:
    """The bodies with some poses (n_frames, n_bodies) taken as not seen."""
    positions = np.where(hidden[..., None], np.nan, bodies.positions)
    rotations = np.where(hidden[..., None], np.nan, bodies.rotations)
    return replace(bodies, positions=positions, rotations=rotations, history=(*bodies.history, did))


FACTOR = 8.0
"""How many times a joint's median residual an outlier exceeds."""
SMALLEST = 0.05
"""Metres: nothing smaller is called an outlier."""
MOST = 0.25
"""Share of frames: what happens more often is no exception."""


def impossible_poses(ends: np.ndarray, distances: Array, n_bodies: int) -> np.ndarray:
    """(n_frames, n_bodies) poses that break all joints of their body.

    Parameters
    ----------
    ends : (n_joints, 2)
        Indices of the two bodies of each joint.
    distances : (n_frames, n_joints)
        Residual of each joint, metres; NaN where not seen.
    """
    limit = np.maximum(FACTOR * np.nanmedian(distances, axis=0), SMALLEST)
    broken = np.nan_to_num(distances) > limit
    broken[:, broken.mean(axis=0) > MOST] = False
    hidden = np.zeros((len(distances), n_bodies), dtype=bool)
    touches = np.zeros((len(ends), n_bodies), dtype=bool)
    touches[np.arange(len(ends)), ends[:, 0]] = touches[np.arange(len(ends)), ends[:, 1]] = True
    seen = np.isfinite(distances)
    for frame in np.flatnonzero(broken.any(axis=1)):
        _blame(hidden[frame], broken[frame], touches & seen[frame][:, None])
    return hidden


def _blame(hidden: np.ndarray, broken: np.ndarray, touches: np.ndarray) -> None:
    """Hide bodies whose joints are all broken, those with most joints first; in place."""
    broken = broken.copy()
    degree = touches.sum(axis=0)
    while broken.any():
        count = touches[broken].sum(axis=0)
        count[(count < degree) | hidden] = 0
        worst = int(np.argmax(count))
        if count[worst] == 0:
            return
        hidden[worst] = True
        broken &= ~touches[:, worst]
