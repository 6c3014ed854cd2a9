"""ASF/AMC, Acclaim's pair of files: a skeleton, and what each bone does in every frame.

Both are y up; they are turned so that CMU's lie on the C3D files of the same takes:
(x, y, z) of ours is (z, x, y) of the file.
"""

import re
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.asf_amc.asf import Asf, read_asf_file, to_skeleton, turn_in_order
from osteon.formats.asf_amc.writer import write_amc, write_asf
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import LARGEST_NUMBER, perhaps_cut
from osteon.formats.shared.units import CYCLIC_TO_Z_UP, metres_per, turn_local, turn_points
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Motion, Source, Take

DEFAULT_RATE = 120.0
"""Frames per second, defined by the CMU archive, where most such files come from; few say it."""
RATE = re.compile(r":SAMPLES-PER-SECOND\s+(\S+)", re.IGNORECASE)
MOST_POSE_RATIO = 2
"""Ratio of poses to numbers in the file, at most; chosen: bones without dof cost memory that the
file never paid."""


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
    """Return the root's place (n_frames, 3) in the file's unit, and local rotations in its
    world."""
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
            try:
                self.rate = float(match[1])
            except ValueError:
                self.rate = np.nan
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
        if len(values) != self.widths[name] or not all(
            abs(value) <= LARGEST_NUMBER for value in values
        ):
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
