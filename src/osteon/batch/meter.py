"""How far a batch is, and how long it will take."""

import time
from collections.abc import Callable

from osteon.typing import Say


class Meter:
    """Counts jobs of one kind and tells the time that is left."""

    def __init__(
        self, verb: str, total: int, say: Say, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._verb, self._total, self._say, self._clock = verb, total, say, clock
        self._done, self._start = 0, clock()
        if total:
            say(f"{verb} {total}")

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        passed = self._clock() - self._start
        left = passed * (self._total - self._done) / self._done
        told = f"{self._verb} {self._done} of {self._total}"
        self._say(f"{told}, about {duration(left)} left" if self._done < self._total else told)


def duration(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
