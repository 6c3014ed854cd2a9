"""One list of formats: how files are recognised, read and written.

A format is one file in this folder that ends with a ``Format``. Readers return a ``Take`` in the
library's own units (metres, z up); writers receive one, and restore a file's conventions on the
way out. Units and axes are converted here and nowhere else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from osteon.errors import BadValue, FormatError, NotEnoughData, UnknownFormat, WrongContent
from osteon.formats.refused import BLENDER_ADVICE, BY_BLENDER, REFUSED
from osteon.formats.shared.text_table import parted_by_commas
from osteon.values import KIND_FIELDS, Bodies, CompactMotion, Motion, Recording, Skeleton, Take

HEAD_BYTES = 4096
"""Bytes of a file's beginning that ``sniff`` is shown; chosen: one block of most file systems, and
more than the beginning by which any format is known."""
FOLDER_INDEX = "take.json"
"""The file that speaks for a folder: a store may be unpacked."""

SHOWN_BYTES = 16
"""Bytes of an unknown file that are shown; chosen: enough to see what made it."""
VERBS_FILES = ("motion.glb", "motion.bvh", "motion.osteon", "skeleton.json")
"""What verbs leave in their folders that others read, the richest first."""
FROM_POINTS = "made of points that span their axes"
"""In the history of bodies that a reader worked out from markers of the same file."""


@dataclass(frozen=True)
class WriteOptions:
    """A file's conventions, where the user asks for others than the source's or the format's."""

    unit: str | None = None
    """Unit of length: ``m``, ``cm``, ``mm``, ``in``."""
    up: str | None = None
    """Axis that points up: ``y`` or ``z``."""

    def allow_metres(self, up: str, rule: str) -> None:
        """Refuse any other unit or up axis, for formats that know only these."""
        if self.unit not in (None, "m") or self.up not in (None, up):
            raise BadValue(f"{rule}; leave unit and up out")


Value = TypeVar("Value", Recording, Bodies)
Writer = Callable[[Path, Take, WriteOptions], None]


@dataclass(frozen=True)
class Format:
    """A file format and what osteon can do with it."""

    name: str
    suffixes: tuple[str, ...]
    """Endings, lower case with the dot; the first is the usual one."""
    sniff: Callable[[bytes], bool]
    """Whether a file that starts with these bytes is of this format."""
    read: Callable[[Path], Take] | None = None
    write: Writer | None = None
    holds: frozenset[str] = frozenset()
    """What it can store: ``markers``, ``bodies``, ``motion``, ``skeleton``."""
    along: frozenset[str] = frozenset()
    """What it stores beside these: model ``outputs``, ``events``, ``analog`` channels, and the
    ``head`` of another file (:class:`~osteon.values.Source`)."""
    beside: Mapping[str, Writer] = field(default_factory=dict)
    """Endings of further files that belong to it, and what writes them."""
    beside_motion: Mapping[str, Writer] = field(default_factory=dict)
    """The same, where there is motion to write."""


def find_format(path: Path, formats: tuple[Format, ...]) -> Format:
    """Recognise a file, or a folder that stands for one, by its first bytes."""
    if path.is_dir() and not (path / FOLDER_INDEX).exists():
        raise FormatError(
            path, f"cannot be opened: it is a folder, not a recording; {file_in(path)}"
        )
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise FormatError(path, "is a pipe or a device; save it to a file and give that")
        with (path / FOLDER_INDEX if path.is_dir() else path).open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise FormatError(path, f"cannot be opened: {error.strerror or error}") from error
    if not head:
        raise UnknownFormat(path, "the file is empty")
    head = parted_by_commas(path, head)
    for form in formats:
        if form.sniff(head):
            return form
    for kind in REFUSED:
        if kind.sniff(head):
            raise WrongContent(path, f"{kind.name}: {kind.reason}; {kind.advice}")
    raise UnknownFormat(
        path,
        f"not a format osteon reads (it begins with {_beginning(head)}); osteon info lists those "
        "that are",
    )


def file_in(folder: Path) -> str:
    """What to give instead of a folder: a file that another verb has left there, where one has."""
    there = next((name for name in VERBS_FILES if (folder / name).is_file()), None)
    return "give a file" if there is None else f"give a file in it, such as {folder / there}"


def _beginning(head: bytes) -> str:
    """Show the first characters of a text, or the bytes of what is none."""
    try:
        text = head[:SHOWN_BYTES].decode("ascii")
    except UnicodeDecodeError:
        text = ""
    return repr(text) if text.strip() and "\0" not in text else f"bytes {head[:4].hex(' ')}"


def format_for_writing(path: Path, formats: tuple[Format, ...]) -> Format:
    """Return the format that a file name's ending asks for."""
    writers = [form for form in formats if form.write is not None]
    for form in writers:
        if path.suffix.lower() in form.suffixes:
            return form
    endings = ", ".join(form.suffixes[0] for form in writers)
    if path.suffix.lower() in BY_BLENDER:
        raise UnknownFormat(path, BLENDER_ADVICE)
    lacking = f"with the ending {path.suffix!r}" if path.suffix else "without an ending"
    raise UnknownFormat(path, f"no format is written {lacking}; known: {endings}")


def as_take(value: Take | Recording | Bodies | Motion | Skeleton | CompactMotion) -> Take:
    """Return any value as a take of its own."""
    if isinstance(value, Take):
        return value
    homes = {Recording: "recordings", Bodies: "bodies", Motion: "motions", Skeleton: "skeletons"}
    held: dict[str, Any] = {homes.get(type(value), "compacts"): (value,)}
    return Take(**held)


