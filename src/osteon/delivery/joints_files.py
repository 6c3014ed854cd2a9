"""What ``osteon joints`` writes and prints; residuals as pictures.

Over time and as a distribution, Figs 4 and 6–8 of [000], in SVG.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from osteon.articulation import Limb, table_text
from osteon.delivery.bone_naming import called_by
from osteon.formats import bvh_conventions, whole_file, write, write_readable
from osteon.typing import Array
from osteon.values import Bodies, Connection, Joints, Loop, Motion, event_sentence

JOINTS_FILES = ("skeleton.json", "summary.json", "residuals.svg", "report.html")
"""What a run of ``joints`` writes besides motions."""
TOLD_SENTENCES = 6
"""Advice and warnings that are printed."""


def joints_summary(bodies: Bodies, found: Joints, limbs: Sequence[Limb]) -> dict[str, Any]:
    """Return the facts of a run, as they stand in summary.json. Lengths in millimetres."""
    return {
        "frames": bodies.n_frames,
        "rate": bodies.rate,
        "bodies": bodies.n_bodies,
        "missing": float(1.0 - bodies.seen.mean()),
        "root": found.root,
        "ambiguous": found.ambiguous,
        "joints": {link.child: _joint_facts(link) for link in found.connections},
        "looseness_mm": {name: 1000 * value for name, value in found.looseness.items()},
        "visible_slip_mm": {name: 1000 * value for name, value in found.visible_slips.items()},
        "limbs": [_limb_facts(limb) for limb in limbs],
        "markers": {name: [each.name for each in worn] for name, worn in found.markers.items()},
        "loops": len(found.loops),
        "holds": [_loop_facts(loop) for loop in found.loops],
        "events": len(found.events),
        "advice": [advice.text for advice in found.advice],
        "warnings": [*bodies.source.problems, *found.warnings],
    }


def _joint_facts(link: Connection) -> dict[str, Any]:
    deviations, _ = link.ellipsoid
    return {
        "parent": link.parent,
        "type": link.kind,
        "rms_mm": 1000 * link.rms,
        "deviation_mm": [1000 * float(value) for value in deviations],
        "margin": float(link.margin) if np.isfinite(link.margin) else None,
        "rival": link.rival,
        "ambiguous": link.ambiguous,
    }


def _loop_facts(loop: Loop) -> dict[str, Any]:
    return {"bodies": loop.bodies, "frames": loop.frames, "rms_mm": 1000 * loop.rms}


def _limb_facts(limb: Limb) -> dict[str, Any]:
    return {
        "limb": limb.name,
        "found_mm": 1000 * limb.length,
        "deviation_mm": 1000 * limb.deviation,
        "measured_mm": None if limb.measured is None else 1000 * limb.measured,
        "difference_mm": None if limb.difference is None else 1000 * limb.difference,
    }


def joints_text(found: Joints, limbs: Sequence[Limb]) -> str:
    """Tell a line per joint, and what to know about the take."""
    lines = [f"{found.root} (root)"]
    for link in found.connections:
        if link.kind == "free":
            lines.append(f"{link.child} beside {link.parent}: free, moves on its own")
            continue
        worst = 1000 * link.ellipsoid[0][0]
        note = f"  ambiguous with {'–'.join(link.rival)}" if link.ambiguous and link.rival else ""
        lines.append(
            f"{link.child} on {link.parent}: {link.kind}, residual {1000 * link.rms:.2f} mm, "
            f"known to ±{worst:.{0 if worst >= 10 else 1}f} mm{note}"
        )
    lines += ["", table_text(limbs), ""]
    lines += [
        f"{name} is {', '.join(each.name for each in worn)}" for name, worn in found.markers.items()
    ]
    lines += [event_sentence(event) for event in found.events]
    lines.append(_visible_slips(found))
    # a loop of some frames is told as an event
    lines += [loop.sentence for loop in found.loops if loop.frames is None]
    lines += _first("advice", [advice.text for advice in found.advice])
    lines += _first("warning", found.warnings)
    return "\n".join(lines)


def _visible_slips(found: Joints) -> str:
    sizes = found.visible_slips
    if not sizes:
        return "slips: the take is too short to show any"
    best, worst = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    least, most = (f"from {1000 * sizes[body]:.0f} mm on" for body in (best, worst))
    if least == most:
        return f"slips: one would show {least} at every body"
    return f"slips: one would show {least} at {best}, {most} at {worst}"


def _first(kind: str, sentences: Sequence[str]) -> list[str]:
    """As many as a person reads; worst first, so the rest can wait in a file."""
    lines = [f"{kind}: {sentence}" for sentence in sentences[:TOLD_SENTENCES]]
    more = len(sentences) - TOLD_SENTENCES
    return [*lines, f"{kind}: {more} more in summary.json"] if more > 0 else lines


def write_joints(
    motion: Motion,
    found: Joints,
    summary: dict[str, Any],
    folder: Path,
    formats: Sequence[str] = (),
    names: str | None = None,
) -> None:
    """Write skeleton.json, summary.json, the residual plots and the motion in ``folder``.

    Parameters
    ----------
    formats
        Endings of further motion files, such as ``glb``.
    names
        Scheme of bone names for the motion files; by default those of the bodies.
    """
    folder.mkdir(parents=True, exist_ok=True)
    motion, naming = called_by(motion, names)
    write(found.skeleton(), folder / "skeleton.json")
    bvh = bvh_conventions()
    motions = list(write(motion, folder / "motion.bvh", **bvh))
    for ending in dict.fromkeys(ending for ending in formats if ending != "bvh"):
        motions += write(motion, folder / f"motion.{ending}")
    files = [*JOINTS_FILES, *(file.name for file in motions)]
    write_readable(summary | naming | {"files": files, "bvh": bvh}, folder / "summary.json")
    with whole_file(folder / "residuals.svg") as partial:
        partial.write_text(residual_page(found), encoding="utf-8")


WIDTH, HEIGHT = 640, 96
"""Pixels of a joint's row, and below its margins; chosen: ten rows on a screen."""
LEFT, RIGHT, TOP, BOTTOM = 60, 190, 16, 18
MOST_POINTS = 300
"""Points of a curve: each is the largest of the frames it stands for, so no peak is lost."""
HISTOGRAM_BINS = 30


def residual_page(joints: Joints) -> str:
    """Draw all joints below one another, as one SVG document."""
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
    counts, edges = np.histogram(known, HISTOGRAM_BINS, (0.0, top))
    start, down = WIDTH - RIGHT + 20, (HEIGHT - BOTTOM - TOP) / top
    wide = (RIGHT - 30) / max(int(counts.max()), 1)
    bars = [
        f"M{start} {HEIGHT - BOTTOM - low * down:.1f}h{count * wide:.1f}V"
        f"{HEIGHT - BOTTOM - high * down:.1f}H{start}z"
        for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
        if count
    ]
    return "".join(bars)
