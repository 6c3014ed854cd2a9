"""Two labels that were exchanged for a while, over any number of pieces, are put back.

Of two markers on a limb that are about as far from its joint, a pose turned over suits as well as
the right one: every piece is in place, but for a third marker, which is far from its own, or for
the limb, which turns over in no time. So their bodies are laid anew with the two exchanged, and
the way through the take is sought, piece by piece in the one order or the other, that suits markers
and motion best.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from osteon.labelling.figure_search import lay
from osteon.labelling.following import FAR_GATE, Following, Holders
from osteon.labelling.pieces import by_label
from osteon.labelling.wearer import Wearer
from osteon.maths import distances_between, quat
from osteon.posing import PoseOptions, PoseProblem, solve_frames
from osteon.typing import Array, Indices, Mask

POSE_OPTIONS = PoseOptions(loss="geman-mcclure", tolerance=1e-3)
"""A thousandth of a radian: a millimetre at the end of a limb, and labels lie centimetres apart."""
DOUBT_RATIO = 1.5
"""Ratio of the deviation that a label's odds are reckoned with to the slack of its marker. Chosen:
a median over a piece carries the whole stretch's skin and pose."""
REACH = 0.15
"""Metres between the places of two labels that are tried. Chosen: a hand's length; what is farther
apart does not come into the other's place."""
FREE_TURN_RATE = 10.0
"""Radians per second that a limb may turn by. Chosen: hands of dancers and servers reach it."""
TURN_SLACK = 0.3
"""Radians rms that it may turn by besides. Chosen: a pose errs by as much where two markers show
a limb."""
MOST_TURNED = 8.0
"""Log odds, as a ratio to one, that one such turn says at most. Chosen: four standard deviations;
what was not seen to turn may have."""
LOOK_APART = 0.5
"""Seconds after which markers are a look of their own. Chosen: skin and pose last as long."""
LEAST_GAIN = 5.0
"""Log odds, as a ratio to one, from which labels are exchanged. Chosen: one of a hundred and fifty,
for some tens of pairs are tried."""
SUDDEN_TURN = 4.0
"""Log odds, as a ratio to one, against one such turn that make a limb suspicious. Chosen: half of
what one says at most."""
FAR_FRAMES = 3
"""Count of frames with a marker far from its place that make a limb suspicious. Chosen: one or two
are a touch or a reflection."""


@dataclass(frozen=True, eq=False)
class Posed:
    """A take posed by its labels, in some frames."""

    frames: Indices
    places: Array
    """(n_frames, n_labels, 3) where labels are."""
    turns: Array
    """(n_frames, n_bodies, 4) rotations of bodies to the world."""
    joints: Array
    """(n_frames, n_bodies, 3) where their joints are."""

    def renewed(self, some: Mask, new: "Posed") -> "Posed":
        """Return the same with some frames posed anew."""
        arrays = [self.places.copy(), self.turns.copy(), self.joints.copy()]
        for old, now in zip(arrays, (new.places, new.turns, new.joints), strict=True):
            old[some] = now
        return Posed(self.frames, *arrays)


def posed_by(
    wearer: Wearer, frames: Indices, observed: Array, start: tuple[Array, Array] | None
) -> Posed:
    """Return who wears labels posed by these, (n_frames, n_labels, 3)."""
    found = solve_frames(PoseProblem(wearer.rig, observed), start=start, options=POSE_OPTIONS)
    places = wearer.rig.markers(found.rotations, found.root)
    return Posed(frames, places, *wearer.rig.world(found.rotations, found.root))


def exchange_stretches(following: Following, posed: Posed) -> bool:
    """Exchange two labels for the stretches in which that suits best; return whether any two were:
    of all pairs on suspicious limbs, those two that gain most by it."""
    view = _View(following, posed)
    tried = (view.exchanged(np.array(pair)) for pair in view.pairs())
    best = max(tried, key=lambda each: each.gain, default=None)
    if best is None or best.gain < LEAST_GAIN:
        return False
    _exchange(following.holders, best)
    return True


@dataclass(frozen=True, eq=False)
class _Exchanged:
    """Two labels, the pieces that should have the other one, and what is gained by it."""

    pair: Indices
    pieces: Indices
    gain: float


def _exchange(holders: Holders, found: _Exchanged) -> None:
    holders.chains = holders.chains.apart(found.pieces)
    held = holders.label[found.pieces]
    for piece in found.pieces:
        holders.take_back(np.array([piece]))
    given = np.where(held == found.pair[0], found.pair[1], found.pair[0])
    for piece, label in zip(found.pieces, given.tolist(), strict=True):
        holders.give(label, int(holders.chains.number[piece]))


