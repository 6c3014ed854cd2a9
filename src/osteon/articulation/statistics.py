"""The sufficient statistic of all pairs of bodies: one Gram matrix that adds.

With ``A`` the rows ``[R_1 t_1 | R_2 t_2 | …]`` of all frames, ``AᵀA`` holds for every pair what its
joint fit needs. It adds: over takes, over machines, and over the frames of a live stream.
docs/methods.md §1.

A pose is the 3×4 block ``[R | t]``; a frame of ``n_bodies`` poses is three rows of ``4 n_bodies``
columns. A body that is not seen leaves a block of zeros, so it adds nothing to any product.
"""

import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from osteon.errors import BadValue, FormatError, ShapeError
from osteon.maths import kernel
from osteon.typing import Array
from osteon.values import Bodies

LARGEST_SUM = 1e30
"""Square metres times frames; beyond, a number is a damaged one. Chosen."""
BLOCK_BYTES = 250_000
"""Bytes of the packed block that is multiplied at once. Chosen: it stays in the cache."""


@dataclass(slots=True, eq=False)
class JointStatistics:
    """Sums over frames from which every joint fit follows; memory does not grow with frames."""

    names: tuple[str, ...]
    gram: Array
    """(4 n_bodies, 4 n_bodies) products of ``[R_i t_i]`` with ``[R_j t_j]``."""
    own: Array
    """(n_bodies, n_bodies, 4, 4) ``[i, j]``: pose i with itself, over frames that also show j."""
    count: Array
    """(n_bodies, n_bodies) frames, or their weight, in which both bodies were seen."""

    @classmethod
    def empty(cls, names: tuple[str, ...]) -> "JointStatistics":
        """Nothing seen yet, for a live stream."""
        m = len(names)
        return cls(tuple(names), np.zeros((4 * m, 4 * m)), np.zeros((m, m, 4, 4)), np.zeros((m, m)))

    @classmethod
    def of(cls, bodies: Bodies) -> "JointStatistics":
        """The statistic of a take."""
        statistics = cls.empty(bodies.names)
        statistics.accumulate(bodies.positions, bodies.rotations)
        return statistics

    def accumulate(self, positions: Array, rotations: Array) -> None:
        """Add frames: positions (n_frames, n_bodies, 3), rotations (n_frames, n_bodies, 4)."""
        m = len(self.names)
        if positions.shape[1:] != (m, 3) or rotations.shape != (len(positions), m, 4):
            raise ShapeError(
                f"poses of {m} bodies must be (n_frames, {m}, 3) and (n_frames, {m}, 4), "
                f"got {positions.shape} and {rotations.shape}"
            )
        block = max(1, BLOCK_BYTES // (3 * 4 * m * 8))
        rows, seen = np.zeros((3 * block, 4 * m)), np.zeros((block, m))
        whole, n_whole = np.zeros_like(self.gram), 0
        for start in range(0, len(positions), block):
            stop = min(start + block, len(positions))
            n = stop - start
            pack(positions[start:stop], rotations[start:stop], rows[: 3 * n], seen[:n])
            if seen[:n].all():
                whole += rows[: 3 * n].T @ rows[: 3 * n]
                n_whole += n
            else:
                self._add_rows(rows[: 3 * n], seen[:n])
        self._add_whole(whole, n_whole)

    def update(self, positions: Array, rotations: Array) -> None:
        """Add one live frame: positions (n_bodies, 3), rotations (n_bodies, 4); NaN if not seen."""
        m = len(self.names)
        rows, seen = np.zeros((3, 4 * m)), np.zeros((1, m))
        pack(positions[None], rotations[None], rows, seen)
        add_frame(self.gram, self.own, self.count, rows, seen)

    def __add__(self, other: "JointStatistics") -> "JointStatistics":
        if self.names != other.names:
            raise BadValue(
                "statistics add only when they are of the same bodies in the same order; got "
                f"{', '.join(self.names[:8])} and {', '.join(other.names[:8])}"
            )
        return JointStatistics(
            self.names, self.gram + other.gram, self.own + other.own, self.count + other.count
        )

    def scaled(self, factor: float) -> "JointStatistics":
        """All frames count ``factor`` as much; 0.99 each second halves the past in 69 s."""
        return JointStatistics(
            self.names, factor * self.gram, factor * self.own, factor * self.count
        )

    def save(self, path: str | Path, **others: Any) -> None:
        """Write as one .npz file, with ``others`` beside."""
        arrays = {"gram": self.gram, "own": self.own, "count": self.count, **others}
        np.savez(Path(path), names=np.array(self.names), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "JointStatistics":
        path = Path(path)
        parts = read_npz(path, ("names", "gram", "own", "count"), "a saved joint statistic")
        return statistics_of(path, parts)

    def _add_whole(self, product: Array, n_frames: int) -> None:
        """Add the product of frames that show everybody: self terms stand on its diagonal."""
        m = len(self.names)
        self.gram += product
        self.own += product.reshape(m, 4, m, 4)[np.arange(m), :, np.arange(m)][:, None]
        self.count += float(n_frames)

    def _add_rows(self, rows: Array, seen: Array) -> None:
        m = len(self.names)
        self.gram += rows.T @ rows
        products = np.zeros((len(seen), 16 * m))
        self_products(rows, products)
        self.own += (products.T @ seen).reshape(m, 4, 4, m).transpose(0, 3, 1, 2)
        self.count += seen.T @ seen


def read_npz(path: Path, wanted: Sequence[str], what: str) -> dict[str, np.ndarray]:
    """The arrays of a .npz file of ours, which is not packed: no more than the file's own bytes."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [archive.getinfo(f"{name}.npy") for name in wanted]
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise FormatError(path, f"is packed; {what} is not")
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in wanted}
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from error
    except BROKEN as error:
        raise FormatError(path, f"is not {what} (.npz), or not whole") from error


BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, KeyError, EOFError, TypeError,
          SyntaxError, MemoryError, RuntimeError, NotImplementedError, OverflowError)  # fmt: skip
"""What zipfile and numpy raise on files that are none, or not whole: numpy reads the header of an
array as a piece of Python."""


def statistics_of(path: Path, parts: Mapping[str, np.ndarray]) -> JointStatistics:
    """The statistic among the arrays of a file, checked: shapes, and numbers that sums can have."""
    if parts["names"].ndim != 1 or parts["names"].dtype.kind != "U":
        raise FormatError(path, "must hold a list of names", "names")
    names = tuple(map(str, parts["names"]))
    m = len(names)
    shapes = {"gram": (4 * m, 4 * m), "own": (m, m, 4, 4), "count": (m, m)}
    for name, shape in shapes.items():
        checked_sums(path, parts, name, shape)
    return JointStatistics(names, parts["gram"], parts["own"], parts["count"])


def checked_sums(
    path: Path, parts: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...]
) -> Array:
    values = parts[name]
    if values.dtype != np.float64 or values.shape != shape:
        found = f"{values.dtype} {values.shape}"
        raise FormatError(path, f"expected float64 of shape {shape}, got {found}", name)
    if not (np.abs(values) <= LARGEST_SUM).all():
        raise FormatError(path, "holds numbers that no sum can have", name)
    return values


@kernel
def pack(positions, rotations, rows, seen):
    """Write poses (n, m, 3) and (n, m, 4) as ``rows`` (3n, 4m); note who was ``seen`` (n, m).

    Each frame is moved by the mean place of its bodies: only differences of places matter, and
    far from the origin the products would lose digits.
    """
    n_frames, n_bodies = positions.shape[:2]
    for k in range(n_frames):
        cx, cy, cz, n_seen = 0.0, 0.0, 0.0, 0
        for i in range(n_bodies):
            there = not np.isnan(positions[k, i, 0] + rotations[k, i, 0])
            seen[k, i] = 1.0 if there else 0.0
            if there:
                cx += positions[k, i, 0]
                cy += positions[k, i, 1]
                cz += positions[k, i, 2]
                n_seen += 1
        if n_seen > 0:
            cx, cy, cz = cx / n_seen, cy / n_seen, cz / n_seen
        x_row, y_row, z_row = rows[3 * k], rows[3 * k + 1], rows[3 * k + 2]
        for i in range(n_bodies):
            col = 4 * i
            if seen[k, i] == 0.0:
                x_row[col : col + 4] = 0.0
                y_row[col : col + 4] = 0.0
                z_row[col : col + 4] = 0.0
                continue
            w, x, y, z = rotations[k, i]
            x_row[col] = 1 - 2 * (y * y + z * z)
            x_row[col + 1] = 2 * (x * y - w * z)
            x_row[col + 2] = 2 * (x * z + w * y)
            x_row[col + 3] = positions[k, i, 0] - cx
            y_row[col] = 2 * (x * y + w * z)
            y_row[col + 1] = 1 - 2 * (x * x + z * z)
            y_row[col + 2] = 2 * (y * z - w * x)
            y_row[col + 3] = positions[k, i, 1] - cy
            z_row[col] = 2 * (x * z - w * y)
            z_row[col + 1] = 2 * (y * z + w * x)
            z_row[col + 2] = 1 - 2 * (x * x + y * y)
            z_row[col + 3] = positions[k, i, 2] - cz


@kernel
def self_products(rows, products):
    """Every pose with itself, ``[R t]ᵀ[R t]``, as ``products`` (n, 16 m)."""
    n_frames, n_bodies = products.shape[0], products.shape[1] // 16
    for k in range(n_frames):
        for i in range(n_bodies):
            for a in range(4):
                for b in range(4):
                    total = 0.0
                    for r in range(3):
                        total += rows[3 * k + r, 4 * i + a] * rows[3 * k + r, 4 * i + b]
                    products[k, 16 * i + 4 * a + b] = total


@kernel
def add_frame(gram, own, count, rows, seen):
    """Add one packed frame: ``rows`` (3, 4m), ``seen`` (1, m)."""
    n_bodies = seen.shape[1]
    for p in range(4 * n_bodies):
        a, b, c = rows[0, p], rows[1, p], rows[2, p]
        for q in range(4 * n_bodies):
            gram[p, q] += a * rows[0, q] + b * rows[1, q] + c * rows[2, q]
    for i in range(n_bodies):
        for a in range(4):
            for b in range(4):
                total = 0.0
                for r in range(3):
                    total += rows[r, 4 * i + a] * rows[r, 4 * i + b]
                for j in range(n_bodies):
                    own[i, j, a, b] += seen[0, j] * total
        for j in range(n_bodies):
            count[i, j] += seen[0, i] * seen[0, j]
