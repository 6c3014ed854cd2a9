"""How well markers show each coordinate of a pose, and how it moves from frame to frame."""

import numpy as np

from osteon.maths import FAST_MATH, kernel
from osteon.posing._kernels.normal_equations import L

U = np.uint64

N_SETTLING = 6
"""Frames until a filter that starts knowing nothing says something. Chosen."""


@kernel(fastmath=FAST_MATH)
def invert_diagonal(model, lanes, inverse, variances):
    """Diagonal (n_dofs · LANES) of the inverse of the normal matrix that ``factor`` has factored.

    With H = LᵀDL and Z = H⁻¹, LZ = D⁻¹L⁻ᵀ, which is zero below its diagonal: so rows of Z follow
    from those nearer to the root, and along the paths no other entry is needed.
    """
    normal = lanes.normal
    for dof in range(U(len(model.dof_body))):
        start, depth = model.row_start[dof], model.dof_depth[dof]
        for j in range(depth):
            out = (start + j) * L
            for n in range(L):
                inverse[out + n] = 0.0
            for k in range(depth):
                later, earlier = max(j, k), min(j, k)
                known = (model.row_start[model.path[start + later]] + earlier) * L
                row = (start + k) * L
                for n in range(L):
                    inverse[out + n] -= normal[row + n] * inverse[known + n]
        own, diagonal = dof * L, (start + depth) * L
        for n in range(L):
            variances[own + n] = normal[diagonal + n]
        for k in range(depth):
            row = (start + k) * L
            for n in range(L):
                variances[own + n] -= normal[row + n] * inverse[row + n]
        for n in range(L):
            inverse[diagonal + n] = variances[own + n]


@kernel
def likeliest_noise(track, variance, grid, window, likelihood, scratch, best):
    """Of each frame (n_frames,) the process noise of the grid under which its surroundings are
    likeliest; see ``process_noise``.

    Candidates are the innermost axis of the working memory (n_frames, n_candidates): side by side
    they are vector instructions.
    """
    _filter(track, variance, grid**2, likelihood)
    for _ in range(3):  # three boxes after one another are nearly a bell
        _average(likelihood, window, scratch)
        likelihood[:] = scratch
    for frame in range(len(track)):
        best[frame] = grid[np.argmax(likelihood[frame])]


@kernel(fastmath=FAST_MATH)
def _average(values, window, mean):
    """Mean over an odd number of frames around each; the last values stand beyond the ends."""
    last, reach, share = len(values) - 1, window // 2, 1.0 / window
    total = np.zeros(values.shape[1])
    for around in range(-reach, reach + 1):
        total += values[min(max(around, 0), last)]
    for frame in range(last + 1):
        entering, leaving = min(frame + reach + 1, last), max(frame - reach, 0)
        for k in range(len(total)):
            mean[frame, k] = share * total[k]
            total[k] += values[entering, k] - values[leaving, k]


@kernel(fastmath=FAST_MATH)
def _filter(track, variance, process, likelihood):
    """Log-likelihood of each sample given those before it: x₊ = 3x − 3x₋ + x₋₋ + noise.

    States are rows of one array: x, x₋, x₋₋, their covariances xx, yy, zz, xy, xz, yz, and what is
    left of the sample, squared and over its variance, and that variance.
    """
    state = np.zeros((11, len(process)))
    state[:3], state[3:6] = track[0], 1.0
    for frame in range(len(track)):
        if frame > 0:
            _predict(state, process)
        seen = np.isfinite(variance[frame])
        if seen:
            _correct(state, track[frame], variance[frame])
        if seen and frame >= N_SETTLING:
            for k in range(len(process)):
                likelihood[frame, k] = -0.5 * (state[9, k] + np.log(state[10, k]))
        else:
            likelihood[frame] = 0.0


@kernel(fastmath=FAST_MATH)
def _predict(state, process):
    for k in range(len(process)):
        x, y, z = state[0, k], state[1, k], state[2, k]
        pxx, pyy, pzz = state[3, k], state[4, k], state[5, k]
        pxy, pxz, pyz = state[6, k], state[7, k], state[8, k]
        to_x = 3.0 * pxx - 3.0 * pxy + pxz
        to_y = 3.0 * pxy - 3.0 * pyy + pyz
        to_z = 3.0 * pxz - 3.0 * pyz + pzz
        state[0, k], state[1, k], state[2, k] = 3.0 * x - 3.0 * y + z, x, y
        state[3, k] = 3.0 * to_x - 3.0 * to_y + to_z + process[k]
        state[4, k], state[5, k] = pxx, pyy
        state[6, k], state[7, k], state[8, k] = to_x, to_y, pxy


@kernel(fastmath=FAST_MATH)
def _correct(state, sample, variance):
    for k in range(state.shape[1]):
        pxx, pxy, pxz = state[3, k], state[6, k], state[7, k]
        total, miss = pxx + variance, sample - state[0, k]
        share = 1.0 / total
        gx, gy, gz = pxx * share, pxy * share, pxz * share
        state[0, k] += gx * miss
        state[1, k] += gy * miss
        state[2, k] += gz * miss
        state[4, k] -= gy * pxy
        state[5, k] -= gz * pxz
        state[8, k] -= gy * pxz
        state[3, k], state[6, k], state[7, k] = pxx - gx * pxx, pxy - gx * pxy, pxz - gx * pxz
        state[9, k], state[10, k] = miss * miss * share, total
