"""Fixed-length fitting of 20 joints: ours, and SLSQP on the paper's largest size, per frame."""

import time

import numpy as np
from scipy.optimize import minimize

from osteon.fixed_lengths import fit_lengths
from osteon.maths import quat

PARENTS = (-1, 0, 1, 2, 3, 4, 3, 6, 7, 8, 3, 10, 11, 12, 0, 14, 15, 0, 17, 18)
LENGTHS = np.array(
    [0, 0.1, 0.15, 0.2, 0.1, 0.15, *[0.15, 0.3, 0.25, 0.1] * 2, *[0.1, 0.42, 0.4] * 2]
)
N_FRAMES, N_SLSQP_FRAMES = 100_000, 5
"""Five frames are 300 coordinates; the paper gives up at 800."""


def run() -> list[dict]:
    joints = performance()
    fit_lengths(joints[:100], PARENTS, debias=False)  # compiles, or loads the compiled kernel
    whole = seconds(lambda: fit_lengths(joints, PARENTS, debias=False))
    quarter = seconds(lambda: fit_lengths(joints[: N_FRAMES // 4], PARENTS, debias=False))
    debiased = seconds(lambda: fit_lengths(joints, PARENTS))
    slsqp = N_SLSQP_FRAMES / seconds(lambda: with_slsqp(joints[:: N_FRAMES // N_SLSQP_FRAMES]))
    return [
        row("fit of fixed lengths, least squares, against SLSQP", N_FRAMES / whole, slsqp),
        row("fit of fixed lengths, debiased, against SLSQP", N_FRAMES / debiased, slsqp),
        {
            "name": f"fit of {N_FRAMES} frames against four times a quarter (1 = linear)",
            "ours": whole,
            "peer": 4 * quarter,
            "ratio": 4 * quarter / whole,
            "unit": "s",
        },
    ]


def row(name: str, ours: float, peer: float) -> dict:
    return {"name": name, "ours": ours, "peer": peer, "ratio": ours / peer, "unit": "frames/s"}


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def performance() -> np.ndarray:
    """Joints of swinging bones with 1 cm of noise in every coordinate, (n_frames, 20, 3)."""
    rng = np.random.default_rng(1)
    t = np.arange(N_FRAMES)[:, None] / 100
    joints = np.zeros((N_FRAMES, len(PARENTS), 3))
    joints[:, 0] = np.sin(0.3 * t + (0, 1, 2))
    for j, parent in enumerate(PARENTS[1:], 1):
        swing = np.sin(rng.uniform(1, 4) * t + rng.uniform(0, 6, 3)) @ rng.normal(size=(3, 3))
        bone = quat.normalise(rng.normal(size=3) + 0.4 * swing)
        joints[:, j] = joints[:, parent] + LENGTHS[j] * bone
    return joints + rng.normal(scale=0.01, size=joints.shape)


def with_slsqp(joints: np.ndarray) -> None:
    """The paper's problem, dense, with exact derivatives."""
    index = np.arange(joints.size).reshape(joints.shape)
    bones = list(enumerate(PARENTS))[1:]
    n_frames, still = len(joints), np.zeros(len(bones))

    def broken(x):
        p = x[index]
        squares = [np.sum((p[:, j] - p[:, i]) ** 2, axis=-1) for j, i in bones]
        return np.concatenate([s - x[joints.size + k] ** 2 for k, s in enumerate(squares)])

    def jacobian(x):
        rows = np.zeros((len(bones) * n_frames, len(x)))
        for k, (j, i) in enumerate(bones):
            for f in range(n_frames):
                bone = 2 * (x[index[f, j]] - x[index[f, i]])
                rows[k * n_frames + f, index[f, j]] = bone
                rows[k * n_frames + f, index[f, i]] = -bone
                rows[k * n_frames + f, joints.size + k] = -2 * x[joints.size + k]
        return rows

    minimize(
        lambda x: np.sum((x[index] - joints) ** 2),
        np.concatenate([joints.ravel(), LENGTHS[1:]]),
        jac=lambda x: np.concatenate([2 * (x[index] - joints).ravel(), still]),
        constraints={"type": "eq", "fun": broken, "jac": jacobian},
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 100},
    )
