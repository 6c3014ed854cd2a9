"""URDF, OpenSim, Blender and FBX: loaders' own kinematics put joints and markers where ours does.

Pinocchio, OpenSim, ufbx and Blender live in environments of their own, and the tests that need
them are slow:

    uv venv pin && uv pip install --python pin/bin/python pin
    uv venv osim && uv pip install --python osim/bin/python opensim
    uv venv ufbx && uv pip install --python ufbx/bin/python ufbx
    uv venv blender && uv pip install --python blender/bin/python bpy==5.0.1
    OSTEON_PINOCCHIO_PYTHON=pin/bin/python OSTEON_OPENSIM_PYTHON=osim/bin/python \\
        OSTEON_BLENDER_PYTHON=blender/bin/python OSTEON_UFBX_PYTHON=ufbx/bin/python \\
        pytest -m slow tests/formats/test_model_loaders.py
"""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model_rigs import (
    FRAMES,
    N_FRAMES,
    TOLERANCE,
    acted,
    every_kind,
    glided,
    gliding,
    joint_angles,
    true_points,
)
from osteon.formats import write, write_skinned
from osteon.formats.osim import TO_FILE
from osteon.formats.refused import ARMATURE_SCRIPT
from osteon.formats.shared.simulation_models import freedom_of
from osteon.formats.shared.units import TO_Z_UP, turn_points
from osteon.maths import quat
from osteon.pipeline import solve
from osteon.skinning import make_skin_for
from osteon.synth import human as made_up_person, perform, walk as walk_of
from osteon.values import Marker, Recording, Skeleton
from rigs import human, move


def loader(variable: str, package: str) -> str:
    python = os.environ.get(variable, "")
    if not Path(python).is_file():
        pytest.skip(f"set {variable} to a Python that has {package}")
    return python


def found_by(python: str, script: str, *arguments: str | Path) -> dict:
    loaders = Path(__file__).parents[1] / "support" / "loaders"
    command = [python, str(loaders / script), *map(str, arguments)]
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(arguments[0]).parent,  # OpenSim leaves a log where it runs
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("FOUND ")]
    assert lines, run.stdout[-1000:] + run.stderr[-2000:]
    return json.loads(lines[0].removeprefix("FOUND "))


@pytest.mark.slow
@pytest.mark.parametrize("skeleton", [every_kind(), human()], ids=["all kinds", "human"])
def test_pinocchio_moves_like_ours(tmp_path, rng, skeleton):
    python = loader("OSTEON_PINOCCHIO_PYTHON", "pin")
    motion = acted(skeleton, rng)
    write(motion, tmp_path / "rig.urdf")
    angles = joint_angles(motion)
    poses = [
        {
            "root": [*motion.root[frame], *motion.rotations[frame, 0]],
            "angles": {name: track[frame] for name, track in angles.items()},
        }
        for frame in FRAMES
    ]
    (tmp_path / "poses.json").write_text(json.dumps(poses))
    found = found_by(python, "pinocchio_points.py", tmp_path / "rig.urdf", tmp_path / "poses.json")
    worst = worst_distance(found["points"], true_points(motion))
    print(f"Pinocchio {found['version']}: worst distance {1e3 * worst:.6f} mm")  # noqa: T201
    assert worst < TOLERANCE
    for name, (low, high) in found["ranges"].items():
        body = skeleton.body(name.rpartition("_")[0] if name not in skeleton.names else name)
        assert any(
            turn.range == pytest.approx((low, high)) for turn in freedom_of(body.joint).turns
        )


