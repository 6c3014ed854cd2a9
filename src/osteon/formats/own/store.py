"""Osteon's own store: everything a take holds, without loss.

A zip archive, or the same files in a folder ``name.osteon/``:

    take.json                       every field of every value, as the classes in ``values`` name it
    recordings/0/positions.npy      long arrays, float64; plain .npy files to map into memory

Arrays of up to 64 numbers stand in the JSON as ``{"shape": […], "values": […]}``, others as
``{"npy": "recordings/0/positions.npy"}``. A number that is not finite is written in quotes.
Nothing is compressed, and the same take gives the same bytes.
"""

import dataclasses
import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from osteon.errors import BadValue, FormatError, UnknownName, WrongContent
from osteon.formats.registry import FOLDER_INDEX, Format, WriteOptions
from osteon.formats.shared.json_and_xml import check_version, convert, decode
from osteon.formats.shared.sane_rig import check_rig
from osteon.values import Take

FORMAT = "osteon.take"
FORMAT_VERSION = 1
"""Version of the store, defined here; a higher one was written by a later Osteon."""
INLINE_COUNT = 64
"""Count of numbers up to which arrays stand in the JSON; chosen: what people can still read."""
MOST_EXPANSION = 20
"""Ratio of an archive's size unpacked and packed; chosen: ours unpack to less than their size."""
SPARE_BYTES = 1 << 20
"""Bytes that an archive may unpack to besides; chosen: a mebibyte harms nobody."""
UNPACKED_STEP_BY_STEP = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Methods of which zipfile unpacks no more than is asked for; of bzip2 and LZMA it unpacks all."""

NPY = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)"
    rb"\{'descr': '<f8', 'fortran_order': False, 'shape': \((?P<shape>[0-9, ]{0,80})\), \} *\n",
    re.DOTALL,
)

DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
)
"""What zipfile raises on archives that are not whole, beside its own error."""

Load = Callable[[str], bytes]


class Document(msgspec.Struct):
    """take.json; the take itself is checked when its arrays are at hand."""

    format: Literal["osteon.take"]
    version: int
    take: dict[str, Any]


def sniff(head: bytes) -> bool:
    return head.startswith(b"PK\x03\x04") or (
        head.startswith(b"{") and f'"{FORMAT}"'.encode() in head
    )


def read_store(path: Path) -> Take:
    """Read the archive, or a folder (given by its own name or by its ``take.json``)."""
    if path.is_dir():
        return _read(path, _from_folder(path, path))
    if path.name == FOLDER_INDEX:
        return _read(path, _from_folder(path, path.parent))
    try:
        with zipfile.ZipFile(path) as archive:
            if FOLDER_INDEX not in archive.namelist():
                raise WrongContent(
                    path,
                    f"an archive, but no Osteon store: it holds no {FOLDER_INDEX!r}; unpack it, "
                    "and save a spreadsheet as CSV",
                )
            return _read(path, _from_archive(path, archive))
    except DAMAGED as error:
        raise FormatError(path, f"the zip archive is damaged: {error}") from None


def write_store(path: Path, take: Take, options: WriteOptions) -> None:
    options.allow_metres("z", ".osteon stores values as they are, in metres with z up")
    arrays: dict[str, np.ndarray] = {}
    document = Document(FORMAT, FORMAT_VERSION, _plain(take, "", arrays))
    with zipfile.ZipFile(path, "w") as archive:
        _store(archive, FOLDER_INDEX, msgspec.json.encode(document) + b"\n")
        for name, array in arrays.items():
            file = io.BytesIO()
            np.lib.format.write_array(file, array, version=(1, 0))
            _store(archive, name, file.getvalue())


def _store(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Add a file under a fixed date, so that the archive depends on nothing but its content."""
    archive.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), data)


