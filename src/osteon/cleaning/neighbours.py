"""What a sample is judged by: the frames before and after it, and the markers that move with it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from osteon.maths import generalised_procrustes, moving_median, quat, runs
from osteon.typing import Array

SPARSE_FRAMES = 300
"""Count of frames that are enough to tell who moves with whom. Chosen: time grows with it."""


class MarkerRun(NamedTuple):
    """Neighbouring frames of one marker that share a property."""

    marker: int
    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    @property
    def frames(self) -> slice:
        return slice(self.first, self.last + 1)


def marker_runs(mask: np.ndarray) -> list[MarkerRun]:
    """List runs of True in a (n_frames, n_markers) array, marker by marker."""
    return [MarkerRun(m, *run) for m, column in enumerate(mask.T) for run in runs(column)]


def off_median(tracks: Array, n_frames: int) -> Array:
    """(n_frames,) distance of tracks (n_frames, k) from the running median of the samples seen.

    NaN where not seen, or less than a window, of ``n_frames``, is.
    """
    off = np.full(len(tracks), np.nan)
    seen = np.isfinite(tracks[:, 0])
    if seen.sum() >= n_frames:
        middle = moving_median(tracks[seen], n_frames)
        off[seen] = np.linalg.norm(tracks[seen] - middle, axis=-1)
    return off


def frames_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def bridge(path: Array, first: int, last: int) -> Array:
    """Return a cubic over frames ``first`` to ``last``, joining ``path`` (n, 3) smoothly.

    The frames before and after must be there and seen.
    """
    ends = np.array([first - 1, last + 1])
    slopes = [_slope(path, first - 1, -1), _slope(path, last + 1, 1)]
    from scipy.interpolate import CubicHermiteSpline  # slow to load, rarely asked for

    return CubicHermiteSpline(ends, path[ends], slopes)(np.arange(first, last + 1))


def _slope(path: Array, at: int, away: int) -> Array:
    """Movement per frame at a sample, from up to four more on the side away from the gap."""
    frames = [at]
    while len(frames) < 5 and 0 <= frames[-1] + away < len(path):
        if not np.isfinite(path[frames[-1] + away, 0]):
            break
        frames.append(frames[-1] + away)
    if len(frames) < 2:
        return np.zeros(3)
    # a parabola follows an accelerating marker up to the edge; two samples allow a line only
    fit = np.polynomial.polynomial.polyfit(
        np.array(frames) - at, path[frames], min(2, len(frames) - 1)
    )
    return fit[1]


def sparse(positions: Array) -> Array:
    """Choose frames evenly, at most ``SPARSE_FRAMES``."""
    return positions[:: max(len(positions) // SPARSE_FRAMES, 1)]


def distance_spread(positions: Array, markers: Sequence[int] | None = None) -> tuple[Array, Array]:
    """Return median distances of pairs and their spread, (n_markers, all markers) each, metres.

    Infinite where a pair is seen together in fewer than a tenth of the frames. The spread is the
    range of the middle 80 %, so that a swapped tenth does not spoil it.

    Parameters
    ----------
    markers
        Whose distances; everybody's by default.
    """
    few = sparse(positions)
    rows = range(few.shape[1]) if markers is None else markers
    middle, spread = np.full((2, len(rows), few.shape[1]), np.inf)
    for row, a in enumerate(rows if len(few) else ()):
        ordered = np.sort(np.linalg.norm(few - few[:, a : a + 1], axis=-1), axis=0)  # NaN last
        together = np.isfinite(ordered).sum(axis=0)
        low, centre, high = (
            np.take_along_axis(ordered, (share * (together - 1).clip(0)).astype(int)[None], 0)[0]
            for share in (0.1, 0.5, 0.9)
        )
        often = together >= max(0.1 * len(few), 1)
        often[a] = False
        middle[row, often], spread[row, often] = centre[often], (high - low)[often]
    return middle, spread


def companions(positions: Array, n: int, markers: Sequence[int] | None = None) -> list[list[int]]:
    """Find for every marker the ``n`` others that keep their distance to it best, best first.

    Far markers must be more rigid to count: a tenth of the distance is added to the spread, since
    a long lever turns small errors into large ones.

    Parameters
    ----------
    markers
        Whose companions; everybody's by default.
    """
    middle, spread = distance_spread(positions, markers)
    cost = spread + 0.1 * middle
    order = np.argsort(cost, axis=1)[:, :n]
    return [[int(b) for b in row if np.isfinite(cost[a, b])] for a, row in enumerate(order)]


_EDGE_SAMPLES = 5
"""Count of samples at each end of a gap that a prediction is made to meet. Chosen: their noise
averages out, the motion hardly changes."""
_KEPT_SHARE = 0.995
"""Share of the companions' bending that the principal components must cover. Chosen: the rest is
noise."""


class View:
    """The marker's place in the frame of its companions, constant or following their bending."""

    def __init__(self, positions: Array, marker: int, near: Sequence[int]) -> None:
        # companions that bend have no one shape to converge to; any steady frame will do
        shape = generalised_procrustes(positions[:, list(near)], max_iterations=3)
        self.q, self.p = shape.fit.rotations, shape.fit.positions
        self.marker = self._local(positions[:, [marker]])[:, 0]
        bending = (self._local(positions[:, list(near)]) - shape.template).reshape(len(self.q), -1)
        known = np.isfinite(bending).all(axis=1) & np.isfinite(self.marker[:, 0])
        self.trained = known.sum() >= 10
        if not self.trained:
            self.rigid_rms = self.lowrank_rms = np.inf
            return
        self.mean = np.median(self.marker[known], axis=0)
        self.rigid_rms = _rms(self.marker[known] - self.mean)
        self._learn_bending(bending, known)

    def sees(self, first: int, last: int) -> bool:
        """Whether the companions fix a frame all through these frames."""
        return self.trained and bool(np.isfinite(self.q[first : last + 1]).all())

    def predict(self, first: int, last: int, *, bending: bool) -> Array:
        """World path (n, 3) for these frames, bent to meet the samples at both ends."""
        guess = self.follow if bending else np.broadcast_to(self.mean, self.marker.shape)
        before = self._miss(guess, np.arange(max(first - _EDGE_SAMPLES, 0), first))
        after = self._miss(guess, np.arange(last + 1, min(last + 1 + _EDGE_SAMPLES, len(guess))))
        # at the start or the end of the take one side must do for both
        before = before if before is not None else after
        after = after if after is not None else before
        frames = np.arange(first, last + 1)
        local = guess[frames].copy()
        if before is not None and after is not None:
            share = ((frames - first + 1) / (last - first + 2))[:, None]
            local += (1.0 - share) * before + share * after
        return quat.rotate(self.q[frames], local) + self.p[frames]

    def _miss(self, guess: Array, frames: np.ndarray) -> Array | None:
        """How far the marker is from the guess on average in the frames that show it."""
        miss = (self.marker - guess)[frames]
        miss = miss[np.isfinite(miss).all(axis=1)]
        return miss.mean(axis=0) if len(miss) else None

    def _local(self, positions: Array) -> Array:
        return quat.rotate(quat.inverse(self.q)[:, None], positions - self.p[:, None])

    def _learn_bending(self, bending: Array, known: np.ndarray) -> None:
        """Regress the marker's place on the principal components of the companions' bending."""
        centre = bending[known].mean(axis=0)
        power, directions = np.linalg.eigh(np.cov(bending[known], rowvar=False))
        power, directions = power[::-1], directions.T[::-1]
        covered = np.cumsum(power) / max(np.sum(power), 1e-30)
        n_kept = min(int(np.searchsorted(covered, _KEPT_SHARE)) + 1, max(known.sum() // 20, 1))
        scores = (bending - centre) @ directions[:n_kept].T
        # the ridge, 1 mm of bending, keeps noise of the companions out of the answer
        square = scores[known].T @ scores[known] + known.sum() * 1e-6 * np.eye(n_kept)
        mean = self.marker[known].mean(axis=0)
        slopes = np.linalg.solve(square, scores[known].T @ (self.marker[known] - mean))
        self.follow = mean + scores @ slopes
        self.lowrank_rms = _rms((self.marker - self.follow)[known])


def _rms(difference: Array) -> float:
    return float(np.sqrt(np.mean(np.sum(difference**2, axis=-1))))
