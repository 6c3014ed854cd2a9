"""Angles about successive axes: as animation files store them, and ZYZ. Radians.

Axes are named x, y, z. Everywhere ``order`` "zxy" means R = Rz(a₀)·Rx(a₁)·Ry(a₂): read left to
right the axes turn with the body, read right to left they stand still.

ZYZ: R = Rz(φ)·Ry(ψ)·Rz(θ) with ψ in [0, π]. [001] appendix A, with both poles. At ψ = 0 only φ + θ
means anything, at ψ = π only φ − θ. There θ is set to zero, as the paper does at the first pole. No
arc cosine: ψ keeps its digits at both ends.
"""

import numpy as np

from osteon.maths.quat import identity, unroll
from osteon.maths.rotations import wrap
from osteon.typing import Array

NEARLY_LOCKED = 1e-8
"""Radians, about, from gimbal lock below which two angles cannot be told apart. Derived: the
root of rounding."""
LOCKED_ANGLE = 1e-4
"""Radians from a pole below which the outer angles are not told apart. Chosen: far below any noise
of a joint."""


def to_quat(angles: Array, order: str) -> Array:
    """Rotations (..., 4) of angles (..., n) about the n axes of ``order``, any number of them."""
    q = identity(angles.shape[:-1])
    for slot, axis in enumerate(order):
        half = 0.5 * angles[..., slot]
        q = _spin(q, "xyz".index(axis), np.cos(half), np.sin(half))
    return q


def from_quat(q: Array, order: str) -> Array:
    """Angles (n_frames, ..., 3) of rotations (n_frames, ..., 4) about three different axes.

    Neighbouring frames get neighbouring angles: no jump by a full turn, none by the half turns of
    gimbal lock, so a program may interpolate them. At gimbal lock itself, where only a sum or
    difference of two angles is defined, the other is held from before.
    """
    a, b, c = ("xyz".index(axis) for axis in order)
    handed = 1.0 if (b - a) % 3 == 1 else -1.0
    q = unroll(q)
    w, first, middle, last = q[..., 0], q[..., 1 + a], q[..., 1 + b], handed * q[..., 1 + c]
    # half sum and half difference of the outer angles: each is lost at one of the two locks only
    half_sum, size_sum = _polar(w + middle, first + last)
    half_difference, size_difference = _polar(w - middle, first - last)
    principal = np.stack(
        [
            half_sum + half_difference,
            0.5 * np.pi - 2.0 * np.arctan2(size_difference, size_sum),
            handed * (half_sum - half_difference),
        ],
        axis=-1,
    )
    return _continuous(principal)


def _spin(q: Array, axis: int, cos: Array, sin: Array) -> Array:
    """``q`` followed, in its own frame, by a turn about one axis."""
    w, u, v, t = (q[..., i] for i in (0, 1 + axis, 1 + (axis + 1) % 3, 1 + (axis + 2) % 3))
    spun = np.zeros_like(q)
    spun[..., 0] = w * cos - u * sin
    spun[..., 1 + axis] = u * cos + w * sin
    spun[..., 1 + (axis + 1) % 3] = v * cos + t * sin
    spun[..., 1 + (axis + 2) % 3] = t * cos - v * sin
    return spun


def _polar(x: Array, y: Array) -> tuple[Array, Array]:
    """Direction and length; a direction without length is taken from the frames around it."""
    size, direction = np.hypot(x, y), np.arctan2(y, x)
    known = size > NEARLY_LOCKED
    if known.all() or not len(size):
        return direction, size
    frames = np.arange(len(size)).reshape(-1, *([1] * (size.ndim - 1)))
    before = np.maximum.accumulate(np.where(known, frames, -1), axis=0)
    first_known = np.argmax(known, axis=0)[None]
    held = np.take_along_axis(direction, np.where(before < 0, first_known, before), axis=0)
    return np.where(known.any(axis=0), held, 0.0), size


def second_set(angles: Array) -> Array:
    """Return the second set of three angles that gives the same rotation."""
    return np.stack(
        [angles[..., 0] + np.pi, np.pi - angles[..., 1], angles[..., 2] + np.pi], axis=-1
    )


def _continuous(principal: Array) -> Array:
    """Choose between the two sets frame by frame so that none jumps, then undo full turns."""
    other = second_set(principal)
    stay = _gap(principal[1:], principal[:-1])
    change = _gap(other[1:], principal[:-1])
    # taking the other set twice is no change, so choices add up without regard to the start
    flips = np.zeros((*principal.shape[:-1], 1), dtype=bool)
    flips[1:, ..., 0] = np.logical_xor.accumulate(change < stay, axis=0)
    one = _near_zero(np.unwrap(np.where(flips, other, principal), axis=0))
    two = _near_zero(np.unwrap(np.where(flips, principal, other), axis=0))
    smaller = np.sum(two**2, axis=(0, -1)) < np.sum(one**2, axis=(0, -1)) * (1.0 - 1e-9)
    return np.where(smaller[None, ..., None], two, one)


def _gap(a: Array, b: Array) -> Array:
    """Squared distance of sets of angles, the shorter way round the circle."""
    turns = (a - b) / (2.0 * np.pi)
    return np.sum((turns - np.rint(turns)) ** 2, axis=-1)


def _near_zero(angles: Array) -> Array:
    """Whole turns taken off each angle's track so that it starts within half a turn of zero."""
    return angles - 2.0 * np.pi * np.rint(angles[:1] / (2.0 * np.pi))


def zyz_from_quat(q: Array, locked: float = LOCKED_ANGLE) -> Array:
    """Angles (..., 3) φ, ψ, θ of rotations (..., 4); φ and θ in [−π, π)."""
    w, x, y, z = np.moveaxis(np.asarray(q), -1, 0)
    cos_half, sin_half = np.hypot(w, z), np.hypot(x, y)
    psi = 2.0 * np.arctan2(sin_half, cos_half)
    half_sum, half_difference = np.arctan2(z, w), np.arctan2(-x, y)
    half_difference = np.where(psi < locked, half_sum, half_difference)
    half_sum = np.where(psi > np.pi - locked, half_difference, half_sum)
    phi, theta = half_sum + half_difference, half_sum - half_difference
    return np.stack([wrap(phi), psi, wrap(theta)], axis=-1)


def zyz_to_quat(angles: Array) -> Array:
    """Rotations (..., 4) of ZYZ angles (..., 3)."""
    phi, psi, theta = np.moveaxis(0.5 * np.asarray(angles), -1, 0)
    cos, sin = np.cos(psi), np.sin(psi)
    return np.stack(
        [
            cos * np.cos(phi + theta),
            -sin * np.sin(phi - theta),
            sin * np.cos(phi - theta),
            cos * np.sin(phi + theta),
        ],
        axis=-1,
    )
