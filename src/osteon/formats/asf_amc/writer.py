"""Writing ASF/AMC: any skeleton, its limits, and its motion.

In an ASF file every bone starts where its parent ends. Where a joint of ours lies elsewhere on the
parent, a rigid bone without degrees of freedom is laid from the parent's end to it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.errors import BadValue, WrongContent
from osteon.formats.registry import WriteOptions, check_posed
from osteon.formats.shared.units import CYCLIC_TO_Z_UP, METRES, metres_per, turn_local, turn_points
from osteon.maths import euler, quat
from osteon.typing import Array
from osteon.values import Body, Joint, Motion, Skeleton, Source, Take

STILL_ANGLE = 1e-9
"""Radians; an axis that turns less is no degree of freedom. Chosen: far above what doubles round,
far below any motion."""
SAME_PLACE = 1e-9
"""Metres; chosen: far above what doubles round, far below any bone."""
UNSAFE = re.compile(r"[\s#:(),]+")
TO_FILE = quat.inverse(CYCLIC_TO_Z_UP)


@dataclass
class AsfRow:
    """A bone to be written: vectors in the file's world, metres; angles in radians."""

    name: str
    parent: str
    end: Array
    frame: Array
    """(4,) the bone's axes at rest."""
    dofs: str = ""
    limits: tuple[tuple[float, float], ...] = ()
    angles: Array | None = None
    """(n_frames, n_dofs)."""
    link: bool = False
    """Whether it only bridges the way to a joint."""


def write_asf(path: Path, take: Take, options: WriteOptions) -> None:
    motion = take.motions[0] if take.motions else None
    skeleton = take.skeleton()
    length = METRES["in"] / metres_per(_unit(motion, options))
    rows = _rows(path, skeleton, motion)
    lines = [
        "# written by osteon",
        ":version 1.10",
        f":name {UNSAFE.sub('_', skeleton.subject) or 'skeleton'}",
        ":units",
        "  mass 1.0",
        f"  length {length:.12g}",
        "  angle deg",
        ":documentation",
        "   lengths are inches divided by the length above",
        f"   osteon root {_safe(skeleton.names[0])}",
        *(f"   osteon link {row.name}" for row in rows if row.link),
        ":root",
        "   order TX TY TZ RX RY RZ",
        "   axis XYZ",
        "   position 0 0 0",
        "   orientation 0 0 0",
        ":bonedata",
    ]
    scale = length / METRES["in"]
    for number, row in enumerate(rows, 1):
        lines += _bone(row, number, scale)
    lines += [":hierarchy", "  begin"]
    children: dict[str, list[str]] = {}
    for row in rows:
        children.setdefault(row.parent, []).append(row.name)
    lines += [f"    {parent} {' '.join(names)}" for parent, names in children.items()]
    path.write_text("\n".join([*lines, "  end", ""]), encoding="utf-8", newline="\n")


def write_amc(path: Path, take: Take, options: WriteOptions) -> None:
    motion = take.motion()
    rows = _rows(path, motion.skeleton, motion)
    scale = 1.0 / metres_per(_unit(motion, options))
    turned = euler.from_quat(turn_local(motion.rotations[:, 0], TO_FILE), "zyx")[:, ::-1]
    tracks = [("root", np.hstack([turn_points(motion.root * scale, TO_FILE), np.degrees(turned)]))]
    tracks += [(r.name, np.degrees(r.angles)) for r in rows if r.dofs and r.angles is not None]
    template = "".join(f"{name}{' %.10g' * values.shape[1]}\n" for name, values in tracks)
    table = np.hstack([values for _, values in tracks]) + 0.0
    first = motion.source.first_frame if motion.source.format == "ASF/AMC" else 1
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f":FULLY-SPECIFIED\n:DEGREES\n:SAMPLES-PER-SECOND {motion.rate:.12g}\n")
        for frame, values in enumerate(table.tolist(), first):
            file.write(f"{frame}\n")
            file.write(template % tuple(values))


def _unit(motion: Motion | None, options: WriteOptions) -> str:
    if options.up not in (None, "y"):
        raise BadValue(f"ASF/AMC files are y up, got up={options.up!r}; leave it out")
    source = motion.source if motion is not None else Source()
    return options.unit or (source.unit if source.format == "ASF/AMC" else "m")


def _bone(row: AsfRow, number: int, scale: float) -> Iterator[str]:
    length = float(np.linalg.norm(row.end))
    direction = row.end / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    axis = np.degrees(euler.from_quat(row.frame[None], "zyx")[0, ::-1]) + 0.0
    yield "  begin"
    yield f"     id {number}"
    yield f"     name {row.name}"
    yield f"     direction {_numbers(direction)}"
    yield f"     length {length * scale:.12g}"
    yield f"     axis {_numbers(axis)} XYZ"
    if row.dofs:
        yield f"    dof {' '.join('r' + dof for dof in row.dofs)}"
    for index, limits in enumerate(row.limits):
        yield f"    {'limits' if not index else '      '} ({_numbers(np.degrees(limits))})"
    yield "  end"


def _numbers(values: Array) -> str:
    return " ".join(f"{value:.12g}" for value in values)


