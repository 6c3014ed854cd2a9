"""Poses of a whole clip together: markers, and joints that do not jerk without reason.

The marker cost of every frame is joined by one term per degree of freedom and frame: the third
difference of its coordinate over time, divided by its process noise. That is the posterior of a
motion driven by random jerk and seen through noisy markers, so there is no lag and nothing to tune:
the markers' noise is read off the fits frame by frame, the joints' from how likely each next frame
is (``process_noise``). It changes along the clip: a still stretch is smoothed well, a kick is left
alone. The normal matrix is banded over frames; its Cholesky factors cost O(frames).

Memory is bounded: windows are solved one after the other. Each starts from the last frames of the
one before, which stand, and looks ahead beyond those that it keeps. So the third differences run
through, and no seam is left.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import kernel, quat, solve_banded
from osteon.posing._kernels.normal_equations import (
    LANES,
    build_normal,
    forward,
    gather_moments,
    make_lanes,
    make_model,
    place_markers,
    place_screws,
    pull_to_rest,
)
from osteon.posing.first_pose import universal_angles
from osteon.posing.per_frame import PoseProblem, PoseResult
from osteon.posing.rig import IN_BODY, Rig
from osteon.typing import Array

NOISE_GRID = 10.0 ** np.arange(-5.0, 0.3, 0.25)
"""Standard deviations of a third difference that are tried, radians or metres per frame³. Chosen:
from a still limb to a kick, four to a decade."""
N_SETTLING = 6
"""Frames until a filter that starts knowing nothing says something. Chosen."""
THIRD_WEIGHTS = np.array([-1.0, 3.0, -3.0, 1.0])
"""Ratios of four frames in a third difference: defined by it."""
JERK_ORDER = len(THIRD_WEIGHTS) - 1
"""Of the differences that are kept small."""
WINDOW_FRAMES, AHEAD_FRAMES = 1024, 128
"""Frames that a window keeps, and how many more it looks ahead. Chosen: by there its end is
forgotten."""
ALONE_WEIGHT = 1e-5
"""Pull to the pose of the frame alone, square metres per square radian. Chosen: decides what no
marker sees; without it the free turn of a hand with one marker is any parabola over time."""
SETTLED_STIFFNESS = 1e12
"""Ratio to the stiffness of a marker. Chosen: beside it nothing moves a frame that the window
before has settled."""


def process_noise(tracks: Array, variances: Array, window: float) -> Array:
    """Standard deviation (n_frames, n_tracks) of each track's third difference.

    For every candidate a Kalman filter runs along the track; how likely it finds each next sample
    (its innovation) is averaged over a window, and the likeliest candidate wins.

    Parameters
    ----------
    tracks : (n_frames, n_tracks)
        Coordinates with independent errors.
    variances : (n_frames, n_tracks)
        Of these errors; inf where there is no evidence.
    window
        Standard deviation of the Gaussian window, frames.
    """
    from scipy import ndimage  # slow to load, rarely asked for

    likelihood = np.zeros((len(NOISE_GRID), *tracks.shape))
    _filter_all(
        np.ascontiguousarray(tracks), np.ascontiguousarray(variances), NOISE_GRID, likelihood
    )
    likelihood = ndimage.gaussian_filter1d(likelihood, window, axis=1, mode="nearest")
    best = NOISE_GRID[np.argmax(likelihood, axis=0)]
    # a start or a stop stays sharp: around it the larger noise counts, not the mean
    return ndimage.maximum_filter1d(best, 1 + 2 * round(window), axis=0, mode="nearest")


@kernel
def _filter_all(tracks, variances, grid, likelihood):
    for k in range(len(grid)):
        for track in range(tracks.shape[1]):
            _filter(tracks[:, track], variances[:, track], grid[k] ** 2, likelihood[k, :, track])


@kernel
def _filter(track, variance, process, likelihood):
    """Log-likelihood of each sample given those before it: x₊ = 3x − 3x₋ + x₋₋ + noise."""
    x = y = z = track[0]
    pxx, pyy, pzz, pxy, pxz, pyz = 1.0, 1.0, 1.0, 0.0, 0.0, 0.0
    for frame in range(len(track)):
        if frame > 0:
            x, y, z = 3.0 * x - 3.0 * y + z, x, y
            to_x = 3.0 * pxx - 3.0 * pxy + pxz
            to_y = 3.0 * pxy - 3.0 * pyy + pyz
            to_z = 3.0 * pxz - 3.0 * pyz + pzz
            first = 3.0 * to_x - 3.0 * to_y + to_z + process
            pzz, pyz, pyy = pyy, pxy, pxx
            pxx, pxy, pxz = first, to_x, to_y
        if not np.isfinite(variance[frame]):
            continue
        total = pxx + variance[frame]
        miss = track[frame] - x
        if frame >= N_SETTLING:
            likelihood[frame] = -0.5 * (miss * miss / total + np.log(total))
        gx, gy, gz = pxx / total, pxy / total, pxz / total
        x, y, z = x + gx * miss, y + gy * miss, z + gz * miss
        pzz, pyz, pyy = pzz - gz * pxz, pyz - gy * pxz, pyy - gy * pxy
        pxz, pxy, pxx = pxz - gx * pxz, pxy - gx * pxy, pxx - gx * pxx


@dataclass(frozen=True, slots=True, eq=False)
class SmoothResult:
    """Smoothed poses and the noise that was found."""

    rotations: Array
    """(n_frames, n_bodies, 4)"""
    root: Array
    """(n_frames, 3)"""
    marker_error: Array
    """(n_frames, n_markers) distance from model to data, metres; NaN = not seen."""
    marker_noise: float
    """Standard deviation of a marker per axis, metres."""
    process: Array
    """(n_frames, n_dofs) standard deviation of each coordinate's third difference."""


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Frames that are solved together."""

    rig: Rig
    observed: Array
    alone: Array
    """(n_frames, n_bodies, 4) rotations of the frames alone."""
    process: Array
    noise: float
    settled: int
    """How many of the first frames stand."""


def smooth_frames(
    problem: PoseProblem, poses: PoseResult, *, rate: float, n_iterations: int = 3
) -> SmoothResult:
    """Smooth poses that were solved frame by frame.

    Parameters
    ----------
    problem
        That ``poses`` were solved from; its rig and targets count, weights and limits do not.
    rate
        Frames per second.
    """
    rig, observed = problem.rig, problem.targets
    noise = marker_noise(rig, observed, poses)
    variances = noise**2 * _coordinate_variances(rig, observed, poses)
    tracks = np.cumsum(coordinate_steps(rig, poses.rotations, poses.root), axis=0)
    tracks = np.concatenate([np.zeros((1, rig.tree.n_dofs)), tracks])
    process = process_noise(tracks, variances, window=0.1 * rate)
    rotations, root = np.array(poses.rotations), np.array(poses.root)
    for first in range(0, len(observed), WINDOW_FRAMES):
        settled = min(first, JERK_ORDER)
        reach = slice(first - settled, first + WINDOW_FRAMES + AHEAD_FRAMES)
        window = _Window(
            rig, observed[reach], poses.rotations[reach], process[reach], noise, settled
        )
        turned, place = rotations[reach], root[reach]
        for _ in range(n_iterations):
            turned, place = _improve(window, turned, place)
        kept = slice(settled, settled + WINDOW_FRAMES)
        rotations[first : first + WINDOW_FRAMES], root[first : first + WINDOW_FRAMES] = (
            turned[kept],
            place[kept],
        )
    error = rig.distances(observed, rotations, root)
    return SmoothResult(quat.unroll(rotations), root, error, noise, process)


def marker_noise(rig: Rig, observed: Array, poses: PoseResult) -> float:
    """Standard deviation of a marker per axis, from what the fits frame by frame leave over."""
    n_free = 3 * np.isfinite(poses.marker_error).sum(axis=1) - rig.tree.n_dofs
    squares = np.nansum(poses.marker_error**2, axis=1)
    told = n_free > 0
    return float(np.sqrt(squares[told].sum() / max(n_free[told].sum(), 1))) + 1e-7


def coordinate_steps(rig: Rig, rotations: Array, root: Array) -> Array:
    """Return (n_frames − 1, n_dofs) how far each degree of freedom moves from frame to frame."""
    tree = rig.tree
    turns = quat.log(quat.multiply(rotations[1:], quat.inverse(rotations[:-1])))
    steps = np.einsum("fdi,di->fd", turns[:, tree.dof_body], tree.dof_axis)
    steps[:, :3] = np.diff(root, axis=0)
    for second in np.flatnonzero(tree.dof_kind == IN_BODY):
        first, axes = second - 1, tree.dof_axis[second - 1 : second + 1]
        angles = universal_angles(rotations[:, tree.dof_body[second]], *axes)
        steps[:, [first, second]] = np.diff(np.unwrap(angles, axis=0), axis=0)
    return steps


def linearise(
    rig: Rig,
    observed: Array,
    rotations: Array,
    root: Array,
    *,
    rest: Array,
    rest_weight: float = 0.0,
) -> tuple[Array, Array]:
    """Normal matrices (n_frames, len(path)) along the tree's paths and gradients (…, n_dofs)."""
    model = make_model(rig, rest_weight)
    memory = make_lanes(model)
    seen = np.isfinite(observed[..., :1])
    centre = root[:, None]
    markers = np.concatenate([np.where(seen, observed - centre, 0.0), seen], axis=-1)
    normal = np.zeros((len(root), len(model.path)))
    gradient = np.zeros((len(root), rig.tree.n_dofs))
    for first in range(0, len(root), LANES):
        block = np.minimum(np.arange(first, first + LANES), len(root) - 1)
        memory.rotations[:] = rotations[block].transpose(1, 2, 0).ravel()
        memory.observed[:] = markers[block].transpose(1, 2, 0).ravel()
        memory.rest[:] = rest[block].transpose(1, 2, 0).ravel()
        forward(model, memory)
        place_markers(model, memory)
        pull_to_rest(model, memory)
        gather_moments(model, memory)
        place_screws(model, memory)
        build_normal(model, memory)
        normal[block] = memory.normal.reshape(-1, LANES).T
        gradient[block] = memory.step.reshape(-1, LANES).T
    return normal, gradient


