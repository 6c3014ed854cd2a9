"""BVH: a hierarchy of joints, then one line of channel values per frame.

A joint's rotation is R(channel 1)·R(channel 2)·R(channel 3), column vectors, degrees; position
channels replace the joint's OFFSET, on the root as on any other joint. The file names neither its
unit nor its up axis: files of ours tell them by their decimals (``bvh_writer``), of others
``shared/units`` judges them, and writing restores what was judged. Frames of joints turn along with
the world, so the rest pose stands upright in ours as it does in the file.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.bvh_writer import read_decimals, write_bvh
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import (
    is_sane,
    number_or_nan,
    parse_numbers,
    perhaps_cut,
    unique_labels,
)
from osteon.formats.shared.units import (
    judge_unit,
    judge_up,
    metres_per,
    to_z_up,
    turn_local,
    turn_points,
)
from osteon.maths import chain, euler
from osteon.typing import Array
from osteon.values import Body, Joint, Motion, Skeleton, Source, Take

MOTION = re.compile(rb"^[ \t]*MOTION[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
TIMING = re.compile(rb"\s*Frames\s*:\s*(\S+)\s+Frame\s+Time\s*:\s*(\S+)", re.IGNORECASE)
CHANNEL = re.compile(r"([XYZ])(position|rotation)", re.IGNORECASE)
OFFSET = re.compile(rb"OFFSET[ \t]+(\S+)", re.IGNORECASE)
LAST_BYTES = 256
"""Bytes at a file's end that hold its last number; chosen: many times a number's digits."""
MOST_CHANNELS = 6
"""Count of a joint's channels, defined by BVH: three of its place, three of its turn."""
MOST_POSE_RATIO = 2
"""Ratio of poses to numbers, at most; chosen: joints without channels cost memory, but no bytes."""
LOOK_COUNT = 100
"""Count of frames looked at to judge the up axis; chosen: spread out, they tell it like all."""
STRETCH_LENGTH = 1e-7
"""Metres; bones that change less keep their length; chosen: above the ten nanometres printed."""


@dataclass
class BvhNode:
    """A joint as the file declares it."""

    name: str
    parent: int
    line: int
    offset: tuple[float, ...] = ()
    channels: list[str] | None = None
    """Axis and kind, such as ``Zr`` or ``Xp``."""
    first: int = 0
    """Column of its first channel."""
    tips: list[tuple[float, ...]] = field(default_factory=list)

    def rotation_axes(self) -> str:
        return "".join(c[0].lower() for c in self.channels or [] if c[1] == "r")

    def columns(self, kind: str) -> list[int]:
        return [self.first + k for k, c in enumerate(self.channels or []) if c[1] == kind]


def sniff(head: bytes) -> bool:
    words = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(None, 1)
    return bool(words) and words[0].upper() == b"HIERARCHY"


def read_bvh(path: Path) -> Take:
    data = path.read_bytes()
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    match = MOTION.search(data)
    if match is None:
        raise FormatError(path, "no MOTION section: the file is cut short or not a whole BVH")
    nodes = Hierarchy(path, data[: match.start()].decode("utf-8-sig", "replace")).parse()
    values, rate, problems = _frames(path, data, match.end(), nodes)
    problems += _unique_names(nodes)
    problems += perhaps_cut([data[data.rfind(b"\n") + 1 :].decode("latin-1")])
    told = _read_conventions(data, match.start()) if len(values) else None
    starts = [index for index, node in enumerate(nodes) if node.parent < 0] + [len(nodes)]
    trees = [nodes[a:b] for a, b in pairwise(starts)]
    if len(trees) > 1:
        problems += (f"the file holds {len(trees)} roots, read as one motion each",)
    motions = [
        _motion(
            path, tree, start, values, rate, problems, tree[0].name if len(trees) > 1 else "", told
        )
        for tree, start in zip(trees, starts, strict=False)
    ]
    if not len(values):
        return Take(skeletons=tuple(motion.skeleton for motion in motions))
    return Take(motions=tuple(motions))


def _read_conventions(data: bytes, motion: int) -> tuple[str, str] | None:
    """Return unit and up axis of a file of ours: by its first length and its last angle."""
    length, last = OFFSET.search(data, 0, motion), data[-LAST_BYTES:].split()
    if length is None or not last:
        return None
    return read_decimals(length[1].decode("latin-1"), last[-1].decode("latin-1"))


