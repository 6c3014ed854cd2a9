"""What the report page is given. ``studio/client/src/data.ts`` holds the same shapes."""

import base64

import msgspec
import numpy as np

from ossature.maths import quat
from ossature.maths.quat import Array
from ossature.values import Motion, Recording

MISSING = -32768
"""The integer that stands for NaN."""
MOST_NUMBERS = 12_000_000
"""Coordinates a page may carry per array (24 MB); longer takes are thinned, and say so."""


class Packed(msgspec.Struct, frozen=True):
    """An array as 16-bit integers: value = origin + step · integer."""

    data: str
    origin: float
    step: float


class BodyRow(msgspec.Struct, frozen=True):
    name: str
    parent: int
    kind: str
    length_mm: float | None = None
    measured_mm: float | None = None
    sigma_mm: float | None = None
    rms_mm: float | None = None


class MarkerRow(msgspec.Struct, frozen=True):
    name: str
    body: int
    rms_mm: float | None = None


class TipRow(msgspec.Struct, frozen=True):
    body: int
    points: Packed


class Span(msgspec.Struct, frozen=True):
    """Something that happened from one frame to another."""

    kind: str
    what: str
    first: int
    last: int


class ReportData(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    subject: str
    rate: float
    frames: int
    stride: int
    bodies: list[BodyRow] = []
    markers: list[MarkerRow] = []
    joints: Packed | None = None
    tips: list[TipRow] = []
    points: Packed | None = None
    errors: Packed | None = None
    spans: list[Span] = []
    facts: list[tuple[str, str]] = []
    history: list[str] = []
    warnings: list[str] = []


def pack(values: Array) -> Packed:
    """Numbers as 16-bit integers over their own range: 0.1 mm steps for a six-metre stage."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    origin, step = 0.5 * (low + high), max((high - low) / 65_000.0, 1e-9)
    seen = np.isfinite(values)
    whole = np.rint((np.where(seen, values, origin) - origin) / step)
    whole = np.where(seen, whole, MISSING).astype("<i2")
    return Packed(base64.b64encode(whole.tobytes()).decode("ascii"), origin, step)


def stride_for(n_frames: int, n_points: int) -> int:
    """Show every how many-th frame, so that the page stays small enough to open."""
    return max(1, -(-n_frames * max(n_points, 1) * 3 // MOST_NUMBERS))


def marker_points(recording: Recording, stride: int) -> Packed:
    return pack(recording.positions[::stride])


def joint_points(motion: Motion, stride: int) -> tuple[Packed, list[TipRow]]:
    """Joints of every shown frame, and the ends of bones that have no child."""
    rotations, joints = motion.world()
    rotations, joints = rotations[::stride], joints[::stride]
    tips = []
    for index, body in enumerate(motion.skeleton.bodies):
        if body.tip is not None:
            arm = body.tip - body.joint.in_body
            place = joints[:, index] + quat.rotate(rotations[:, index], arm)
            tips.append(TipRow(index, pack(place)))
    return pack(joints), tips


def body_rows(motion: Motion, measured: dict[str, float] | None = None) -> list[BodyRow]:
    skeleton = motion.skeleton
    measured = measured or {}
    rows = []
    for body, parent in zip(skeleton.bodies, skeleton.parents, strict=True):
        covariance = body.joint.covariance
        sigma = (
            None if covariance is None else 1e3 * float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
        )
        length = None if body.length is None else 1e3 * body.length
        known = measured.get(body.name)
        rms = None if body.joint.rms is None else 1e3 * body.joint.rms
        rows.append(
            BodyRow(
                body.name,
                parent,
                body.joint.kind,
                length,
                None if known is None else 1e3 * known,
                sigma,
                rms,
            )
        )
    return rows


def marker_rows(recording: Recording, motion: Motion) -> list[MarkerRow]:
    """The recording's markers in its own order, with the body that carries each."""
    carriers = {
        marker.name: (index, marker.rms)
        for index, body in enumerate(motion.skeleton.bodies)
        for marker in body.markers
    }
    rows = []
    for name in recording.names:
        body, rms = carriers.get(name, (-1, None))
        rows.append(MarkerRow(name, body, None if rms is None else 1e3 * rms))
    return rows
