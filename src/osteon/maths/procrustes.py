"""Which shape a rigid marker set has, found from all frames at once."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from osteon.errors import NotEnoughData, ShapeError
from osteon.maths import quat
from osteon.maths.rigid import RigidFit, fit_rigid
from osteon.typing import Array


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
    variance = nnls(system, spreads[a, b][seen] ** 2)[0]
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
