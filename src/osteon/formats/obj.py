"""Meshes of Wavefront OBJ: places and faces; all else in the file is passed over."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from osteon.errors import FormatError
from osteon.formats.shared.text_table import read_lines
from osteon.typing import Array


class Triangles(NamedTuple):
    """A mesh as it stands in a file, in the file's own unit."""

    vertices: Array
    """(n_vertices, 3)"""
    faces: np.ndarray
    """(n_faces, 3) indices of vertices, anticlockwise from outside."""


def read_obj(path: Path) -> Triangles:
    """Read a mesh; faces of more than three corners are cut into triangles from their first."""
    vertices: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(read_lines(path), 1):
        words = line.split()
        if not words or words[0] not in ("v", "f"):
            continue
        try:
            if words[0] == "v":
                x, y, z = map(float, words[1:4])
                vertices.append((x, y, z))
            else:
                corners = [_corner(word, len(vertices)) for word in words[1:]]
                faces += [(corners[0], b, c) for b, c in pairwise(corners[1:])]
        except (ValueError, IndexError):
            raise FormatError(path, f"cannot read {line[:40]!r}", f"line {number}") from None
    places = np.array(vertices, dtype=float)
    if not faces or not np.isfinite(places).all():
        raise FormatError(path, "holds no faces, or corners at no finite place")
    return Triangles(places, np.array(faces))


def _corner(word: str, n_vertices: int) -> int:
    """Return the index from 0 of ``7``, ``7/1/3`` or ``-1``, which counts from the last."""
    index = int(word.split("/")[0])
    index = index - 1 if index > 0 else n_vertices + index
    if not 0 <= index < n_vertices:
        raise IndexError
    return index