def _plain(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value as JSON can hold it; long arrays are put into ``arrays`` under their place."""
    if isinstance(value, np.ndarray):
        if value.size > INLINE_COUNT:
            arrays[f"{place}.npy"] = np.ascontiguousarray(value, dtype="<f8")
            return {"npy": f"{place}.npy"}
        return {"shape": value.shape, "values": [_number(v) for v in value.ravel().tolist()]}
    if dataclasses.is_dataclass(value):
        members = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _plain(members, place, arrays)
    if isinstance(value, msgspec.Struct):
        tag = {"kind": value.__struct_config__.tag} if value.__struct_config__.tag else {}
        return _plain(tag | msgspec.structs.asdict(value), place, arrays)
    if isinstance(value, dict):
        return {k: _plain(v, f"{place}/{k}".strip("/"), arrays) for k, v in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_plain(member, f"{place}/{i}", arrays) for i, member in enumerate(value)]
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))


def _read(path: Path, load: Load) -> Take:
    document = decode(path, load(FOLDER_INDEX), Document)
    check_version(path, document.version, FORMAT_VERSION)
    used: set[str] = set()

    def array(kind: type, stored: Any) -> np.ndarray:
        name = stored.get("npy") if isinstance(stored, dict) else None
        if not isinstance(name, str):
            return _inline(stored)
        if name in used:  # else a small file could ask for the same array a million times
            raise FormatError(path, "is named by two arrays; each has a file of its own", name)
        used.add(name)
        return _npy(path, name, load(name))

    try:
        take = convert(path, document.take, Take, array, "$.take")
        moving = [each.skeleton for each in (*take.motions, *take.compacts)]
        for skeleton in (*take.skeletons, *moving):
            check_rig(skeleton)
        return take
    except (UnknownName, BadValue) as error:
        raise FormatError(path, str(error)) from None


def _inline(stored: Any) -> np.ndarray:
    """Return an array written in the JSON; the hook's caller gives a ValueError its place."""
    try:
        shape = [int(size) for size in stored["shape"]]
        return np.array(stored["values"], dtype=float).reshape(shape)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ValueError("expected an array: its shape and as many values, or npy") from None


def _npy(path: Path, name: str, data: bytes) -> np.ndarray:
    match = NPY.match(data)
    if match is None:
        raise FormatError(path, "is not a .npy file of float64 in C order", name)
    shape = tuple(int(size) for size in match["shape"].replace(b",", b" ").split())
    promised, there = 8 * math.prod(shape), len(data) - match.end()
    if promised != there:
        raise FormatError(
            path, f"shape {shape} needs {promised} bytes of numbers, there are {there}", name
        )
    try:
        return np.frombuffer(data, dtype="<f8", offset=match.end()).reshape(shape)
    except ValueError:  # nothing times more than numpy counts to
        raise FormatError(path, f"no array has the shape {shape}", name) from None


def _from_folder(path: Path, folder: Path) -> Load:
    def load(name: str) -> bytes:
        try:
            file = (folder / name).resolve()
            if not file.is_relative_to(folder.resolve()):
                raise FormatError(path, f"{name!r} lies outside of the folder")
            return file.read_bytes()
        except (OSError, ValueError) as error:
            raise FormatError(path, f"{name!r} cannot be read: {error}") from None

    return load


def _from_archive(path: Path, archive: zipfile.ZipFile) -> Load:
    infos = archive.infolist()
    if not all(info.compress_type in UNPACKED_STEP_BY_STEP for info in infos):
        raise FormatError(path, "is packed by an unusual method; unzip it and read the folder")
    unpacked, packed = sum(info.file_size for info in infos), path.stat().st_size
    if unpacked > MOST_EXPANSION * packed + SPARE_BYTES:
        raise FormatError(
            path,
            f"would unpack from {packed} to {unpacked} bytes; if that is right, "
            "unzip it and read the folder",
        )

    def load(name: str) -> bytes:
        try:
            info = archive.getinfo(name)
        except KeyError:
            raise FormatError(path, f"the archive holds no {name!r}") from None
        with archive.open(info) as file:
            return file.read(info.file_size)  # read() alone unpacks all, whatever size is promised

    return load


STORE = Format(
    name="Osteon store",
    suffixes=(".osteon",),
    sniff=sniff,
    read=read_store,
    write=write_store,
    holds=frozenset({"markers", "bodies", "motion", "skeleton", "compact"}),
    along=frozenset({"outputs", "events", "analog", "head"}),
)
