"""Samples that fly off and come back: a reflection, another marker, a ray of one camera.

A marker that is seen wrong leaves its path within a frame and returns within a frame, by the same
way. Motion, however fast, is smooth over four frames: what third differences of its path are is
what it does. To them a displacement d over some frames adds d times a known pattern, so the best d
of every place and length is one division, and what it explains is told against what third
differences are around it. The clearest are taken out first, and the path is looked at again
without them.

A blow makes the same pattern: a hand that hits a rim stops within a frame. But it stops all that
the hand carries, so markers that move along are asked whether they went the same way.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from osteon.cleaning.neighbours import companions, marker_runs
from osteon.maths import runs
from osteon.typing import Array, Indices, Mask
from osteon.values import Recording, handed_over

LONGEST_SPIKE = 7
"""Frames. Chosen: what stays longer is another path, which swaps and bodies tell."""
AROUND_FRAMES = 41
"""Frames over which third differences are compared with their usual size. Chosen: as long as one
movement of a limb at 60 Hz, and several spikes of the longest kind."""
CALM_SHARE = 0.75
"""Share of third differences that are no larger than the usual. Chosen: a fast limb is fast for
a part of the time, and with 7 % of samples displaced a quarter of the differences are theirs."""
LEAST_EXPLAINED = 30.0
"""Ratio of the square that a displacement explains to the usual mean square per axis. Simulated:
without any, walks and exercise at 60 Hz stay below; at 60 a tenth of displaced samples is lost."""
STEP_PATTERN = np.array([1.0, -2.0, 1.0])
"""Ratios of third differences to a displacement that begins and does not end. Derived."""
STEP_RATIO = 1.1
"""Ratio of the square that a step at one end explains to that of the whole spike, from which on it
is a step: labels that stay exchanged, a marker that fell. Derived: 6/5 for a step, taken for a
spike of one frame, 5/6 for such a spike, and 1 next to a gap, where both are one."""
LEAST_PATTERN = 1.5
"""Share of one difference of a path, squares, that a pattern next to a gap must have. Derived: more
than a single difference, which any change of speed explains."""
COMPANION_COUNT, FELLOW_COUNT = 6, 2
"""Counts of companions that are asked, and of those who must go the same way for it to be motion.
Chosen: hands and feet often have no more on them, and two that are astray by chance hardly ever go
one way."""
ALONG_SHARE, LIKE_SHARE = 0.5, 0.7
"""Shares: of a displacement, by which a companion goes the same way (chosen: between none and all);
and of a companion's third differences, which it must explain. Derived: 0.56 of those of a spike
one frame later."""
BESIDE_FRAMES = 12
"""Frames on either side that are looked at too where two displacements may be. Chosen: more than
the longest and what third differences need."""
MOST_ROUNDS = 12
"""Count of looks at one path. Chosen: each finds all that are seven frames apart; bounds time."""


def find_spikes(recording: Recording, threshold: float = 0.02) -> Mask:
    """Find samples (n_frames, n_markers) that leave their path at once and come back.

    Parameters
    ----------
    threshold
        Metres by which a sample must be displaced, at least.
    """
    kept = [i for i, name in enumerate(recording.names) if name not in recording.outputs]
    positions = recording.positions[:, kept]
    spikes = np.zeros(recording.positions.shape[:2], dtype=bool)
    found = np.zeros(positions.shape[:2], dtype=bool)
    for marker in range(len(kept)):
        found[:, marker] = _leaves_path(positions[:, marker], threshold)
    if found.any():
        near = companions(positions, COMPANION_COUNT)
        for marker in np.flatnonzero(found.any(axis=0)).tolist():
            found[:, marker] = _alone(positions, found[:, marker], marker, near[marker])
    spikes[:, kept] = found
    return spikes


def remove_spikes(
    recording: Recording, threshold: float = 0.02, kept: Mask | None = None
) -> Recording:
    """Make spikes missing samples, but for those that touch samples ``kept`` (n_frames, n_markers).

    See :func:`find_spikes`.
    """
    spikes = find_spikes(recording, threshold)
    if kept is not None:
        for run in marker_runs(spikes):
            spikes[run.frames, run.marker] &= not kept[run.frames, run.marker].any()
    if not spikes.any():
        return recording
    positions = recording.positions.copy()
    positions[spikes] = np.nan
    names = [recording.names[m] for m in np.flatnonzero(spikes.any(axis=0))]
    return recording.with_filled(
        handed_over(positions),
        np.zeros_like(spikes),
        did=f"remove_spikes(threshold={threshold} m): {spikes.sum()} samples of {', '.join(names)}",
    )


def _leaves_path(path: Array, threshold: float) -> Mask:
    """(n_frames,) which samples of a path (n_frames, 3) are displaced."""
    out = np.zeros(len(path), dtype=bool)
    whole, path = path, path.copy()
    for _ in range(MOST_ROUNDS):
        chosen = _clearest(path, threshold)
        for first, length, displaced in chosen:
            out[first : first + length] = True
            path[first : first + length] -= displaced
        if not chosen:
            break
    for first, last in runs(out):
        if last - first >= LONGEST_SPIKE:
            out[first : last + 1] = False
            if last - first < 3 * LONGEST_SPIKE:
                rows = slice(max(first - BESIDE_FRAMES, 0), last + 1 + BESIDE_FRAMES)
                out[rows] |= _as_two(whole[rows], threshold)
    return out


def _as_two(path: Array, threshold: float) -> Mask:
    """(n_frames,) which samples of a short path are displaced, if two displacements with a sample
    between them explain all of it; one that spans both may explain more than either."""
    out = np.zeros(len(path), dtype=bool)
    third = np.diff(path, n=3, axis=0)
    seen = np.isfinite(third[:, 0])
    starts, lengths = (
        each.ravel()
        for each in np.meshgrid(np.arange(3, len(path) - 3), np.arange(1, LONGEST_SPIKE + 1))
    )
    frames = np.arange(len(path))
    marked = (frames >= starts[:, None]) & (frames < (starts + lengths)[:, None])
    patterns = np.diff(marked.astype(float), n=3, axis=1) * seen
    products = patterns @ patterns.T
    power, pulls = np.diag(products), patterns @ np.where(seen[:, None], third, 0.0)
    shown = np.cumsum(np.isfinite(path[:, 0]))
    between = shown[starts - 1] - shown[np.minimum(starts + lengths, len(path)) - 1][:, None]
    whole = np.where(power > LEAST_PATTERN, power, np.inf)
    apart = np.outer(whole, whole) - products**2
    apart = np.where((between > 0) & (apart > 0.5 * np.outer(whole, whole)), apart, np.inf)
    squares = np.sum(pulls**2, axis=1)
    explained = squares[:, None] * power + squares * power[:, None]
    explained = (explained - 2.0 * products * (pulls @ pulls.T)) / apart
    both = list(np.unravel_index(np.argmax(explained), explained.shape))
    if not np.isfinite(apart[both[0], both[1]]):
        return out
    moved = np.linalg.solve(products[np.ix_(both, both)], pulls[both])
    mended = path - np.einsum("bf,bi->fi", marked[both].astype(float), moved)
    far = np.linalg.norm(moved, axis=1) > threshold
    if far.all() and not _clearest(mended, threshold):
        out |= marked[both].any(axis=0)
    return out


def _clearest(path: Array, threshold: float) -> list[tuple[int, int, Array]]:
    """Displacements that explain most, apart from each other: first frame, length, metres (3,)."""
    third = np.diff(path, n=3, axis=0)
    seen = np.isfinite(third[:, 0])
    if seen.sum() < LONGEST_SPIKE:
        return []
    squares, places = np.sum(third[seen] ** 2, axis=1) / 3.0, np.cumsum(seen) - 1
    wide = np.pad(np.where(seen[:, None], third, 0.0), ((3, 3), (0, 0)))
    wide_seen = np.pad(seen.astype(float), 3)
    explained, lengths = np.zeros(len(path)), np.zeros(len(path), dtype=int)
    displaced = np.zeros((len(path), 3))
    _, stepped = _explain(wide, wide_seen, STEP_PATTERN)
    for length in range(1, min(LONGEST_SPIKE, len(path) - 3) + 1):
        moved, square = _explain(wide, wide_seen, _pattern(length))
        by_step = np.maximum(stepped[: len(square)], stepped[length : length + len(square)])
        far = np.sum(moved**2, axis=1) > threshold**2
        far = np.flatnonzero(far & (by_step < STEP_RATIO * square))
        ends = np.clip([far, far + length - 3], 0, len(third) - 1)
        usual = _usual_square(squares, places[ends]).max(axis=0)
        far = far[(square[far] > LEAST_EXPLAINED * usual) & (square[far] > explained[far])]
        explained[far], lengths[far], displaced[far] = square[far], length, moved[far]
    return _apart(explained, lengths, displaced)


def _usual_square(squares: Array, at: Indices) -> Array:
    """The mean square per axis that is usual around places ``at`` of ``squares`` (n_differences,);
    at the ends of a take that of its first or last stretch."""
    width = min(AROUND_FRAMES, len(squares))
    first = np.clip(at - width // 2, 0, len(squares) - width)
    around = squares[first[..., None] + np.arange(width)]
    rank = int(CALM_SHARE * width)
    return np.partition(around, rank, axis=-1)[..., rank]


@cache
def _pattern(length: int) -> Array:
    """Third differences of a displacement by one that lasts for ``length`` frames."""
    return np.diff(np.pad(np.ones(length), 3), n=3)


def _explain(wide: Array, wide_seen: Array, pattern: Array) -> tuple[Array, Array]:
    """For every frame that a pattern of third differences may begin at, three before the first,
    how far it says that samples are displaced (n, 3), and the sum of squares that it explains; zero
    where a gap leaves too little of it."""
    pulls = np.stack([np.correlate(axis, pattern, "valid") for axis in wide.T], axis=1)
    power = np.correlate(wide_seen, pattern**2, "valid")
    power = np.where(power > LEAST_PATTERN, power, np.inf)
    return pulls / power[:, None], np.sum(pulls**2, axis=1) / power


def _apart(explained: Array, lengths: Array, displaced: Array) -> list[tuple[int, int, Array]]:
    """The best of all, and the best of those whose pattern neither touches one of them nor a better
    one that does: that is looked at again without what it touches, and may then be what explains
    the end of this."""
    chosen: list[tuple[int, int, Array]] = []
    taken = np.zeros(len(explained), dtype=bool)
    waits = np.zeros(len(explained), dtype=bool)
    candidates = np.flatnonzero(explained > 0.0)
    for first in candidates[np.argsort(-explained[candidates])].tolist():
        length = int(lengths[first])
        touched = slice(max(first - 3, 0), first + length + 3)
        if taken[touched].any():
            waits[touched] = True
        elif not waits[touched].any():
            taken[touched] = True
            chosen.append((first, length, displaced[first]))
    return chosen


def _alone(positions: Array, found: Mask, marker: int, near: Sequence[int]) -> Mask:
    """(n_frames,) which displaced samples of a marker its companions do not share."""
    out = np.zeros(len(found), dtype=bool)
    for first, last in runs(found):
        rows = slice(max(first - 3, 0), last + 4)
        own, _ = _displacement(positions[rows, marker], found[rows])
        others = [_displacement(positions[rows, other], found[rows]) for other in near]
        along = [
            share > LIKE_SHARE and other @ own > ALONG_SHARE * (own @ own)
            for other, share in others
        ]
        out[first : last + 1] = sum(along) < FELLOW_COUNT
    return out


def _displacement(path: Array, where: Mask) -> tuple[Array, float]:
    """(3,) by which the samples ``where`` of a short path are displaced, and what share of its
    third differences that explains; NaN if a gap hides it."""
    third, pattern = np.diff(path, n=3, axis=0), np.diff(where.astype(float), n=3)
    seen = np.isfinite(third[:, 0])
    power = float(np.sum(pattern[seen] ** 2))
    if power < LEAST_PATTERN:
        return np.full(3, np.nan), np.nan
    moved = pattern[seen] @ third[seen] / power
    return moved, float(power * (moved @ moved) / max(np.sum(third[seen] ** 2), 1e-300))