class Hierarchy:
    """The HIERARCHY section, read word by word; ``line`` is where the last word stood."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.words = [
            (word, number)
            for number, line in enumerate(text.split("\n"), 1)
            for word in line.replace("{", " { ").replace("}", " } ").split()
        ]
        self.at, self.line = 0, 1
        self.nodes: list[BvhNode] = []

    def parse(self) -> list[BvhNode]:
        self.next("HIERARCHY")
        # the joints that are open here, innermost last; −1 is an End Site
        open_joints: list[int] = []
        while self.at < len(self.words):
            word = self.next().upper()
            if word == "}" and open_joints:
                open_joints.pop()
            elif word == ("JOINT" if open_joints else "ROOT") and -1 not in open_joints[-1:]:
                open_joints.append(self.joint(open_joints[-1] if open_joints else -1))
            elif word == "END" and open_joints:
                self.end_site(open_joints)
            elif word == "OFFSET" and open_joints:
                self.offset(open_joints)
            elif word == "CHANNELS" and open_joints and open_joints[-1] >= 0:
                self.channels(self.nodes[open_joints[-1]])
            else:
                raise self.error(f"{word[:24]!r} does not belong here")
        return self.check(open_joints)

    def check(self, open_joints: list[int]) -> list[BvhNode]:
        if open_joints:
            raise self.error(f"{len(open_joints)} brackets are not closed before MOTION")
        if not self.nodes:
            raise self.error("there is no ROOT")
        for node in self.nodes:
            if not node.offset:
                raise FormatError(
                    self.path, f"joint {node.name!r} has no OFFSET", f"line {node.line}"
                )
        return self.nodes

    def error(self, problem: str) -> FormatError:
        return FormatError(self.path, problem, f"line {self.line}")

    def next(self, wanted: str | None = None) -> str:
        if self.at >= len(self.words):
            raise self.error(f"the hierarchy ends where {wanted or 'more'} was expected")
        word, self.line = self.words[self.at]
        self.at += 1
        if wanted is not None and word.upper() != wanted:
            raise self.error(f"expected {wanted}, got {word[:24]!r}")
        return word

    def joint(self, parent: int) -> int:
        """Read a joint; its name is the rest of the line, for some have blanks."""
        line, name = self.line, self.rest_of_line()
        if not name:
            raise self.error("a joint without a name")
        self.next("{")
        self.nodes.append(BvhNode(" ".join(name), parent, line))
        return len(self.nodes) - 1

    def end_site(self, open_joints: list[int]) -> None:
        self.rest_of_line()
        self.next("{")
        open_joints.append(-1)

    def rest_of_line(self) -> list[str]:
        """Read the words that are left of the line, up to a bracket."""
        words = []
        while self.at < len(self.words) and self.words[self.at][1] == self.line:
            if self.words[self.at][0] == "{":
                break
            words.append(self.next())
        return words

    def offset(self, open_joints: list[int]) -> None:
        vector = tuple(self.number() for _ in range(3))
        if open_joints[-1] >= 0:
            self.nodes[open_joints[-1]].offset = vector
        else:
            owner = next(index for index in reversed(open_joints) if index >= 0)
            self.nodes[owner].tips.append(vector)

    def number(self) -> float:
        value = number_or_nan(word := self.next())
        if not is_sane(value):
            raise self.error(f"expected a number, got {word[:24]!r}")
        return value

    def channels(self, node: BvhNode) -> None:
        word = self.next()
        if node.channels is not None:
            raise self.error(f"joint {node.name!r} declares its channels twice")
        if not (word.isdecimal() and len(word) < 9 and int(word) <= MOST_CHANNELS):
            raise self.error(
                f"joint {node.name!r} declares {word[:24]} channels; osteon reads 0 to "
                f"{MOST_CHANNELS}"
            )
        node.channels = []
        for _ in range(int(word)):
            match = CHANNEL.fullmatch(name := self.next())
            if match is None:
                raise self.error(f"expected a channel such as Xrotation, got {name[:24]!r}")
            node.channels.append(match[1].upper() + match[2][0].lower())
        positions = [channel for channel in node.channels if channel[1] == "p"]
        if len(set(positions)) != len(positions):
            raise self.error(f"joint {node.name!r} has the same position channel twice")


def _frames(
    path: Path, data: bytes, start: int, nodes: list[BvhNode]
) -> tuple[Array, float, tuple[str, ...]]:
    """Return channel values (n_frames, n_channels) and frame rate."""
    line = data.count(b"\n", 0, start) + 1
    match = TIMING.match(data, start)
    if match is None:
        raise FormatError(path, "expected 'Frames:' and 'Frame Time:' here", f"line {line + 1}")
    n_frames = _count(path, match[1], line + 1)
    rate = _rate(path, match[2], line + 2)
    n_channels = 0
    for node in nodes:
        node.first = n_channels
        n_channels += len(node.channels or [])
    first_line = data.count(b"\n", 0, match.end()) + 1
    block = data[match.end() :]
    values = parse_numbers(path, block, first_line)
    if len(values) != n_frames * n_channels or (n_frames and not n_channels):
        raise _wrong_count(path, block, first_line, len(values), n_frames, n_channels)
    if n_frames * len(nodes) > MOST_POSE_RATIO * len(values) + 1_000_000:
        raise FormatError(path, f"{len(nodes)} joints have only {n_channels} channels between them")
    missing = [node.name for node in nodes if not node.channels and n_frames]
    problems = (f"no channels, held at rest: {', '.join(missing[:8])}",) if missing else ()
    return values.reshape(n_frames, n_channels), rate, problems


def _count(path: Path, word: bytes, line: int) -> int:
    if not (word.isdigit() and len(word) < 19):
        shown = word[:24].decode("latin-1")
        raise FormatError(path, f"expected a number of frames, got {shown!r}", f"line {line}")
    return int(word)


def _rate(path: Path, word: bytes, line: int) -> float:
    """Return frames per second: a whole number where the digits of the frame time allow it."""
    seconds = number_or_nan(word)
    rate = 1.0 / seconds if seconds else np.nan
    if not (seconds > 0.0 and np.isfinite(seconds) and np.isfinite(rate)):
        shown = word[:24].decode("latin-1")
        raise FormatError(path, f"Frame Time must be above zero, got {shown!r}", f"line {line}")
    whole = np.rint(rate)
    decimals = len(word.partition(b".")[2])
    printed_alike = whole > 0 and abs(1.0 / whole - seconds) <= 10.0**-decimals
    return float(whole) if printed_alike and abs(rate - whole) < 1e-3 * rate else rate


def _wrong_count(
    path: Path, block: bytes, first_line: int, found: int, n_frames: int, n_channels: int
) -> FormatError:
    if not n_channels:
        return FormatError(path, f"{n_frames} frames are promised, but no joint has channels")
    whole, rest = divmod(found, n_channels)
    there = f"{whole} frames" + (f" and {rest} values" if rest else "")
    problem = f"{n_frames} frames of {n_channels} channels are promised, {there} are there"
    for number, line in enumerate(block.split(b"\n"), first_line):
        if rest and (words := len(line.split())) not in (0, n_channels):
            return FormatError(path, f"{problem}: this line has {words} values", f"line {number}")
    return FormatError(path, problem)


def _unique_names(nodes: list[BvhNode]) -> tuple[str, ...]:
    """Give joints that share a name a number; the sentence that says so."""
    names, _ = unique_labels([node.name for node in nodes])
    renamed = [name for node, name in zip(nodes, names, strict=True) if node.name != name]
    for node, name in zip(nodes, names, strict=True):
        node.name = name
    return (f"joint names used twice became {', '.join(renamed[:8])}",) if renamed else ()


def _motion(
    path: Path,
    nodes: list[BvhNode],
    start: int,
    values: Array,
    rate: float,
    problems: tuple[str, ...],
    subject: str,
    told: tuple[str, str] | None,
) -> Motion:
    """Return one tree, whose root is node ``start`` of the file; ``told`` are unit and up axis."""
    names = [node.name for node in nodes]
    parents = [node.parent - start if node.parent >= 0 else -1 for node in nodes]
    rotations = _rotations(nodes, values)
    rest = np.array([node.offset for node in nodes])
    places = _places(nodes, rest, values)
    tips = np.array([node.tips[0] if node.tips else (np.nan,) * 3 for node in nodes])
    if told:
        unit, up, reason = *told, "by the decimals that osteon prints"
    else:
        unit = judge_unit(names, places[0] if len(places) else rest, tips, parents)
        up, reason = _up(names, rotations, places, parents, unit)
    scale, turn = metres_per(unit), to_z_up(up)
    offsets = turn_points(places * scale, turn)
    fixed = turn_points(rest * scale, turn)
    stretches = len(nodes) > 1 and bool(np.any(np.abs(offsets[:, 1:] - fixed[1:]) > STRETCH_LENGTH))
    said = f"the file names no unit and no up axis; read as {unit}, {up} up ({reason})"
    source = Source(path.name, "BVH", unit=unit, up=up, up_known=False, problems=(said, *problems))
    skeleton = Skeleton(
        tuple(_bodies(nodes, parents, fixed, turn_points(tips * scale, turn), turn)),
        subject=subject,
    )
    return Motion(
        skeleton,
        turn_local(rotations, turn),
        offsets[:, 0],
        rate,
        offsets=offsets if stretches else None,
        source=source,
    )


def _rotations(nodes: list[BvhNode], values: Array) -> Array:
    """Return local rotations (n_frames, n_joints, 4), all joints of one order at once."""
    rotations = np.zeros((len(values), len(nodes), 4))
    groups: dict[str, list[int]] = {}
    for index, node in enumerate(nodes):
        groups.setdefault(node.rotation_axes(), []).append(index)
    for order, members in groups.items():
        columns = [nodes[index].columns("r") for index in members]
        angles = np.radians(values[:, np.array(columns, dtype=int).reshape(len(members), -1)])
        rotations[:, members] = euler.to_quat(angles, order)
    return rotations


def _places(nodes: list[BvhNode], rest: Array, values: Array) -> Array:
    """Return joints (n_frames, n_joints, 3) from their parents; 0 on axes without a channel."""
    places = np.repeat(rest[None], len(values), axis=0)
    for index, node in enumerate(nodes):
        columns = node.columns("p")
        if columns:
            axes = ["XYZ".index(c[0]) for c in node.channels or [] if c[1] == "p"]
            places[:, index] = 0.0
            places[:, index, axes] = values[:, columns]
    return places


def _up(
    names: list[str], rotations: Array, places: Array, parents: list[int], unit: str
) -> tuple[str, str]:
    if not len(places):
        return judge_up([], np.zeros((1, 1, 3)), unit)
    some = np.unique(np.linspace(0, len(places) - 1, LOOK_COUNT).astype(int))
    _, positions = chain.forward_kinematics(rotations[some], places[some], parents)
    return judge_up(names, positions, unit)


def _bodies(
    nodes: list[BvhNode], parents: list[int], offsets: Array, tips: Array, turn: Array
) -> list[Body]:
    children: dict[int, list[int]] = {}
    for index, parent in enumerate(parents):
        children.setdefault(parent, []).append(index)
    bodies = []
    for index, (node, parent) in enumerate(zip(nodes, parents, strict=True)):
        tip = tips[index] if node.tips else None
        ends = [offsets[child] for child in children.get(index, [])] or (
            [] if tip is None else [tip]
        )
        bodies.append(
            Body(
                node.name,
                None if parent < 0 else nodes[parent].name,
                _joint(node, offsets[index], turn),
                length=float(np.linalg.norm(ends[0])) if len(ends) == 1 else None,
                tip=tip,
            )
        )
    return bodies


def _joint(node: BvhNode, offset: Array, turn: Array) -> Joint:
    if node.parent < 0:
        return Joint("free")
    if node.columns("p"):
        return Joint("free", offset)
    letters = list(dict.fromkeys(node.rotation_axes()))
    kind = ("fixed", "hinge", "universal", "ball")[len(letters)]
    axes = turn_points(np.eye(3)[["xyz".index(letter) for letter in letters]], turn)
    return Joint(kind, offset, axes=axes if len(letters) < 3 else ())  # type: ignore[arg-type]


BVH = Format(
    name="BVH",
    suffixes=(".bvh",),
    sniff=sniff,
    read=read_bvh,
    write=write_bvh,
    holds=frozenset({"motion"}),
)
