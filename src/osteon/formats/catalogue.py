"""Every format that is known, and the verbs that use them: read, write, describe."""

import struct
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from osteon.errors import BadValue, FormatError, OsteonError, ShapeError, WrongContent
from osteon.formats.asf_amc import AMC, ASF
from osteon.formats.bvh import BVH
from osteon.formats.c3d import C3D
from osteon.formats.fbx import FBX
from osteon.formats.fbx.character import fbx_with_animation, is_fbx_character
from osteon.formats.fbx.write import fbx_bytes
from osteon.formats.glb import GLB
from osteon.formats.glb.character import glb_with_animation, is_glb_character
from osteon.formats.glb.schema import MAGIC
from osteon.formats.glb.write import glb_bytes
from osteon.formats.keypoint_files.keypoint_csv import KEYPOINT_CSV
from osteon.formats.keypoint_files.keypoint_json import KEYPOINT_JSON
from osteon.formats.keypoint_files.npy import NPY
from osteon.formats.mjcf import MJCF
from osteon.formats.motive_csv import MOTIVE_CSV
from osteon.formats.mvnx import MVNX
from osteon.formats.osim import OSIM
from osteon.formats.own.compact_tables import COMPACT_CSV
from osteon.formats.own.skeleton_json import SKELETON_JSON
from osteon.formats.own.store import STORE
from osteon.formats.plain_csv import PLAIN_CSV
from osteon.formats.polhemus import POLHEMUS
from osteon.formats.qtm import QTM_MAT, QTM_TSV
from osteon.formats.refused import BLENDER_ADVICE, BY_BLENDER
from osteon.formats.registry import (
    Format,
    WriteOptions,
    as_held,
    as_take,
    check_holds,
    find_format,
    format_for_writing,
)
from osteon.formats.shared.units import stance_of
from osteon.formats.shared.whole_files import whole_file
from osteon.formats.trc import TRC
from osteon.formats.urdf import URDF
from osteon.formats.usd import USD
from osteon.threads import one_thread
from osteon.values import (
    Bodies,
    CompactMotion,
    GroundReaction,
    Motion,
    Recording,
    Skeleton,
    SkinnedMesh,
    Source,
    Take,
)

FORMATS: tuple[Format, ...] = (
    C3D,
    COMPACT_CSV,
    PLAIN_CSV,
    STORE,
    SKELETON_JSON,
    GLB,
    FBX,
    TRC,
    MOTIVE_CSV,
    QTM_TSV,
    QTM_MAT,
    KEYPOINT_CSV,
    KEYPOINT_JSON,
    NPY,
    POLHEMUS,
    BVH,
    AMC,
    ASF,
    MVNX,
    MJCF,
    URDF,
    OSIM,
    USD,
)
"""Every format, asked in this order; the first whose ``sniff`` says yes reads the file."""
SKINNED: Mapping[str, Callable[[Skeleton, Motion, SkinnedMesh], bytes]] = {
    "glb": glb_bytes,
    "fbx": fbx_bytes,
}
"""Endings of files that have a place for a skin, and what makes them."""
CHARACTERS: Mapping[str, tuple[Callable[[Path], bool], Callable[[Path, Motion, str], bytes]]] = {
    "glb": (is_glb_character, glb_with_animation),
    "fbx": (is_fbx_character, fbx_with_animation),
}
"""Endings of characters' files: whether a file is one, and what adds an animation to it."""
SMALL_BYTES = 1 << 20
"""Bytes of a store up to which it is read to be described; chosen: larger ones hold motion."""


@one_thread()
def read(path: str | Path) -> Take:
    """Read any supported file, recognised by its content.

    Returns
    -------
    Take
        All that the file holds; ``take.recording()``, ``take.body_poses()``, ``take.motion()``
        pick the single thing most files hold.
    """
    path = Path(path)
    form = find_format(path, FORMATS)
    if form.read is None:
        raise WrongContent(path, f"osteon writes {form.name} but does not read it")
    try:
        # a damaged file may hold numbers that overflow; they become inf, which counts as missing
        with np.errstate(over="ignore", invalid="ignore"):
            return form.read(path)
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from error
    except (BadValue, ShapeError) as error:  # a value refused what the file holds
        raise FormatError(path, str(error)) from error


