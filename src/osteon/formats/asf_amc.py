"""ASF/AMC, Acclaim's pair of files: a skeleton, and what each bone does in every frame.

Both are y up; they are turned so that CMU's lie on the C3D files of the same takes: (x, y, z) of
ours is (z, x, y) of the file.

Written is any skeleton, its limits, and its motion. In an ASF file every bone starts where its
parent ends. Where a joint of ours lies elsewhere on the parent, a rigid bone without degrees of
freedom is laid from the parent's end to it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.errors import BadValue, FormatError, WrongContent
from osteon.formats.asf import Asf, read_asf_file, to_skeleton, turn_in_order
from osteon.formats.registry import Format, WriteOptions, check_one_root, check_posed
from osteon.formats.shared.text_table import (
    LARGEST_NUMBER,
    number_or_nan,
    perhaps_cut,
    unused_name,
    unused_names,
)
from osteon.formats.shared.units import CYCLIC_TO_Z_UP, METRES, metres_per, turn_local, turn_points
from osteon.maths import euler, quat
from osteon.typing import Array
from osteon.values import Body, Joint, Motion, Skeleton, Source, Take

DEFAULT_RATE = 120.0
"""Frames per second, defined by the CMU archive, where most such files come from; few say it."""
RATE = re.compile(r":SAMPLES-PER-SECOND\s+(\S+)", re.IGNORECASE)
MOST_POSE_RATIO = 2
"""Ratio of poses to numbers, at most; chosen: bones without dof cost memory, but no bytes."""
STILL_ANGLE = 1e-9
"""Radians; an axis that turns less is no dof; chosen: far above what doubles round."""
SAME_PLACE = 1e-9
"""Metres; chosen: far above what doubles round, far below any bone."""
UNSAFE = re.compile(r"[\s#:(),]+")
TO_FILE = quat.inverse(CYCLIC_TO_Z_UP)


def sniff_asf(head: bytes) -> bool:
    first = _first_words(head)
    return first[:1] in ([":version"], [":name"], [":units"], [":root"], [":bonedata"])


def sniff_amc(head: bytes) -> bool:
    first = _first_words(head)
    if first[:1] in ([":fully-specified"], [":degrees"], [":radians"]):
        return True
    return first[:2] == ["1", "root"] or head.lstrip(b"\xef\xbb\xbf").startswith(b"#!OML:ASF")


def _first_words(head: bytes) -> list[str]:
    lines = head.decode("utf-8-sig", "replace").splitlines()
    return " ".join(line.partition("#")[0] for line in lines).lower().split(None, 2)[:2]


def read_asf(path: Path) -> Take:
    return Take(skeletons=(to_skeleton(read_asf_file(path)),))


def read_amc(path: Path) -> Take:
    skeleton_path = find_asf(path)
    asf = read_asf_file(skeleton_path)
    amc = AmcReader(path, asf, skeleton_path.name)
    amc.read()
    numbers = sum(len(track) * (1 + len(track[0])) for track in amc.tracks.values())
    if amc.n_frames * len(asf.bones) > MOST_POSE_RATIO * numbers + 1_000_000:
        raise FormatError(path, f"most of the {len(asf.bones)} bones in {skeleton_path.name} rest")
    root, rotations = _poses(asf, amc)
    motion = Motion(
        to_skeleton(asf),
        turn_local(rotations, CYCLIC_TO_Z_UP),
        turn_points(root * metres_per(asf.unit), CYCLIC_TO_Z_UP),
        amc.rate or DEFAULT_RATE,
        source=Source(
            path.name,
            "ASF/AMC",
            detail=f"skeleton {skeleton_path.name}",
            unit=asf.unit,
            up="y",
            first_frame=amc.first_frame,
            problems=tuple(amc.problems()),
        ),
    )
    return Take(motions=(motion,))


def find_asf(path: Path) -> Path:
    """Return the skeleton beside a motion: same stem, the subject's stem, or the only one there."""
    there = sorted(p for p in path.parent.iterdir() if p.suffix.lower() == ".asf" and p.is_file())
    stems = [path.stem] + ([path.stem.rpartition("_")[0]] if "_" in path.stem else [])
    for stem in stems:
        for candidate in there:
            if candidate.stem.lower() == stem.lower():
                return candidate
    if len(there) == 1:
        return there[0]
    looked = " or ".join(f"{stem}.asf" for stem in stems)
    raise FormatError(
        path, f"an AMC file needs its skeleton: put {looked} beside it ({len(there)} others there)"
    )


def _poses(asf: Asf, amc: "AmcReader") -> tuple[Array, Array]:
    """Return the root's place (n_frames, 3) and local rotations, in the file's unit and world."""
    tracks = {name: np.array(track) for name, track in amc.tracks.items()}
    root = tracks["root"]
    rotations = quat.identity((len(root), 1 + len(asf.moving)))
    place = np.zeros((len(root), 3)) + asf.position
    for column, token in enumerate(asf.order):
        if token[0] == "t":
            place[:, "xyz".index(token[1])] += root[:, column]
    turns = [(i, token[1]) for i, token in enumerate(asf.order) if token[0] == "r"]
    turned = _turn(amc, root[:, [i for i, _ in turns]], "".join(axis for _, axis in turns))
    rotations[:, 0] = quat.multiply(turned, asf.orientation.frame)
    for column, bone in enumerate(asf.moving, 1):
        if bone.name in tracks and bone.dofs:
            moved = _turn(amc, tracks[bone.name], "".join(bone.dofs))
            rotations[:, column] = quat.multiply(
                quat.multiply(bone.frame, moved), quat.inverse(bone.frame)
            )
    return place, rotations


