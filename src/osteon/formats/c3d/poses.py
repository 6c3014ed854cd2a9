"""Rigid bodies in a C3D file: the ROTATION group, or points that span a frame of axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.c3d.encoding import BLOCK_BYTES, Processor
from osteon.formats.c3d.parameters import C3dParameters
from osteon.formats.registry import FROM_POINTS
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies, Recording

RIGID_SHARE = 0.5
"""Share of frames in which three points must span a frame of axes to be taken as a body; chosen:
most of them, for integers that ran over spoil some."""
POSE_COUNT = 17
"""Count of numbers per body and sample, defined by C3D's ROTATION group: a 4 × 4 matrix, column
after column, and its reliability."""
SKEW_RATIO = 1e-2
"""Ratio to unit length by which axes may be off it and off right angles; chosen: float32 matrices
stay below 1e-5, and other numbers are no matrix."""


@dataclass(frozen=True)
class C3dPoses:
    """Contents of the ROTATION group, in the file's unit and axes."""

    positions: Array
    """(n_samples, n_bodies, 3)"""
    rotations: Array
    """(n_samples, n_bodies, 4) to the world from the body; NaN where not seen."""
    ratio: int
    """Samples per frame."""


def read_rotations(
    path: Path, data: memoryview, parameters: C3dParameters, processor: Processor, n_frames: int
) -> C3dPoses | None:
    n_bodies = parameters.count("ROTATION", "USED") or 0
    block = parameters.count("ROTATION", "DATA_START") or 0
    if n_bodies == 0 or block < 2:
        return None
    ratio = max(1, parameters.count("ROTATION", "RATIO") or 1)
    n_samples, start = n_frames * ratio, (block - 1) * BLOCK_BYTES
    room = max(0, len(data) - start) // (4 * POSE_COUNT * n_bodies)
    if room < n_samples:
        raise FormatError(
            path,
            f"cut short: {room} of {n_samples} frames of {n_bodies} bodies are there; "
            "copy the file again from its source",
            f"byte {len(data)}",
        )
    table = processor.floats(data, n_samples * n_bodies * POSE_COUNT, start).astype(float)
    table = table.reshape(n_samples, n_bodies, POSE_COUNT)
    matrices = table[..., :16].reshape(n_samples, n_bodies, 4, 4).swapaxes(-1, -2)
    turns = matrices[..., :3, :3]
    skew = np.abs(turns @ turns.swapaxes(-1, -2) - np.eye(3)).max(axis=(-1, -2))
    seen = (skew < SKEW_RATIO) & (table[..., 16] >= 0) & (np.linalg.det(np.nan_to_num(turns)) > 0)
    turns = np.where(seen[..., None, None], turns, np.eye(3))
    rotations = np.where(seen[..., None], quat.from_matrix(turns), np.nan)
    return C3dPoses(matrices[..., :3, 3], rotations, ratio)


def bodies_from_axes(recording: Recording) -> Bodies | None:
    """Bodies whose origin, +Y and +Z are points named ``X``, ``XY`` and ``XZ``.

    ART-Human writes them so. Three labels alone could be chance: the two arms must also keep
    their lengths and be at right angles. Frames where they do not are not seen; integers that
    ran over at 1.6 m make such frames.
    """
    origins = [name for name in recording.names if _has_axes(name, recording.names)]
    if not origins:
        return None
    o, y, z = (_points(recording, [name + axis for name in origins]) for axis in ("", "Y", "Z"))
    with np.errstate(invalid="ignore", divide="ignore"):
        rigid = _are_rigid(y - o, z - o)
        turns = _axes(y - o, z - o)
    kept = np.flatnonzero(rigid.mean(axis=0) > RIGID_SHARE) if len(rigid) else np.zeros(0, int)
    if not len(kept):
        return None
    rotations = quat.from_matrix(np.where(rigid[..., None, None], turns, np.eye(3)))
    return Bodies(
        o[:, kept],
        np.where(rigid[..., None], rotations, np.nan)[:, kept],
        tuple(origins[column] for column in kept),
        recording.rate,
        recording.subject,
        recording.marks,
        (FROM_POINTS,),
        recording.source,
    )


def _has_axes(name: str, names: Sequence[str]) -> bool:
    at = names.index(name)
    return tuple(names[at + 1 : at + 3]) == (f"{name}Y", f"{name}Z")


def _are_rigid(y: Array, z: Array) -> np.ndarray:
    """(n_frames, n_bodies) whether both arms have their usual length and are at right angles."""
    lengths = np.linalg.norm([y, z], axis=-1)
    usual = np.array([[_median(arm) for arm in arms.T] for arms in lengths])[:, None]
    steady = (np.abs(lengths - usual) < SKEW_RATIO * usual).all(axis=0)
    return steady & (np.abs(np.sum(y * z, axis=-1)) < SKEW_RATIO * np.prod(lengths, axis=0))


def _median(values: Array) -> float:
    seen = values[np.isfinite(values)]
    return float(np.median(seen)) if len(seen) else np.nan


def _points(recording: Recording, names: list[str]) -> Array:
    return recording.positions[:, [recording.index(name) for name in names]]


def _axes(y: Array, z: Array) -> Array:
    """Rotation matrices whose second column is along ``y`` and third near ``z``."""
    y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    x = np.cross(y, z)
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return np.stack([x, y, np.cross(x, y)], axis=-1)
