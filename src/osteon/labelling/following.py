"""Labels carried through a take, from a frame in which they are known, in both directions.

A window at a time: the pose of what is labelled predicts where the other labels are; chains of
pieces that are seen there are given to labels by one assignment; the pose is fitted again. A limb
that was lost for a while is looked for about its joint, as in the first frame.
"""

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from osteon.labelling.courses import Chains
from osteon.labelling.figure_search import Cloud, find_limbs
from osteon.labelling.wearer import Wearer
from osteon.maths import assign, kernel, quat
from osteon.posing import Follower, FramePose
from osteon.typing import Array, Indices, Share, unheard

WINDOW_SECONDS = 0.2
"""Seconds that are looked at together. Chosen: limbs turn by less than a radian meanwhile."""
WINDOW_FRAMES = 6
"""Count of frames in a window that are posed. Chosen: enough for a median."""
SHOWN_GATES = (0.10, 0.07, 0.05, 0.04)
"""Metres from its predicted place within which a label takes a chain, by how many other markers of
its body are seen: none, one, two, more. Chosen: joints glide and skin moves by a third of it."""
CLEAR_RATIO = 2.0
"""Ratio: any other label or chain must be this many times farther. Chosen: else the distances
between the markers decide."""
FAR_GATE = 0.06
"""Metres off its place, median of a window, from which a chain is not what it was taken for.
Chosen: three times the worst skin."""
WINDOW_TRIES = 4
"""Count of fits of a window. Chosen: limbs come back one body after the other."""


class Holders:
    """Which piece holds which label; no label is held twice in a frame."""

    def __init__(self, chains: Chains, n_labels: int) -> None:
        self.chains = chains
        self.label = np.full(len(chains.pieces), -1)
        self._spans: list[list[tuple[int, int, int]]] = [[] for _ in range(n_labels)]

    def of(self, chain: int) -> int:
        """Return the label of a chain; −1: none."""
        return int(self.label[self.chains.members(chain)[0]])

    def is_free(self, label: int, chain: int) -> bool:
        """Whether no other chain holds a label in the frames of this one."""
        held, pieces = self._spans[label], self.chains.pieces
        for piece in self.chains.members(chain):
            first, last = pieces.first[piece], pieces.last[piece]
            at = bisect_left(held, (first,))
            if at < len(held) and held[at][0] <= last:
                return False
            if at and held[at - 1][1] >= first:
                return False
        return True

    def give(self, label: int, chain: int) -> None:
        pieces, own = self.chains.pieces, self.chains.members(chain)
        self.label[own] = label
        spans = [(int(pieces.first[each]), int(pieces.last[each]), int(each)) for each in own]
        self._spans[label] = sorted([*self._spans[label], *spans])

    def take_back(self, pieces: Indices) -> None:
        """Open these pieces of one chain again; they become a chain of their own."""
        label, gone = self.label[pieces[0]], set(pieces.tolist())
        self._spans[label] = [span for span in self._spans[label] if span[2] not in gone]
        self.label[pieces] = -1
        self.chains = self.chains.without(pieces)