def keep_only(take: Take, kind: str) -> Take:
    """Return what a take holds of one of ``Take.kinds``; a motion brings its skeleton."""
    if kind in ("motion", "skeleton"):
        take = spell_out(take)
    if kind == "skeleton" and take.motions:
        take = Take(skeletons=(*take.skeletons, *(motion.skeleton for motion in take.motions)))
    if kind not in take.kinds:
        has = " and ".join(take.kinds) or "nothing"
        raise NotEnoughData(f"the file holds {has}, and of {kind} nothing that could be kept")
    field = KIND_FIELDS[kind]
    return Take(**{field: getattr(take, field)})


def spell_out(take: Take) -> Take:
    """Return a take with the motions that its movement parameters tell, where it has no others."""
    if take.motions:
        return take
    return replace(take, motions=tuple(each.motion() for each in take.compacts), compacts=())


def as_held(take: Take, form: Format, up: str | None = None) -> Take:
    """Return a take as a format can say it: parameters become poses where only poses can be stored.

    Model outputs stay where there is a place for them and no axis is turned: an angle is no point.
    """
    turned = up is not None and any(up != each.source.up for each in take.recordings)
    if turned or "outputs" not in form.along:
        kept = [r for r in take.recordings if not r.outputs or len(r.outputs) < r.n_markers]
        take = replace(take, recordings=tuple(recording.markers() for recording in kept))
    return take if "compact" in form.holds else spell_out(take)


def left_out(take: Take, held: Take, form: Format) -> list[str]:
    """Return what of a take is lost in a file of this format, which holds it as ``held``."""
    marks = {
        mark for each in (*take.recordings, *take.bodies, *take.motions) for mark in each.marks
    }
    analog = next((r.analog for r in take.recordings if r.analog is not None), None)
    beside = {"events": len(marks), "analog channels": len(analog.names) if analog else 0}
    turned = " in turned axes" if "outputs" in form.along else ""
    lost = {
        f"model outputs{turned}": _n_outputs(take) - _n_outputs(held),
        **{what: n for what, n in beside.items() if what.split()[0] not in form.along},
    }
    kinds = [kind for kind in held.kinds if kind not in form.holds]
    sources = [each.source for each in (*take.recordings, *take.bodies)]
    unheld = [each for each in sources if not each.head or "head" not in form.along]
    beyond = [told for each in unheld for told in each.beyond]
    return [*kinds, *(f"{n} {what}" for what, n in lost.items() if n), *dict.fromkeys(beyond)]


def _n_outputs(take: Take) -> int:
    return sum(len(recording.outputs) for recording in take.recordings)


def without_restated(take: Take) -> Take:
    """Return a take without bodies made of points that it holds: writing both says it twice."""
    if not take.recordings:
        return take
    kept = tuple(bodies for bodies in take.bodies if FROM_POINTS not in bodies.history)
    return replace(take, bodies=kept)


def check_holds(form: Format, take: Take, path: Path) -> None:
    """Refuse to write what the format cannot store, rather than lose it without a word.

    A motion brings its skeleton: formats that store no motion get that.
    """
    if form.holds & {*take.kinds, *(["skeleton"] if take.motions else [])}:
        return
    has = " and ".join(take.kinds) or "nothing"
    lacking = "motion" in form.holds and take.recordings
    raise WrongContent(
        path,
        f"{form.name} stores {' or '.join(sorted(form.holds))}, but what is to be written holds "
        + has
        + ("; make a motion with: osteon solve" if lacking else ""),
    )


def check_one_root(skeleton: Skeleton, path: Path, name: str) -> None:
    if skeleton.parents.count(-1) != 1:
        raise WrongContent(path, f"{name} needs a skeleton with exactly one root")


def check_posed(motion: Motion, path: Path, name: str) -> None:
    """Refuse a motion with several roots, or frames without a pose, which few formats can say."""
    check_one_root(motion.skeleton, path, name)
    posed = np.isfinite(motion.rotations).all(axis=(1, 2)) & np.isfinite(motion.root).all(axis=1)
    if motion.offsets is not None:
        posed &= np.isfinite(motion.offsets[:, 1:]).all(axis=(1, 2))
    if not posed.all():
        frame = int(np.argmin(posed))
        raise NotEnoughData(
            f"frame {frame} has no pose, which {name} cannot say; hold or fill it before writing"
        )


def check_whole(motion: Motion, name: str) -> None:
    """Refuse a motion in which a body's pose is missing, which a format has no word for."""
    numbers = np.concatenate([motion.rotations, motion.in_parents()], axis=-1)
    whole = np.isfinite(numbers).all(axis=-1)
    if not whole.all():
        frame, body = np.argwhere(~whole)[0]
        raise BadValue(
            f"frame {frame} of body {motion.skeleton.names[body]!r} is missing, "
            f"which {name} cannot hold; fill it first"
        )


def side_by_side(values: Sequence[Value]) -> Value:
    """Return all as one, for formats without subjects: names get those as a prefix."""
    first = values[0]
    if len(values) == 1:
        return first
    if len({(value.n_frames, value.rate) for value in values}) > 1:
        raise NotEnoughData("the subjects differ in length or rate; write them one by one")
    parts: dict[str, Any] = {
        "names": tuple(_whose(value.subject, name) for value in values for name in value.names),
        "positions": np.concatenate([value.positions for value in values], axis=1),
        "subject": "",
    }
    recordings = [value for value in values if isinstance(value, Recording)]
    if recordings:
        outputs = {_whose(each.subject, name) for each in recordings for name in each.outputs}
        parts |= {"residuals": None, "outputs": frozenset(outputs)}
    else:
        bodies = [value for value in values if isinstance(value, Bodies)]
        parts["rotations"] = np.concatenate([each.rotations for each in bodies], axis=1)
    return replace(first, **parts)


def _whose(subject: str, name: str) -> str:
    return f"{subject}:{name}" if subject else name