@one_thread()
def write(
    value: Take | Recording | Bodies | Motion | Skeleton | CompactMotion,
    path: str | Path,
    *,
    unit: str | None = None,
    up: str | None = None,
) -> tuple[Path, ...]:
    """Write a value in the format that the file name's ending asks for.

    Parameters
    ----------
    unit, up
        Unit of length and upward axis of the file; by default those of the file the value came
        from where the format allows it, else the format's own.

    Returns
    -------
    tuple of Path
        The file, and those that its format has beside it.
    """
    path = Path(path)
    form = format_for_writing(path, FORMATS)
    take = as_held(as_take(value), form, up)
    check_holds(form, take, path)
    assert form.write is not None
    beside_it = {**form.beside, **(form.beside_motion if take.motions else {})}
    try:
        with ExitStack() as whole:
            for suffix, writer in beside_it.items():
                beside = whole.enter_context(whole_file(path.with_suffix(suffix)))
                writer(beside, take, WriteOptions(unit, up))
            form.write(whole.enter_context(whole_file(path)), take, WriteOptions(unit, up))
    except OSError as error:
        raise FormatError(
            path, f"cannot be written to {path.parent}: {error.strerror or error}"
        ) from error
    return path, *map(path.with_suffix, beside_it)


def write_skinned(path: Path, motion: Motion, skin: SkinnedMesh) -> None:
    """Write a motion that wears a skin, in a format of ``SKINNED``."""
    _write_whole(path, SKINNED[path.suffix.lower()[1:]](motion.skeleton, motion, skin))


def character_ending(path: Path) -> str | None:
    """Return the ending of a skinned character's file that an animation can be added to; None where
    it is no such file, or our own."""
    return next((end for end, (is_one, _) in CHARACTERS.items() if is_one(path)), None)


def write_character(path: Path, character: Path, motion: Motion, name: str) -> None:
    """Write the file ``character`` with ``motion``, of the skeleton that was read from it, as one
    more animation; both files have the ending of its format."""
    _, with_animation = CHARACTERS[path.suffix.lower()[1:]]
    _write_whole(path, with_animation(character, motion, name))


def _write_whole(path: Path, data: bytes) -> None:
    try:
        with whole_file(path) as partial:
            partial.write_bytes(data)
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror or error}") from error


def motion_endings(*, usual: bool = False) -> tuple[str, ...]:
    """Return endings, without the dot, for a motion or skeleton; the ``usual`` ones, or all."""
    writers = [form for form in FORMATS if form.write and form.holds & {"motion", "skeleton"}]
    suffixes = [form.suffixes[:1] if usual else form.suffixes for form in writers]
    return tuple(dict.fromkeys(suffix[1:] for each in suffixes for suffix in each))


def check_endings(asked: Iterable[str], besides: Collection[str] = ()) -> None:
    """Refuse what no motion is written with: the words become parts of files' names."""
    known = (*besides, *motion_endings())
    for ending in asked:
        if f".{ending}" in BY_BLENDER:
            raise BadValue(BLENDER_ADVICE)
        if ending not in known:
            raise BadValue(f"no motion is written as {ending!r}; known: {', '.join(known)}")


def written_with(path: Path) -> tuple[Path, ...]:
    """Return a file and those that its format may have beside it."""
    form = format_for_writing(path, FORMATS)
    return path, *map(path.with_suffix, (*form.beside, *form.beside_motion))


def describe(take: Take, path: str | Path) -> dict[str, Any]:
    """Return facts about a take that can be printed or written as JSON."""
    sources = [
        value.source for value in (*take.recordings, *take.bodies, *take.motions, *take.compacts)
    ]
    source = sources[0] if sources else Source(file=Path(path).name)
    entries = {
        "markers": [_markers(recording) for recording in take.recordings],
        "bodies": [_bodies(bodies) for bodies in take.bodies],
        "motion": [
            {**_skeleton(motion.skeleton), **_time(motion), "held": list(motion.held)}
            for motion in take.motions
        ],
        "skeleton": [_skeleton(skeleton) for skeleton in take.skeletons],
        "compact": [
            {**_skeleton(compact.skeleton), **_time(compact), "parameters": list(compact.names)}
            for compact in take.compacts
        ],
    }
    subjects = [entry["subject"] for found in entries.values() for entry in found]
    return {
        "file": Path(path).name,
        "format": source.format,
        "detail": source.detail,
        "vendor": source.software,
        "kinds": list(take.kinds),
        "subjects": list(dict.fromkeys(subject for subject in subjects if subject)),
        "unit": source.unit,
        "up": source.up,
        "up_known": source.up_known,
        "first_frame": source.first_frame,
        "problems": list(dict.fromkeys(text for each in sources for text in each.problems)),
        **{kind: found for kind, found in entries.items() if found},
    }