class Following:
    """Goes along a take with what is labelled so far."""

    def __init__(self, wearer: Wearer, holders: Holders) -> None:
        self.wearer, self.holders = wearer, holders
        self.follower = Follower(wearer.skeleton, wearer.names)
        self.poses: dict[int, FramePose] = {}
        """Those that were last found while following, by frame."""
        self._refused: set[tuple[int, int]] = set()
        self._asked: set[bytes] = set()

    def both_ways(self, start: int, progress: Share = unheard) -> None:
        """Label from a frame to the end, and from it back to the beginning."""
        recording = self.holders.chains.pieces.recording
        step, total = max(1, round(WINDOW_SECONDS * recording.rate)), recording.n_frames
        done = 0
        for order in (range(start, total, step), range(start - step, -step, -step)):
            before: FramePose | None = None
            for first in order:
                frames = np.arange(max(first, 0), min(first + step, total))
                few = frames[:: max(1, step // WINDOW_FRAMES)]
                before = _Window(self, few, before, back=first < start).settle()
                done += len(frames)
                progress(done / total)

    def refuse(self, pieces: Indices, label: int) -> None:
        """Take a label back from pieces for good."""
        self.holders.take_back(pieces)
        self._refused |= {(piece, label) for piece in pieces.tolist()}

    def start_near(self, frames: Indices) -> tuple[Array, Array] | None:
        """Return rotations (n_frames, n_bodies, 4) and root (n_frames, 3), the poses found nearest
        to some frames; None before anything was followed."""
        if not self.poses:
            return None
        found = np.array(sorted(self.poses))
        right = np.searchsorted(found, frames).clip(max=len(found) - 1)
        pair = found[np.stack([(right - 1).clip(0), right])]
        nearest = np.where(abs(pair[0] - frames) <= abs(pair[1] - frames), *pair)
        poses = [self.poses[int(frame)] for frame in nearest]
        return np.stack([p.rotations for p in poses]), np.stack([p.root for p in poses])

    def forget_refusals(self) -> None:
        """Let everything be asked again: what one window refused may be right over the take."""
        self._refused.clear()

    def may_hold(self, label: int, chain: int) -> bool:
        own = self.holders.chains.members(chain)
        return (int(own[0]), label) not in self._refused and self.holders.is_free(label, chain)

    def first_asked(self, question: bytes) -> bool:
        """Whether this is asked for the first time."""
        new = question not in self._asked
        self._asked.add(question)
        return new


class _Window:
    """Frames that are labelled together."""

    def __init__(
        self, following: Following, frames: Indices, before: FramePose | None, *, back: bool
    ) -> None:
        self.following, self.wearer, self.holders = following, following.wearer, following.holders
        self.frames, self.before, self.back = frames, before, back
        self._look()

    def _look(self) -> None:
        chains = self.holders.chains
        self.chains = chains.of(chains.pieces.within(int(self.frames[0]), int(self.frames[-1])))
        self.places = chains.at(self.frames, self.chains)

    @property
    def labels(self) -> Indices:
        """(n_chains,) what each chain holds."""
        return self.holders.label[self.holders.chains.heads(self.chains)]

    def settle(self) -> FramePose | None:
        """Label what is seen; return the pose at the end of the window."""
        end = self.before
        for _ in range(WINDOW_TRIES):
            observed = self._observed()
            poses = self._poses(observed)
            if not poses:
                return self.before
            end = poses[0 if self.back else -1]
            self.following.poses |= dict(zip(self.frames.tolist(), poses, strict=True))
            rotations = np.stack([pose.rotations for pose in poses])
            root = np.stack([pose.root for pose in poses])
            predicted = self.wearer.rig.markers(rotations, root)
            changed = self._drop_far(predicted)
            changed |= self._take_near(predicted, observed)
            if not changed and not self._find_lost(rotations, root):
                break
        return end

    def _poses(self, observed: Array) -> list[FramePose]:
        """Return the pose of every frame, the nearest of those that show enough; none where no
        frame does."""
        follower, order = self.following.follower, range(len(observed))[:: -1 if self.back else 1]
        follower.begin_at(self.before)
        followed = {row: follower.follow(observed[row]) for row in order}
        found = {row: pose for row, pose in followed.items() if pose is not None}
        if not found:
            return []
        nearest = [min(found, key=lambda row, at=at: abs(row - at)) for at in range(len(observed))]
        return [found[row] for row in nearest]

    def _observed(self) -> Array:
        """(n_frames, n_labels, 3) by label."""
        labels, n_labels = self.labels, len(self.wearer.names)
        observed = np.full((len(self.frames), n_labels, 3), np.nan)
        frames, columns = np.nonzero(np.isfinite(self.places[..., 0]) & (labels >= 0))
        observed[frames, labels[columns]] = self.places[frames, columns]
        return observed

    def _drop_far(self, predicted: Array) -> bool:
        """Take labels back from pieces that are elsewhere, and from what follows them."""
        chains, labels = self.holders.chains, self.labels
        off = median_of_seen(np.linalg.norm(self.places - predicted[:, labels], axis=-1))
        far = (labels >= 0) & np.isfinite(off) & (off > self.wearer.widened(FAR_GATE)[labels])
        for column in np.flatnonzero(far):
            here = np.intersect1d(
                chains.members(self.chains[column]),
                chains.pieces.within(int(self.frames[0]), int(self.frames[-1])),
            )
            self.following.refuse(here, int(labels[column]))
        if far.any():
            self._look()
        return bool(far.any())

    def _take_near(self, predicted: Array, observed: Array) -> bool:
        """Give free labels to open chains that are where these are expected."""
        rows = np.flatnonzero(self.labels < 0)
        if not len(rows):
            return False
        off = np.linalg.norm(self.places[:, rows, None] - predicted[:, None], axis=-1)
        cost = median_of_seen(off) / self._gates(observed)
        for row, label in np.argwhere(cost < CLEAR_RATIO):
            if not self.following.may_hold(int(label), int(self.chains[rows[row]])):
                cost[row, label] = np.inf
        given = False
        for row, label in _assigned(cost):
            chain = int(self.chains[rows[row]])
            if _is_clear(cost, row, label) and self.holders.is_free(label, chain):
                self.holders.give(label, chain)
                given = True
        return given

    def _gates(self, observed: Array) -> Array:
        """(n_labels,) metres within which each label takes a chain."""
        bodies = self.wearer.rig.tree.marker_bodies
        seen = np.isfinite(observed[..., 0]).any(axis=0)
        count = np.bincount(bodies, weights=seen, minlength=len(self.wearer.parents))[bodies] - seen
        gates = np.array(SHOWN_GATES)[np.minimum(count.astype(int), len(SHOWN_GATES) - 1)]
        return np.maximum(gates, self.wearer.widened(0.0))

    def _find_lost(self, rotations: Array, root: Array) -> bool:
        """Look for labels about their joints, in the frame that shows most open chains."""
        labels, seen = self.labels, np.isfinite(self.places[..., 0])
        frame = int(np.argmax((seen & (labels < 0)).sum(axis=1)))
        here = np.flatnonzero(seen[frame])
        known = np.full(len(self.wearer.names), -1)
        known[labels[here][labels[here] >= 0]] = np.flatnonzero(labels[here] >= 0)
        question = np.concatenate([self.chains[here], labels[here]]).tobytes()
        if (labels[here] >= 0).all() or (known >= 0).all():
            return False
        if not self.following.first_asked(question):
            return False
        cloud = Cloud(self.places[frame, here], unrest_of(self.places[:, here]))
        turns, joints = self.wearer.rig.world(rotations[frame], root[frame])
        found = find_limbs(self.wearer, cloud, known, quat.to_matrix(turns), joints)
        return self._give_found(np.where(known < 0, found, -1), self.chains[here])

    def _give_found(self, found: Indices, chains: Indices) -> bool:
        given = False
        for label in np.flatnonzero(found >= 0):
            chain = int(chains[found[label]])
            if self.following.may_hold(int(label), chain):
                self.holders.give(int(label), chain)
                given = True
        return given


def _assigned(cost: Array) -> Iterator[tuple[int, int]]:
    """Yield rows and columns that belong together at the least sum of costs, 1 if left alone."""
    rows, columns = assign(np.minimum(cost, 1.0))
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        if cost[row, column] < 1.0:
            yield row, column


def _is_clear(cost: Array, row: int, column: int) -> bool:
    """Whether nothing else suits row or column nearly as well."""
    rivals = np.concatenate([np.delete(cost[row], column), np.delete(cost[:, column], row)])
    return bool((rivals > CLEAR_RATIO * cost[row, column]).all())


def median_of_seen(values: Array) -> Array:
    """Return the median over the first axis, of what is finite; infinite where nothing is."""
    ordered = np.sort(values, axis=0)  # NaN last
    count = np.isfinite(values).sum(axis=0)
    middle = np.take_along_axis(ordered, ((count - 1).clip(0) // 2)[None], axis=0)[0]
    return np.where(count > 0, middle, np.inf)


def unrest_of(places: Array) -> Array:
    """Return (n, n) metres that distances of points (n_frames, n, 3) vary by, rms; 0 where that is
    not known."""
    unrest = np.zeros((places.shape[1], places.shape[1]))
    _fill_unrest(np.ascontiguousarray(places.transpose(1, 0, 2)), unrest)
    return unrest


@kernel
def _fill_unrest(paths, unrest):
    n, n_frames = paths.shape[:2]
    apart = np.empty(n_frames)
    for one in range(n):
        for other in range(one):
            count, total = 0, 0.0
            for frame in range(n_frames):
                square = 0.0
                for k in range(3):
                    square += (paths[one, frame, k] - paths[other, frame, k]) ** 2
                if np.isfinite(square):
                    apart[count] = np.sqrt(square)
                    total += apart[count]
                    count += 1
            square = 0.0
            for seen in range(count):
                square += (apart[seen] - total / count) ** 2
            unrest[one, other] = unrest[other, one] = np.sqrt(square / max(count, 1))