class _View:
    """A take as it is labelled, and as it would be."""

    def __init__(self, following: Following, posed: Posed) -> None:
        self.wearer, self.holders, self.now = following.wearer, following.holders, posed
        self.bodies = self.wearer.rig.tree.marker_bodies
        self.far = self.wearer.widened(FAR_GATE)
        pieces, n_labels = self.holders.chains.pieces, len(self.wearer.names)
        self.observed = by_label(pieces, self.holders.label, n_labels)[posed.frames]
        self.left = pieces.at(posed.frames, np.flatnonzero(self.holders.label < 0))
        """(n_frames, n_open, 3) points without a label."""
        self.seconds = posed.frames / pieces.recording.rate

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield labels that lie near each other, of which one at least is on a suspicious body."""
        places = self.wearer.rest_joints[self.bodies] + self.wearer.rig.places
        near = distances_between(places, places) < REACH
        suspicious = self._suspicious()
        for one, other in np.argwhere(np.triu(near, 1)).tolist():
            bodies = self.bodies[[one, other]]
            if suspicious[bodies].any() and self._is_beside(bodies[:1])[bodies[1]]:
                yield one, other

    def _is_beside(self, some: Indices) -> Mask:
        """Return (n_bodies,) whether bodies are some of these, or hang on one."""
        parents, n_bodies = self.wearer.parents, len(self.wearer.parents)
        return np.isin(parents, some) | np.isin(np.arange(n_bodies), [*some, *parents[some]])

    def _suspicious(self) -> Mask:
        """Return (n_bodies,) of which a marker is far from its place, or which turn too fast."""
        off = np.linalg.norm(self.observed - self.now.places, axis=-1)
        n_far = (off > self.far).sum(axis=0)
        suspicious = np.bincount(self.bodies, n_far, len(self.wearer.parents)) >= FAR_FRAMES
        for body in np.unique(self.bodies):
            rows = self._seen(self.wearer.labels_of(int(body)))
            turns = self.now.turns[rows, body]
            turned = _turned(turns, turns, self.seconds[rows])
            suspicious[body] |= bool((turned > SUDDEN_TURN).any())
        return suspicious

    def _seen(self, labels: Indices) -> Indices:
        """Return rows of frames in which some of the labels are."""
        return np.flatnonzero(np.isfinite(self.observed[:, labels, 0]).any(axis=1))

    def exchanged(self, pair: Indices) -> _Exchanged:
        """Return the stretches in which two labels had best be exchanged."""
        rows, held = self._seen(pair), np.flatnonzero(np.isin(self.holders.label, pair))
        if len(rows) < 2:
            return _Exchanged(pair, held[:0], 0.0)
        group, pieces = self._groups(held), self.holders.chains.pieces
        frames = self.now.frames[rows]
        at = group[np.searchsorted(pieces.first[held], frames, side="right") - 1]
        state, gain = _best_way(*self._both_ways(rows, pair), at)
        return _Exchanged(pair, held[np.isin(group, at[state == 1])], gain)

    def _groups(self, held: Indices) -> Indices:
        """Return (n,) a number for pieces that are seen at once, in order."""
        pieces = self.holders.chains.pieces
        before = np.maximum.accumulate(pieces.last[held])
        return np.append(0, np.cumsum(pieces.first[held][1:] > before[:-1]))

    def _both_ways(self, rows: Indices, pair: Indices) -> tuple[Array, Array]:
        """Return log odds against labels as they are and with two exchanged: (n_rows, 2) of frames
        and (2, 2, n_rows − 1) of the turns from one to the next."""
        exchanged, costs = self.observed[rows], np.zeros((len(rows), 2))
        exchanged[:, pair] = exchanged[:, pair[::-1]]
        seconds, steps = self.seconds[rows], np.zeros((2, 2, len(rows) - 1))
        for body in np.unique(self.bodies[pair]).tolist():
            own, now = self.wearer.labels_of(body), self.now.turns[rows, body]
            places, turned, off = self._laid(body, rows, exchanged)
            costs[:, 0] += self._costs(
                rows, own, self.observed[rows], self.now.places[rows][:, own]
            )
            costs[:, 1] += self._costs(rows, own, exchanged, places) + off
            ways = (now, turned)
            costs += np.stack([self._unusual(body, rows, each) for each in ways], axis=1)
            steps += [[_turned(before, after, seconds) for after in ways] for before in ways]
        looks = np.gradient(seconds).clip(max=LOOK_APART) / LOOK_APART
        return costs * looks[:, None], steps

    def _unusual(self, body: int, rows: Indices, turned: Array) -> Array:
        """Return (n_rows,) log odds against a body being turned so on its parent, (n_rows, 4)."""
        wearer, parent = self.wearer, int(self.wearer.parents[body])
        if parent < 0:
            return np.zeros(len(rows))
        rest = quat.from_matrix(wearer.rest[body])
        expected = quat.multiply(self.now.turns[rows, parent], rest)
        away = quat.log(quat.between(expected, turned))
        return 0.5 * ((away / wearer.turn[body]) ** 2).sum(axis=-1)

    def _laid(self, body: int, rows: Indices, observed: Array) -> tuple[Array, Array, Array]:
        """Return where a body's labels are if it is laid on what is observed, between the joints
        that it has as it is posed, (n_rows, n_own, 3); how it is turned then, (n_rows, 4); and log
        odds against joints being so far off, (n_rows,)."""
        wearer, own = self.wearer, self.wearer.labels_of(body)
        ends = np.flatnonzero(wearer.parents == body)
        joints = self.now.joints[rows][:, ends]
        inside = wearer.rig.offsets[ends]
        if wearer.parents[body] >= 0:
            joints = np.concatenate([joints, self.now.joints[rows, body, None]], axis=1)
            inside = np.concatenate([inside, np.zeros((1, 3))])
        seen = np.isfinite(observed[:, own, 0])
        weights = np.concatenate(
            [
                np.where(seen, wearer.slack[own] ** -2.0, 0.0),
                np.full((len(rows), len(inside)), wearer.joint_slack**-2),
            ],
            axis=1,
        )
        places = np.concatenate([wearer.rig.places[own], inside])
        targets = np.concatenate([np.nan_to_num(observed[:, own]), joints], axis=1)
        turns, origins = lay(places, targets, weights, None)
        laid = origins[:, None] + np.einsum("fij,mj->fmi", turns, places)
        off = np.linalg.norm(laid[:, len(own) :] - joints, axis=-1)
        against = 0.5 * ((off / (DOUBT_RATIO * wearer.joint_slack)) ** 2).sum(axis=1)
        return laid[:, : len(own)], quat.from_matrix(turns), against

    def _costs(self, rows: Indices, labels: Indices, observed: Array, places: Array) -> Array:
        """Return (n_rows,) log odds against labels being so far from their ``places`` (n_rows,
        n_labels, 3); of one that nobody holds, the nearest point without a label is."""
        off = np.linalg.norm(observed[:, labels] - places, axis=-1)
        if self.left.shape[1]:
            apart = np.linalg.norm(self.left[rows, None] - places[:, :, None], axis=-1)
            off = np.where(np.isfinite(off), off, np.fmin.reduce(apart, axis=-1))
        off = np.fmin(off, self.far[labels])
        return 0.5 * ((off / (DOUBT_RATIO * self.wearer.slack[labels])) ** 2).sum(axis=1)


def _turned(before: Array, after: Array, seconds: Array) -> Array:
    """Return (n − 1,) log odds against turns from rotations (n, 4) to the next of others, that are
    ``seconds`` (n,) apart."""
    turn = quat.angle(quat.between(before[:-1], after[1:]))
    over = np.maximum(turn - FREE_TURN_RATE * np.diff(seconds), 0.0)
    return np.minimum(0.5 * (over / TURN_SLACK) ** 2, MOST_TURNED)


def _best_way(costs: Array, steps: Array, group: Indices) -> tuple[Indices, float]:
    """Return (n,) 0 or 1, which of two ways costs least in each frame, and how much less than the
    first throughout.

    Parameters
    ----------
    costs : (n, 2)
    steps : (2, 2, n - 1)
        What going on from one frame to the next costs, from each way to each.
    group : (n,)
        Ways may change only from one of these to the next.
    """
    total, came = costs[0], np.zeros((len(costs), 2), dtype=int)
    bound = np.where(np.eye(2, dtype=bool), 0.0, np.inf)
    for at in range(1, len(costs)):
        ways = total[:, None] + steps[:, :, at - 1]
        if group[at] == group[at - 1]:
            ways = ways + bound
        came[at], total = ways.argmin(axis=0), ways.min(axis=0) + costs[at]
    state = np.full(len(costs), total.argmin())
    for at in range(len(costs) - 1, 0, -1):
        state[at - 1] = came[at, state[at]]
    return state, float(costs[:, 0].sum() + steps[0, 0].sum() - total.min())
