"""Labels kept through a stream whose tracks break: points known again by where they must be.

The pose of the frames before says where each of the person's markers is expected now. Labels that
are not there are given to points without one, by one assignment a frame; who was given a label
keeps it, unless the poses that follow have it elsewhere.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.live.stream_frames import StreamFrame
from osteon.maths import assign, distances_between
from osteon.posing import Follower
from osteon.typing import Array, Indices, Mask

KEPT_GATES = (0.10, 0.07, 0.05, 0.04)
"""Metres from its expected place within which a label takes a point, by how many other markers of
its body are seen: none, one, two, more. Chosen: as labels of whole takes are followed."""
FAR_DISTANCE, FAR_SECONDS = 0.06, 0.2
"""Metres from its place on the pose, and seconds for which it is as far, after which a point does
not have its label any more. Chosen: three times the worst skin; impacts are over by then."""
CONTESTED_DISTANCE = 0.025
"""Metres from its expected place from which a point may lose its label to one that is nearer by
``CLEAR_RATIO``. Chosen: skin and limbs that are thrown keep markers nearer mostly."""
CLEAR_RATIO = 2.0
"""Ratio: any other label or point must be this many times farther. Chosen: else it may be either,
and the next frames tell."""
MOST_GIVEN = 1000
"""Count of points' names that are remembered before those that are gone are forgotten. Chosen: more
than a frame has; names of a stream may never end."""
STALE_SECONDS = 0.25
"""Seconds without a pose after which nothing is expected any more. Chosen: people turn round in
less than twice that."""


class LabelKeeper:
    """Which point of a stream carries which label, where its own name does not say it."""

    def __init__(self, rate: float) -> None:
        self._stale = STALE_SECONDS * rate
        self.given: dict[str, str] = {}
        """The label of each point, by the point's name in the stream."""
        self.n_given = 0
        """How often a label went to a point."""
        self.n_lost = 0
        """Frames in a row that show points without a label, while labels are without a point."""
        self._longest_far = FAR_SECONDS * rate
        self._far: dict[str, int] = {}
        self._here: dict[str, Array] = {}
        self._follower: Follower | None = None
        self._labels: tuple[str, ...] = ()
        self._places: dict[str, int] = {}
        self._forget()

    def _forget(self) -> None:
        self._shown: Array | None = None
        self._step, self._number = np.zeros(0), 0

    def saw(self, number: int, follower: Follower, markers: Array) -> None:
        """Remember where the pose of a frame has the follower's markers (n, 3)."""
        if follower is not self._follower:
            self._follow(follower)
        passed = number - self._number
        if self._shown is not None and 0 < passed <= self._stale:
            self._step = (markers - self._shown) / passed
        else:
            self._step = np.zeros_like(markers)
        self._shown, self._number = markers, number
        for name, place in self._here.items():
            label = self._places.get(self.given.get(name, ""), -1)
            off = np.linalg.norm(place - markers[label]) if label >= 0 else 0.0
            self._far[name] = self._far.get(name, 0) + 1 if off > FAR_DISTANCE else 0
            if self._far[name] > self._longest_far:
                del self.given[name], self._far[name]

    def _follow(self, follower: Follower) -> None:
        self._follower = follower
        labels = tuple(follower.names[column] for column in follower.columns)
        if labels != self._labels:
            self._forget()
        self._labels, self._places = labels, {name: at for at, name in enumerate(labels)}
        self._bodies = follower.rig.tree.marker_bodies

    def know(self, given: dict[str, str]) -> bool:
        """Take in who was found to be what, elsewhere; return whether that is any news.

        Points go by their names in the stream, or by the labels that they had until now.
        """
        carried = {self.given[name]: name for name in self._here if name in self.given}
        points = {carried.get(name, name): label for name, label in given.items()}
        news = {
            name: label
            for name, label in points.items()
            if name not in self._places and self.given.get(name) != label
        }
        self.given |= news
        return bool(news)

    def keep(self, frame: StreamFrame) -> tuple[StreamFrame, list[tuple[str, str]]]:
        """Return the frame with labels for points that lack them, and who was given one just now:
        names of points and their labels."""
        seen = np.isfinite(frame.positions[:, 0])
        own = [self._places.get(name, -1) for name in frame.names]
        points = [at for at, place in enumerate(own) if place < 0 and seen[at]]
        if not points:
            self._here, self.n_lost = {}, 0
            return frame, []
        shown = {name for name, there in zip(frame.names, seen, strict=True) if there}
        kept, new = self._held(frame, points, shown), []
        if (expected := self.expected(frame.number)) is not None:
            self._release_contested(frame, points, kept, expected)
            there = np.array([label in shown or label in kept.values() for label in self._labels])
            rest = np.array([at for at in points if at not in kept], dtype=np.int64)
            for at, label in self._taken(frame.positions[rest], expected, there):
                point, there[label] = frame.names[rest[at]], True
                kept[int(rest[at])] = self.given[point] = self._labels[label]
                new.append((point, self._labels[label]))
            self.n_lost = 0 if len(kept) == len(points) or there.all() else self.n_lost + 1
        self._here = {frame.names[at]: frame.positions[at] for at in kept}
        self.n_given += len(new)
        if len(self.given) > MOST_GIVEN:
            self.given = {name: self.given[name] for name in frame.names if name in self.given}
        return self._renamed(frame, kept), new

    def expected(self, number: int) -> Array | None:
        """Return where the follower's markers (n, 3) are to be expected in a frame; None where
        nobody can tell."""
        passed = number - self._number
        if self._shown is None or not 0 < passed <= self._stale:
            return None
        return self._shown + passed * self._step

    def _held(self, frame: StreamFrame, points: Sequence[int], shown: set[str]) -> dict[int, str]:
        """Return the labels that points go on to carry, where nobody else has come with them."""
        kept: dict[int, str] = {}
        for at in points:
            label = self.given.get(frame.names[at], "")
            if label and label not in shown and label not in kept.values():
                kept[at] = label
        return kept

    def _release_contested(
        self, frame: StreamFrame, points: Sequence[int], kept: dict[int, str], expected: Array
    ) -> None:
        """Take labels back from points, by their place in the frame, that another without one is
        plainly nearer to: a reflection may have come where a marker was hidden."""
        rest = frame.positions[[at for at in points if at not in kept]]
        for at, label in list(kept.items()) if len(rest) else ():
            place = expected[self._places[label]]
            off = float(np.linalg.norm(frame.positions[at] - place))
            if off > CONTESTED_DISTANCE:
                nearest = float(np.linalg.norm(rest - place, axis=-1).min())
                if CLEAR_RATIO * nearest < off:
                    del kept[at], self.given[frame.names[at]]

    def _taken(self, points: Array, expected: Array, there: Mask) -> list[tuple[int, int]]:
        """Return points (n, 3) and the labels that are given to them."""
        open_labels = np.flatnonzero(~there)
        if not len(points) or not len(open_labels):
            return []
        cost = distances_between(points, expected[open_labels]) / self._gates(there)[open_labels]
        rows, columns = assign(np.minimum(cost, 1.0))
        return [
            (row, int(open_labels[column]))
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
            if cost[row, column] < 1.0 and _is_clear(cost, row, column)
        ]

    def _gates(self, there: Mask) -> Array:
        """(n_labels,) metres within which each label takes a point."""
        count = np.bincount(self._bodies, weights=there)[self._bodies] - there
        return np.array(KEPT_GATES)[np.minimum(count.astype(int), len(KEPT_GATES) - 1)]

    @staticmethod
    def _renamed(frame: StreamFrame, given: dict[int, str]) -> StreamFrame:
        if not given:
            return frame
        names, taken = list(frame.names), set(given.values())
        kept: Indices = np.array([at for at, name in enumerate(names) if name not in taken])
        for at, label in given.items():
            names[at] = label
        return replace(
            frame, names=tuple(names[at] for at in kept), positions=frame.positions[kept]
        )


def _is_clear(cost: Array, row: int, column: int) -> bool:
    """Whether nothing else suits point or label nearly as well."""
    most = CLEAR_RATIO * cost[row, column]
    return bool((cost[row] <= most).sum() == 1 and (cost[:, column] <= most).sum() == 1)
