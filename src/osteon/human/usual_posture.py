"""How a cloud of markers of which nothing is known mostly stands: one upright figure out of a take.

Frames are turned about the vertical onto each other, so that whoever walks in circles keeps facing
one way. The middle places are then stretched to the distances that the markers really reach: swings
average out, and limbs keep their length (weighted multidimensional scaling).
"""

from dataclasses import dataclass

import numpy as np

from osteon.errors import NotEnoughData
from osteon.typing import Array
from osteon.values import Recording

POSTURE_FRAMES = 240
"""Count of frames looked at, evenly over the take; chosen: steps of a walk, many times."""
SEEN_SHARE = 0.3
"""Share of those frames that must show a marker; chosen: the middle of fewer is one posture's."""
UPRIGHT_SHARE = 0.5
"""Share of the frames, the tallest ones, that count; chosen: who squats stands for a while."""
TURNING_ROUNDS = 8
"""Count of times that frames are turned onto their middle; chosen: enough to settle."""
STEADY_DISTANCE = 0.05
"""Metres from its middle place at which a marker counts half in turning frames onto each other;
chosen: trunks stay within, limbs do not."""
STRETCH_ROUNDS = 60
"""Count of steps that stretch the middle places; chosen: enough to settle."""
REACHED_SHARE = 0.8
"""Share of the frames in which two markers are nearer than the distance counted as reached;
chosen: limbs are nearly straight then, and no single outlier counts."""
LOOSE_DISTANCE = 0.01
"""Metres of spread at which a distance counts a quarter of a rigid one; chosen: as skin moves."""
FEWEST_MARKERS = 8
"""Count of markers; chosen: fewer show no figure."""


@dataclass(frozen=True)
class UsualPosture:
    """The markers of a take as they mostly stand, z up."""

    names: tuple[str, ...]
    points: Array
    """(n_markers, 3) metres; the lowest is at z = 0."""
    steady: Array
    """(n_markers,) from 0 to 1: how little they move against the whole."""
    spread: Array
    """(n_markers, n_markers) how far distances vary, metres rms."""
    frames: Array
    """(n_frames, n_markers, 3) the take in the same frame, turned about the vertical; NaN where a
    marker is not seen."""
    walked: Array
    """(2,) the way that the whole figure moves over the ground, in the axes of ``frames``, metres
    a frame of ``frames``."""


def usual_posture(recording: Recording) -> UsualPosture:
    """Turn the frames of a take onto each other and return how its markers mostly stand."""
    rows = np.unique(np.linspace(0, recording.n_frames - 1, POSTURE_FRAMES).astype(int))
    points = np.where(recording.measured[..., None], recording.positions, np.nan)[rows]
    kept = np.isfinite(points[..., 0]).mean(axis=0) >= SEEN_SHARE
    if kept.sum() < FEWEST_MARKERS:
        raise NotEnoughData(f"{int(kept.sum())} markers are seen for long: too few for a figure")
    points = points[:, kept]
    points = points[np.isfinite(points[..., 0]).mean(axis=1) > 0.5]
    if len(points) < 2:
        raise NotEnoughData("hardly a frame shows half of the markers: no figure can be found")
    turned, headings, centres = _turned_alike(points)
    tall = _tallness(turned)
    upright = turned[tall >= np.quantile(tall, 1.0 - UPRIGHT_SHARE)]
    reached, spread = _distances(points)
    middle = _middle(upright, turned)
    walked = _walked(headings, centres)
    names = tuple(np.array(recording.names)[kept].tolist())
    off = np.nanmean(np.sum((turned - np.nanmedian(turned, axis=0)) ** 2, axis=-1), axis=0)
    steady = 1.0 / (1.0 + off / STEADY_DISTANCE**2)
    places = _stretched(middle, reached, spread)
    return UsualPosture(names, places, steady, spread, turned, walked)


