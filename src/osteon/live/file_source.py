"""A file as a stream, at its own rate."""

import time
from collections.abc import Iterator
from pathlib import Path

from osteon.cleaning import prepare
from osteon.errors import NotEnoughData
from osteon.formats import read
from osteon.live.frame_source import StreamFrame
from osteon.values import Bodies, Recording, Take


class Replay:
    """Frames of a recording, each when its time has come.

    Parameters
    ----------
    subject
        Whom to play, where the file holds several.
    speed
        How many times faster than recorded; ``inf`` does not wait at all.
    """

    def __init__(
        self, source: str | Path | Take, *, subject: str | None = None, speed: float = 1.0
    ) -> None:
        take = source if isinstance(source, Take) else read(source)
        self._played = _played(take, subject)
        self.problems = self._played.source.problems
        """What was odd about the file and how it was read."""
        self._speed = speed
        self.rate = self._played.rate

    def frames(self) -> Iterator[StreamFrame]:
        played, start = self._played, time.perf_counter()
        rotations = played.rotations if isinstance(played, Bodies) else None
        step = 1.0 / (self.rate * self._speed)
        for number, positions in enumerate(played.positions):
            due = start + number * step
            wait = due - time.perf_counter()
            if wait > 0.0:
                time.sleep(wait)
            turned = None if rotations is None else rotations[number]
            overtaken = 0.0 < step < -wait and number + 1 < len(played.positions)
            yield StreamFrame(number, played.names, positions, turned, due, overtaken)


def _played(take: Take, subject: str | None) -> Recording | Bodies:
    if take.recordings:
        return prepare(take.recording(subject).markers(), repair=False)[0]
    if take.bodies:
        return take.body_poses(subject)
    held = " and ".join(take.kinds) or "nothing"
    raise NotEnoughData(f"a stream needs markers or bodies; the file holds {held}")
