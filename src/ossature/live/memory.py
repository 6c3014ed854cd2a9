"""Frames to calibrate with: the whole session thinned evenly, in bounded memory."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ossature.values.arrays import Array

CAPACITY = 600
"""Frames that are kept; at least half of them once the session is long enough."""
MOST_NAMES = 400
"""Names a stream may bring; more are noise, such as unlabelled points numbered anew."""


@dataclass(slots=True)
class Memory:
    """Every n-th frame of a stream; when it is full every second one goes and n doubles.

    Names may join at any time: an earlier frame did not see them.
    """

    names: tuple[str, ...] = ()
    stride: int = 1
    count: int = 0
    """Frames that were offered."""
    _frames: list[tuple[int, Array]] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)
    _forgotten: dict[str, int] = field(default_factory=dict)
    _called: tuple[str, ...] = ()
    _columns: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def roster(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """Columns of a frame's names; −1 for those past MOST_NAMES."""
        if names != self._called:
            place = {name: index for index, name in enumerate(self.names)}
            for name in names:
                if name not in place and len(place) < MOST_NAMES:
                    place[name] = len(place)
            self.names, self._called = tuple(place), names
            self._columns = np.array([place.get(name, -1) for name in names], dtype=np.int64)
        return self._columns

    def add(self, values: Array, number: int | None = None) -> None:
        """Offer a frame: (n_names, columns) in the order of ``names``; ``number`` is the stream's,
        by default frames are counted."""
        if self.count % self.stride == 0:
            self._frames.append((self.count, values))
            self._numbers.append(self.count if number is None else number)
            if len(self._frames) > CAPACITY:
                self.stride *= 2
                self._frames, self._numbers = self._frames[::2], self._numbers[::2]
        self.count += 1

    def forget(self, name: str) -> None:
        """What was seen of this name no longer holds: it sits elsewhere now."""
        self._forgotten[name] = self.count

    @property
    def numbers(self) -> tuple[int, ...]:
        """The stream's numbers of the frames that are kept."""
        return tuple(self._numbers)

    def frames(self) -> Array:
        """(n_frames, n_names, columns) all that is kept; NaN where not seen or forgotten."""
        columns = self._frames[0][1].shape[1]
        kept = np.full((len(self._frames), len(self.names), columns), np.nan)
        for row, (number, values) in enumerate(self._frames):
            kept[row, : len(values)] = values
            for name, since in self._forgotten.items():
                if number < since:
                    kept[row, self.names.index(name)] = np.nan
        return kept
