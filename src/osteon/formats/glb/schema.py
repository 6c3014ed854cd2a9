"""The parts of glTF that carry motion, and the container they travel in."""

import base64
import binascii
import re
import struct
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import unquote

import msgspec
import numpy as np

from osteon.errors import BadValue, FormatError
from osteon.formats.glb.vrm import human_bones
from osteon.formats.own.skeleton_json import SkeletonRecord
from osteon.formats.shared.json_and_xml import decode
from osteon.typing import Array
from osteon.values import Mark

T = TypeVar("T")

MAGIC = b"glTF"
JSON_CHUNK, BIN_CHUNK = 0x4E4F534A, 0x004E4942
"""Codes of a file's two chunks, defined by glTF 2.0: their names in ASCII."""
MOST_BYTES = 2**32 - 1
"""Bytes of a file, defined by glTF, which tells them by 32 bits."""
COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
MOST_USES = 4
"""Count of accessors that may name each byte, on average; chosen: more than one is rare."""
SPARE_BYTES = 1 << 20
"""Bytes that a file may spread to besides; chosen: a mebibyte harms nobody."""
TYPE_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
"""Count of numbers in an element, defined by glTF."""

TAKE_MARK = "osteon"
"""Key of an animation's extras that tells it from those that the character had."""

Index = Annotated[int, msgspec.Meta(ge=0, le=2**32)]
Vector = tuple[float, float, float]
Vector4 = tuple[float, float, float, float]
Matrix = Annotated[tuple[float, ...], msgspec.Meta(min_length=16, max_length=16)]


class Part(msgspec.Struct, omit_defaults=True, rename="camel"):
    """A glTF object; what it does not name is not written, and passed over in reading."""


class Asset(Part):
    version: str
    generator: str | None = None
    extras: Any = None


class Node(Part):
    name: str | None = None
    children: tuple[Index, ...] = ()
    translation: Vector | None = None
    rotation: Vector4 | None = None
    scale: Vector | None = None
    matrix: Matrix | None = None
    mesh: Index | None = None
    skin: Index | None = None
    extras: Any = None


class Skin(Part):
    joints: Annotated[tuple[Index, ...], msgspec.Meta(min_length=1)]
    inverse_bind_matrices: Index | None = None
    skeleton: Index | None = None
    name: str | None = None


class Sampler(Part):
    input: Index
    output: Index
    interpolation: Literal["LINEAR", "STEP", "CUBICSPLINE"] = "LINEAR"


class Target(Part):
    path: str
    node: Index | None = None


class Channel(Part):
    sampler: Index
    target: Target


class Animation(Part):
    channels: tuple[Channel, ...]
    samplers: tuple[Sampler, ...]
    name: str | None = None
    extras: Any = None

    @property
    def is_take(self) -> bool:
        """Whether it is a recording that was put on the character."""
        return isinstance(self.extras, dict) and TAKE_MARK in self.extras


class SparsePart(Part):
    """Where indices of a sparse accessor are, or the values that stand there."""

    buffer_view: Index
    byte_offset: Index = 0
    component_type: int | None = None


class Sparse(Part):
    count: Index
    indices: SparsePart
    values: SparsePart


class Accessor(Part):
    component_type: int
    count: Index
    type: str
    buffer_view: Index | None = None
    byte_offset: Index = 0
    normalized: bool = False
    min: tuple[float, ...] | None = None
    max: tuple[float, ...] | None = None
    sparse: Sparse | None = None


class BufferView(Part):
    buffer: Index
    byte_length: Index
    byte_offset: Index = 0
    byte_stride: Index | None = None
    target: int | None = None


class Buffer(Part):
    byte_length: Index
    uri: str | None = None


