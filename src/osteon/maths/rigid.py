"""Rigid fits of marker sets: where a known shape is, and which shape it is.

A set that is seen in part may fix less than a pose. ``status`` says how much, per frame:

====== =====================================================================
FULL   three or more markers off a line: rotation and position are known
AXIS   two markers, or several in a line: free to spin about that line
POINT  one marker: free to turn about it
NONE   nothing was seen
====== =====================================================================

Only FULL frames get a pose; the others are NaN, for nothing in the frame itself says more.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from osteon.errors import BadValue, NotEnoughData, ShapeError
from osteon.maths import non_negative, quat, read_only
from osteon.typing import Array

NONE, POINT, AXIS, FULL = 0, 1, 2, 3
"""Codes of ``status``, defined above."""

STRAIGHT_SHARE = 0.02
"""Share of their RMS length below which the RMS width of markers makes them a line. Chosen: 1
mm on 5 cm, no more than noise."""


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

    observed = read_only(np.asarray(observed, dtype=np.float64))
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


class Procrustes(NamedTuple):
    """A rigid shape and where it is."""

    template: Array
    """(n_markers, 3) centred on its mean, along its principal axes, metres."""
    fit: RigidFit
    """Pose of the shape in every frame."""
    marker_rms: Array
    """(n_markers,) distance of each marker to the shape, metres; NaN where no frame is fixed."""
    weights: Array
    """(n_markers,) how much each marker counted; mean 1."""
    iterations: int


def generalised_procrustes(
    observed: Array, *, tolerance: float = 1e-7, max_iterations: int = 60
) -> Procrustes:
    """Reference shape and poses of a rigid marker set, any marker missing in any frame.

    The mean distances of all pairs give the first shape, their spreads the weights by rigidity;
    then poses and shape improve each other until they agree. docs/methods.md §3.

    Parameters
    ----------
    observed : (n_frames, n_markers, 3)
        Metres; NaN where not seen.
    tolerance
        Stops when no marker of the shape moves farther, metres.
    """
    observed = np.asarray(observed, dtype=float)
    if observed.ndim != 3 or observed.shape[2] != 3:
        raise ShapeError(f"observed must have shape (n_frames, n_markers, 3), got {observed.shape}")
    distances, spreads = _pair_distances(observed)
    weights = _rigidity_weights(spreads)
    template = _nearer_mirror(_shape_from_distances(distances), observed, weights)
    iterations, moved = 0, np.inf
    while iterations < max_iterations and moved > tolerance:
        step = _mean(_in_body(fit_rigid(template, observed, weights), observed) - template)
        template = template + step
        iterations, moved = iterations + 1, np.abs(step).max()
    template = _principal(template)
    fit = fit_rigid(template, observed, weights)
    marker_rms = _marker_rms(_in_body(fit, observed), template)
    return Procrustes(template, fit, marker_rms, weights, iterations)


def _in_body(fit: RigidFit, observed: Array) -> Array:
    """Observed markers carried back into the body frame."""
    return quat.rotate(quat.inverse(fit.rotations)[:, None], observed - fit.positions[:, None])


def _marker_rms(in_body: Array, template: Array) -> Array:
    return np.sqrt(_mean(np.sum((in_body - template) ** 2, axis=-1), empty=np.nan))


def _mean(values: Array, empty: float = 0.0) -> Array:
    """Mean over frames of what is there; ``empty`` where nothing is."""
    seen = np.isfinite(values)
    count = seen.sum(axis=0)
    total = np.where(seen, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), empty)


def _rigidity_weights(spreads: Array) -> Array:
    """Weights (n_markers,), mean 1, from the spread of every pair's distance.

    Each marker adds its own variance to every distance it takes part in, so solving
    ``spread²_ab = s_a + s_b`` tells them apart without fitting a pose first: weights taken from
    the residuals of a fit would reward whatever weighs most already.
    """
    a, b = np.triu_indices(len(spreads), 1)
    seen = np.isfinite(spreads[a, b])
    if len(spreads) < 3 or seen.sum() < len(spreads):
        return np.ones(len(spreads))
    rows = np.arange(seen.sum())
    system = np.zeros((len(rows), len(spreads)))
    system[rows, a[seen]] = system[rows, b[seen]] = 1.0
    variance = non_negative(system, spreads[a, b][seen] ** 2)
    # no marker is perfect, and one that seems so must not take all
    weights = 1.0 / (variance + 0.2 * variance.mean() + 1e-12)
    return weights / weights.mean()


def _pair_distances(observed: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (n_markers, n_markers) of distances while both are seen."""
    n_markers = observed.shape[1]
    mean, spread = np.full((2, n_markers, n_markers), np.nan)
    for a in range(n_markers):
        distance = np.linalg.norm(observed - observed[:, a : a + 1], axis=-1)
        seen = np.isfinite(distance)
        often = seen.any(axis=0)
        mean[a, often] = np.mean(distance[:, often], axis=0, where=seen[:, often])
        spread[a, often] = np.std(distance[:, often], axis=0, where=seen[:, often])
    if np.isnan(np.diag(mean)).any():
        raise NotEnoughData("a marker of the body is never seen; leave it out")
    return mean, spread


def _shape_from_distances(distances: Array) -> Array:
    """Points (n, 3) with these distances, centred, by classical scaling."""
    n = len(distances)
    distances = _fill_unseen_pairs(distances)
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    kept = np.argsort(-values)[:3]
    points = np.zeros((n, 3))
    points[:, : len(kept)] = vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
    return points


def _fill_unseen_pairs(distances: Array) -> Array:
    """Give pairs never seen together the shortest way over others: a start, no more."""
    if np.isfinite(distances).all():
        return distances
    filled = np.where(np.isfinite(distances), distances, np.inf)
    for via in range(len(filled)):
        filled = np.minimum(filled, filled[:, via : via + 1] + filled[via : via + 1])
    if not np.isfinite(filled).all():
        raise NotEnoughData("the markers are never seen together; they cannot be one body")
    return filled


def _nearer_mirror(template: Array, observed: Array, weights: Array) -> Array:
    """Distances do not tell left from right; the frames do."""
    mirrored = template * np.array([1.0, 1.0, -1.0])
    errors = [
        np.nansum(fit_rigid(shape, observed, weights).rms ** 2) for shape in (template, mirrored)
    ]
    return template if errors[0] <= errors[1] else mirrored


def _principal(template: Array) -> Array:
    """Return the same shape, centred and turned along its principal axes, not mirrored."""
    centred = template - template.mean(axis=0)
    axes = np.linalg.svd(centred)[2]
    axes[2] *= np.linalg.det(axes)
    return centred @ axes.T
