"""Residuals as pictures: over time and as a distribution, Figs 4 and 6–8 of [000], in SVG."""

from html import escape

import numpy as np

from osteon.typing import Array
from osteon.values import Joints

WIDTH, HEIGHT = 640, 96
LEFT, RIGHT, TOP, BOTTOM = 60, 190, 16, 18
MOST_POINTS = 300
"""Points of a curve: each is the largest of the frames it stands for, so no peak is lost."""
BINS = 30


def residual_page(joints: Joints) -> str:
    """All joints below one another, as one SVG document."""
    rows = [
        _row(f"{link.child} on {link.parent}", joints.residuals[:, column], joints.rate)
        for column, link in enumerate(joints.connections)
    ]
    return _document(rows)


def _document(rows: list[str]) -> str:
    height = HEIGHT * len(rows)
    placed = "".join(
        f'<g transform="translate(0 {HEIGHT * index})">{row}</g>' for index, row in enumerate(rows)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="10">'
        f'<rect width="100%" height="100%" fill="#fff"/>{placed}</svg>\n'
    )


def _row(title: str, distances: Array, rate: float) -> str:
    """Curve on the left, distribution on the right, one scale in millimetres for both."""
    known = distances[np.isfinite(distances)] * 1000.0
    top = float(known.max()) if len(known) else 0.0
    top = top if top > 0.0 else 1.0
    rms = float(np.sqrt(np.mean(known**2))) if len(known) else float("nan")
    right, base = WIDTH - RIGHT, HEIGHT - BOTTOM
    seconds = len(distances) / rate
    return (
        f'<text x="{LEFT}" y="11">{escape(title)}: {rms:.2f} mm rms</text>'
        f'<text x="{LEFT - 4}" y="{TOP + 8}" text-anchor="end">{top:.3g} mm</text>'
        f'<text x="{right}" y="{HEIGHT - 5}" text-anchor="end">{seconds:.0f} s</text>'
        f'<path d="M{LEFT} {TOP}V{base}H{right}M{right + 20} {TOP}V{base}H{WIDTH - 10}" '
        'stroke="#999" fill="none"/>'
        f'<path d="{_curve(distances * 1000.0, top)}" stroke="#1f6fb4" fill="none"/>'
        f'<path d="{_bars(known, top)}" fill="#1f6fb4"/>'
    )


def _curve(values: Array, top: float) -> str:
    groups = np.array_split(values, min(MOST_POINTS, len(values)))
    across = (WIDTH - RIGHT - LEFT) / max(len(groups) - 1, 1)
    down = (HEIGHT - BOTTOM - TOP) / top
    path, pen_down = [], False
    for index, group in enumerate(groups):
        seen = group[np.isfinite(group)]
        if len(seen):
            x, y = LEFT + index * across, HEIGHT - BOTTOM - seen.max() * down
            path.append(f"{'L' if pen_down else 'M'}{x:.1f} {y:.1f}")
        pen_down = bool(len(seen))
    return "".join(path)


def _bars(known: Array, top: float) -> str:
    """How often each size occurs: sizes upwards on the curve's scale, counts to the right."""
    counts, edges = np.histogram(known, BINS, (0.0, top))
    start, down = WIDTH - RIGHT + 20, (HEIGHT - BOTTOM - TOP) / top
    wide = (RIGHT - 30) / max(int(counts.max()), 1)
    bars = [
        f"M{start} {HEIGHT - BOTTOM - low * down:.1f}h{count * wide:.1f}V"
        f"{HEIGHT - BOTTOM - high * down:.1f}H{start}z"
        for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
        if count
    ]
    return "".join(bars)
