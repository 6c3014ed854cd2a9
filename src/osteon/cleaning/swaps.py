"""Two markers that exchange labels for a while: found, and put right.

At the frame of an exchange two markers jump at once, each to where the other was going. Every such
jump is a switch; between switches a pair is either right or exchanged throughout. Which of the two
is which, the distances to the other markers decide, or, where these are silent, that labels are
right most of the time.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from osteon.cleaning.neighbours import companions, frames_text
from osteon.maths import mad_scale
from osteon.typing import Array
from osteon.values import Recording, Swap

_AROUND_FRAMES = 3
"""Count of steps before and after a frame that tell how fast a marker goes. Chosen: their median
outvotes one that is wrong."""
_SURE_SHARE = 0.2
"""Share of the squared surprise that an exchange may leave of a jump. Chosen: a chance meeting
leaves more."""
_LONGEST_GAP = 0.1
"""Seconds unseen. Chosen: after more a marker's arrival says nothing about an exchange."""
_CONTRADICTED_RATIO = 1.1
"""Ratio by which distances to others may grow before they speak against an exchange. Chosen: both
ends were seen to jump, noise may be against it."""
_CONVINCED_RATIO = 1.0 / 1.5
"""Ratio that exchanging must bring distances down to where only one end is seen to jump. Chosen:
clearly better, for nothing else speaks for it."""
_UNKNOWN_ODDNESS = 3.0
"""Standard deviations: oddness of a marker where none is seen that could tell. Chosen: less than
astray, more than at home."""


def find_swaps(recording: Recording) -> tuple[Swap, ...]:
    """Find exchanged labels, in order of time; ``repaired`` is False."""
    kept = [i for i, name in enumerate(recording.names) if name not in recording.outputs]
    positions = recording.positions.take(kept, axis=1)
    found: list[Swap] = []
    near = companions(positions, 4)
    # an exchange inside another one shows only when the outer one is undone
    for _ in range(4):
        fresh = _find_once(positions, recording.rate, near)
        for a, b, first, last in fresh:
            _exchange(positions, a, b, first, last)
            names = (recording.names[kept[a]], recording.names[kept[b]])
            found.append(Swap(names, (first, last), repaired=False))
        if not fresh:
            break
    return tuple(sorted(found, key=lambda swap: swap.frames))


def repair_swaps(recording: Recording, swaps: Sequence[Swap] | None = None) -> Recording:
    """Put labels right; ``swaps`` as :func:`find_swaps` gives them, or found now."""
    swaps = find_swaps(recording) if swaps is None else swaps
    if not swaps:
        return recording
    positions = recording.positions.copy()
    residuals = None if recording.residuals is None else recording.residuals.copy()
    for swap in swaps:
        a, b = (recording.index(name) for name in swap.markers)
        for array in (positions, residuals):
            if array is not None:
                _exchange(array, a, b, *swap.frames)
    return recording.with_positions(positions, f"repair_swaps({swaps_text(swaps)})", residuals)


def swaps_text(swaps: Sequence[Swap]) -> str:
    """Tell who with whom in which frames: ``a/b 7–10, c/d 19``."""
    return ", ".join(f"{'/'.join(swap.markers)} {frames_text(*swap.frames)}" for swap in swaps)


def _exchange(array: Array, a: int, b: int, first: int, last: int) -> None:
    frames = slice(first, last + 1)
    array[frames, [a, b]] = array[frames, [b, a]]


def _find_once(
    positions: Array, rate: float, near: list[list[int]]
) -> list[tuple[int, int, int, int]]:
    """Pairs and the intervals in which they are exchanged; no marker twice at a time."""
    if len(positions) < 3 or positions.shape[1] < 2:
        return []
    candidates = []
    for a, b, switches in _Jumps(positions, rate).switches():
        for first, last, gain in _exchanged(positions, a, b, switches, near):
            candidates.append((gain, a, b, first, last))
    taken = np.zeros(positions.shape[:2], dtype=bool)
    chosen = []
    for _, a, b, first, last in sorted(candidates, reverse=True):
        if not taken[first : last + 1, [a, b]].any():
            taken[first : last + 1, [a, b]] = True
            chosen.append((a, b, first, last))
    return chosen


