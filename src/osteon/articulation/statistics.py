"""The sufficient statistic of all pairs of bodies: one Gram matrix that adds.

With ``A`` the rows ``[R_1 t_1 | R_2 t_2 | …]`` of all frames, ``AᵀA`` holds for every pair what its
joint fit needs. It adds: over takes, over machines, and over the frames of a live stream.
docs/methods.md §1.
"""

import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.errors import BadValue, FormatError, ShapeError
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

    @classmethod
    def of_matrices(
        cls, names: tuple[str, ...], matrices: Array, positions: Array
    ) -> "JointStatistics":
        """The statistic of general transformations, Eq. (1) of [000].

        Parameters
        ----------
        matrices : (n_frames, n_bodies, 3, 3)
            Any invertible matrices to the world from the body; NaN where not seen.
        positions : (n_frames, n_bodies, 3)
        """
        poses = np.concatenate([matrices, np.asarray(positions)[..., None]], axis=-1)
        seen = np.asarray(np.isfinite(poses).all(axis=(-1, -2)))
        poses = np.where(seen[..., None, None], poses, 0.0)
        n_seen = np.maximum(seen.sum(axis=1), 1)[:, None]
        poses[..., 3] -= (poses[..., 3].sum(axis=1) / n_seen)[:, None] * seen[..., None]
        rows = np.ascontiguousarray(poses.transpose(0, 2, 1, 3)).reshape(3 * len(poses), -1)
        statistics = cls.empty(names)
        statistics._add_rows(rows, seen.astype(float))
        return statistics

    def accumulate(self, positions: Array, rotations: Array) -> None:
        """Add frames: positions (n_frames, n_bodies, 3), rotations (n_frames, n_bodies, 4)."""
        from osteon.articulation._statistics_kernel import pack

        m = len(self.names)
        _check_frames(positions, rotations, m)
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
        from osteon.articulation._statistics_kernel import add_frame, pack

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

    def save(self, path: str | Path) -> None:
        """Write as one .npz file."""
        np.savez(
            Path(path),
            names=np.array(self.names),
            gram=self.gram,
            own=self.own,
            count=self.count,
        )

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
        from osteon.articulation._statistics_kernel import self_products

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


def _check_frames(positions: Array, rotations: Array, n_bodies: int) -> None:
    if positions.shape[1:] != (n_bodies, 3) or rotations.shape != (len(positions), n_bodies, 4):
        raise ShapeError(
            f"poses of {n_bodies} bodies must be (n_frames, {n_bodies}, 3) and (n_frames, "
            f"{n_bodies}, 4), got {positions.shape} and {rotations.shape}"
        )
