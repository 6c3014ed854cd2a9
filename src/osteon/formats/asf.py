"""ASF, the skeleton half of Acclaim's pair of files: bones with direction, length and axes.

A bone starts where its parent ends; the root has no length. The ``axis`` of a bone is a frame C,
given by angles in the world at rest; its rotation against its parent is C·M·C⁻¹, where M turns
about the axes of ``dof`` one after the other, the first one first. Lengths are inches divided by
``:units length``. Commas and parentheses count as blanks, ``#`` starts a comment.

Lines ``osteon root …`` and ``osteon link …`` in the documentation are our writer's: the name
of the root, and rigid bones laid between joints that lie apart, which are left out again.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.shared.text_table import is_sane
from osteon.formats.shared.units import CYCLIC_TO_Z_UP, metres_per, turn_points
from osteon.maths import euler, quat
from osteon.typing import Array
from osteon.values import Body, Joint, Limits, Skeleton

BLANKS = re.compile(r"[(),]")
ROOT_TOKENS = ("tx", "ty", "tz", "rx", "ry", "rz")
KINDS = ("fixed", "hinge", "universal", "ball")
Line = tuple[int, list[str]]
"""Number of a line in the file, and its words."""


@dataclass
class AsfBone:
    """A bone as the file gives it; angles in radians, lengths in the file's unit."""

    name: str
    line: int
    direction: Array = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axis: Array = field(default_factory=lambda: np.zeros(3))
    axis_order: str = "xyz"
    dofs: tuple[str, ...] = ()
    """Axes about which it turns, in the order of the file."""
    limits: tuple[tuple[float, float], ...] = ()
    parent: str = ""

    @property
    def frame(self) -> Array:
        """(4,) C: to the world at rest from the bone's axes."""
        angles = self.axis[["xyz".index(axis) for axis in self.axis_order]]
        return turn_in_order(angles, self.axis_order)

    @property
    def end(self) -> Array:
        return self.direction * self.length


@dataclass
class Asf:
    """All that an ASF file says."""

    name: str = ""
    length: float = 1.0
    degrees: bool = True
    order: tuple[str, ...] = ROOT_TOKENS
    """What the root's numbers in the AMC file are, such as ``tx`` or ``rz``."""
    position: Array = field(default_factory=lambda: np.zeros(3))
    orientation: AsfBone = field(default_factory=lambda: AsfBone("root", 0))
    bones: dict[str, AsfBone] = field(default_factory=dict)
    """Parents stand before their children."""
    root_name: str = "root"
    links: frozenset[str] = frozenset()
    """Rigid bones that stand for no body."""

    @property
    def unit(self) -> str:
        return f"in/{self.length!r}"

    @property
    def moving(self) -> list[AsfBone]:
        """Bones that are bodies."""
        return [bone for bone in self.bones.values() if bone.name not in self.links]

    def start(self, bone: AsfBone) -> tuple[str, Array]:
        """Return the body that a bone hangs on, and where on it."""
        start, name = np.zeros(3), bone.parent
        if name in self.links:
            start, name = self.bones[name].end, self.bones[name].parent
        return (self.root_name, start) if name == "root" else (name, start + self.bones[name].end)


def turn_in_order(angles: Array, order: str) -> Array:
    """Return rotations (..., 4) by angles (..., n) about fixed axes, in the order they turn."""
    return euler.to_quat(angles[..., ::-1], order[::-1])


def read_asf_file(path: Path) -> Asf:
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    sections: dict[str, list[Line]] = {}
    current: list[Line] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = BLANKS.sub(" ", line.partition("#")[0]).split()
        if words and words[0].startswith(":"):
            current = sections.setdefault(words[0].lower(), [])
            words = words[1:]
        if words:
            current.append((number, words))
    return AsfReader(path, sections).read()