def _rows(path: Path, skeleton: Skeleton, motion: Motion | None) -> list[AsfRow]:
    """Return bones in tree order, with rigid ones laid between where joints lie apart."""
    _check(path, skeleton, motion)
    names = _safe_names(skeleton)
    offsets = turn_points(skeleton.offsets, TO_FILE)
    parents = skeleton.parents
    ends = _ends(skeleton, offsets)
    rows: list[AsfRow] = []
    for index, body in enumerate(skeleton.bodies):
        parent = parents[index]
        if parent < 0:
            continue
        hook, gap = names[parent], offsets[index] - ends[parent]
        if np.linalg.norm(gap) > SAME_PLACE:
            hook = _find_unused(f"{names[parent]}_to_{names[index]}", names)
            names.append(hook)
            rows.append(AsfRow(hook, names[parent], gap, quat.identity(), link=True))
        rotations = None if motion is None else motion.rotations[:, index]
        rows.append(
            _keep_moving(AsfRow(names[index], hook, ends[index], quat.identity()), body, rotations)
        )
    return rows


def _check(path: Path, skeleton: Skeleton, motion: Motion | None) -> None:
    if skeleton.parents.count(-1) != 1:
        raise WrongContent(path, "ASF needs a skeleton with exactly one root")
    if motion is not None:
        check_posed(motion, path, "AMC")
        if motion.offsets is not None:
            raise WrongContent(path, "bones of this motion change length, which ASF cannot say")


def _ends(skeleton: Skeleton, offsets: Array) -> Array:
    """Return (n_bodies, 3) where each bone ends: at its first child, else its tip. The root has no
    end."""
    ends = np.zeros_like(offsets)
    given = {0}
    for index, parent in enumerate(skeleton.parents):
        if parent >= 0 and parent not in given:
            ends[parent] = offsets[index]
            given.add(parent)
    for index, body in enumerate(skeleton.bodies):
        if index not in given and (tip := body.tip_from_joint) is not None:
            ends[index] = turn_points(tip, TO_FILE)
    return ends


def _keep_moving(row: AsfRow, body: Body, rotations: Array | None) -> AsfRow:
    """Return the row with its degrees of freedom: those the joint declares, and those that move."""
    frame, declared, ranges = _axes(body.joint)
    order = declared + "".join(axis for axis in "zyx" if axis not in declared)
    kept = [axis in declared for axis in order]
    angles = None
    if rotations is not None:
        inner = quat.multiply(quat.multiply(quat.inverse(frame), rotations), frame)
        angles = _within(euler.from_quat(inner, order), len(declared))
        kept = [k or bool(np.any(np.abs(angles[:, i]) > STILL_ANGLE)) for i, k in enumerate(kept)]
    # the file's first dof turns first, ours stands next to the parent: the order is reversed
    places = [i for i in (2, 1, 0) if kept[i]]
    row.dofs = "".join(order[i] for i in places)
    row.frame = quat.multiply(TO_FILE, frame)
    row.angles = None if angles is None else angles[:, places]
    if ranges:
        row.limits = tuple(ranges.get(axis, (-np.inf, np.inf)) for axis in row.dofs)
    return row


def _within(angles: Array, n_declared: int) -> Array:
    """Return in each frame that of the two sets which leaves the axes beyond the declared ones at
    rest."""
    other = euler.second_set(angles)
    rest, other_rest = (
        np.sum(np.sin(0.5 * some[:, n_declared:]) ** 2, axis=1) for some in (angles, other)
    )
    better = other_rest < rest - STILL_ANGLE
    if better.any():
        angles = np.unwrap(np.where(better[:, None], other, angles), axis=0)
    turns = np.rint(angles / (2.0 * np.pi))
    turns[:, :n_declared] = 0.0
    return angles - 2.0 * np.pi * turns


def _axes(joint: Joint) -> tuple[Array, str, dict[str, tuple[float, float]]]:
    """Return the frame (4,) of a joint's axes, the axes next to the parent first, and their
    ranges."""
    limits = joint.limits
    letters = "".join(axis for axis, _, _ in limits.euler) if limits else ""
    if limits and letters and len(set(letters)) == len(letters):
        ranges = {axis: (low, high) for axis, low, high in limits.euler}
        return np.array(limits.frame), letters, ranges
    if joint.kind == "hinge" and len(joint.axes) == 1:
        frame = quat.shortest(np.array([1.0, 0.0, 0.0]), joint.axes[0])
        return frame, "x", {"x": limits.hinge} if limits and limits.hinge else {}
    if joint.kind == "universal" and len(joint.axes) == 2 and _square(joint.axes):
        columns = np.stack([*joint.axes, np.cross(*joint.axes)], axis=-1)
        return quat.from_matrix(columns), "xy", {}
    return CYCLIC_TO_Z_UP, "" if joint.kind == "fixed" else "zyx", {}


def _square(axes: Array) -> bool:
    return bool(np.abs(axes @ axes.T - np.eye(2)).max() < 1e-9)


def _safe_names(skeleton: Skeleton) -> list[str]:
    """Return names that ASF can hold, unique; the root is always ``root``."""
    names: list[str] = []
    for body in skeleton.bodies:
        names.append(_find_unused("root" if body.parent is None else _safe(body.name), names))
    return names


def _safe(name: str) -> str:
    return UNSAFE.sub("_", name) or "bone"


def _find_unused(name: str, names: list[str]) -> str:
    taken = set(names)
    while name in taken:
        name += "_"
    return name