def _turned_alike(points: Array) -> tuple[Array, Array, Array]:
    """The frames turned and shifted over the ground onto each other; steady markers count most."""
    seen = np.isfinite(points[..., 0])
    start = int(np.argmax(seen.sum(axis=1)))
    middle = points[start] - np.nanmean(points[start] * [1.0, 1.0, 0.0], axis=0)
    middle = np.where(np.isfinite(middle), middle, 0.0)
    weights = np.where(seen & seen[start], 1.0, 0.0)
    turned, turns, centres = points, np.zeros((len(points), 2, 2)), np.zeros((len(points), 2))
    for _ in range(TURNING_ROUNDS):
        turned, turns, centres = _turn_onto(points, middle, weights)
        middle = np.nanmedian(turned, axis=0)
        off = np.nansum((turned - middle) ** 2, axis=-1)
        weights = np.where(seen, 1.0 / (1.0 + off / STEADY_DISTANCE**2), 0.0)
    return turned, turns, centres


def _turn_onto(points: Array, middle: Array, weights: Array) -> tuple[Array, Array, Array]:
    flat = np.where(weights[..., None] > 0.0, points[..., :2], 0.0)
    total = np.maximum(weights.sum(axis=1), 1e-9)
    centres = np.einsum("fm,fmi->fi", weights, flat) / total[:, None]
    homes = np.einsum("fm,mi->fi", weights, middle[:, :2]) / total[:, None]
    away = flat - centres[:, None]
    home = middle[None, :, :2] - homes[:, None]
    cosine = np.einsum("fm,fmi,fmi->f", weights, away, home)
    sine = np.einsum("fm,fm->f", weights, away[..., 0] * home[..., 1] - away[..., 1] * home[..., 0])
    angle = np.arctan2(sine, cosine)
    turns = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turns = np.moveaxis(turns, -1, 0)
    turned = points.copy()
    turned[..., :2] = np.einsum("fij,fmj->fmi", turns, points[..., :2] - centres[:, None])
    turned[..., :2] += homes[:, None]
    return turned, turns, centres


def _tallness(turned: Array) -> Array:
    """(n_frames,) how far the upper markers are above the lower ones, metres."""
    return np.nanquantile(turned[..., 2], 0.9, axis=1) - np.nanquantile(turned[..., 2], 0.1, axis=1)


def _middle(upright: Array, turned: Array) -> Array:
    """Middle places over upright frames; of markers not seen there over all."""
    never = np.logical_not(np.isfinite(upright[..., 0]).any(axis=0))
    middle = np.nanmedian(np.where(never[:, None], 0.0, upright), axis=0)
    middle[never] = np.nanmedian(turned[:, never], axis=0)
    return middle


def _distances(points: Array) -> tuple[Array, Array]:
    """(n_markers, n_markers) each: the distance that two markers reach, and its spread; metres."""
    n = points.shape[1]
    reached, spread = np.zeros((n, n)), np.full((n, n), np.inf)
    for marker in range(n):
        apart = np.linalg.norm(points - points[:, marker, None], axis=-1)
        together = np.isfinite(apart).sum(axis=0) >= 2
        reached[marker, together] = np.nanquantile(apart[:, together], REACHED_SHARE, axis=0)
        spread[marker, together] = np.nanstd(apart[:, together], axis=0)
    return reached, spread


def _stretched(middle: Array, reached: Array, spread: Array) -> Array:
    """Places whose distances are those reached, rigid ones first (majorisation of stress)."""
    weights = np.where(np.isfinite(spread), 1.0 / (LOOSE_DISTANCE + spread) ** 2, 0.0)
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    solver = np.linalg.pinv(laplacian)
    places = middle.copy()
    for _ in range(STRETCH_ROUNDS):
        apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
        pull = -weights * reached / np.maximum(apart, 1e-6)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        places = solver @ (pull @ places)
    return _laid_on(places, middle)


def _laid_on(places: Array, middle: Array) -> Array:
    """Turn and shift ``places`` onto ``middle``; the stretching keeps neither."""
    home, away = places.mean(axis=0), middle.mean(axis=0)
    u, _, v = np.linalg.svd((places - home).T @ (middle - away))
    mirror = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ v))])
    laid = (places - home) @ (u @ mirror @ v) + away
    laid[:, 2] -= laid[:, 2].min()
    return laid


def _walked(headings: Array, centres: Array) -> Array:
    steps = np.diff(centres, axis=0)
    return np.einsum("fij,fj->fi", headings[:-1], steps).mean(axis=0)