class Gltf(Part):
    asset: Asset
    scene: Index | None = None
    scenes: tuple[Any, ...] = ()
    nodes: tuple[Node, ...] = ()
    meshes: tuple[Any, ...] = ()
    materials: tuple[Any, ...] = ()
    skins: tuple[Skin, ...] = ()
    animations: tuple[Animation, ...] = ()
    accessors: tuple[Accessor, ...] = ()
    buffer_views: tuple[BufferView, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    extensions_required: tuple[str, ...] = ()
    extensions: Any = None

    @property
    def animation(self) -> int | None:
        """Which animation is read: the last take that was put on the character, else the first."""
        takes = [i for i, one in enumerate(self.animations) if one.is_take]
        return takes[-1] if takes else 0 if self.animations else None


class MotionExtras(msgspec.Struct):
    """What a motion has beside its numbers."""

    rate: float
    marks: tuple[Mark, ...] = ()
    held: tuple[int, ...] = ()
    history: tuple[str, ...] = ()


class BoneRecord(msgspec.Struct):
    """What a node's ``extras.osteon`` says beside its body."""

    bone_axes: Vector4 = (1.0, 0.0, 0.0, 0.0)
    """w x y z, to the body's frame from the node's."""


class TakeExtras(msgspec.Struct):
    """``asset.extras.osteon``; each node's own is its body and a ``BoneRecord``."""

    skeleton: SkeletonRecord
    """Without its bodies."""
    motion: MotionExtras | None = None


FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"([A-Za-z]*)"')
KEYS = frozenset(
    (b"accessors", b"animations", b"bufferViews", b"buffers", b"extensionsUsed", b"materials")
    + (b"meshes", b"nodes", b"scene", b"scenes", b"skins")
)
"""With which of them a text file begins is its writer's choice."""


def sniff(head: bytes) -> bool:
    if head.startswith(MAGIC):
        return True
    first = FIRST_KEY.match(head)
    return first is not None and (first[1] in KEYS or b'"asset"' in head)


def pack(gltf: Gltf | dict[str, Any], binary: bytes) -> bytes:
    """Return the bytes of a GLB file."""
    text = msgspec.json.encode(gltf)
    text += b" " * (-len(text) % 4)
    binary += bytes(-len(binary) % 4)
    if len(text) + len(binary) + 28 > MOST_BYTES:
        raise BadValue(
            f"GLB holds up to 4 GiB, this motion needs {len(binary)} bytes; cut it first"
        )
    chunks = struct.pack("<II", len(text), JSON_CHUNK) + text
    if binary:
        chunks += struct.pack("<II", len(binary), BIN_CHUNK) + binary
    return MAGIC + struct.pack("<II", 2, 12 + len(chunks)) + chunks


class File:
    """A glTF file at hand: its document, and its accessors as arrays."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        glb = data.startswith(MAGIC)
        self.text, self.binary = _chunks(path, data) if glb else (data, b"")
        self.path, self.size = path, len(data)
        self._neighbours: dict[Path, bytes] = {}
        # thousands of channels may name the same numbers: those are made once
        self.buffers: dict[int, bytes] = {}
        self.arrays: dict[int, Array] = {}
        self.made = 0
        """Bytes of the file behind all arrays so far."""
        self.drawn = 0
        """Vertices of all primitives so far."""
        self.gltf = decode(path, self.text, Gltf)
        if not self.gltf.asset.version.startswith("2."):
            version = self.gltf.asset.version
            raise FormatError(path, f"glTF version must be 2, got {version!r}", "$.asset.version")
        packed = [name for name in self.gltf.extensions_required if "meshopt" in name]
        if packed:
            raise FormatError(path, f"is compressed with {packed[0]}; save it without compression")
        if bones := human_bones(self.gltf.extensions):
            nodes = enumerate(self.gltf.nodes)
            self.gltf.nodes = tuple(
                msgspec.structs.replace(n, name=bones.get(i, n.name)) for i, n in nodes
            )

    def array(self, index: int, kind: str) -> Array:
        """Return an accessor as float64 (count, width); ``kind`` is the type it must have."""
        values = self._raw(index, kind)
        if index not in self.arrays:
            # places in whole numbers (KHR_mesh_quantization) are meant as they are unless told
            whole = kind == "VEC3" and not self.gltf.accessors[index].normalized
            self.arrays[index] = self._floats(values, f"$.accessors[{index}]", whole=whole)
        return self.arrays[index]

    def _floats(self, values: np.ndarray, place: str, *, whole: bool) -> Array:
        """Return an accessor's numbers, read-only: all who name it share them. Integers are shares
        of their largest, unless they stand for ``whole`` numbers."""
        self._draw(values.nbytes, place)
        if not np.isfinite(values).all():
            raise FormatError(self.path, "holds numbers that are not finite", place)
        if values.dtype.kind != "f" and not whole:
            values = np.maximum(values / float(np.iinfo(values.dtype).max), -1.0)
        values = values.astype(np.float64)
        values.setflags(write=False)
        return values

    def _draw(self, n_bytes: int, place: str) -> None:
        """Count what is made of the file; refuse what swells."""
        self.made += n_bytes
        if self.made > MOST_USES * self.size + SPARE_BYTES:
            raise FormatError(self.path, "its accessors name the same bytes again and again", place)

    @property
    def compression(self) -> str:
        """The extension that packs its meshes; empty where none does."""
        used = (name for name in self.gltf.extensions_required if name.endswith("_compression"))
        return next(used, "")

    def integers(self, index: int, kind: str) -> np.ndarray:
        """Return an accessor of whole numbers, not negative, (count, width)."""
        values = self._raw(index, kind)
        if values.dtype.kind != "u":
            place = f"$.accessors[{index}]"
            raise FormatError(self.path, "must hold whole numbers without a sign", place)
        return values.astype(np.int64)

    def _raw(self, index: int, kind: str) -> np.ndarray:
        place = f"$.accessors[{index}]"
        accessor = self._get(self.gltf.accessors, index, "accessors")
        if accessor.type != kind or accessor.component_type not in COMPONENTS:
            found = f"{accessor.type} of {accessor.component_type}"
            raise FormatError(self.path, f"expected {kind} of a known type, got {found}", place)
        if accessor.buffer_view is None:
            if accessor.sparse is None and self.compression:
                raise FormatError(
                    self.path, f"is compressed with {self.compression}; save it without", place
                )
            dtype = np.dtype(COMPONENTS[accessor.component_type])
            numbers = np.broadcast_to(dtype.type(0), (accessor.count, TYPE_WIDTHS[kind]))
            self._draw(numbers.nbytes, place)  # no byte of the file stands behind them
        else:
            numbers = self._numbers(accessor, place)
        return numbers if accessor.sparse is None else self._filled_in(numbers, accessor, place)

    def _filled_in(self, numbers: np.ndarray, accessor: Accessor, place: str) -> np.ndarray:
        """Return numbers of which a sparse accessor tells some anew."""
        sparse, place = accessor.sparse, f"{place}.sparse"
        assert sparse is not None
        self._draw(numbers.nbytes, place)
        told = [
            msgspec.structs.replace(accessor, count=sparse.count, **more)
            for more in (
                {"buffer_view": sparse.indices.buffer_view, "type": "SCALAR",
                 "byte_offset": sparse.indices.byte_offset,
                 "component_type": sparse.indices.component_type},
                {"buffer_view": sparse.values.buffer_view,
                 "byte_offset": sparse.values.byte_offset},
            )
        ]  # fmt: skip
        if told[0].component_type not in COMPONENTS:
            raise FormatError(self.path, "its indices are of no known type", place)
        rows, values = (self._numbers(each, place) for each in told)
        if rows.dtype.kind != "u" or rows.max(initial=0) >= max(len(numbers), 1):
            raise FormatError(self.path, f"its indices are not below {len(numbers)}", place)
        filled = np.array(numbers)
        filled[rows[:, 0]] = values
        return filled

    def _numbers(self, accessor: Accessor, place: str) -> np.ndarray:
        """Return the buffer's own numbers (count, width), seen in place."""
        view = self._get(self.gltf.buffer_views, accessor.buffer_view or 0, "bufferViews")
        buffer = self._buffer(view.buffer)
        dtype, width = np.dtype(COMPONENTS[accessor.component_type]), TYPE_WIDTHS[accessor.type]
        entry = dtype.itemsize * width
        stride = view.byte_stride or entry
        start = view.byte_offset + accessor.byte_offset
        needed = (accessor.count - 1) * stride + entry if accessor.count else 0
        if accessor.byte_offset + needed > view.byte_length or start + needed > len(buffer):
            raise FormatError(
                self.path,
                f"promises {accessor.count} entries, {needed} bytes from byte {start} on; "
                f"its view has {view.byte_length} bytes and the buffer {len(buffer)}",
                place,
            )
        if not accessor.count:
            return np.zeros((0, width), dtype)
        shape, strides = (accessor.count, width), (stride, dtype.itemsize)
        return np.ndarray(shape, dtype, buffer, start, strides)

    def _get(self, members: tuple, index: int, name: str) -> Any:
        if not 0 <= index < len(members):
            raise FormatError(
                self.path, f"there are {len(members)}, not one of {index}", f"$.{name}"
            )
        return members[index]

    def _buffer(self, index: int) -> bytes:
        if index not in self.buffers:
            self.buffers[index] = self._unpack(index)
        return self.buffers[index]

    def _unpack(self, index: int) -> bytes:
        uri = self._get(self.gltf.buffers, index, "buffers").uri
        if uri is None:
            return self.binary
        head, _, content = uri.partition(",")
        if not (head.startswith("data:") and head.endswith(";base64")):
            return self._neighbour(uri, f"$.buffers[{index}].uri")
        try:
            return base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError):
            raise FormatError(self.path, "is not base64", f"$.buffers[{index}].uri") from None

    def _neighbour(self, uri: str, place: str) -> bytes:
        """Return a buffer in a file of its own, in the same folder or below it and nowhere else."""
        folder = self.path.parent.resolve()
        try:
            file = (folder / unquote(uri)).resolve()
            if not file.is_relative_to(folder) or not file.is_file():
                problem = f"its numbers are in {uri[:40]!r}, which is not beside it"
                raise FormatError(self.path, f"{problem}; put it there, or save one .glb", place)
            if file not in self._neighbours:
                self._neighbours[file] = file.read_bytes()
                self.size += len(self._neighbours[file])
        except (OSError, ValueError) as error:  # a name that no file can have
            raise FormatError(self.path, f"{uri[:40]!r} cannot be read: {error}", place) from None
        return self._neighbours[file]


def _chunks(path: Path, data: bytes) -> tuple[bytes, bytes]:
    """Return JSON text and binary of a GLB file."""
    if len(data) < 20:
        raise FormatError(path, f"is cut short: a GLB has at least 20 bytes, here are {len(data)}")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise FormatError(path, f"GLB version must be 2, got {version}", "byte 4")
    if length > len(data):
        raise FormatError(path, f"is cut short: {len(data)} of {length} bytes are there", "byte 8")
    found, at = {}, 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<II", data, at)
        if at + 8 + size > length:
            raise FormatError(path, f"a chunk of {size} bytes runs over the end", f"byte {at}")
        found.setdefault(kind, data[at + 8 : at + 8 + size])
        at += 8 + size
    if JSON_CHUNK not in found:
        raise FormatError(path, "has no JSON chunk", "byte 12")
    return found[JSON_CHUNK], found.get(BIN_CHUNK, b"")


def our_extras(extras: Any, kind: type[T]) -> T | None:
    """Return what osteon wrote into ``extras``; None where somebody else did."""
    ours = extras.get("osteon") if isinstance(extras, dict) else None
    if ours is None:
        return None
    try:
        return msgspec.convert(ours, kind)
    except (msgspec.ValidationError, RecursionError):
        return None
