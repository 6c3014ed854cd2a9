"""What ``osteon field`` writes and prints: a tracker's scale, noise and distortion.

The distance over time is Fig. 4 of [000]; maps show the volume.
"""

from pathlib import Path
from typing import Any

import numpy as np

from osteon.cleaning import FieldWalk
from osteon.formats import whole_file, write_field, write_readable
from osteon.typing import Array

FIELD_FILES = ("field.json", "field.svg", "summary.json")
"""What a run of ``field`` writes."""
PAGE_WIDTH, PLOT_HEIGHT, MAP_HEIGHT = 760, 150, 360
"""Pixels of the picture, of its plot and of its maps; chosen: a screen's width."""
PAGE_MARGIN = 56
"""Pixels beside plots, chosen: numbers fit."""
CURVE_POINTS = 700
"""Count of points of a curve; chosen: one per pixel."""
CELL_COUNT = 12
"""Count of cells along the longer side of a map; chosen: arrows stay apart."""
EXAGGERATION_RATIO = 20.0
"""Ratio by which arrows are longer than what they show; chosen: millimetres of metres are seen."""
DISTANCE_BINS = 40
"""Count of bars of the distribution, chosen."""
SHOWN_SPREAD = 4.0
"""Standard deviations about the bar's length that the plot shows; chosen: strays lie beyond."""


def field_summary(walk: FieldWalk) -> dict[str, Any]:
    """Return the facts of a run, as they stand in summary.json. Lengths in millimetres."""
    field = walk.field
    bends = np.linalg.norm(field.bend(walk.places), axis=-1)
    noise = field.noise(walk.places)
    return {
        "sensors": walk.sensors,
        "samples": len(walk.times),
        "seconds": float(walk.times[-1] - walk.times[0]),
        "distance_mm": 1000 * field.distance,
        "scale": field.scale,
        "volume_m": [2.0 * float(side) * field.scale for side in field.reach],
        "scatter_scaled_mm": 1000 * float(np.std(walk.scaled)),
        "scatter_left_mm": 1000 * walk.left,
        "scatter_white_mm": 1000 * walk.white,
        "bend_median_mm": 1000 * float(np.median(bends)),
        "bend_most_mm": 1000 * float(bends.max()),
        "noise_least_mm": 1000 * float(noise.min()),
        "noise_most_mm": 1000 * float(noise.max()),
        "turn_deg": None if walk.turn is None else float(np.degrees(walk.turn)),
        "warnings": list(walk.notes),
    }


def field_text(walk: FieldWalk) -> str:
    """Tell what the tracker does, in a few lines."""
    told = field_summary(walk)
    sides = " × ".join(f"{side:.1f}" for side in told["volume_m"])
    lines = [
        f"{walk.sensors[0]} and {walk.sensors[1]}, {100 * walk.field.distance:.1f} cm apart, "
        f"walked through {sides} m in {told['seconds']:.0f} s",
        f"scale: {walk.field.scale:.3f}",
        f"distance: ±{told['scatter_scaled_mm']:.1f} mm by the scale alone, "
        f"±{told['scatter_left_mm']:.1f} mm with the field taken off (where it had not seen the "
        f"bar), of which ±{told['scatter_white_mm']:.1f} mm change from frame to frame",
        f"field: moves places by {told['bend_median_mm']:.0f} mm in the median, at most "
        f"{told['bend_most_mm']:.0f} mm",
        f"noise of a sensor: ±{told['noise_least_mm']:.1f} to ±{told['noise_most_mm']:.1f} mm an "
        "axis over the volume",
    ]
    if walk.turn is not None:
        lines.append(f"orientations: both turn against each other by {told['turn_deg']:.1f}°")
    return "\n".join([*lines, *(f"warning: {note}" for note in walk.notes)])


