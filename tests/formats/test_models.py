"""MJCF, URDF and OpenSim files: written, read, and moved by MuJoCo as by us."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close, real
from model_rigs import (
    FRAMES,
    TOLERANCE,
    acted,
    composed,
    every_kind,
    gliding,
    joint_angles,
    true_points,
)
from osteon.errors import BadValue, FormatError, WrongContent
from osteon.formats import read, write
from osteon.formats.shared.simulation_models import Capsule, capsules_of, freedom_of, mass_of
from osteon.maths import quat
from osteon.values import Body, GlidePath, Joint, Loop, Marker, Motion, Skeleton
from rigs import human, move


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
            wider = freedom.widen(any_motion)
            assert len(wider.turns) == 3
            assert_rotations_close(composed(wider, wider.angles(any_motion)), any_motion, 1e-9)
            within = composed(freedom, rng.uniform(-0.2, 0.2, size=(20, len(freedom.turns))))
            assert freedom.widen(within) is freedom


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

    @pytest.mark.parametrize("size", [1.0, 0.05])
    def test_a_urdf_that_falls_stays_stable(self, tmp_path, size):
        """Five seconds under gravity at the usual step, people or mice: no simulation blows up."""
        bodies = []
        for body in human().bodies:
            joint = replace(
                body.joint, in_parent=size * body.joint.in_parent, in_body=size * body.joint.in_body
            )
            tip = None if body.tip is None else size * body.tip
            bodies.append(replace(body, joint=joint, tip=tip, markers=()))
        write(Skeleton(tuple(bodies)), tmp_path / "rig.urdf")
        mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "rig.urdf"))
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, nstep=2500)
        assert data.time > 4.9  # begun again where a number was no longer finite
        assert not any(warning.number for warning in data.warning)

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


def test_a_joint_that_glides_has_splines_of_its_angle(tmp_path):
    """Of a hinge whose zero lies 0.25 rad on, about the path's axis and about its opposite."""
    skeleton = gliding()
    write(skeleton, tmp_path / "a.osim")
    tree = ElementTree.parse(tmp_path / "a.osim").getroot()
    for name, coordinate, sign, zero in (
        ("loose", "loose_1", 1.0, 0.0),
        ("knee", "knee", 1.0, 0.25),
        ("turned", "turned", -1.0, 0.25),
    ):
        path = skeleton.body(name).joint.glide_path
        assert path is not None
        joint = tree.find(f".//CustomJoint[@name='{name}_joint']")
        parts = [joint.find(f".//TransformAxis[@name='translation{i}']") for i in (1, 2, 3)]
        assert {part.findtext("coordinates") for part in parts} == {coordinate}
        splines = [part.find("SimmSpline") for part in parts]
        at = np.array([spline.findtext("x").split() for spline in splines], dtype=float)
        to = np.array([spline.findtext("y").split() for spline in splines], dtype=float)
        assert (np.diff(at) > 0.0).all() and (at == at[0]).all()
        x, y, z = path.at(sign * at[0] + zero).T
        np.testing.assert_allclose(to, [x, z, -y], atol=1e-12)
        assert np.ptp(to) > 0.01
    assert "SimmSpline" not in ElementTree.tostring(tree.find(".//CustomJoint")).decode()


def test_a_narrow_path_is_told_in_rising_angles(tmp_path):
    path = GlidePath((0, 1, 0), (1, 0, 0, 0), (0, 0.01, 0.02, 0.03), np.eye(4)[:, :3])
    bodies = (Body("a", None), Body("b", "a", Joint("ball", glide_path=path)))
    write(Skeleton(bodies), tmp_path / "a.osim")
    told = ElementTree.parse(tmp_path / "a.osim").getroot().findtext(".//SimmSpline/x")
    assert told is not None and (np.diff(np.array(told.split(), dtype=float)) > 0.0).all()


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
