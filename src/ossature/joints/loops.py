"""Joints that close a loop: clasped hands, an object held in both, for a take or a part of it.

Two bodies that are no parent and child and still share a point as well as parents and children do.
A point that merely repeats a joint on the way between them (because the others stood still)
is none. METHODS §2, paper 000 §5.
"""

from dataclasses import dataclass, replace

import numpy as np

from ossature.joints.centre import PairFits, fit_pairs
from ossature.joints.noise import PoseNoise
from ossature.joints.residuals import residual_vectors
from ossature.joints.slips import Link
from ossature.joints.statistics import JointStatistics
from ossature.maths import quat
from ossature.maths.runs import runs
from ossature.values import Attachment, Bodies, Loop
from ossature.values.arrays import Array

LOOSER = 2.0
"""A loop joint may leave this many times the mean square that its bodies' noise explains."""
SMALLEST = 0.001
"""Metres: residual that is always allowed."""
KNOWN_TO = 0.02
"""Metres: a loop joint must be known this well in its worst direction, one standard deviation."""
APART = 0.03
"""Metres: a loop joint lies at least this far from every joint between its bodies."""
AS_WELL = 2.2
"""A joint between two bodies that fits them within this many times the loop's rms will do."""
TURN = np.radians(4.0)
"""Radians: a loop joint turns at least this much (rms) about every axis."""
REACH = 0.35
"""Metres: farthest that a loop joint lies from its bodies' origins."""
BLOCK = 0.5
"""Seconds: the grain in which parts of a take are looked at."""
SHORTEST = 2.0
"""Seconds: what holds for less is not called held."""
MOST_BLOCKS = 240


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A candidate: two bodies, the frames, the shared point."""

    pair: tuple[int, int]
    frames: tuple[int, int]
    centres: Array
    rms: float


def find_loops(
    bodies: Bodies, fits: PairFits, tree: list[Link], noise: Array, skip: set[frozenset[int]]
) -> list[Closure]:
    """Loop joints of the whole take; ``noise`` (n_bodies,) mean square of each body."""
    found = []
    for row in np.flatnonzero(holds(fits, noise)):
        pair = (int(fits.first[row]), int(fits.second[row]))
        closure = Closure(
            pair, (0, bodies.n_frames - 1), fits.centres[row], float(np.sqrt(fits.mean_square[row]))
        )
        if frozenset(pair) not in skip and not repeats(bodies, tree, closure):
            found.append(closure)
    return distinct(bodies, tree, found)


def find_attachments(
    bodies: Bodies, tree: list[Link], noise: Array, pose_noise: PoseNoise, skip: set[frozenset[int]]
) -> list[Closure]:
    """Joints that hold for a part of the take only."""
    block = max(round(BLOCK * bodies.rate), -(-bodies.n_frames // MOST_BLOCKS))
    need = max(2, round(SHORTEST * bodies.rate / block))
    starts = range(0, bodies.n_frames - block + 1, block)
    if len(starts) <= need:
        return []
    sums = [JointStatistics.empty(bodies.names)]
    for start in starts:
        sums.append(sums[-1] + JointStatistics.of(_frames(bodies, start, start + block)))
    closed = np.stack(
        [
            shared(fit_pairs(late + early.scaled(-1.0), pose_noise), noise)
            for early, late in zip(sums, sums[need:], strict=False)
        ]
    )
    first, second = np.triu_indices(bodies.n_bodies, 1)
    found = []
    for row in np.flatnonzero(closed.any(axis=0) & ~closed.all(axis=0)):
        pair = (int(first[row]), int(second[row]))
        for start, last in [] if frozenset(pair) in skip else runs(closed[:, row]):
            total = sums[last + need] + sums[start].scaled(-1.0)
            if not holds(fit_pairs(total, pose_noise, [pair]), noise)[0]:
                continue
            frames = (start * block, (last + need) * block)
            closure = _fitted(bodies, pair, frames, pose_noise, noise)
            if closure is not None and not repeats(bodies, tree, closure):
                found.append(closure)
    return distinct(bodies, tree, found)


def distinct(bodies: Bodies, tree: list[Link], closures: list[Closure]) -> list[Closure]:
    """One closure per point and time: hands held with stiff wrists also join the forearms.

    The two bodies that are most joints apart keep it, for a chain is held by its ends; then the
    two nearest to the point.
    """

    def rank(closure: Closure) -> tuple[int, float]:
        arms = np.linalg.norm(closure.centres.reshape(2, 3), axis=-1)
        return -len(path(tree, *closure.pair)), float(arms.sum())

    kept: list[Closure] = []
    for closure in sorted(closures, key=rank):
        if not any(_same(bodies, closure, other) for other in kept):
            kept.append(closure)
    return kept


def _same(bodies: Bodies, one: Closure, other: Closure) -> bool:
    start = max(one.frames[0], other.frames[0])
    stop = min(one.frames[1], other.frames[1]) + 1
    if stop - start < 0.5 * (one.frames[1] - one.frames[0]):
        return False
    here = _world(bodies, one.pair[0], one.centres[:3])[start:stop]
    there = _world(bodies, other.pair[0], other.centres[:3])[start:stop]
    return bool(np.nanmedian(np.linalg.norm(here - there, axis=-1)) < APART)


def _frames(bodies: Bodies, start: int, stop: int) -> Bodies:
    part = slice(start, stop)
    return replace(bodies, positions=bodies.positions[part], rotations=bodies.rotations[part])


def shared(fits: PairFits, noise: Array) -> np.ndarray:
    """(n_pairs,) whether some point is shared, be it for want of motion."""
    allowed = LOOSER * (noise[fits.first] + noise[fits.second]) + SMALLEST**2
    return fits.mean_square < allowed


def holds(fits: PairFits, noise: Array) -> np.ndarray:
    """(n_pairs,) whether a point is shared, and the motion is rich enough to say so."""
    known = np.sqrt(np.linalg.eigvalsh(fits.covariance[:, 3:, 3:])[:, -1])
    rich = (known < KNOWN_TO) & (fits.motion[:, 0] > TURN**2 / 2.0) & ~fits.silent.any(axis=1)
    near = np.linalg.norm(fits.centres.reshape(-1, 2, 3), axis=-1).max(axis=1) < REACH
    return shared(fits, noise) & rich & near


def _fitted(
    bodies: Bodies,
    pair: tuple[int, int],
    frames: tuple[int, int],
    pose_noise: PoseNoise,
    noise: Array,
) -> Closure | None:
    """The joint of a part of the take with its ends set to the frame; None if it is no joint."""
    limit = float(np.sqrt(LOOSER * (noise[pair[0]] + noise[pair[1]]) + SMALLEST**2))
    both = bodies.select([bodies.names[body] for body in pair])
    own = PoseNoise(pose_noise.position[list(pair)], pose_noise.rotation[list(pair)])
    apart, centres = np.zeros(0), np.zeros(6)
    for _ in range(2):
        fits = fit_pairs(JointStatistics.of(_frames(both, *frames)), own)
        if not holds(fits, noise[list(pair)])[0]:
            return None
        centres = fits.centres[0]
        apart = np.linalg.norm(residual_vectors(both, (0, 1), centres), axis=-1)
        frames = _grown(apart, *frames, 3.0 * limit)
    start, stop = frames
    outside = np.concatenate([apart[:start], apart[stop:]])
    if stop - start > 0.9 * bodies.n_frames or np.nanmedian(outside) < 5.0 * limit:
        return None
    rms = float(np.sqrt(np.nanmean(apart[start:stop] ** 2)))
    return Closure(pair, (start, stop - 1), centres, rms)


def _grown(apart: Array, start: int, stop: int, limit: float) -> tuple[int, int]:
    """The longest stretch about the middle in which the two stay within ``limit``."""
    within = ~(apart > limit)
    middle = (start + stop) // 2
    out_before, out_after = np.flatnonzero(~within[:middle]), np.flatnonzero(~within[middle:])
    first = int(out_before[-1]) + 1 if len(out_before) else 0
    last = middle + int(out_after[0]) if len(out_after) else len(apart)
    return first, max(last, first + 2)


def repeats(bodies: Bodies, tree: list[Link], closure: Closure) -> bool:
    """Whether the shared point is, or might as well be, a joint on the way between the bodies."""
    part = slice(closure.frames[0], closure.frames[1] + 1)
    here = _world(bodies, closure.pair[0], closure.centres[:3])[part]
    for link in path(tree, *closure.pair):
        there = _world(bodies, link.first, link.centres[:3])[part]
        if np.nanmedian(np.linalg.norm(here - there, axis=-1)) < APART:
            return True
        if max(_wander(bodies, body, there, part) for body in closure.pair) < AS_WELL * closure.rms:
            return True
    return False


def _wander(bodies: Bodies, body: int, places: Array, part: slice) -> float:
    """How much places (n_frames, 3) move about in a body's frame, rms, metres."""
    away = places - bodies.positions[part, body]
    seen = quat.rotate(quat.inverse(bodies.rotations[part, body]), away)
    return float(np.sqrt(np.sum(np.nanvar(seen, axis=0))))


def _world(bodies: Bodies, body: int, point: Array) -> Array:
    return quat.rotate(bodies.rotations[:, body], point) + bodies.positions[:, body]


def path(tree: list[Link], start: int, end: int) -> list[Link]:
    """The joints between two bodies along the tree."""
    queue: list[tuple[int, list[Link]]] = [(start, [])]
    while queue:
        body, way = queue.pop()
        if body == end:
            return way
        for link in tree:
            if body in (link.first, link.second) and link not in way:
                queue.append((link.second if body == link.first else link.first, [*way, link]))
    return []


def as_loop(bodies: Bodies, closure: Closure) -> Loop:
    i, j = closure.pair
    names = (bodies.names[i], bodies.names[j])
    return Loop(names, closure.centres[:3], closure.centres[3:], closure.rms)


def as_attachment(bodies: Bodies, closure: Closure) -> Attachment:
    i, j = closure.pair
    first, second = closure.centres[:3].tolist(), closure.centres[3:].tolist()
    return Attachment(
        (bodies.names[i], bodies.names[j]), closure.frames, tuple(first), tuple(second), closure.rms
    )