class _Jumps:
    """How every marker arrives in a frame, compared with how it was and will be going."""

    def __init__(self, positions: Array, rate: float) -> None:
        n_frames = len(positions)
        self.positions = positions
        seen = np.isfinite(positions[..., 0])
        index = np.where(seen, np.arange(n_frames)[:, None], -1)
        self.before = np.full(seen.shape, -1)
        self.before[1:] = np.maximum.accumulate(index, axis=0)[:-1]
        waited = np.arange(n_frames)[:, None] - self.before
        self.arrives = seen & (self.before >= 0) & (waited <= 1 + _LONGEST_GAP * rate)
        # the first frame has no step to it, nor has the one after the last
        self.steps = np.full((n_frames + 1, *positions.shape[1:]), np.nan)
        np.subtract(positions[1:], positions[:-1], out=self.steps[1:-1])

    def switches(self) -> list[tuple[int, int, np.ndarray]]:
        """Pairs of markers and the frames in which they exchange labels."""
        n_markers = self.positions.shape[1]
        startled = np.stack([self._startled(m) for m in range(n_markers)], axis=1)
        busy = np.flatnonzero(startled.any(axis=0))
        found = []
        for place, a in enumerate(busy):
            for b in busy[place + 1 :]:
                frames = np.flatnonzero(startled[:, a] & startled[:, b])
                if frames.size:
                    frames = self._explained(frames, int(a), int(b))
                if frames.size:
                    found.append((int(a), int(b), frames))
        return found

    def _startled(self, marker: int) -> np.ndarray:
        """(n_frames,) whether the marker jumps more than its usual unsteadiness explains."""
        frames = np.flatnonzero(self.arrives[:, marker])
        surprise = np.zeros(len(self.positions))
        if frames.size:
            surprise[frames] = np.linalg.norm(self._surprise(frames, marker, marker), axis=-1)
        usual = np.median(surprise[frames]) if frames.size else 0.0
        return surprise > 4.0 * usual + 1e-3

    def _explained(self, frames: np.ndarray, a: int, b: int) -> np.ndarray:
        """Which of the frames make both go on smoothly if labels are exchanged from them on."""
        shorter = self._jump(frames, a, b) + self._jump(frames, b, a)
        frames = frames[shorter < self._jump(frames, a, a) + self._jump(frames, b, b)]
        if not frames.size:
            return frames
        as_labelled = self._squares(frames, a, a) + self._squares(frames, b, b)
        exchanged = self._squares(frames, a, b) + self._squares(frames, b, a)
        return frames[exchanged < _SURE_SHARE * as_labelled]

    def _jump(self, frames: np.ndarray, before: int, after: int) -> Array:
        """Squared way from the one's last place to the other's place: a quick first test."""
        last = self.positions[self.before[frames, before], before]
        return np.sum((self.positions[frames, after] - last) ** 2, axis=-1)

    def _squares(self, frames: np.ndarray, before: int, after: int) -> Array:
        return np.sum(self._surprise(frames, before, after) ** 2, axis=-1)

    def _surprise(self, frames: np.ndarray, before: int, after: int) -> Array:
        """Jump (n, 3) from ``before``'s last place to ``after``'s place, less the usual step."""
        last = self.before[frames, before]
        offsets = np.arange(1, _AROUND_FRAMES + 1)[:, None]
        steps = np.concatenate(
            [
                self.steps[np.maximum(last + 1 - offsets, 0), before],
                self.steps[np.minimum(frames + offsets, len(self.steps) - 1), after],
            ]
        )
        waited = (frames - last)[:, None]
        return (
            self.positions[frames, after]
            - self.positions[last, before]
            - waited * _median_of_seen(steps)
        )


