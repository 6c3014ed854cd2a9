"""MJCF, URDF, OpenSim and Blender: loaders' own kinematics put joints and markers where ours does.

MuJoCo is among the packages for development. Pinocchio, OpenSim and Blender live in environments
of their own, and the tests that need them are slow:

    uv venv pin && uv pip install --python pin/bin/python pin
    uv venv osim && uv pip install --python osim/bin/python opensim
    uv venv blender && uv pip install --python blender/bin/python bpy==5.0.1
    OSSATURE_PINOCCHIO_PYTHON=pin/bin/python OSSATURE_OPENSIM_PYTHON=osim/bin/python \\
        OSSATURE_BLENDER_PYTHON=blender/bin/python \\
        pytest -m slow tests/test_models.py
"""

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close, real
from ossature.errors import BadValue, FormatError, WrongContent
from ossature.formats import blender, read, write
from ossature.formats.axes import turn_points
from ossature.formats.capsules import Capsule, capsules_of, mass_of
from ossature.formats.osim import TO_FILE
from ossature.formats.turns import Freedom, freedom_of
from ossature.maths import quat
from ossature.values import Body, Joint, Limits, Loop, Marker, Motion, Recording, Skeleton
from ossature.values.limits import Cone
from rigs import human, move

FRAMES = (0, 1, 17, 39)
TOLERANCE = 1e-4
"""Metres, the 0.1 mm we promise."""
N_FRAMES = 40


def every_kind() -> Skeleton:
    """A tree with each kind of joint, with and without limits and rest."""
    turned = tuple(quat.exp(np.array([0.3, -0.5, 0.2])).tolist())
    skew = np.array([(1.0, 0.0, 0.0), (0.6, 0.8, 0.0)])
    eye = np.eye(3)
    corners = np.array([(0.5, 0.0), (0.0, 0.7), (-0.5, 0.0), (0.0, -0.7)])
    cone = Cone(
        quat.exp(np.array([0.1, 0.4, 0.0])), eye[2], eye[:2], (0.5, 0.7), corners, (-0.6, 0.9)
    )
    boxed = Limits(euler=(("z", -1.0, 1.2), ("x", -0.3, 0.4), ("y", -0.5, 2.0)), frame=turned)
    half = Limits(euler=(("x", -np.inf, 1.0), ("y", -0.7, 0.7)))
    joints = {
        "hips": Joint("free"),
        "loose": Joint("ball", (0, 0.1, 0.3), (0.01, 0, 0.02)),
        "boxed": Joint("ball", (0, 0, 0.25), (0, 0.02, 0), limits=boxed),
        "coned": Joint("ball", (0.1, 0, 0.2), (0, 0, -0.03), limits=Limits(cone=cone)),
        "knee": Joint("hinge", (0, 0, -0.4), (0.02, 0, 0), [(0, 0.6, 0.8)], Limits((-0.1, 2.5))),
        "bent": Joint("hinge", (0, 0, -0.3), (0, 0, 0.1), [(0, 1, 0)], rest=turned),
        "square": Joint("universal", (0.2, 0, 0), (0, 0, 0), eye[:2], half),
        "skew": Joint("universal", (0, 0.2, 0), (0.01, 0.01, 0), skew, rest=turned),
        "stuck": Joint("fixed", (0, 0, 0.1), (0, 0, -0.05), rest=turned),
    }
    parents = [None, "hips", "loose", "boxed", "hips", "knee", "coned", "square", "skew"]
    bodies = [
        Body(name, parent, joint, markers=(Marker(f"{name} mark", joint.in_body + 0.05),))
        for (name, joint), parent in zip(joints.items(), parents, strict=True)
    ]
    bodies[-1] = replace(bodies[-1], tip=np.array([0.1, 0.0, 0.2]))
    return Skeleton(tuple(bodies), "all kinds")


def acted(skeleton: Skeleton, rng: np.random.Generator, n_frames: int = N_FRAMES) -> Motion:
    """A motion within what each joint can do, two thirds of its range."""
    t = np.arange(n_frames)[:, None] / 30.0
    rotations = quat.identity((n_frames, len(skeleton.bodies)))
    for index, body in enumerate(skeleton.bodies):
        freedom = freedom_of(body.joint)
        ends = np.array([np.clip(turn.range, -1.2, 1.2) for turn in freedom.turns]).reshape(-1, 2)
        swing = np.sin(t * rng.uniform(1, 3, len(ends)) + rng.uniform(0, 6, len(ends)))
        angles = ends.mean(axis=1) + np.diff(ends)[:, 0] / 3.0 * swing
        rotations[:, index] = composed(freedom, angles)
    root = np.hstack([np.sin(t), np.cos(t), 0.9 + 0.1 * t])
    return Motion(skeleton, rotations, root, 30.0)