def write_field_files(walk: FieldWalk, folder: Path) -> None:
    """Write field.json, field.svg and summary.json in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    write_field(folder / "field.json", walk.field)
    write_readable(field_summary(walk) | {"files": list(FIELD_FILES)}, folder / "summary.json")
    with whole_file(folder / "field.svg") as partial:
        partial.write_text(field_picture(walk), encoding="utf-8")


def field_picture(walk: FieldWalk) -> str:
    """Draw the distance over time and its distribution, and the volume from above and aside."""
    height = PLOT_HEIGHT + MAP_HEIGHT
    maps = [_map(walk, (0, 1), "from above"), _map(walk, (0, 2), "from the side")]
    half = PAGE_WIDTH / 2
    placed = "".join(
        f'<g transform="translate({half * k:.0f} {PLOT_HEIGHT})">{drawn}</g>'
        for k, drawn in enumerate(maps)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PAGE_WIDTH} {height}" '
        f'width="{PAGE_WIDTH}" height="{height}" font-family="sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="#fff"/>{_plot(walk)}{placed}</svg>\n'
    )


def _plot(walk: FieldWalk) -> str:
    length = walk.field.distance
    span = SHOWN_SPREAD * max(float(np.std(walk.scaled)), 1e-4)
    right, top, base = PAGE_WIDTH - 190, 30, PLOT_HEIGHT - 20

    def down(values: Array) -> Array:
        return np.clip(
            0.5 * (top + base) - (values - length) / span * 0.5 * (base - top), top, base
        )

    shown = np.linspace(0, len(walk.times) - 1, min(CURVE_POINTS, len(walk.times))).astype(int)
    across = PAGE_MARGIN + (right - PAGE_MARGIN) * np.linspace(0.0, 1.0, len(shown))
    parts = [
        f'<text x="{PAGE_MARGIN}" y="16">distance of {walk.sensors[0]} and {walk.sensors[1]}: '
        f'<tspan fill="#c98a3d">scaled ±{1000 * np.std(walk.scaled):.1f} mm</tspan>, '
        f'<tspan fill="#1f6fb4">field taken off ±{1000 * walk.left:.1f} mm</tspan></text>',
        f'<text x="{PAGE_MARGIN - 4}" y="{top + 9}" text-anchor="end">+{1000 * span:.0f} mm</text>',
        f'<text x="{PAGE_MARGIN - 4}" y="{0.5 * (top + base) + 4:.0f}" text-anchor="end">'
        f"{100 * length:.1f} cm</text>",
        f'<text x="{right}" y="{PLOT_HEIGHT - 6}" text-anchor="end">{walk.times[-1]:.0f} s</text>',
        f'<path d="M{PAGE_MARGIN} {top}V{base}H{right}M{right + 20} {top}V{base}'
        f'H{PAGE_WIDTH - 10}" '
        'stroke="#999" fill="none"/>',
    ]
    for values, colour in ((walk.scaled, "#e3b77f"), (walk.corrected, "#1f6fb4")):
        heights = down(values)
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(across, heights[shown], strict=True))
        parts.append(f'<path d="M{line}" stroke="{colour}" fill="none" stroke-width="0.8"/>')
        parts.append(_distribution(heights, colour, right + 20, (top, base)))
    return "".join(parts)


def _distribution(heights: Array, colour: str, start: float, ends: tuple[float, float]) -> str:
    """How often each distance occurs, to the right, on the curve's scale."""
    counts, edges = np.histogram(heights, DISTANCE_BINS, ends)
    wide = (PAGE_WIDTH - 10 - start) / max(int(counts.max()), 1)
    line = "".join(
        f"V{low:.1f}H{start + wide * count:.1f}" for count, low in zip(counts, edges, strict=False)
    )
    return f'<path d="M{start} {ends[0]}{line}V{ends[1]}H{start}" stroke="{colour}" fill="none"/>'


def _map(walk: FieldWalk, axes: tuple[int, int], title: str) -> str:
    """Arrows: where places are moved to, many times as far; colour: noise. Where the bar was."""
    points = walk.places.reshape(-1, 3)
    low, high = points[:, axes].min(axis=0), points[:, axes].max(axis=0)
    cell = float((high - low).max()) / CELL_COUNT
    inner = PAGE_WIDTH / 2 - 1.5 * PAGE_MARGIN
    pixels = inner / (cell * CELL_COUNT)
    which = np.minimum(((points[:, axes] - low) / cell).astype(int), CELL_COUNT - 1)
    moved, noise = walk.field.bend(points)[:, axes], walk.field.noise(points)
    quiet, loud = float(noise.min()), max(float(noise.max()), 1e-9)
    parts = [
        f'<text x="{PAGE_MARGIN}" y="16">{title}: x, {"xyz"[axes[1]]}; field ×'
        f"{EXAGGERATION_RATIO:.0f}; noise {1000 * quiet:.1f} (light) to {1000 * loud:.1f} mm</text>"
    ]
    for column, row in np.unique(which, axis=0):
        here = (which == (column, row)).all(axis=1)
        share = (float(noise[here].mean()) - quiet) / max(loud - quiet, 1e-9)
        x = PAGE_MARGIN + pixels * cell * column
        y = MAP_HEIGHT - 24 - pixels * cell * (row + 1)
        size = pixels * cell
        middle = np.array([x, y]) + 0.5 * size
        tip = middle + EXAGGERATION_RATIO * pixels * moved[here].mean(axis=0) * (1, -1)
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" height="{size:.1f}" '
            f'fill="#d66" fill-opacity="{0.08 + 0.6 * share:.2f}"/>'
            f'<path d="M{middle[0]:.1f} {middle[1]:.1f}L{tip[0]:.1f} {tip[1]:.1f}" '
            'stroke="#1f4f80" stroke-width="1.4"/>'
            f'<circle cx="{tip[0]:.1f}" cy="{tip[1]:.1f}" r="2" fill="#1f4f80"/>'
        )
    metre = pixels / walk.field.scale
    base = MAP_HEIGHT - 10
    parts.append(
        f'<path d="M{PAGE_MARGIN} {base}h{metre:.1f}" stroke="#333" stroke-width="2"/>'
        f'<text x="{PAGE_MARGIN + metre + 6:.0f}" y="{base + 4}">1 m</text>'
    )
    return "".join(parts)