def _turn(amc: "AmcReader", angles: Array, order: str) -> Array:
    return turn_in_order(np.radians(angles) if amc.degrees else angles, order)


class AmcReader:
    """The numbers of every bone, frame by frame, checked against the skeleton."""

    def __init__(self, path: Path, asf: Asf, skeleton: str) -> None:
        self.path, self.asf, self.skeleton = path, asf, skeleton
        self.degrees = asf.degrees
        self.rate: float | None = None
        self.first_frame = 0
        self.widths = {"root": len(asf.order)}
        self.widths |= {bone.name: len(bone.dofs) for bone in asf.bones.values()}
        self.tracks: dict[str, list[list[float]]] = {"root": []}
        self.n_frames = 0
        self.cut: tuple[str, ...] = ()

    def read(self) -> None:
        lines = self.path.read_text(encoding="utf-8-sig", errors="replace").split("\n")
        self.cut = perhaps_cut(lines)
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or words[0][0] == "#":
                continue
            if words[0][0] == ":":
                self.header(number, line.strip())
            elif len(words) == 1 and words[0] not in self.widths:
                self.frame(number, words[0])
            else:
                self.bone(number, words)
        self.complete(f"{self.n_frames - 1} whole frames are there, then the file ends")
        if not self.n_frames:
            raise FormatError(self.path, "holds no frames")

    def header(self, number: int, line: str) -> None:
        if line.upper().startswith(":RADIANS"):
            self.degrees = False
        elif line.upper().startswith(":DEGREES"):
            self.degrees = True
        elif match := RATE.match(line):
            self.rate = number_or_nan(match[1])
            if not (np.isfinite(self.rate) and self.rate > 0.0):
                raise self.error(
                    number, f"samples per second must be above zero: {match[1][:24]!r}"
                )

    def frame(self, number: int, word: str) -> None:
        wanted = self.first_frame + self.n_frames
        if not (word.isdecimal() and len(word) < 12) or (self.n_frames and int(word) != wanted):
            expected = f"frame {wanted}" if self.n_frames else "a frame number"
            raise self.error(number, f"expected {expected}, got {word[:24]!r}")
        self.complete(f"frame {wanted - 1} ends")
        if not self.n_frames:
            self.first_frame = int(word)
        self.n_frames += 1

    def complete(self, where: str) -> None:
        """Refuse a frame in which a bone that moved before does not."""
        for name, track in self.tracks.items():
            if len(track) < self.n_frames:
                raise FormatError(self.path, f"{where} without {name!r}")

    def bone(self, number: int, words: list[str]) -> None:
        name = words[0]
        if name not in self.widths:
            raise self.error(number, f"bone {name[:40]!r} is not in {self.skeleton}")
        if not self.n_frames:
            raise self.error(number, "a frame number must come before the first bone")
        track = self.tracks.setdefault(name, [])
        if len(track) != self.n_frames - 1:
            twice = len(track) == self.n_frames
            problem = "appears twice in this frame" if twice else "was missing in earlier frames"
            raise self.error(number, f"bone {name!r} {problem}")
        try:
            values = [float(word) for word in words[1:]]
        except ValueError:
            values = []
        sane = all(abs(value) <= LARGEST_NUMBER for value in values)
        if len(values) != self.widths[name] or not sane:
            raise self.error(
                number, f"{name} has {self.widths[name]} degrees of freedom, got {words[1:][:7]}"
            )
        track.append(values)

    def problems(self) -> list[str]:
        found = []
        if self.rate is None:
            found.append(f"the file names no rate; {DEFAULT_RATE:g} frames per second assumed")
        still = [n for n, width in self.widths.items() if width and n not in self.tracks]
        if still:
            found.append(f"not in the motion, held at rest: {', '.join(still[:8])}")
        if np.any(self.asf.position) or np.any(self.asf.orientation.axis):
            found.append("the skeleton's preset place of the root was added to the motion")
        return [*found, *self.cut]

    def error(self, number: int, problem: str) -> FormatError:
        return FormatError(self.path, problem, f"line {number}")


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
    names = unused_names(
        "root" if body.parent is None else _safe(body.name) for body in skeleton.bodies
    )
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
            hook = unused_name(f"{names[parent]}_to_{names[index]}", names)
            names.append(hook)
            rows.append(AsfRow(hook, names[parent], gap, quat.identity(), link=True))
        rotations = None if motion is None else motion.rotations[:, index]
        rows.append(
            _keep_moving(AsfRow(names[index], hook, ends[index], quat.identity()), body, rotations)
        )
    return rows


def _check(path: Path, skeleton: Skeleton, motion: Motion | None) -> None:
    check_one_root(skeleton, path, "ASF")
    if motion is not None:
        check_posed(motion, path, "AMC")
        if motion.offsets is not None:
            raise WrongContent(path, "bones of this motion change length, which ASF cannot say")


def _ends(skeleton: Skeleton, offsets: Array) -> Array:
    """Return (n_bodies, 3) where bones end: at the first child, else the tip; the root nowhere."""
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
    """Return, of the two sets in each frame, the one with the undeclared axes at rest."""
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
    """Return the frame (4,) of a joint's axes, these from the parent on, and their ranges."""
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


def _safe(name: str) -> str:
    return UNSAFE.sub("_", name) or "bone"


ASF = Format(
    name="ASF",
    suffixes=(".asf",),
    sniff=sniff_asf,
    read=read_asf,
    write=write_asf,
    holds=frozenset({"skeleton"}),
)
AMC = Format(
    name="ASF/AMC",
    suffixes=(".amc",),
    sniff=sniff_amc,
    read=read_amc,
    write=write_amc,
    holds=frozenset({"motion"}),
    beside={".asf": write_asf},
)
