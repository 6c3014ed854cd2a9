"""Every format that is known, and the two verbs that use them: read and write."""

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from osteon.errors import BadValue, FormatError, ShapeError, WrongContent
from osteon.formats import blender
from osteon.formats.asf_amc.reader import AMC, ASF
from osteon.formats.bvh.reader import BVH
from osteon.formats.c3d import C3D
from osteon.formats.glb import GLB
from osteon.formats.keypoint_files.keypoint_csv import KEYPOINT_CSV
from osteon.formats.keypoint_files.keypoint_json import KEYPOINT_JSON
from osteon.formats.keypoint_files.npy import NPY
from osteon.formats.mjcf.reader import MJCF
from osteon.formats.motive_csv import MOTIVE_CSV
from osteon.formats.mvnx import MVNX
from osteon.formats.osim import OSIM
from osteon.formats.own.compact_tables import COMPACT_CSV
from osteon.formats.own.skeleton_json import SKELETON_JSON
from osteon.formats.own.store import STORE
from osteon.formats.plain_csv import PLAIN_CSV
from osteon.formats.polhemus import POLHEMUS
from osteon.formats.qtm import QTM_MAT, QTM_TSV
from osteon.formats.registry import (
    Format,
    WriteOptions,
    as_held,
    as_take,
    check_holds,
    find_format,
    format_for_writing,
)
from osteon.formats.shared.whole_files import whole_file
from osteon.formats.trc import TRC
from osteon.formats.urdf import URDF
from osteon.formats.usd import USD
from osteon.threads import one_thread
from osteon.values import Bodies, CompactMotion, Motion, Recording, Skeleton, Take

FORMATS: tuple[Format, ...] = (
    C3D,
    COMPACT_CSV,
    PLAIN_CSV,
    STORE,
    SKELETON_JSON,
    GLB,
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


def motion_endings(*, usual: bool = False) -> tuple[str, ...]:
    """Return endings, without the dot, that a motion or its skeleton may be written with.

    Parameters
    ----------
    usual
        Only the first of each format.
    """
    writers = [form for form in FORMATS if form.write and form.holds & {"motion", "skeleton"}]
    suffixes = [form.suffixes[:1] if usual else form.suffixes for form in writers]
    return tuple(dict.fromkeys(suffix[1:] for each in suffixes for suffix in each))


def check_endings(asked: Iterable[str], besides: Collection[str] = ()) -> None:
    """Refuse what no motion is written with: the words become parts of files' names."""
    known = (*besides, *motion_endings())
    for ending in asked:
        if f".{ending}" in blender.MADE:
            raise BadValue(blender.HOW)
        if ending not in known:
            raise BadValue(f"no motion is written as {ending!r}; known: {', '.join(known)}")


def written_with(path: Path) -> tuple[Path, ...]:
    """Return a file and those that its format may have beside it."""
    form = format_for_writing(path, FORMATS)
    return path, *map(path.with_suffix, (*form.beside, *form.beside_motion))


__all__ = [
    "FORMATS",
    "Format",
    "WriteOptions",
    "check_endings",
    "find_format",
    "motion_endings",
    "read",
    "write",
    "written_with",
]