def _coordinate_variances(rig: Rig, observed: Array, poses: PoseResult) -> Array:
    """Return (n_frames, n_dofs) of the coordinates for unit marker noise; inf where frames are
    held."""
    tree = rig.tree
    rows, _ = linearise(rig, observed, poses.rotations, poses.root, rest=poses.rotations)
    normal = np.zeros((len(rows), tree.n_dofs, tree.n_dofs))
    owner = np.repeat(np.arange(tree.n_dofs), tree.dof_depth + 1)
    normal[:, owner, tree.path] = normal[:, tree.path, owner] = rows
    normal[:, np.arange(tree.n_dofs), np.arange(tree.n_dofs)] += 1e-8
    variances = np.linalg.inv(normal).diagonal(axis1=1, axis2=2).copy()
    variances[list(poses.held)] = np.inf
    return variances


def _improve(window: _Window, rotations: Array, root: Array) -> tuple[Array, Array]:
    """One Gauss–Newton step of a window, shortened until the cost falls."""
    if len(root) <= JERK_ORDER:
        return rotations, root
    rig, precision = window.rig, window.noise**-2.0
    before, jerk, weight = _cost(window, rotations, root)
    normal, gradient = linearise(
        rig, window.observed, rotations, root, rest=window.alone, rest_weight=ALONE_WEIGHT
    )
    step = precision * gradient
    for lag, share in enumerate(THIRD_WEIGHTS):
        step[lag : lag + len(jerk)] -= share * weight * jerk
    band = _banded(rig, precision * normal, weight)
    band[: window.settled * rig.tree.n_dofs, 0] += SETTLED_STIFFNESS * precision
    solve_banded(band, step.reshape(-1))
    step[: window.settled] = 0.0
    for share in (1.0, 0.5, 0.25, 0.1):
        trial = rig.move(rotations, root, share * step)
        if _cost(window, *trial)[0] < before:
            return trial
    return rotations, root