@pytest.mark.slow
@pytest.mark.parametrize("limited", [True, False], ids=["within limits", "any motion"])
def test_opensim_moves_like_ours_and_solves_our_markers(tmp_path, rng, limited):
    """Any motion goes beyond kinds and limits: coordinates are added, and there are no limits."""
    python = loader("OSTEON_OPENSIM_PYTHON", "opensim")
    skeleton = marked(every_kind() if limited else unlimited(every_kind()))
    motion = acted(skeleton, rng) if limited else move(skeleton, N_FRAMES, 30.0)
    write(motion, tmp_path / "rig.osim")
    truth = true_points(motion)
    names = [m.name for body in skeleton.bodies for m in body.markers]
    markers = np.stack([truth[name] for name in names], axis=1)
    write(Recording(markers, tuple(names), motion.rate), tmp_path / "markers.trc", up="y")
    frames = ",".join(map(str, FRAMES))
    files = ["rig.osim", "rig.mot", frames, "markers.trc", "solved.mot"]
    found = found_by(python, "opensim_points.py", *(tmp_path / f if "." in f else f for f in files))
    truth = {name: turn_points(p, TO_FILE) for name, p in truth.items()}
    worst = worst_distance(found["points"], truth)
    solved = found_by(
        python, "opensim_points.py", *(tmp_path / f for f in ("rig.osim", "solved.mot")), frames
    )
    apart = distances(solved["points"], truth)
    rms = float(np.sqrt(np.mean(apart**2)))
    print(  # noqa: T201
        f"OpenSim {found['version']}: worst distance {1e3 * worst:.6f} mm; after its inverse "
        f"kinematics {1e3 * rms:.3f} mm RMS, {1e3 * apart.max():.2f} mm at worst"
    )
    assert worst < TOLERANCE
    # exact markers: without limits its solver ends on them. With one clamped coordinate it takes
    # a bounded optimiser, which stops 0.6 mm away whatever accuracy it is asked for
    assert rms < (2e-3 if limited else TOLERANCE)
    if limited:
        assert found["ranges"]["knee"] == pytest.approx((-0.1, 2.5))


@pytest.mark.slow
def test_opensim_glides_like_ours(tmp_path, rng):
    """A ball turns about its path's axis alone here: what else it turns about moves the angle by
    the product of those turns, which is no matter of the file. 1e-6 m is what is promised."""
    python = loader("OSTEON_OPENSIM_PYTHON", "opensim")
    skeleton = gliding()
    motion = acted(skeleton, rng)
    path = skeleton.body("loose").joint.glide_path
    assert path is not None
    swing = quat.from_axis_angle(path.axis, 1.5 * np.sin(np.arange(N_FRAMES)))
    rotations = motion.rotations.copy()
    rotations[:, skeleton.index("loose")] = quat.multiply(swing, path.rest)
    motion = replace(motion, rotations=rotations)
    write(motion, tmp_path / "rig.osim")
    frames = ",".join(map(str, FRAMES))
    files = (tmp_path / "rig.osim", tmp_path / "rig.mot")
    found = found_by(python, "opensim_points.py", *files, frames)
    still = {name.replace(" ", "_"): p for name, p in true_points(motion).items()}
    moved = {name.replace(" ", "_"): p for name, p in true_points(glided(motion)).items()}
    worst = worst_distance(found["points"], {k: turn_points(p, TO_FILE) for k, p in moved.items()})
    print(f"OpenSim {found['version']}: worst distance {1e3 * worst:.6f} mm")  # noqa: T201
    assert worst < 1e-6
    assert (
        worst_distance(found["points"], {k: turn_points(p, TO_FILE) for k, p in still.items()})
        > 2e-3
    )


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["solve", "angles"])
def test_opensim_plays_the_storage_on_the_model_beside_it(tmp_path, command, verb):
    """As a laboratory gets both: from a recorded walk, by either verb."""
    python = loader("OSTEON_OPENSIM_PYTHON", "opensim")
    walk = perform(made_up_person(), walk_of(seconds=2), noise=0.0005, seed=3).recording
    write(walk, tmp_path / "walk.c3d")
    asked = ("--formats", "osim,angles") if verb == "solve" else ("--convention", "opensim")
    code, _, told = command(verb, tmp_path / "walk.c3d", "-o", tmp_path / "out", *asked)
    assert code == 0, told
    frames = ",".join(map(str, FRAMES))
    files = (tmp_path / "out" / name for name in ("motion.osim", "motion.mot"))
    found = found_by(python, "opensim_points.py", *files, frames)
    (solved,) = solve(tmp_path / "walk.c3d")
    truth = {name: turn_points(p, TO_FILE) for name, p in true_points(solved.motion).items()}
    worst = worst_distance(found["points"], truth)
    print(f"OpenSim {found['version']}: worst distance {1e3 * worst:.6f} mm")  # noqa: T201
    assert worst < TOLERANCE and len(truth) > 40
    # and the clinical angles are a table that it reads
    script = "import opensim, sys; print(*opensim.TimeSeriesTable(sys.argv[1]).getColumnLabels())"
    command_line = [python, "-c", script, str(tmp_path / "out" / "angles.mot")]
    run = subprocess.run(command_line, capture_output=True, text=True, check=True, cwd=tmp_path)
    knee = "knee_angle_r" if verb == "angles" else "right_knee_flexion"
    assert knee in run.stdout.split()


