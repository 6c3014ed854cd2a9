"""Statistics of angles and of rotations, these measured along the turns themselves. NaN is passed
over.

And a rotation as a twist about an axis followed by a swing of that axis: q = swing · twist. Swings
are rotation vectors across the axis, given by two numbers along two directions: the axis' new
direction drawn in a plane, distances from the middle true. Only a swing by π is ambiguous. A limb's
swing may also be told by angles about one or two fixed axes, R(first)·R(second). [002] §4.4 and
§4.5; docs/methods.md §10. All in radians.
"""

from typing import NamedTuple

import numpy as np

from osteon.maths import quat
from osteon.typing import Array

TURN = 2.0 * np.pi
"""Radians of a whole turn: defined."""


class Spread(NamedTuple):
    """How rotations lie about their mean: principal geodesic analysis. docs/methods.md §7."""

    mean: Array
    """(..., 4) Fréchet mean."""
    std: Array
    """(..., 3) radians along each principal direction, largest first."""
    directions: Array
    """(..., 3, 3) rows are unit turn axes in the frame of the mean, in the order of ``std``."""


def frechet_mean(q: Array) -> Array:
    """Return the rotation (..., 4) with the least summed squared angle to all samples, w ≥ 0.

    Starts at the chordal mean [Markley 2007], whose sign of each sample does not matter, and steps
    along the mean log until it vanishes. Rotations ``q`` (n_samples, ..., 4) are NaN where missing.
    """
    seen = np.isfinite(q).all(axis=-1).astype(float)
    share = seen / np.maximum(seen.sum(axis=0), 1.0)
    filled = np.where(np.isfinite(q), q, 0.0)
    moments = np.einsum("n...,n...i,n...j->...ij", share, filled, filled)
    mean = np.linalg.eigh(moments)[1][..., -1]
    for _ in range(50):
        turns = quat.log(quat.between(mean[None], q))
        step = np.einsum("n...,n...i->...i", share, np.where(np.isfinite(turns), turns, 0.0))
        mean = quat.normalise(quat.multiply(mean, quat.exp(step)))
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
    mean = np.where(mean[..., :1] < 0.0, -mean, mean)
    return np.where(share.sum(axis=0)[..., None] > 0.0, mean, np.nan)


def wrap(angles: Array) -> Array:
    """Return the same angles in [−π, π)."""
    return (np.asarray(angles) + np.pi) % TURN - np.pi


def unwrap(angles: Array, axis: int = 0) -> Array:
    """Add whole turns so that seen neighbours along ``axis`` differ by at most π."""
    moved = np.moveaxis(np.array(angles, dtype=float), axis, 0)
    for series in moved.reshape(len(moved), -1).T if moved.size else ():
        seen = np.isfinite(series)
        series[seen] = np.unwrap(series[seen])
    return np.moveaxis(moved, 0, axis)


def resultant_length(angles: Array, axis: int | None = None) -> Array:
    """Length of the mean vector: 1 all alike, 0 spread evenly (or cancelling); NaN of nothing."""
    seen = np.isfinite(angles)
    total = seen.sum(axis=axis)
    vector = np.where(seen, np.exp(1j * np.where(seen, angles, 0.0)), 0.0).sum(axis=axis)
    return np.abs(np.where(total > 0, vector / np.maximum(total, 1), np.nan))


def twist_angle(q: Array, axis: Array) -> Array:
    """Signed angle (...) about unit ``axis`` (..., 3), in [−π, π]. [001] Eq. 9–12, mended."""
    along = np.sum(q[..., 1:] * axis, axis=-1)
    sign = np.where(q[..., 0] < 0.0, -1.0, 1.0)
    return 2.0 * np.arctan2(sign * along, np.abs(q[..., 0]))


def join(swing: Array, twist: Array, axis: Array, across: Array) -> Array:
    """Return the rotation (..., 4) of a swing (..., 2) and a twist (...)."""
    turn = np.einsum("...i,...ij->...j", swing, across)
    return quat.multiply(quat.exp(turn), quat.from_axis_angle(axis, twist))


def swing(axes: Array, angles: Array) -> Array:
    """R(first)·R(second)·… as quaternions (..., 4) for ``axes`` (n, 3), ``angles`` (..., n)."""
    turned = quat.identity(angles.shape[:-1])
    for axis, angle in zip(axes, np.moveaxis(angles, -1, 0), strict=True):
        turned = quat.multiply(turned, quat.from_axis_angle(axis, angle))
    return turned