def composed(freedom: Freedom, angles: np.ndarray) -> np.ndarray:
    q = quat.identity((len(angles),))
    for place, turn in enumerate(freedom.turns):
        q = quat.multiply(q, quat.from_axis_angle(turn.axis, angles[:, place]))
    return quat.multiply(q, freedom.rest)


def true_points(motion: Motion) -> dict[str, np.ndarray]:
    """Joints by body and markers by name, (n_frames, 3) each."""
    rotations, places = motion.world()
    points = {name: places[:, i] for i, name in enumerate(motion.skeleton.names)}
    for index, body in enumerate(motion.skeleton.bodies):
        for marker in body.markers:
            arm = quat.rotate(rotations[:, index], marker.position - body.joint.in_body)
            points[marker.name] = places[:, index] + arm
    return points


def joint_angles(motion: Motion) -> dict[str, np.ndarray]:
    """Angles by the names that MJCF and URDF files give them, (n_frames,) each."""
    named = {}
    for index, body in enumerate(motion.skeleton.bodies):
        angles = freedom_of(body.joint).angles(motion.rotations[:, index]).T
        one = len(angles) == 1
        if body.parent is not None:
            named |= {
                body.name if one else f"{body.name}_{i}": track for i, track in enumerate(angles, 1)
            }
    return named


class TestTurns:
    def test_angles_make_the_rotations_again(self, rng):
        motion = acted(every_kind(), rng)
        for index, body in enumerate(motion.skeleton.bodies):
            freedom = freedom_of(body.joint)
            made = composed(freedom, freedom.angles(motion.rotations[:, index]))
            assert_rotations_close(made, motion.rotations[:, index], 1e-9)

    def test_a_motion_beyond_the_joint_adds_turns(self, rng):
        any_motion = quat.exp(rng.normal(size=(20, 3)))
        for body in every_kind().bodies[1:]:
            freedom = freedom_of(body.joint)
            wider = freedom.widened(any_motion)
            assert len(wider.turns) == 3
            assert_rotations_close(composed(wider, wider.angles(any_motion)), any_motion, 1e-9)
            within = composed(freedom, rng.uniform(-0.2, 0.2, size=(20, len(freedom.turns))))
            assert freedom.widened(within) is freedom


class TestCapsules:
    def test_a_capsule_weighs_what_its_volume_does(self):
        """Against sums over random points in the capsule."""
        rng = np.random.default_rng(3)
        capsule = Capsule(np.array([0.1, 0.0, 0.2]), np.array([0.3, 0.2, 0.1]), 0.08)
        mass = mass_of([capsule])
        box_low, box_high = np.array([0.0, -0.1, 0.0]), np.array([0.4, 0.3, 0.3])
        points = rng.uniform(box_low, box_high, size=(400_000, 3))
        along = capsule.end - capsule.start
        share = np.clip((points - capsule.start) @ along / (along @ along), 0.0, 1.0)
        off = points - capsule.start - share[:, None] * along
        inside = points[np.linalg.norm(off, axis=1) < capsule.radius]
        total = 1000.0 * np.prod(box_high - box_low) * len(inside) / len(points)
        arms = inside - inside.mean(axis=0)
        squares = arms.T @ arms / len(arms)
        inertia = total * (np.trace(squares) * np.eye(3) - squares)
        # 400 000 points, about a quarter inside: 0.3 % (one standard deviation) of each sum
        assert mass.total == pytest.approx(total, rel=0.02)
        assert_close(mass.centre, inside.mean(axis=0), 2e-3)
        np.testing.assert_allclose(mass.inertia, inertia, atol=0.02 * np.abs(inertia).max())

    def test_every_body_has_some(self):
        for skeleton in (every_kind(), human(), Skeleton((Body("box", None, Joint("free")),))):
            assert all(mass_of(some).total > 0.0 for some in capsules_of(skeleton))