def _median_of_seen(values: Array) -> Array:
    """Median over the first axis, passing over NaN; 0 where nothing is seen."""
    ordered = np.sort(values, axis=0)  # NaN last
    count = np.isfinite(ordered).sum(axis=0)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0)[None] // 2, axis=0)[0]
    high = np.take_along_axis(ordered, np.minimum(count // 2, len(values) - 1)[None], axis=0)[0]
    return np.where(count > 0, 0.5 * (low + high), 0.0)


def _exchanged(
    positions: Array, a: int, b: int, switches: np.ndarray, near: list[list[int]]
) -> list[tuple[int, int, float]]:
    """First and last frame of each exchanged interval of a pair, and how much distances gain."""
    bounds = [0, *switches.tolist(), len(positions)]
    spans = list(pairwise(bounds))
    right, wrong = _strains(positions, a, b, near)
    gain = right - wrong
    choices = [[_trim(span, gain) for span in spans[parity::2]] for parity in (0, 1)]
    # where distances are silent the shorter choice wins: labels are right most of the time
    odd = max(
        choices, key=lambda part: sum(gain[slice(*s)].sum() - 1e-9 * (s[1] - s[0]) for s in part)
    )
    found = []
    for start, stop in odd:
        before, after = right[start:stop].sum(), wrong[start:stop].sum()
        witnessed = start in switches and stop in switches
        # a switch seen at one end only needs the distances as a second witness, and a reason
        limit = _CONTRADICTED_RATIO if witnessed else _CONVINCED_RATIO
        hidden = all(f in switches or _unseen(positions, a, b, f) for f in (start, stop))
        if hidden and (after < limit * before or (witnessed and before == after)):
            found.append((start, stop - 1, before - after))
    return found


def _unseen(positions: Array, a: int, b: int, frame: int) -> bool:
    """Whether a change at this frame could not be seen: an end of the take, or a gap."""
    around = positions[max(frame - 2, 0) : frame + 2, [a, b], 0]
    return frame in (0, len(positions)) or not np.isfinite(around).all()


def _trim(span: tuple[int, int], gain: Array) -> tuple[int, int]:
    """A span that reaches an end of the take, cut back to where exchanging helps.

    The other end of an exchange may be hidden in a gap, where nothing is seen to jump.
    """
    start, stop = span
    if start == 0:
        suffix = np.cumsum(gain[:stop][::-1])[::-1]
        start = int(np.argmax(suffix)) if suffix.size else 0
    elif stop == len(gain):
        stop = start + 1 + int(np.argmax(np.cumsum(gain[start:])))
    return start, stop


def _strains(positions: Array, a: int, b: int, near: list[list[int]]) -> tuple[Array, Array]:
    """(n_frames,) twice: how odd the pair's distances to others are, as labelled and exchanged.

    Every sample that is seen is asked in which of the two places it is at home. One that is not
    seen says nothing of either, however long it stays away.
    """
    right, wrong = np.zeros((2, len(positions)))
    for slot, guest in ((a, b), (b, a)):
        others = [other for other in near[slot] if other not in (a, b)]
        as_labelled, exchanged = (
            np.linalg.norm(positions[:, [marker]] - positions[:, others], axis=-1)
            for marker in (slot, guest)
        )
        usual = _median_of_seen(as_labelled)
        scale = mad_scale(as_labelled, axis=0) + 2e-3
        for marker, distances, strain in ((slot, as_labelled, right), (guest, exchanged, wrong)):
            seen = np.isfinite(positions[:, marker, 0])
            strain += np.where(seen, _oddness((distances - usual) / scale), 0.0)
    return right, wrong


def _oddness(difference: Array) -> Array:
    """(n_frames,) mean over the others that are seen; ``_UNKNOWN`` where none is."""
    known = np.isfinite(difference)
    # bounded: one companion that is itself astray must not outvote the others
    bounded = np.where(known, np.minimum(np.abs(difference), 10.0), 0.0)
    count = known.sum(axis=1)
    return np.where(count > 0, bounded.sum(axis=1) / np.maximum(count, 1), _UNKNOWN_ODDNESS)
