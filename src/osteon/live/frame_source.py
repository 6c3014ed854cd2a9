"""What every source of live frames looks like, and how frames that come late are told."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from osteon.typing import Array, Say, unheard

RESTART = 1.0
"""Seconds: a number that goes back further than this is a stream that began again."""


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
        if self.newest is None or number < self.newest - RESTART * self.rate:
            self.newest = number
            return True
        if number <= self.newest:
            self.late += 1
            return False
        self.missing += number - self.newest - 1
        self.newest = number
        return True
