"""Rigid fits of marker sets: where a known shape is, and which shape it is.

A set that is seen in part may fix less than a pose. ``status`` says how much, per frame:

====== =====================================================================
FULL   three or more markers off a line: rotation and position are known
AXIS   two markers, or several in a line: free to spin about that line
POINT  one marker: free to turn about it
NONE   nothing was seen
====== =====================================================================

Only FULL frames get a pose; the others are NaN, for nothing in the frame itself says more. Where a
neighbouring frame or a prior does, :func:`fit_nearest` completes them with the least turn.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from osteon.errors import BadValue, ShapeError
from osteon.maths import quat
from osteon.typing import Array

NONE, POINT, AXIS, FULL = 0, 1, 2, 3

STRAIGHT_SHARE = 0.02
"""Markers count as a line when their RMS width is below this share of their RMS length."""


class RigidFit(NamedTuple):
    """Poses of one body (n_frames, …) or of several (n_frames, n_bodies, …)."""

    rotations: Array
    """(..., 4) to the world from the body, w ≥ 0; NaN unless FULL."""
    positions: Array
    """(..., 3) body origin in the world, metres; NaN unless FULL."""
    rms: Array
    """(...) weighted RMS distance of the seen markers to the fit, metres; NaN unless FULL."""
    status: NDArray[np.int8]
    """(...) FULL, AXIS, POINT or NONE."""


def fit_rigid(
    template: Array, observed: Array, weights: Array | None = None, straight: float = STRAIGHT_SHARE
) -> RigidFit:
    """Fit a marker template to every frame.

    Parameters
    ----------
    template : (n_markers, 3)
        Markers in the body frame, metres.
    observed : (n_frames, n_markers, 3)
        The same markers in the world, metres; NaN where not seen.
    weights : (n_markers,), optional
        How much each marker counts, 1 / variance; 0 leaves one out.
    straight
        Width by length below which the seen markers count as a line.
    """
    template, observed, weights = _checked(template, observed, weights)
    fit = fit_bodies([template], [range(len(template))], observed, [weights], straight)
    return RigidFit(fit.rotations[:, 0], fit.positions[:, 0], fit.rms[:, 0], fit.status[:, 0])


def fit_bodies(
    templates: Sequence[Array],
    columns: Sequence[Sequence[int]],
    observed: Array,
    weights: Sequence[Array] | None = None,
    straight: float = STRAIGHT_SHARE,
) -> RigidFit:
    """Fit many bodies in one call; body ``b`` has the markers ``observed[:, columns[b]]``.

    Shapes as in :func:`fit_rigid`, one entry per body; the answer is (n_frames, n_bodies, …).
    """
    from osteon.maths import _rigid_kernel  # numba loads only when a fit is made

    observed = np.ascontiguousarray(observed, dtype=np.float64)
    sizes = [len(body) for body in columns]
    if [np.shape(template) for template in templates] != [(size, 3) for size in sizes]:
        raise ShapeError(f"templates must have one (n, 3) array per body with n = {sizes}")
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    flat = np.array([column for body in columns for column in body], dtype=np.int64)
    if flat.size and not (flat.min() >= 0 and flat.max() < observed.shape[1]):
        raise BadValue(f"columns must lie in 0…{observed.shape[1] - 1}, got {flat.max()}")
    stacked = np.concatenate([np.reshape(t, (-1, 3)) for t in templates]).astype(np.float64)
    flat_weights = np.ones(len(flat)) if weights is None else np.concatenate(weights).astype(float)
    shape = (len(observed), len(sizes))
    out = RigidFit(
        np.zeros((*shape, 4)), np.zeros((*shape, 3)), np.zeros(shape), np.zeros(shape, np.int8)
    )
    _rigid_kernel.fit_bodies(observed, flat, starts, stacked, flat_weights, straight, *out)
    return out


def fit_nearest(
    template: Array, observed: Array, q_guess: Array, weights: Array | None = None
) -> tuple[Array, Array]:
    """Poses of frames that do not fix one: the least turn away from a guess.

    Parameters
    ----------
    template, observed, weights
        As in :func:`fit_rigid`.
    q_guess : (n_frames, 4) or (4,)
        Where the body would be turned without evidence, such as in the frame before.

    Returns
    -------
    rotations : (n_frames, 4)
        The guess, turned as little as brings the line of the seen markers onto the observed one;
        the guess itself where a single marker is seen; NaN where none is.
    positions : (n_frames, 3)
    """
    template, observed, weights = _checked(template, observed, weights)
    seen = np.isfinite(observed).all(axis=-1) & (weights > 0.0)
    some = seen.any(axis=-1)
    share = seen * weights
    share = share / np.where(some, share.sum(axis=-1), 1.0)[:, None]
    world = np.where(seen[..., None], observed, 0.0)
    centre_body, centre_world = share @ template, np.einsum("fm,fmi->fi", share, world)
    guess = np.broadcast_to(q_guess, (len(observed), 4))

    body = template - centre_body[:, None]
    along = np.linalg.eigh(np.einsum("fm,fmi,fmj->fij", share, body, body))[1][..., -1]
    reach = np.einsum("fm,fmi,fi->fm", share, body, along)
    line = np.einsum("fm,fmi->fi", reach, world - centre_world[:, None])
    turn = quat.shortest(quat.rotate(guess, along), line)
    single = ~np.isfinite(turn).all(axis=-1)
    turn[single] = quat.identity()
    rotations = quat.multiply(turn, guess)
    rotations[~some] = np.nan
    return rotations, centre_world - quat.rotate(rotations, centre_body)


def _checked(template: Array, observed: Array, weights: Array | None) -> tuple[Array, Array, Array]:
    template, observed = np.asarray(template, dtype=float), np.asarray(observed, dtype=float)
    if template.ndim != 2 or template.shape[1] != 3:
        raise ShapeError(f"template must have shape (n_markers, 3), got {template.shape}")
    if observed.ndim != 3 or observed.shape[1:] != template.shape:
        raise ShapeError(
            f"observed must have shape (n_frames, {len(template)}, 3), got {observed.shape}"
        )
    weights = np.ones(len(template)) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != (len(template),) or not (weights >= 0.0).all():
        raise BadValue(f"weights must be {len(template)} numbers ≥ 0, got {weights}")
    return template, observed, weights
