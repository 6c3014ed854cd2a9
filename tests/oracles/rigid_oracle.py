"""Rigid fits by singular values, in plain numpy."""

import numpy as np

from osteon.maths import quat
from osteon.maths.rigid import AXIS, FULL, STRAIGHT_SHARE, RigidFit, _checked
from osteon.typing import Array


def fit_rigid_reference(
    template: Array, observed: Array, weights: Array | None = None, straight: float = STRAIGHT_SHARE
) -> RigidFit:
    """As ``fit_rigid``, by singular values in plain numpy: the kernel is tested against it."""
    template, observed, weights = _checked(template, observed, weights)
    seen = np.isfinite(observed).all(axis=-1) & (weights > 0.0)
    weight = seen * weights
    share = weight / np.where(seen.any(axis=-1), weight.sum(axis=-1), 1.0)[:, None]
    world = np.where(seen[..., None], observed, 0.0)

    centre_body, centre_world = share @ template, np.einsum("fm,fmi->fi", share, world)
    body = template - centre_body[:, None]
    world = world - centre_world[:, None]
    cov = np.einsum("fm,fmi,fmj->fij", share, world, body)
    u, s, vt = np.linalg.svd(cov)
    u[..., -1] *= np.linalg.det(u @ vt)[..., None]  # no mirror images
    rotation = u @ vt

    n_seen = seen.sum(axis=-1)
    minors = np.sqrt((s[:, 0] * s[:, 1]) ** 2 + (s[:, 0] * s[:, 2]) ** 2 + (s[:, 1] * s[:, 2]) ** 2)
    wide = minors > straight**2 * np.sum(s**2, axis=-1)
    full = (n_seen >= 3) & wide
    status = np.where(full, FULL, np.minimum(n_seen, AXIS)).astype(np.int8)
    fitted = np.einsum("fij,fmj->fmi", rotation, body)
    rms = np.sqrt(np.einsum("fm,fmi->f", share, (world - fitted) ** 2))
    position = centre_world - np.einsum("fij,fj->fi", rotation, centre_body)
    return RigidFit(
        np.where(full[:, None], quat.from_matrix(rotation), np.nan),
        np.where(full[:, None], position, np.nan),
        np.where(full, rms, np.nan),
        status,
    )