class TestMujoco:
    """Positions through MuJoCo's own compiler and kinematics."""

    def play(self, path: Path, motion: Motion) -> tuple:
        mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
        model = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
        found: dict[str, list] = {}
        for frame in FRAMES:
            set_pose(model, data, motion, frame)
            mujoco.mj_kinematics(model, data)
            for j in range(model.njnt):
                found.setdefault(model.joint(j).name, []).append(data.xanchor[j].copy())
            for i in range(model.nsite):
                found.setdefault(model.site(i).name, []).append(data.site_xpos[i].copy())
            for i in range(1, model.nbody):
                found.setdefault(f"body {model.body(i).name}", []).append(data.xpos[i].copy())
        return model, {name: np.array(track) for name, track in found.items()}

    @pytest.mark.parametrize("skeleton", [every_kind(), human()], ids=["all kinds", "human"])
    def test_mjcf_moves_like_ours(self, tmp_path, rng, skeleton):
        motion = acted(skeleton, rng)
        write(motion, tmp_path / "rig.xml")
        model, found = self.play(tmp_path / "rig.xml", motion)
        truth = true_points(motion)
        markers = [m.name for body in skeleton.bodies for m in body.markers]
        for name in (*markers, *(j for j in found if j in truth)):
            assert np.abs(found[name] - truth[name][list(FRAMES)]).max() < TOLERANCE, name
        assert set(markers) <= set(found) and model.body_mass[1:].min() > 0.0
        for body in skeleton.bodies[1:]:
            freedom = freedom_of(body.joint)
            for place, turn in enumerate(freedom.turns, 1):
                name = body.name if len(freedom.turns) == 1 else f"{body.name}_{place}"
                if turn.limited:
                    assert model.joint(name).limited and tuple(
                        model.joint(name).range
                    ) == pytest.approx(turn.range)

    def test_urdf_moves_like_ours(self, tmp_path, rng):
        """MuJoCo welds the root of a URDF to the world: the motion has none."""
        motion = acted(every_kind(), rng)
        still = quat.identity((motion.n_frames,))
        rotations = np.array(motion.rotations)
        rotations[:, 0] = still
        motion = replace(motion, rotations=rotations, root=np.zeros_like(motion.root))
        write(motion, tmp_path / "rig.urdf")
        model, found = self.play(tmp_path / "rig.urdf", motion)
        truth = true_points(motion)
        moving = [body.name for body in motion.skeleton.bodies[1:] if body.joint.kind != "fixed"]
        for name in moving:  # static links are fused into their parents
            apart = found[f"body {name}"] - truth[name][list(FRAMES)]
            assert np.abs(apart).max() < TOLERANCE, name
        assert tuple(model.joint("knee").range) == pytest.approx((-0.1, 2.5))

    def test_loops_are_closed_by_the_solver(self, tmp_path):
        mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
        loop = Loop(("left_hand", "right_forearm"), (0.0, 0, 0.1), (0, 0.05, 0.2), 0.0)
        write(replace(human(), loops=(loop,)), tmp_path / "rig.xml")
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "rig.xml"))
        assert model.neq == 1 and model.eq_type[0] == mujoco.mjtEq.mjEQ_CONNECT

    def test_a_real_model_reads_as_mujoco_moves_it(self, rng):
        """A rat of 66 bodies: every site and joint within a micrometre at random angles."""
        mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
        path = real("rodent-stac/rodent.xml")
        skeleton = read(path).skeleton()
        spec = mujoco.MjSpec.from_file(str(path))
        for skin in list(spec.skins):
            spec.delete(skin)
        model = spec.compile()
        data = mujoco.MjData(model)
        data.qpos[7:] = rng.uniform(-0.6, 0.6, size=model.nq - 7)
        data.qpos[3:7] = quat.exp(rng.normal(size=3))
        mujoco.mj_kinematics(model, data)
        root = model.jnt_bodyid[0]
        turn = quat.multiply(data.xquat[root], quat.inverse(model.body_quat[root]))
        angles = iter(data.qpos[7:])
        rotations = quat.identity((1, len(skeleton.bodies)))
        for index in order_of_joints(skeleton):
            freedom = freedom_of(skeleton.bodies[index].joint)
            own = np.array([[next(angles) for _ in freedom.turns]])
            rotations[:, index] = composed(freedom, own)
        rotations[:, 0] = turn
        motion = Motion(skeleton, rotations, data.qpos[None, :3], 1.0)
        truth = true_points(motion)
        for i in range(model.nsite):
            apart = truth[model.site(i).name][0] - data.site_xpos[i]
            assert np.abs(apart).max() < 1e-6, model.site(i).name
        knee = skeleton.body("lower_leg_L").joint
        assert knee.kind == "hinge" and knee.limits is not None
        assert knee.limits.hinge == pytest.approx((-1.221730476, 1.535889742))