class AsfReader:
    """Sections of an ASF file, each a list of lines."""

    def __init__(self, path: Path, sections: dict[str, list[Line]]) -> None:
        self.path, self.sections = path, sections
        self.asf = Asf()

    def read(self) -> Asf:
        for needed in (":root", ":bonedata", ":hierarchy"):
            if needed not in self.sections:
                raise FormatError(
                    self.path, f"there is no {needed} section; is the file cut short?"
                )
        self.asf.name = " ".join(w for _, words in self.sections.get(":name", []) for w in words)
        self.units()
        self.root()
        bones = self.bones()
        self.hierarchy(bones)
        self.notes()
        return self.asf

    def notes(self) -> None:
        links = set()
        for _, words in self.sections.get(":documentation", []):
            if words[:2] == ["osteon", "root"] and words[2:] and words[2] not in self.asf.bones:
                self.asf.root_name = words[2]
            elif words[:2] == ["osteon", "link"]:
                links |= {name for name in words[2:] if name in self.asf.bones}
        ends = set(self.asf.bones) - {bone.parent for bone in self.asf.bones.values()}
        bones = {name: self.asf.bones[name] for name in links - ends}
        self.asf.links = frozenset(
            name for name, bone in bones.items() if not bone.dofs and bone.parent not in links
        )

    def units(self) -> None:
        for number, words in self.sections.get(":units", []):
            if words[0].lower() == "length":
                (self.asf.length,) = self.numbers(number, words[1:2], 1)
                if not 1e-9 < self.asf.length < 1e9:
                    raise self.error(number, f"length must be above zero, got {words[1]}")
            elif words[0].lower() == "angle":
                self.asf.degrees = not "".join(words[1:2]).lower().startswith("rad")

    def root(self) -> None:
        for number, words in self.sections[":root"]:
            key = words[0].lower()
            if key == "order":
                order = tuple(word.lower() for word in words[1:])
                if len(set(order)) != len(order) or not set(order) <= set(ROOT_TOKENS):
                    raise self.error(
                        number, f"root order {' '.join(words[1:])!r} is not of TX … RZ"
                    )
                self.asf.order = order
            elif key == "axis":
                self.asf.orientation.axis_order = self.axis_order(number, words[1:])
            elif key == "position":
                self.asf.position = np.array(self.numbers(number, words[1:], 3))
            elif key == "orientation":
                self.asf.orientation.axis = np.array(self.angles(number, words[1:], 3))

    def bones(self) -> dict[str, AsfBone]:
        bones: dict[str, AsfBone] = {}
        block: list[Line] | None = None
        for number, words in self.sections[":bonedata"]:
            key = words[0].lower()
            if key == "begin":
                block = [(number, words)]
            elif key == "end" and block is not None:
                bone = self.bone(block)
                if bone.name in bones or bone.name == "root":
                    raise self.error(number, f"there are two bones named {bone.name!r}")
                bones[bone.name] = bone
                block = None
            elif block is not None:
                block.append((number, words))
        if block is not None:
            raise self.error(block[0][0], "this bone has no 'end'")
        return bones

    def bone(self, block: list[Line]) -> AsfBone:
        bone = AsfBone("", block[0][0])
        for place, (number, words) in enumerate(block):
            key, rest = words[0].lower(), words[1:]
            if key == "name":
                bone.name = " ".join(rest)
            elif key == "direction":
                bone.direction = np.array(self.numbers(number, rest, 3))
            elif key == "length":
                (bone.length,) = self.numbers(number, rest, 1)
            elif key == "axis":
                bone.axis = np.array(self.angles(number, rest[:3], 3))
                bone.axis_order = self.axis_order(number, rest[3:])
            elif key == "dof":
                bone.dofs = self.dofs(number, rest)
            elif key == "limits":
                bone.limits = self.limits(block[place:])
        if not bone.name:
            raise self.error(bone.line, "this bone has no name")
        if len(bone.limits) not in (0, len(bone.dofs)):
            raise self.error(
                bone.line,
                f"bone {bone.name!r} has {len(bone.dofs)} dof but {len(bone.limits)} limits",
            )
        return bone

    def dofs(self, number: int, words: list[str]) -> tuple[str, ...]:
        dofs = tuple(word.lower() for word in words)
        if not set(dofs) <= {"rx", "ry", "rz"} or len(set(dofs)) != len(dofs):
            raise self.error(
                number, f"dof {' '.join(words)[:40]!r}: osteon reads rotations rx, ry, rz only"
            )
        return tuple(dof[1] for dof in dofs)

    def limits(self, lines: list[Line]) -> tuple[tuple[float, float], ...]:
        """Read pairs that may go on over the next lines, until a line starts with a word."""
        values: list[float] = []
        for number, words in [(lines[0][0], lines[0][1][1:]), *lines[1:]]:
            if words and words[0][:1].isalpha() and words[0].lower()[:3] != "inf":
                break
            values += self.angles(number, words, len(words), finite=False)
        if len(values) % 2:
            raise self.error(lines[0][0], f"limits come in pairs, got {len(values)} numbers")
        return tuple(zip(values[::2], values[1::2], strict=True))

    def hierarchy(self, bones: dict[str, AsfBone]) -> None:
        children: dict[str, list[str]] = {}
        for number, (parent, *names) in self.sections[":hierarchy"]:
            if parent.lower() in ("begin", "end") and not names:
                continue
            for name in (parent, *names):
                if name not in bones and name != "root":
                    raise self.error(number, f"bone {name[:40]!r} is not in :bonedata")
            for name in names:
                if name == "root" or bones[name].parent:
                    raise self.error(number, f"bone {name!r} has a parent already")
                bones[name].parent = parent
            children.setdefault(parent, []).extend(names)
        todo = list(reversed(children.get("root", [])))
        while todo:
            name = todo.pop()
            self.asf.bones[name] = bones[name]
            todo.extend(reversed(children.get(name, [])))
        loose = [name for name in bones if name not in self.asf.bones]
        if loose:
            raise self.error(bones[loose[0]].line, f"bone {loose[0]!r} does not hang on the root")

    def axis_order(self, number: int, words: list[str]) -> str:
        order = "".join(words[:1]).lower() or "xyz"
        if sorted(order) != ["x", "y", "z"]:
            raise self.error(number, f"expected an order of axes such as XYZ, got {order[:24]!r}")
        return order

    def angles(
        self, number: int, words: list[str], count: int, *, finite: bool = True
    ) -> list[float]:
        values = self.numbers(number, words, count, finite=finite)
        return np.radians(values).tolist() if self.asf.degrees else values

    def numbers(
        self, number: int, words: list[str], count: int, *, finite: bool = True
    ) -> list[float]:
        try:
            values = [float(word) for word in words]
        except ValueError:
            values = []
        bounded = values if finite else [value for value in values if not np.isinf(value)]
        if len(values) != count or not is_sane(bounded):
            shown = " ".join(words)[:40]
            raise self.error(number, f"expected {count} numbers, got {shown!r}")
        return values

    def error(self, number: int, problem: str) -> FormatError:
        return FormatError(self.path, problem, f"line {number}")