def _time(value: Recording | Bodies | Motion | CompactMotion) -> dict[str, Any]:
    marks = () if isinstance(value, CompactMotion) else value.marks
    return {
        "frames": value.n_frames,
        "rate": value.rate,
        "seconds": round(value.n_frames / value.rate, 6),
        "marks": [{"label": m.label, "time": m.time, "context": m.context} for m in marks],
    }


def _markers(recording: Recording) -> dict[str, Any]:
    analog, markers = recording.analog, recording.markers()
    stance = stance_of(markers.positions)
    return {
        "subject": recording.subject,
        "count": recording.n_markers,
        **_time(recording),
        "span": None if stance is None else [round(float(axis), 4) for axis in stance.height],
        "outputs": sorted(recording.outputs),
        "analog": None
        if analog is None
        else {"channels": list(analog.names), "rate": analog.rate, "samples": len(analog.values)},
        "plates": [_plate(reaction) for reaction in recording.ground_reactions()],
        **_gaps(markers.names, markers.seen),
    }


def _plate(reaction: GroundReaction) -> dict[str, Any]:
    return {
        "corners": reaction.corners.round(4).tolist(),
        "loaded": round(float(reaction.loaded.mean()), 4) if len(reaction.loaded) else 0.0,
        "peak_newtons": round(float(np.nanmax(reaction.force[:, 2], initial=0.0)), 1),
    }


def _bodies(bodies: Bodies) -> dict[str, Any]:
    about = {"subject": bodies.subject, "count": bodies.n_bodies}
    return {**about, **_time(bodies), **_gaps(bodies.names, bodies.seen)}


def _skeleton(skeleton: Skeleton) -> dict[str, Any]:
    return {
        "subject": skeleton.subject,
        "count": len(skeleton.bodies),
        "parents": {body.name: body.parent for body in skeleton.bodies},
    }


def _gaps(names: tuple[str, ...], seen: np.ndarray) -> dict[str, Any]:
    """Return missing samples: their share of all, and per name how many in how many gaps."""
    per_name = {}
    for name, column in zip(names, seen.T, strict=True):
        edges = np.diff(np.concatenate([[1], column, [1]]).astype(int))
        lengths = np.flatnonzero(edges == 1) - np.flatnonzero(edges == -1)
        per_name[name] = {
            "missing": int(lengths.sum()),
            "gaps": len(lengths),
            "longest": int(lengths.max(initial=0)),
        }
    return {"missing": round(1.0 - float(seen.mean()), 6) if seen.size else 0.0, "gaps": per_name}


def held_by(path: Path) -> frozenset[str]:
    """Return kinds as ``Take.kinds`` has them; nothing where the file is of no format that is read.

    Where only the whole file tells, all that its format can hold.
    """
    try:
        form = find_format(path, FORMATS)
        if form.read is None:
            return frozenset()
        return frozenset(PEEKS[form.name](path)) if form.name in PEEKS else form.holds
    except (OsteonError, OSError):
        return frozenset()


class _Moving(msgspec.Struct):
    animations: tuple[msgspec.Raw, ...] = ()


def _in_glb(path: Path) -> frozenset[str]:
    """Return what a GLB holds. It begins with its document; the arrays behind it are left alone."""
    with path.open("rb") as file:
        head = file.read(20)
        whole = not head.startswith(MAGIC) or len(head) < 20
        text = head + file.read() if whole else file.read(struct.unpack_from("<I", head, 12)[0])
    try:
        moves = bool(msgspec.json.decode(text, type=_Moving).animations)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return frozenset()
    return GLB.holds if moves else GLB.holds - {"motion"}


def _in_store(path: Path) -> frozenset[str]:
    return frozenset(read(path).kinds) if path.stat().st_size <= SMALL_BYTES else STORE.holds


def _in_fbx(path: Path) -> frozenset[str]:
    return FBX.holds if b"KeyTime" in path.read_bytes() else FBX.holds - {"motion"}


PEEKS: Mapping[str, Callable[[Path], frozenset[str]]] = {
    GLB.name: _in_glb,
    FBX.name: _in_fbx,
    STORE.name: _in_store,
}
"""Formats that may hold motion, or a skeleton alone."""