MJCF = "<mujoco><worldbody>%s</worldbody></mujoco>"


class TestReadMjcf:
    """What foreign models do that ours do not."""

    def read(self, tmp_path, text: str) -> Skeleton:
        path = tmp_path / "model.xml"
        path.write_text(text, encoding="utf-8")
        return read(path).skeleton()

    def test_what_is_written_is_read(self, tmp_path):
        skeleton = every_kind()
        write(skeleton, tmp_path / "rig.xml")
        back = read(tmp_path / "rig.xml").skeleton()
        assert back.subject == skeleton.subject
        kept = {b.name: (b.parent, b.joint.kind) for b in skeleton.bodies}
        assert {b.name: (b.parent, b.joint.kind) for b in back.bodies} == kept
        knee = back.body("knee").joint
        assert knee.limits is not None and knee.limits.hinge == pytest.approx((-0.1, 2.5))
        boxed = freedom_of(back.body("boxed").joint)
        for found, given in zip(
            boxed.turns, freedom_of(skeleton.body("boxed").joint).turns, strict=True
        ):
            assert found.range == pytest.approx(given.range)
            assert_close(found.axis, given.axis, 1e-9)

    def test_degrees_classes_and_frames(self, tmp_path):
        """Angles are degrees unless told; a frame moves what is in it and is no body."""
        skeleton = self.read(
            tmp_path,
            """<mujoco><default><joint range="-90 45"/><default class="a"><joint axis="0 1 0"/>
            </default></default><worldbody><body name="r"><freejoint/>
            <frame pos="0 0 1" euler="90 0 0"><body name="b" pos="0 1 0" childclass="a">
            <joint/><site name="s" pos="0 0 0.5"/></body></frame></body></worldbody></mujoco>""",
        )
        joint = skeleton.body("b").joint
        assert joint.limits is not None and joint.limits.hinge == pytest.approx(
            (-np.pi / 2, np.pi / 4)
        )
        # the frame turns y to z: the body stands a metre above it, its y axis points up
        assert_close(joint.in_parent, [0, 0, 2], 1e-9)
        assert_close(joint.axes, [[0, 0, 1]], 1e-9)
        assert_close(skeleton.body("b").markers[0].position, [0, -0.5, 0], 1e-9)

    def test_a_model_that_hangs_on_the_world_gets_it_as_root(self, tmp_path):
        skeleton = self.read(tmp_path, MJCF % '<body name="arm"><joint axis="0 1 0"/></body>')
        assert skeleton.names == ("world", "arm")

    @pytest.mark.parametrize(
        ("inside", "problem"),
        [
            ("", "the model has no bodies"),
            ('<body pos="1 2"/>', "pos of an element without name: expected 3 numbers"),
            ('<body pos="1 2 x"/>', "expected 3 numbers, got '1 2 x'"),
            ('<body><joint axis="0 0 0"/></body>', "has no axis"),
            ('<body><joint type="screw"/></body>', "of type 'screw'"),
            ('<body><body name="b"><joint type="slide"/></body></body>', "'b' slides"),
            ('<body quat="0 0 0 0"/>', "has no direction"),
            ('<body><joint class="none"/></body>', "no default class is named 'none'"),
            ('<include file="other.xml"/>', "<include> is not read; save the compiled model"),
            ("<body>", "not well-formed XML"),
        ],
    )
    def test_what_cannot_be_read_is_said(self, tmp_path, inside, problem):
        with pytest.raises(FormatError, match=re.escape(problem)):
            self.read(tmp_path, MJCF % inside)