def to_skeleton(asf: Asf) -> Skeleton:
    """Return bodies at the start of their bones, all frames along our world's axes at rest."""
    scale = metres_per(asf.unit)
    parents = {bone.parent for bone in asf.bones.values()}
    bodies = [Body(asf.root_name, None, Joint("free"))]
    for bone in asf.moving:
        parent, start = asf.start(bone)
        end = turn_points(bone.end * scale, CYCLIC_TO_Z_UP)
        bodies.append(
            Body(
                bone.name,
                parent,
                _joint(bone, turn_points(start * scale, CYCLIC_TO_Z_UP)),
                length=float(np.linalg.norm(end)),
                tip=None if bone.name in parents else end,
            )
        )
    return Skeleton(tuple(bodies), subject=asf.name)


def _joint(bone: AsfBone, in_parent: Array) -> Joint:
    # the first dof turns first about fixed axes, so the last is the one next to the parent
    dofs = bone.dofs[::-1]
    frame = quat.multiply(CYCLIC_TO_Z_UP, bone.frame)
    columns = quat.to_matrix(frame).T[["xyz".index(axis) for axis in dofs]]
    limits = None
    if bone.limits:
        ranges = tuple(zip(dofs, bone.limits[::-1], strict=True))
        w, x, y, z = frame.tolist()
        limits = Limits(
            hinge=bone.limits[0] if len(dofs) == 1 else None,
            euler=tuple((axis, low, high) for axis, (low, high) in ranges),
            frame=(w, x, y, z),
        )
    axes = columns if 0 < len(dofs) < 3 else np.zeros((0, 3))
    return Joint(KINDS[len(dofs)], in_parent, axes=axes, limits=limits)
