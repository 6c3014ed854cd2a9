"""Ranges of many joints at once: arcs of angles, polygons of swings; compiled."""

import numpy as np

from osteon.maths import kernel

TURN = 2.0 * np.pi


@kernel
def measure_arcs(angles, cell):
    """The arcs outside the largest gaps of angles (n_samples, n); NaN is passed over.

    Returns
    -------
    above : (n_samples, n)
        The angles from where their arc begins.
    start, width : (n,)
        Where the arcs begin, in [−π, π), and how wide they are.
    coverage : (n,)
        Share of the cells of this size in an arc that hold a sample.
    n_seen : (n,)
    """
    n_samples, n = angles.shape
    above = np.full((n_samples, n), np.nan)
    start, width, coverage = np.zeros(n), np.zeros(n), np.zeros(n)
    n_seen = np.zeros(n, dtype=np.int64)
    filled = np.zeros(int(TURN / cell) + 2, dtype=np.bool_)
    for j in range(n):
        start[j], gap, n_seen[j] = _widest_gap(angles, j)
        width[j] = TURN - gap
        n_cells = max(1, int(np.ceil(width[j] / cell)))
        filled[:] = False
        for i in range(n_samples):
            if np.isfinite(angles[i, j]):
                value = (angles[i, j] - start[j]) % TURN
                above[i, j] = 0.0 if value > width[j] + 1e-9 else value  # rounding at the low end
                filled[min(int(above[i, j] / cell), n_cells - 1)] = True
        coverage[j] = filled.sum() / n_cells
    return above, start, width, coverage, n_seen


@kernel
def _widest_gap(angles, j):
    """Where the largest gap between angles ends, how wide it is, and how many angles there are.

    Without sorting: of n angles in n cells, the largest gap lies between cells.
    """
    n_samples = angles.shape[0]
    lowest, highest = np.full(n_samples, np.inf), np.full(n_samples, -np.inf)
    seen = 0
    for i in range(n_samples):
        if np.isfinite(angles[i, j]):
            value = (angles[i, j] + np.pi) % TURN
            at = min(int(value / TURN * n_samples), n_samples - 1)
            lowest[at], highest[at] = min(lowest[at], value), max(highest[at], value)
            seen += 1
    first, last, gap, end = np.inf, -np.inf, 0.0, 0.0
    for at in range(n_samples):
        if lowest[at] <= highest[at]:
            first = min(first, lowest[at])
            if lowest[at] - last > gap and np.isfinite(last):
                gap, end = lowest[at] - last, lowest[at]
            last = highest[at]
    if seen == 0:
        return 0.0, TURN, seen
    if first + TURN - last > gap:
        gap, end = first + TURN - last, first
    return end - np.pi, gap, seen


@kernel
def close_polygons(reach, narrowest):
    """Corners (n, n_sides, 2) of the polygons u·x ≤ reach (n, n_sides) for evenly turned u."""
    n_sides = reach.shape[1]
    step = TURN / n_sides
    corners = np.empty((len(reach), n_sides, 2))
    sides, drawn = np.empty(n_sides), np.empty(n_sides)
    for j in range(len(reach)):
        for k in range(n_sides):
            own, opposite = reach[j, k], reach[j, (k + n_sides // 2) % n_sides]
            sides[k] = (0.5 * (own - opposite) if own + opposite < 0.0 else own) + narrowest
        for _ in range(n_sides // 2):
            for k in range(n_sides):
                beside = sides[k - 1] + sides[(k + 1) % n_sides]
                drawn[k] = min(sides[k], beside / (2.0 * np.cos(step)))
            sides[:] = drawn
        for k in range(n_sides):
            x, y = np.cos(k * step), np.sin(k * step)
            along = (sides[(k + 1) % n_sides] - sides[k] * np.cos(step)) / np.sin(step)
            corners[j, k, 0] = sides[k] * x - along * y
            corners[j, k, 1] = sides[k] * y + along * x
    return corners


@kernel
def shake(tracks, jump, found):
    """Mean square of the third differences of tracks (n, n_tracks) up to ``jump`` medians."""
    n = tracks.shape[0]
    fast = np.empty(max(n - 3, 0))
    for j in range(tracks.shape[1]):
        seen = 0
        for i in range(n - 3):
            step = tracks[i + 3, j] - tracks[i, j] - 3.0 * (tracks[i + 2, j] - tracks[i + 1, j])
            if np.isfinite(step):
                fast[seen] = abs(step)
                seen += 1
        most = jump * np.median(fast[:seen]) if seen else 0.0
        total, n_usual = 0.0, 0
        for i in range(seen):
            if fast[i] <= most:
                total, n_usual = total + fast[i] * fast[i], n_usual + 1
        found[j] = total / max(n_usual, 1)
