"""Blender opens what we write, and its bones stand where ours do.

The ``bpy`` wheel lives in an environment of its own (it is tied to one Python):

    uv venv --python 3.11 blender && uv pip install --python blender/bin/python bpy==5.0.1
    OSTEON_BLENDER_PYTHON=blender/bin/python pytest -m slow tests/formats/test_blender.py
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.formats import read, write
from osteon.values import Skeleton
from rigs import hinge_chain, human, move

FRAMES = (0, 1, 17, 59)
TOLERANCE = 1e-4
"""Metres, the 0.1 mm we promise; float32 alone leaves about a micrometre."""

pytestmark = pytest.mark.slow


@pytest.fixture
def blender() -> str:
    python = os.environ.get("OSTEON_BLENDER_PYTHON", "")
    if not Path(python).is_file():
        pytest.skip("set OSTEON_BLENDER_PYTHON to a Python that has the bpy wheel")
    return python


def bone_heads(
    blender: str, path: Path, rate: float, *export: Path
) -> list[dict[str, list[float]]]:
    return run_blender(blender, path, rate, *export)["HEADS"]


def run_blender(blender: str, path: Path, rate: float, *export: Path) -> dict[str, Any]:
    script = Path(__file__).parents[1] / "support" / "blender_heads.py"
    frames = ",".join(map(str, FRAMES))
    run = subprocess.run(
        [blender, str(script), str(path), str(rate), frames, *map(str, export)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [line.split(" ", 1) for line in run.stdout.splitlines()]
    found = {line[0]: json.loads(line[1]) for line in lines if line[0] in ("HEADS", "REST")}
    assert len(found) == 2, run.stdout[-1000:] + run.stderr[-2000:]
    return found


@pytest.mark.parametrize("suffix", [".glb", ".bvh", ".fbx"])
@pytest.mark.parametrize("skeleton", [human(), hinge_chain()], ids=["human", "hinges"])
def test_bones_stand_where_ours_do(blender, tmp_path, skeleton, suffix):
    motion = move(skeleton, 60)
    path = tmp_path / f"motion{suffix}"
    write(motion, path)
    heads = bone_heads(blender, path, motion.rate)
    _, places = motion.world()
    assert all(set(skeleton.names) <= set(frame) for frame in heads)
    theirs = np.array([[frame[name] for name in skeleton.names] for frame in heads])
    worst = np.linalg.norm(theirs - places[list(FRAMES)], axis=-1).max()
    print(f"{suffix}, {len(skeleton.bodies)} bones: worst distance {1e3 * worst:.5f} mm")  # noqa: T201
    assert worst < TOLERANCE


@pytest.mark.parametrize("rate", [23.976, 24.0, 29.97, 30.0, 59.94, 87.5, 100.0, 250.0, 1000.0 / 3])
def test_any_frame_rate_is_exact(blender, tmp_path, rate):
    motion = move(human(), 60, rate)
    write(motion, tmp_path / "motion.fbx")
    heads = bone_heads(blender, tmp_path / "motion.fbx", rate)
    theirs = np.array([[frame[name] for name in motion.skeleton.names] for frame in heads])
    worst = np.linalg.norm(theirs - motion.world()[1][list(FRAMES)], axis=-1).max()
    assert worst < TOLERANCE


@pytest.mark.parametrize("suffix", [".glb", ".fbx"])
def test_bones_point_to_the_next_joint(blender, tmp_path, suffix):
    skeleton = human()
    write(move(skeleton, 60), tmp_path / f"motion{suffix}")
    rest = run_blender(blender, tmp_path / f"motion{suffix}", 120.0)["REST"]
    for name, (head, tail) in rest.items():
        ways = [np.subtract(rest[child][0], head) for child in children(skeleton, name)]
        way = np.subtract(tail, head) / np.linalg.norm(np.subtract(tail, head))
        along = [float(way @ (each / np.linalg.norm(each))) for each in ways]
        assert not along or np.degrees(np.arccos(min(max(along), 1.0))) < 1.0, name


def children(skeleton: Skeleton, name: str) -> list[str]:
    return [body.name for body in skeleton.bodies if body.parent == name]


@pytest.mark.parametrize("suffix", [".glb", ".fbx"])
def test_what_blender_exports_reads_back(blender, tmp_path, suffix):
    """A file by another program, with bones turned to Blender's taste and constant scales."""
    motion = move(human(), FRAMES[-1] + 1)
    write(motion, tmp_path / "ours.glb")
    bone_heads(blender, tmp_path / "ours.glb", motion.rate, tmp_path / f"theirs{suffix}")
    back = read(tmp_path / f"theirs{suffix}").motion()
    assert (back.rate, back.n_frames) == (motion.rate, motion.n_frames)
    order = [back.skeleton.index(name) for name in motion.skeleton.names]
    worst = np.linalg.norm(back.world()[1][:, order] - motion.world()[1], axis=-1).max()
    assert worst < TOLERANCE
