"""Reading a BVH file of 10 000 frames × 31 joints: ours and bvhio, one after the other.

``sh benchmarks/make_peers.sh bvhio`` makes bvhio's environment; without it there is no row. Both
sides parse the text and turn all channels into quaternions; ours also judges unit and up axis and
builds the skeleton.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from timing import best_of

import osteon as ost
from osteon.maths import quat
from osteon.values import Body, Joint, Motion, Skeleton

N_FRAMES, N_JOINTS, RATE = 10_000, 31, 120.0
PYTHON = Path(__file__).parents[1] / ".peers" / "bvhio" / "bin" / "python"
PEER = """
import sys, time, bvhio
from importlib.metadata import version
seconds = []
for _ in range(2):
    start = time.perf_counter()
    bvhio.readAsBvh(sys.argv[1])
    seconds.append(time.perf_counter() - start)
print(version("bvhio"), min(seconds))
"""


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.bvh"
        motion = performance()
        written = best_of(2, lambda: ost.write(motion, path))
        ost.read(path)  # loads the compiled scanner
        ours = best_of(5, lambda: ost.read(path))
        peer = peer_seconds(path)
    print(f"BVH writing: {N_FRAMES / written:,.0f} frames/s", file=sys.stderr)
    if peer is None:
        return []
    version, theirs = peer
    return [
        {
            "name": f"BVH reading against bvhio {version}, {N_FRAMES} frames × {N_JOINTS} joints",
            "ours": N_FRAMES / ours,
            "peer": N_FRAMES / theirs,
            "ratio": theirs / ours,
            "unit": "frames/s",
        }
    ]


def performance() -> Motion:
    """Six chains of five bodies on a root, every joint swinging."""
    rng = np.random.default_rng(1)
    bodies = [Body("body_00", None, Joint("free"))]
    for index in range(1, N_JOINTS):
        parent = 0 if index % 5 == 1 else index - 1
        joint = Joint(in_parent=rng.normal(scale=0.2, size=3))
        bodies.append(Body(f"body_{index:02d}", f"body_{parent:02d}", joint))
    t = np.arange(N_FRAMES)[:, None, None] / RATE
    swing, phase, pace = rng.uniform(0.0, 1.5, size=(3, N_JOINTS, 3))
    rotations = quat.exp(swing * np.sin(phase + 4.0 * pace * t))
    root = np.cumsum(rng.normal(scale=1e-3, size=(N_FRAMES, 3)), axis=0)
    return Motion(Skeleton(tuple(bodies)), rotations, root, RATE)


def peer_seconds(path: Path) -> tuple[str, float] | None:
    """bvhio's version and its seconds; None where it is not here."""
    if not PYTHON.exists():
        return None
    told = subprocess.run([PYTHON, "-c", PEER, path], capture_output=True, text=True, check=True)
    version, seconds = told.stdout.split()
    return version, float(seconds)


if __name__ == "__main__":
    for result in run():
        print("{name}: {ours:.0f} {unit}, {peer:.0f} {unit}, {ratio:.1f}×".format(**result))
