"""Reading and writing a C3D file of 65 000 frames × 41 points: ours and ezc3d, in one process."""

import tempfile
from pathlib import Path

import ezc3d
import numpy as np
from timing import best_of

import osteon as ost

N_FRAMES, N_POINTS, RATE = 65_000, 41, 120.0


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.c3d"
        recording = performance()
        ost.write(recording, path)
        megabytes = path.stat().st_size / 1e6
        ours = megabytes / best_of(5, lambda: ost.read(path))
        peer_value = ezc3d.c3d(str(path))
        peer = megabytes / best_of(2, lambda: ezc3d.c3d(str(path)))
        copy = Path(folder) / "copy.c3d"
        ours_out = megabytes / best_of(3, lambda: ost.write(recording, copy))
        peer_out = megabytes / best_of(1, lambda: peer_value.write(str(copy)))
    size = f"{N_FRAMES} frames × {N_POINTS} points"
    return [
        row(f"C3D reading against ezc3d, {size}", ours, peer),
        row(f"C3D writing against ezc3d, {size}", ours_out, peer_out),
    ]


def row(name: str, ours: float, peer: float) -> dict:
    return {"name": name, "ours": ours, "peer": peer, "ratio": ours / peer, "unit": "MB/s"}


def performance() -> ost.Recording:
    """Wandering markers with 2 % of all samples missing."""
    rng = np.random.default_rng(1)
    positions = np.cumsum(rng.normal(scale=1e-3, size=(N_FRAMES, N_POINTS, 3)), axis=0)
    residuals = rng.integers(1, 40, size=(N_FRAMES, N_POINTS)) * 5e-5
    missing = rng.random((N_FRAMES, N_POINTS)) < 0.02
    positions[missing], residuals[missing] = np.nan, np.nan
    names = tuple(f"M{i + 1:02d}" for i in range(N_POINTS))
    return ost.Recording(positions, names, RATE, residuals=residuals)


if __name__ == "__main__":
    for result in run():
        print("{name}: {ours:.0f} {unit}, {peer:.0f} {unit}, {ratio:.1f}×".format(**result))
