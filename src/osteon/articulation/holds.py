"""Joints for a part of the take: a racket in a hand, partners hand in hand, hands that are clasped.

Sums of parts of a take are differences of sums, so every pair is fitted in every window. Where a
point is shared that was not before, the pair holds together; its first and last frame are where the
two begin to part. docs/methods.md §2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.articulation.body_source import PoseNoise, estimate_noise
from osteon.articulation.centre import Link, PairFits, fit_pairs, residual_vectors
from osteon.articulation.hierarchy import is_free
from osteon.articulation.loops import (
    FARTHEST_REACH,
    LOOSER_RATIO,
    SMALLEST_RESIDUAL,
    Closure,
    as_attachment,
    holds,
    path,
    repeats,
    same_point,
    shared,
)
from osteon.articulation.requirements import MIN_FRAMES
from osteon.articulation.slips import cut_take
from osteon.articulation.statistics import JointStatistics
from osteon.maths import moving_mean, quat, runs
from osteon.typing import Array
from osteon.values import Attachment, Bodies, Loop

BLOCK_SECONDS = 0.5
"""Seconds: the grain in which parts of a take are looked at. Chosen."""
SHORTEST_SECONDS = 2.0
"""Seconds. Chosen: what holds for less is not called held."""
MOST_BLOCKS = 240
"""Count of such parts at most. Chosen: bounds time."""
HELD_TURN = np.radians(3.0)
"""Radians: two who hold turn at least this much (rms) about every axis. Chosen: less than loops of
the whole take must, for outside of a hold the two part, which is evidence as well."""
PARTED_RATIO = 5.0
"""Ratio to the distance allowed while held that the two pass outside, at the median. Chosen."""
FAR_DISTANCE = 0.03
"""Metres, at least, beyond which two have parted for sure. Chosen: a few frames of any motion that
ends at rest, which then tell when it began."""
FAR_RATIO = 4.0
"""Ratio to the rms while held, for the same. Chosen: noise does not reach it."""
ONSET_POWERS = (1, 2, 3)
"""Count: powers of time by which two part: at once, by a push, and smoothly from rest, as hands do
[Flash 1985]. Chosen: the one that fits best."""
USUAL_REACH = 0.1
"""Metres that a point held by two who move as one lies from the middle between them. Chosen: the
length of a hand."""
AVERAGED_FRAMES = 3
"""Count of frames, about one that may be the last. Chosen: fewer than ends may be off by."""
UNUSUAL_RATIO = 2.0
"""Ratio to the largest distances in the middle of a hold, their 95th percentile, beyond which two
have parted. Chosen: skin adds half of it where limbs swing on."""
LEAST_TRAVEL = 0.1
"""Metres, rms, that two bodies move through the room while they move as one. Chosen: lying still
together is no hold."""
NEIGHBOUR_STEPS = 2
"""Count of joints within which two bodies of one limb do not both hold the same. Chosen: a hand
holds, and its forearm seems to where the wrist is stiff."""


@dataclass(frozen=True, slots=True, eq=False)
class HoldSearch:
    """What a search for holds needs to know of the take."""

    bodies: Bodies
    tree: list[Link]
    """Joints of the whole take."""
    spread: Array
    """(n_bodies,) mean square that each body adds to its joints, square metres."""
    noise: PoseNoise
    groups: Array
    """(n_bodies,) number of the subject that each body belongs to; things have their own."""
    depth: Array
    """(n_bodies,) number of joints between each body and the middle of its subject."""
    doubtful: frozenset[frozenset[int]] = frozenset()
    """Pairs whose joint may be another's."""

    def limit(self, pair: tuple[int, int]) -> float:
        """Metres that two bodies which share a point may miss each other by, rms."""
        own = self.spread[pair[0]] + self.spread[pair[1]]
        return float(np.sqrt(LOOSER_RATIO * own + SMALLEST_RESIDUAL**2))

    def find(self, skip: set[frozenset[int]], given: Sequence[Closure] = ()) -> list[Closure]:
        """All holds of pairs that are not in ``skip``, in order of time, besides those given."""
        # a limb that is stiff for a while does not hold itself
        skip = skip | {
            frozenset((i, j))
            for i in range(self.bodies.n_bodies)
            for j in range(i)
            if 0 < self._steps(i, j) <= NEIGHBOUR_STEPS
        }
        found = [closure for closure in self._candidates(skip) if not self._explained(closure, [])]
        kept = list(given)
        for closure in sorted(found, key=self._clearness, reverse=True):
            again = [other for other in kept if self._same_hold(closure, other)]
            if len(again) == 1 and again[0] not in given and self._farther_out(closure, again[0]):
                kept[kept.index(again[0])] = closure
            elif not again and not self._explained(closure, kept):
                kept.append(closure)
        return sorted(kept[len(given) :], key=lambda closure: closure.frames)

    def _steps(self, one: int, other: int) -> int:
        """Count of joints between two bodies, those in doubt as one: they may hang otherwise."""
        pairs = [frozenset((k.first, k.second)) for k in path(self.tree, one, other)]
        doubtful = sum(pair in self.doubtful for pair in pairs)
        return len(pairs) - max(doubtful - 1, 0)

    def _candidates(self, skip: set[frozenset[int]]) -> list[Closure]:
        bodies = self.bodies
        block = max(round(BLOCK_SECONDS * bodies.rate), -(-bodies.n_frames // MOST_BLOCKS))
        need = max(2, round(SHORTEST_SECONDS * bodies.rate / block))
        starts = range(0, bodies.n_frames - block + 1, block)
        pairs = [
            (i, j)
            for i in range(bodies.n_bodies)
            for j in range(i + 1, bodies.n_bodies)
            if frozenset((i, j)) not in skip
        ]
        if len(starts) <= need or not pairs:
            return []
        sums = [JointStatistics.empty(bodies.names)]
        for start in starts:
            part = JointStatistics.of(cut_take(bodies, slice(start, start + block)))
            sums.append(sums[-1] + part)
        windows = [
            late + early.scaled(-1.0) for early, late in zip(sums, sums[need:], strict=False)
        ]
        fits = [fit_pairs(each, self.noise, pairs) for each in windows]
        closed = np.stack([shared(each, self.spread) for each in fits])
        found = []
        for row in np.flatnonzero(closed.any(axis=0) & ~closed.all(axis=0)):
            pair = pairs[row]
            for start, last in runs(closed[:, row]):
                total = sums[last + need] + sums[start].scaled(-1.0)
                if self._holds(fit_pairs(total, self.noise, [pair]), pair):
                    closure = self._fitted(pair, (start * block, (last + need) * block))
                    found += [] if closure is None else [closure]
        return found

    def _holds(self, fits: PairFits, pair: tuple[int, int]) -> bool:
        """Whether the pair shares a point that no want of motion explains.

        Two who belong together may stand still; two who do not, and move as one, hold.
        """
        if bool(holds(fits, self.spread, HELD_TURN)[0]):
            return True
        return bool(self._strangers(pair) and shared(fits, self.spread)[0])

    def _point(self, fits: PairFits, pair: tuple[int, int], part: Bodies) -> Array | None:
        """The point that a pair shares, in both frames; None if it is none of theirs.

        Two who hardly turn against each other share many: the one between them is taken.
        """
        if _is_near(fits.centres[0]):
            return fits.centres[0]
        centres = _between(part, pair, self.limit(pair))
        apart = residual_vectors(part, pair, centres)
        rms = float(np.sqrt(np.nanmean(np.sum(apart**2, axis=-1))))
        return centres if _is_near(centres) and rms < self.limit(pair) else None

    def _strangers(self, pair: tuple[int, int]) -> bool:
        return bool(self.groups[pair[0]] != self.groups[pair[1]])

    def _fitted(self, pair: tuple[int, int], frames: tuple[int, int]) -> Closure | None:
        """The joint of a part of the take with its ends set to the frame; None if it is none."""
        bodies, limit = self.bodies, self.limit(pair)
        apart, centres = np.zeros((0, 3)), np.zeros(6)
        for _ in range(2):
            part = cut_take(bodies, slice(*frames))
            fits = fit_pairs(JointStatistics.of(part), self.noise, [pair])
            point = self._point(fits, pair, part) if self._holds(fits, pair) else None
            if point is None:
                return None
            centres, apart = point, residual_vectors(bodies, pair, point)
            frames = _grown(apart, *frames, limit)
        start, stop = frames
        if stop - start < SHORTEST_SECONDS * bodies.rate:
            return None
        rms = float(np.sqrt(np.nanmean(np.sum(apart[start:stop] ** 2, axis=-1))))
        closure = Closure(pair, (start, stop - 1), centres, rms)
        return closure if self._lets_go(closure, apart) and self._moves(closure) else None

    def _lets_go(self, closure: Closure, apart: Array) -> bool:
        start, stop = closure.frames[0], closure.frames[1] + 1
        outside = np.linalg.norm(np.concatenate([apart[:start], apart[stop:]]), axis=-1)
        if stop - start > 0.9 * len(apart) or not np.isfinite(outside).any():
            return False
        return bool(np.nanmedian(outside) > PARTED_RATIO * self.limit(closure.pair))

    def _moves(self, closure: Closure) -> bool:
        """Whether strangers go some way while they hold: lying still together is no hold."""
        if not self._strangers(closure.pair):
            return True
        part = slice(closure.frames[0], closure.frames[1] + 1)
        places = self.bodies.positions[part, list(closure.pair)]
        travel = np.sqrt(np.sum(np.nanvar(places, axis=0), axis=-1))
        turned = self.bodies.rotations[part, list(closure.pair)]
        turn = quat.angle(quat.between(turned[:1], turned))
        return bool((travel + 0.5 * FARTHEST_REACH * np.nanmean(turn, axis=0)).min() > LEAST_TRAVEL)

    def _clearness(self, closure: Closure) -> float:
        """How much likelier the hold is than none: frames times how far below the limit it is."""
        first, last = closure.frames
        square = closure.rms**2 + SMALLEST_RESIDUAL**2
        return (last - first) * float(np.log((3.0 * self.limit(closure.pair)) ** 2 / square))

    def _explained(self, closure: Closure, kept: Sequence[Closure]) -> bool:
        """Whether the joints of the take, and what holds at the same time, explain the hold."""
        links = [Link(*other.pair, other.centres) for other in kept if _together(closure, other)]
        return repeats(self.bodies, [*self.tree, *links], closure)

    def _farther_out(self, closure: Closure, other: Closure) -> bool:
        """Whether a hold takes another's place that is about as good: a limb holds by its end."""
        lengths = [each.frames[1] - each.frames[0] for each in (closure, other)]
        as_good = lengths[0] > 0.8 * lengths[1] and closure.rms**2 < (
            LOOSER_RATIO * other.rms**2 + SMALLEST_RESIDUAL**2
        )
        return as_good and bool(
            self.depth[list(closure.pair)].sum() > self.depth[list(other.pair)].sum()
        )

    def _same_hold(self, closure: Closure, other: Closure) -> bool:
        """Whether two holds at one time are one: at one point, or by neighbours on a limb."""
        if not _together(closure, other):
            return False
        if same_point(self.bodies, closure, other):
            return True
        common = set(closure.pair) & set(other.pair)
        rest = set(closure.pair) ^ set(other.pair)
        if len(common) != 1:
            return not rest
        return 0 < self._steps(*rest) <= NEIGHBOUR_STEPS


def holds_between(
    bodies: Bodies, links: list[Link], groups: np.ndarray, slack: float
) -> tuple[Attachment, ...]:
    """Return who holds whom for a part of the take, among subjects and things whose joints are
    known.

    Parameters
    ----------
    groups : (n_bodies,)
        Number of the subject that each body belongs to; things have their own.
    slack
        Metres that each body is off, rms, where its subject was solved.
    """
    n_bodies = bodies.n_bodies
    depth = np.zeros(n_bodies)
    for body in range(n_bodies):
        own = np.flatnonzero(groups == groups[body]).tolist()
        ways = [path(links, body, other) for other in own]
        depth[body] = max(len(way) for way in ways)
    spread = np.full(n_bodies, slack**2)
    search = HoldSearch(bodies, links, spread, estimate_noise(bodies), groups.astype(float), depth)
    same = groups[:, None] == groups
    skip = {frozenset((int(i), int(j))) for i, j in zip(*np.nonzero(same), strict=True) if i != j}
    return tuple(as_attachment(bodies, closure) for closure in search.find(skip))


def given_closures(
    bodies: Bodies, noise: PoseNoise, loops: Sequence[Loop]
) -> tuple[list[Closure], list[str]]:
    """Loops that are known to close, with their points in these frames; and what is said of those
    that do not, as a hold of another take."""
    found, open_loops = [], []
    for loop in loops:
        pair = (bodies.index(loop.bodies[0]), bodies.index(loop.bodies[1]))
        first, last = loop.frames or (0, bodies.n_frames - 1)
        last = min(last, bodies.n_frames - 1)
        told = f"the loop of {loop.bodies[0]} and {loop.bodies[1]} is given for frames {first} to "
        told += f"{last}, "
        part = slice(first, last + 1)
        seen = int(bodies.seen[part][:, list(pair)].all(axis=1).sum())
        if seen < MIN_FRAMES:
            told += f"of which {seen} show both, and at least {MIN_FRAMES} are needed"
            open_loops.append(f"{told}; it is left out")
            continue
        fits = fit_pairs(JointStatistics.of(cut_take(bodies, part)), noise, [pair])
        rms = float(np.sqrt(fits.mean_square[0]))
        if is_free(rms**2):
            told += f"where they miss each other by {100 * rms:.0f} cm"
            open_loops.append(f"{told}; it is left out")
            continue
        found.append(Closure(pair, (first, last), fits.centres[0], rms))
    return found, open_loops


def held(closures: Sequence[Closure], bodies: Bodies) -> list[Closure]:
    """Those that hold for a part of the take."""
    return [each for each in closures if each.frames != (0, bodies.n_frames - 1)]


def _is_near(centres: Array) -> bool:
    return bool(np.linalg.norm(centres.reshape(2, 3), axis=-1).max() < FARTHEST_REACH)


def _between(bodies: Bodies, pair: tuple[int, int], limit: float) -> Array:
    """(6,) a point shared by two bodies, in both of their frames, that lies near their middle:
    what the motion hardly says, as where they move as one, decides less than that."""
    seen = bodies.seen[:, list(pair)].all(axis=1)
    places = bodies.positions[seen][:, list(pair)]
    turns = quat.to_matrix(bodies.rotations[seen][:, list(pair)])
    levers = places.mean(axis=1, keepdims=True) - places
    middle = np.einsum("fbji,fbj->bi", turns, levers).reshape(-1) / len(places)
    ways = np.concatenate([turns[:, 0], -turns[:, 1]], axis=2)
    apart = places[:, 1] - places[:, 0] - ways @ middle
    normal = np.einsum("fji,fjk->ik", ways, ways) / len(places)
    side = np.einsum("fji,fj->i", ways, apart) / len(places)
    weight = (limit / USUAL_REACH) ** 2
    return middle + np.linalg.solve(normal + weight * np.eye(6), side)


def _together(one: Closure, other: Closure) -> bool:
    """Whether two closures hold at the same time, for half of the shorter one."""
    common = min(one.frames[1], other.frames[1]) - max(one.frames[0], other.frames[0])
    return common > 0.5 * min(each.frames[1] - each.frames[0] for each in (one, other))


def _grown(apart: Array, start: int, stop: int, limit: float) -> tuple[int, int]:
    """The frames about the middle in which the two do not part; ``apart`` (n_frames, 3)."""
    middle, quarter = (start + stop) // 2, (stop - start) // 4
    core = apart[start + quarter : stop - quarter]
    far = max(FAR_DISTANCE, FAR_RATIO * min(float(np.sqrt(np.nanmean(np.sum(core**2, -1)))), limit))
    usual = UNUSUAL_RATIO * float(np.nanpercentile(_sizes(core), 95.0))
    after = _last_usual(apart[middle:], _until_parting(apart[middle:], far), usual)
    before = _last_usual(apart[middle::-1], _until_parting(apart[middle::-1], far), usual)
    return middle - before, max(middle + after + 1, middle - before + 2)


def _sizes(apart: Array) -> Array:
    """(n_frames,) how far apart the two are, noise of single frames averaged out."""
    known = np.isfinite(apart[:, :1]).astype(float)
    total = moving_mean(np.nan_to_num(apart), AVERAGED_FRAMES)
    share = moving_mean(known, AVERAGED_FRAMES)
    return np.linalg.norm(total / np.where(share > 0.0, share, np.nan), axis=-1)


def _last_usual(apart: Array, last: int, usual: float) -> int:
    """The frame up to ``last`` from which on back the two are no farther apart than usual.

    Hands that come near, linger and meet part by no power of time.
    """
    sizes = _sizes(apart[: last + 1])
    held = np.flatnonzero(~(sizes > usual))
    return int(held[-1]) if len(held) else last


def _until_parting(apart: Array, far: float) -> int:
    """Last frame of the hold; ``apart`` (n_frames, 3) begins while it lasts.

    A constant and a power of the time since the parting are fitted to the frames before the two
    are ``far`` from each other.
    """
    gone = np.flatnonzero(np.linalg.norm(np.nan_to_num(apart), axis=-1) > far)
    if len(gone) == 0:
        return len(apart) - 1
    stop = int(gone[0]) + 1
    start = max(0, stop - 1 - 4 * max(stop // 8, 6))
    known = np.isfinite(apart[start:stop, 0])
    index, values = np.arange(start, stop)[known], apart[start:stop][known]
    values = values - values.mean(axis=0)
    best, last = -np.inf, stop - 1
    for at in index[:-1]:
        for power in ONSET_POWERS:
            growth = np.maximum(index - at, 0.0) ** power
            growth = growth - growth.mean()
            told = float(np.sum((growth @ values) ** 2) / np.sum(growth**2))
            if told > best:
                best, last = told, int(at)
    return last
