"""How far a joint's two ideas of itself lie apart, frame by frame."""

import numpy as np

from ossature.joints.centre import PairFits
from ossature.maths import quat
from ossature.values import Bodies
from ossature.values.arrays import Array

MAX_FRAMES = 3000
"""Frames that are enough for products of residuals where bodies are missing here and there."""


def residual_vectors(bodies: Bodies, pair: tuple[int, int], centres: Array) -> Array:
    """(n_frames, 3) the first body's idea of the joint minus the second's; world, metres."""
    i, j = pair
    return (
        quat.rotate(bodies.rotations[:, i], centres[:3])
        + bodies.positions[:, i]
        - quat.rotate(bodies.rotations[:, j], centres[3:])
        - bodies.positions[:, j]
    )


def products_of_frames(bodies: Bodies, fits: PairFits) -> Array:
    """(n_pairs, n_pairs) mean products of residuals over the frames where both exist.

    For takes with missing bodies; ``hierarchy.residual_products`` needs no frames but all bodies.
    """
    step = -(-bodies.n_frames // MAX_FRAMES)
    q, p = bodies.rotations[::step], bodies.positions[::step]
    first, second = fits.first, fits.second
    vectors = (
        quat.rotate(q[:, first], fits.centres[:, :3])
        + p[:, first]
        - quat.rotate(q[:, second], fits.centres[:, 3:])
        - p[:, second]
    )
    seen = np.isfinite(vectors[..., 0]).astype(float)
    flat = np.where(np.isfinite(vectors), vectors, 0.0).transpose(0, 2, 1).reshape(-1, len(first))
    products = flat.T @ flat / np.maximum(seen.T @ seen, 1.0)
    return _made_consistent(products)


def _made_consistent(products: Array) -> Array:
    """The nearest matrix that products over one set of frames could have, same diagonal."""
    values, vectors = np.linalg.eigh(products)
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diagonal(products) / np.maximum(np.diagonal(clipped), 1e-300))
    return clipped * scale[:, None] * scale