def _cost(window: _Window, rotations: Array, root: Array) -> tuple[float, Array, Array]:
    """Cost of a window, its third differences and their weights."""
    lack = window.observed - window.rig.markers(rotations, root)
    cosine = np.sum(window.alone[:, 1:] * rotations[:, 1:], axis=-1)
    misfit = np.nansum(lack**2) + 4.0 * ALONE_WEIGHT * np.sum(1.0 - cosine**2)
    jerk = np.diff(coordinate_steps(window.rig, rotations, root), JERK_ORDER - 1, axis=0)
    weight = window.process[1 : 1 + len(jerk)] ** -2.0
    return float(misfit / window.noise**2 + np.sum(weight * jerk**2)), jerk, weight


def _banded(rig: Rig, normal: Array, weight: Array) -> Array:
    """Return the window's normal matrix as ``solve_banded`` wants it."""
    tree, n_frames, n_dofs = rig.tree, len(normal), rig.tree.n_dofs
    band = np.zeros((n_frames, n_dofs, JERK_ORDER * n_dofs + 1))
    owner = np.repeat(np.arange(n_dofs), tree.dof_depth + 1)
    for entry, (dof, above) in enumerate(zip(owner, tree.path, strict=True)):
        band[:, above, dof - above] += normal[:, entry]
    for lag in range(JERK_ORDER + 1):
        for i in range(JERK_ORDER + 1 - lag):
            share = THIRD_WEIGHTS[i] * THIRD_WEIGHTS[i + lag]
            band[i : i + len(weight), :, lag * n_dofs] += share * weight
    band[..., 0] += 1e-9
    return band.reshape(n_frames * n_dofs, -1)