def unlimited(skeleton: Skeleton) -> Skeleton:
    joints = [replace(body.joint, limits=None) for body in skeleton.bodies]
    bodies = [replace(b, joint=joint) for b, joint in zip(skeleton.bodies, joints, strict=True)]
    return replace(skeleton, bodies=tuple(bodies))


def marked(skeleton: Skeleton) -> Skeleton:
    """Three markers on every body, so that each pose is determined."""
    arms = 0.06 * np.array([(1, 0, 0.2), (-0.5, 1, 0), (0, -0.6, 1)])
    bodies = [
        replace(
            body,
            markers=tuple(
                Marker(f"{body.name}_{i}", body.joint.in_body + arm) for i, arm in enumerate(arms)
            ),
        )
        for body in skeleton.bodies
    ]
    return replace(skeleton, bodies=tuple(bodies))


def worst_distance(found: list[dict], truth: dict[str, np.ndarray]) -> float:
    return float(distances(found, truth).max())


def distances(found: list[dict], truth: dict[str, np.ndarray]) -> np.ndarray:
    assert all(set(truth) <= set(frame) for frame in found)
    return np.array(
        [
            np.linalg.norm(np.array(points[name]) - truth[name][frame])
            for points, frame in zip(found, FRAMES, strict=True)
            for name in truth
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("skeleton", [every_kind(), human()], ids=["all kinds", "human"])
@pytest.mark.parametrize(("unit", "up"), [("m", "z"), ("cm", "y")])
def test_blender_builds_the_armature(tmp_path, rng, skeleton, unit, up):
    """With its limits at work: motion within them is not touched, so they say what ours say."""
    python = loader("OSTEON_BLENDER_PYTHON", "bpy")
    motion = acted(skeleton, rng)
    write(skeleton, tmp_path / "skeleton.json")
    write(motion, tmp_path / "motion.bvh", unit=unit, up=up)
    frames = ",".join(map(str, FRAMES))
    file = tmp_path / "rig.blend"
    found = found_by(python, "blender_armature.py", ARMATURE_SCRIPT, tmp_path, frames, file)
    worst = worst_distance(found["points"], true_points(motion))
    print(f"Blender {found['version']}: worst distance {1e3 * worst:.4f} mm")  # noqa: T201
    assert worst < TOLERANCE
    limited = [b.name for b in skeleton.bodies if any(t.limited for t in freedom_of(b.joint).turns)]
    assert limited and set(limited) <= set(found["limits"])
    assert file.stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("rate", [120.0, 30000 / 1001, 87.5])
@pytest.mark.parametrize("skeleton", [every_kind(), human()], ids=["all kinds", "human"])
def test_ufbx_moves_like_ours(tmp_path, rng, skeleton, rate):
    python = loader("OSTEON_UFBX_PYTHON", "ufbx")
    motion = replace(acted(skeleton, rng), rate=rate)
    skin = make_skin_for(motion)
    write_skinned(tmp_path / "rig.fbx", motion, skin)
    frames = ",".join(map(str, FRAMES))
    found = found_by(python, "ufbx_scene.py", tmp_path / "rig.fbx", str(rate), frames)
    _, joints = motion.world()
    names = motion.skeleton.names
    theirs = np.array([[frame[name] for name in names] for frame in found["joints"]])
    worst = np.abs(turn_points(theirs, TO_Z_UP["y"]) - joints[list(FRAMES)]).max()
    print(f"ufbx: worst distance {1e3 * worst:.6f} mm")  # noqa: T201
    assert worst < 1e-5
    assert found["rate"] == pytest.approx(rate, rel=2e-6)  # it knows 30000/1001 as 29.97
    # one tick is 2·10⁻¹¹ s, and a frame's time is rounded to the nearest
    np.testing.assert_allclose(found["times"], np.arange(N_FRAMES) / rate, atol=2e-11, rtol=0)
    weights = np.zeros((len(names), len(skin.vertices)))
    for name, pairs in found["weights"].items():
        vertices, shares = np.array(pairs).T
        weights[names.index(name), vertices.astype(int)] = shares
    ours = np.zeros_like(weights)
    np.add.at(ours, (skin.bodies, np.arange(len(skin.vertices))[:, None]), skin.weights)
    assert (weights == ours).all()
    assert found["stacks"] == ["motion"] and found["poses"] == [len(names) + 1]
    assert found["warnings"] == [] and found["up"] == "POSITIVE_Y"