@pytest.mark.parametrize("suffix", [".xml", ".urdf", ".osim"])
class TestWriteOnly:
    def test_unit_and_axis_are_the_formats_own(self, suffix, tmp_path):
        wrong_up = "z" if suffix == ".osim" else "y"
        for options in ({"unit": "mm"}, {"up": wrong_up}):
            with pytest.raises(BadValue, match=r"in metres with . up, always"):
                write(human(), tmp_path / f"a{suffix}", **options)
        assert list(tmp_path.iterdir()) == []

    def test_two_roots_are_refused(self, suffix, tmp_path):
        two = Skeleton((Body("a", None, Joint("free")), Body("b", None, Joint("free"))))
        with pytest.raises(WrongContent, match="exactly one root"):
            write(two, tmp_path / f"a{suffix}")

    def test_a_motion_brings_its_skeleton(self, suffix, tmp_path):
        write(move(human(), 5), tmp_path / f"a{suffix}")
        written = {path.suffix for path in tmp_path.iterdir()}
        assert written == {suffix} | ({".mot"} if suffix == ".osim" else set())


def test_names_that_opensim_cannot_hold(tmp_path):
    bodies = (Body("a/b c", None, Joint("free")), Body("a b/c", "a/b c"), Body("ground", "a b/c"))
    write(Skeleton(bodies), tmp_path / "a.osim")
    found = re.findall(r'<Body name="([^"]+)"', (tmp_path / "a.osim").read_text())
    assert found == ["a_b_c", "a_b_c_", "ground_"]


def test_urdf_markers_never_share_a_name_with_a_link(tmp_path):
    body = Body("hips", None, Joint("free"), markers=(Marker("hips", (0, 0, 0.1)),))
    write(Skeleton((body,)), tmp_path / "a.urdf")
    assert re.findall(r'<link name="([^"]+)"', (tmp_path / "a.urdf").read_text()) == [
        "hips",
        "hips_",
    ]


def set_pose(model, data, motion: Motion, frame: int) -> None:
    """A frame of a motion as MuJoCo's qpos."""
    angles = joint_angles(motion)
    for j in range(model.njnt):
        name, start = model.joint(j).name, model.jnt_qposadr[j]
        if model.jnt_type[j] == 0:
            index = motion.skeleton.index(name)
            data.qpos[start : start + 3] = motion.root[frame]
            data.qpos[start + 3 : start + 7] = motion.rotations[frame, index]
        elif model.jnt_type[j] == 1:
            index = motion.skeleton.index(name)
            data.qpos[start : start + 4] = motion.rotations[frame, index]
        else:
            data.qpos[start] = angles[name][frame]


def order_of_joints(skeleton: Skeleton) -> list[int]:
    """Our bodies in the order of MuJoCo's joints, which stand body by body."""
    return [i for i, body in enumerate(skeleton.bodies) if freedom_of(body.joint).turns and i]


def loader(variable: str, package: str) -> str:
    python = os.environ.get(variable, "")
    if not Path(python).is_file():
        pytest.skip(f"set {variable} to a Python that has {package}")
    return python


def found_by(python: str, script: str, *arguments: str | Path) -> dict:
    command = [python, str(Path(__file__).parent / "loaders" / script), *map(str, arguments)]
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
    python = loader("OSSATURE_PINOCCHIO_PYTHON", "pin")
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
    python = loader("OSSATURE_OPENSIM_PYTHON", "opensim")
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
def test_blender_builds_the_armature(tmp_path, rng, skeleton):
    """With its limits at work: motion within them is not touched, so they say what ours say."""
    python = loader("OSSATURE_BLENDER_PYTHON", "bpy")
    motion = acted(skeleton, rng)
    write(skeleton, tmp_path / "skeleton.json")
    write(motion, tmp_path / "motion.bvh")
    script = Path(blender.__file__).with_name("build_armature.py")
    frames = ",".join(map(str, FRAMES))
    files = (tmp_path / "rig.blend", tmp_path / "rig.fbx")
    found = found_by(python, "blender_armature.py", script, tmp_path, frames, *files)
    worst = worst_distance(found["points"], true_points(motion))
    print(f"Blender {found['version']}: worst distance {1e3 * worst:.4f} mm")  # noqa: T201
    assert worst < TOLERANCE
    limited = [b.name for b in skeleton.bodies if any(t.limited for t in freedom_of(b.joint).turns)]
    assert limited and set(limited) <= set(found["limits"])
    assert all(file.stat().st_size > 10_000 for file in files)
    assert found["bones_in_fbx"] == sorted(skeleton.names)
