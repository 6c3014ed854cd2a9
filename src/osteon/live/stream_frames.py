"""Frames of a stream: what every source gives, which of them are news, which are remembered."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from osteon.typing import Array, unheard

Say = Callable[[str], object]
"""Whoever wants to hear what happens in a stream, sentence by sentence."""

RESTART_SECONDS = 1.0
"""Seconds: a number that goes back further than this is a stream that began again. Chosen: smaller
steps back are frames that come late."""
MOST_FRAMES = 600
"""Frames that are kept; at least half of them once the session is long enough. Chosen: several
times the 80 that a calibration looks at."""
MOST_NAMES = 400
"""Count of names that have a place. Chosen: more than people wear; others are noise, such as
unlabelled points numbered anew."""
GONE_FRAMES = 60
"""Frames without a name after which its place is free for others. Chosen: half a second at 120 per
second."""
PROVEN_FRAMES = 3
"""Frames that a name must have come in before it takes the place of another. Chosen: one that comes
once is no marker."""
NOISE_SHARE = 0.01
"""Share of the frames up to which a name is noise. Chosen: what comes now and then is not worn by
the performer."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamFrame:
    """One instant of a stream. Metres, z up; NaN where something was not seen."""

    number: int
    names: tuple[str, ...]
    positions: Array
    """(n, 3) of markers, or of bodies where there are rotations."""
    rotations: Array | None = None
    """(n, 4) of bodies, w x y z; None in a stream of markers."""
    arrived: float = field(default_factory=time.perf_counter)
    """When it came in or, replayed, when it was due; by ``time.perf_counter``."""
    overtaken: bool = False
    """A newer frame is there already: this one is remembered, but nobody waits for its pose."""


@dataclass(slots=True)
class Dropped:
    """What was left out of a stream, and how often: told in words the first time only."""

    say: Say = unheard
    counts: Counter[str] = field(default_factory=Counter)
    """By what it was; few words, so that nobody fills a memory with them."""

    def add(self, what: str, sentence: str, n: int = 1) -> None:
        """``n`` more of ``what``; the sentence tells the first."""
        if what not in self.counts:
            self.say(f"{sentence}; more of these are only counted")
        self.counts[what] += n


class Stream(Protocol):
    """A source of frames: a file played back, a socket, a capture system.

    ``frames`` ends when the source ends. Frames may be late, missing, doubled or out of order;
    their numbers tell. Whoever was kept from reading for a while gives what has piled up, all but
    the newest as overtaken.
    """

    rate: float
    """Frames per second."""

    def frames(self) -> Iterator[StreamFrame]: ...


@dataclass(slots=True)
class Arrivals:
    """Which frames of a stream are news.

    A stage wants the newest pose, so nothing waits for a frame that is late: it counts as missing,
    and when it comes after all it is too late to be shown.
    """

    rate: float
    newest: int | None = None
    received: int = 0
    late: int = 0
    missing: int = 0
    overtaken: int = 0

    def is_news(self, number: int) -> bool:
        self.received += 1
        if self.newest is None or number < self.newest - RESTART_SECONDS * self.rate:
            self.newest = number
            return True
        if number <= self.newest:
            self.late += 1
            return False
        self.missing += number - self.newest - 1
        self.newest = number
        return True


@dataclass(slots=True)
class Memory:
    """Every n-th frame of a stream; when it is full every second one goes and n doubles.

    Names may join at any time: an earlier frame did not see them. Where all places are taken, a
    name that keeps coming takes that of the one seen least among those that are gone.
    """

    names: tuple[str, ...] = ()
    stride: int = 1
    count: int = 0
    """Frames that were offered."""
    replaced: int = 0
    """How often a place went to another name."""
    _frames: list[tuple[int, Array]] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)
    _forgotten: dict[str, int] = field(default_factory=dict)
    _called: tuple[str, ...] = ()
    _columns: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _wanting: bool = False
    _waiting: dict[str, int] = field(default_factory=dict)
    _seen: NDArray[np.int64] = field(default_factory=lambda: np.zeros(MOST_NAMES, dtype=np.int64))
    _last: NDArray[np.int64] = field(default_factory=lambda: np.zeros(MOST_NAMES, dtype=np.int64))

    def roster(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """Columns of a frame's names; −1 for those that have no place."""
        if names != self._called or self._wanting:
            place = {name: index for index, name in enumerate(self.names)}
            for name in names:
                if name not in place and len(place) < MOST_NAMES:
                    place[name] = len(place)
                    self._last[place[name]] = self.count
            self.names, self._called = tuple(place), names
            if left := [name for name in names if name not in place]:
                place = self._with_places(place, left)
            self._wanting = any(name not in place for name in left)
            self._columns = np.array([place.get(name, -1) for name in names], dtype=np.int64)
        return self._columns

    def _with_places(self, place: dict[str, int], left: list[str]) -> dict[str, int]:
        """Give those of the names ``left`` that keep coming the places of others that are gone."""
        if len(self._waiting) > 10 * MOST_NAMES:
            self._waiting.clear()
        names, free = list(self.names), self._free()
        for name in left:
            self._waiting[name] = self._waiting.get(name, 0) + 1
            if self._waiting[name] < PROVEN_FRAMES or not free:
                continue
            column = free.pop()
            self._forgotten.pop(names[column], None)
            self._forgotten[name] = self.count
            names[column], self._seen[column], self._last[column] = name, 0, self.count
            del self._waiting[name]
            self.replaced += 1
        self.names = tuple(names)
        return {name: index for index, name in enumerate(names)}

    def _free(self) -> list[int]:
        """Columns that others may take, the one seen least last."""
        gone = np.flatnonzero(self.count - self._last[: len(self.names)] > GONE_FRAMES)
        return gone[np.argsort(-self._seen[gone], kind="stable")].tolist()

    def add(self, values: Array, number: int | None = None) -> None:
        """Offer a frame: (n_names, columns) in the order of ``names``; ``number`` is the stream's,
        by default frames are counted."""
        shown = np.flatnonzero(np.isfinite(values[:, 0]))
        self._seen[shown] += 1
        self._last[shown] = self.count
        if self.count % self.stride == 0:
            self._frames.append((self.count, values))
            self._numbers.append(self.count if number is None else number)
            if len(self._frames) > MOST_FRAMES:
                self.stride *= 2
                self._frames, self._numbers = self._frames[::2], self._numbers[::2]
        self.count += 1

    def forget(self, name: str) -> None:
        """Forget what was seen of this name: it sits elsewhere now."""
        self._forgotten[name] = self.count

    @property
    def numbers(self) -> tuple[int, ...]:
        """The stream's numbers of the frames that are kept."""
        return tuple(self._numbers)

    def worth(self) -> NDArray[np.int64]:
        """Columns of the names that came more than now and then."""
        return np.flatnonzero(self._seen[: len(self.names)] > NOISE_SHARE * self.count)

    def frames(self) -> Array:
        """Return (n_frames, n_names, columns) all that is kept; NaN where not seen or forgotten."""
        columns = self._frames[0][1].shape[1]
        kept = np.full((len(self._frames), len(self.names), columns), np.nan)
        for row, (number, values) in enumerate(self._frames):
            kept[row, : len(values)] = values
            for name, since in self._forgotten.items():
                if number < since:
                    kept[row, self.names.index(name)] = np.nan
        return kept
