"""Moments of joints against MuJoCo: a figure that falls, hops and walks by torques that are known.

MuJoCo knows nothing of our laws of motion: it integrates the torques forwards and tells the places
of bodies and the forces of the ground, we go back. A harness holds the root of who hops and walks;
its force is what the residual must be.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from osteon.anatomy import angles_between, find_angles, joint_axes
from osteon.anatomy.clinical_angles import named_rows
from osteon.errors import BadValue, NotEnoughData
from osteon.gait import foot_loads
from osteon.human import name_parts
from osteon.kinetics import Inertias, find_moments, joint_loads, segment_inertias
from osteon.maths import low_pass, quat
from osteon.posing import standing_of
from osteon.retargeting import average_figure
from osteon.typing import Array
from osteon.values import GroundReaction, Motion, Skeleton

mujoco: Any = pytest.importorskip("mujoco")

STEP_SECONDS = 0.0005
"""Seconds of a step, chosen: torques of stiff ankles do not swing."""
BODY_MASS = 70.0
"""Kilograms, chosen."""
PEAK_SHARE = 0.02
"""Share of a joint's largest moment by which it may be off, as was asked for."""
CORNERS = np.array([[3.0, 1.0, 0.0], [3.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [-1.0, 1.0, 0.0]])
"""Metres: the left foot's plate, chosen; the right one's lies on the other side of y = 0."""

Torques = Callable[[Any, float], Array]


@dataclass
class Played:
    """What a simulation shows."""

    motion: Motion
    inertias: Inertias
    moments: Array
    """(n_frames, n_bodies, 3) at the joints, in the world; the root's is the harness's."""
    harness: Array
    """(n_frames, 3) force on the root."""
    reactions: tuple[GroundReaction, ...]


def figure() -> Skeleton:
    """The average one, in MuJoCo's order: down one limb after the other."""
    average = average_figure(1.75)
    order = ["pelvis"]
    for _ in average.bodies:
        for body in reversed(average.bodies):
            if body.parent in order and body.name not in order:
                order.insert(order.index(body.parent) + 1, body.name)
    return replace(average, bodies=tuple(average.bodies[average.index(name)] for name in order))


def played(torques: "Servo", harness: Torques, seconds: float, height: float) -> Played:
    skeleton = figure()
    inertias = segment_inertias(skeleton, name_parts(skeleton), BODY_MASS)
    model = _model(skeleton, inertias)
    assert [model.body(i + 1).name for i in range(len(skeleton.bodies))] == [*skeleton.names]
    data = mujoco.MjData(model)
    data.qpos[2], data.qpos[7:] = height, torques.wanted(0.0).ravel()
    poses, roots, moments, pushes, wrenches = [], [], [], [], []
    for step in range(round(seconds / STEP_SECONDS)):
        time = step * STEP_SECONDS
        data.qfrc_applied[6:] = torques(data, time)
        data.qfrc_applied[:6] = harness(data, time)
        mujoco.mj_forward(model, data)
        poses.append(data.xquat[1:].copy())
        roots.append(data.xpos[1].copy())
        moments.append(_moments(data, len(skeleton.bodies)))
        pushes.append(data.qfrc_applied[:3].copy())
        wrenches.append(_ground(model, data))
        mujoco.mj_step(model, data)
    turned = np.array(poses)
    parents = np.array(skeleton.parents)
    local = quat.between(turned[:, np.maximum(parents, 0)], turned)
    local[:, 0] = turned[:, 0]
    motion = Motion(skeleton, quat.unroll(local), np.array(roots), 1.0 / STEP_SECONDS)
    reactions = tuple(_reaction(np.array(wrenches)[:, i], i) for i in range(2))
    return Played(motion, inertias, np.array(moments), np.array(pushes), reactions)


def _model(skeleton: Skeleton, inertias: Inertias):
    spec = mujoco.MjSpec()
    spec.option.timestep = STEP_SECONDS
    spec.option.gravity = [0.0, 0.0, -9.80665]
    floor = {"contype": 1, "conaffinity": 2}  # feet do not meet each other
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5.0, 5.0, 1.0], **floor)
    added: list[Any] = []
    for index, body in enumerate(skeleton.bodies):
        above = spec.worldbody if body.parent is None else added[skeleton.parents[index]]
        new = above.add_body(name=body.name, pos=skeleton.offsets[index] * (index > 0))
        new.mass, new.ipos = inertias.masses[index], inertias.centres[index]
        tensor = inertias.tensors[index] + 1e-4 * np.eye(3)  # what a point has none of
        inertias.tensors[index] = tensor
        new.fullinertia = [*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]]
        new.explicitinertial = True
        if index == 0:
            new.add_freejoint()
        for axis in np.eye(3)[[1, 0, 2]] if index else ():
            new.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
        if body.name.endswith("_foot"):
            box = {"pos": [0.05, 0.0, -0.07], "size": [0.12, 0.04, 0.015]}
            meets = {"contype": 2, "conaffinity": 1}
            new.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, **box, **meets)
        added.append(new)
    return spec.compile()


def _moments(data, n_bodies: int) -> Array:
    """(n_bodies, 3) of three hinges each, whose shares about their axes are the torques."""
    found = np.zeros((n_bodies, 3))
    # MuJoCo's moment of a free joint is about the body's axes
    found[0] = data.xmat[1].reshape(3, 3) @ data.qfrc_applied[3:6]
    axes = data.xaxis[1:].reshape(-1, 3, 3)
    found[1:] = np.linalg.solve(axes, data.qfrc_applied[6:].reshape(-1, 3, 1))[..., 0]
    return found


def _ground(model, data) -> Array:
    """(2, 6) force on each foot, and moment about the world's origin."""
    found, told = np.zeros((2, 6)), np.zeros(6)
    for number in range(data.ncon):
        contact = data.contact[number]
        mujoco.mj_contactForce(model, data, number, told)
        force = contact.frame.reshape(3, 3).T @ told[:3]
        foot = max(int(geom) for geom in contact.geom) - 1
        found[foot, :3] += force
        found[foot, 3:] += np.cross(contact.pos, force)
    return found


def _reaction(wrench: Array, number: int) -> GroundReaction:
    """A perfect plate."""
    corners = CORNERS - number * np.array([0.0, 1.0, 0.0])
    middle = corners.mean(axis=0)
    force = wrench[:, :3]
    moment = wrench[:, 3:] - np.cross(middle, force)
    loaded = force[:, 2] > 1e-6
    with np.errstate(invalid="ignore", divide="ignore"):
        arm = np.cross([0.0, 0.0, 1.0], moment) / force[:, 2:]
    centre = np.where(loaded[:, None], middle + arm, np.nan)
    free = np.where(loaded, (moment - np.cross(np.nan_to_num(arm), force))[:, 2], np.nan)
    return GroundReaction(corners, force, moment, centre, free, loaded, 1.0 / STEP_SECONDS)


STIFFNESS = {"thigh": 900.0, "shin": 700.0, "foot": 300.0}
"""Newton metres per radian, chosen: they carry the figure."""
SLOW_RATE = 40.0
"""Radians per second at which other joints swing, chosen: far below the steps' rate."""


class Servo:
    """Torques that pull joints to angles about the y axis, by side, limb and time."""

    def __init__(self, bend: Callable[[str, str, float], float]) -> None:
        self.limbs = [name.partition("_") for name in figure().names[1:]]
        self.bend = bend

    def wanted(self, time: float) -> Array:
        """(n_bodies - 1, 3) radians about y, x, z."""
        angles = np.zeros((len(self.limbs), 3))
        for index, (side, _, limb) in enumerate(self.limbs):
            sway = 0.1 * np.sin(5.0 * time)
            angles[index, 0] = self.bend(side, limb, time) if limb in STIFFNESS else sway
        return angles

    def __call__(self, data, time: float) -> Array:
        light = 1.0 / data.model.dof_invweight0[6:].reshape(-1, 3)
        firm = SLOW_RATE**2 * light
        for index, (*_, limb) in enumerate(self.limbs):
            if limb in STIFFNESS:
                firm[index] = STIFFNESS[limb]
        calm = 1.4 * np.sqrt(firm * light)
        angles, speeds = data.qpos[7:].reshape(-1, 3), data.qvel[6:].reshape(-1, 3)
        return (firm * (self.wanted(time) - angles) - calm * speeds).ravel()


def held_up(speed: float, height: float | None) -> Torques:
    """A harness that keeps the pelvis level, on its way, and at a height where one is given."""

    def harness(data, time: float) -> Array:
        off = data.qpos[:3] - [speed * time, 0.0, height or 0.0]
        push = -3000.0 * off - 300.0 * (data.qvel[:3] - [speed, 0.0, 0.0])
        push[2] = push[2] if height else 0.0
        turn = -600.0 * quat.log(data.qpos[3:7]) - 40.0 * data.qvel[3:6]
        return np.concatenate([push, turn])

    return harness


def no_harness(data, time: float) -> Array:
    return np.zeros(6)


def falling() -> Played:
    def bend(side: str, limb: str, time: float) -> float:
        return (0.3 if side == "left" else -0.2) * (1.0 - np.cos(9.0 * time))

    return played(Servo(bend), no_harness, 0.4, height=2.5)


def hopping() -> Played:
    def bend(side: str, limb: str, time: float) -> float:
        deep = 0.35 + 0.3 * np.sin(2.0 * np.pi * 2.2 * time)
        return {"thigh": -deep, "shin": 2.0 * deep, "foot": -deep}[limb]

    return played(Servo(bend), held_up(0.0, None), 1.2, height=0.90)


def walking() -> Played:
    def bend(side: str, limb: str, time: float) -> float:
        phase = 2.0 * np.pi * 0.9 * time + (np.pi if side == "right" else 0.0)
        swing = max(0.0, np.cos(phase))
        return {
            "thigh": -0.35 * np.sin(phase) - 0.25 * swing,
            "shin": 0.15 + 0.8 * swing,
            "foot": -0.1 + 0.1 * np.sin(phase),
        }[limb]

    return played(Servo(bend), held_up(1.0, 0.90), 1.6, height=0.91)


@pytest.fixture(scope="module")
def walk() -> Played:
    return walking()


def outside(take: Played) -> Array:
    """All that the ground does, given to the feet without asking which."""
    found = np.zeros((take.motion.n_frames, len(take.motion.skeleton.bodies), 6))
    for side, reaction in zip(("left", "right"), take.reactions, strict=True):
        foot = take.motion.skeleton.index(f"{side}_foot")
        middle = reaction.corners.mean(axis=0)
        found[:, foot, :3] = reaction.force
        found[:, foot, 3:] = reaction.moment + np.cross(middle, reaction.force)
    return found


def worst_share(found: Array, truth: Array) -> float:
    """Largest error of any joint's moment against that joint's peak, over inner frames."""
    off = np.linalg.norm(found - truth, axis=-1)[2:-2].max(axis=0)
    return float((off / np.linalg.norm(truth, axis=-1).max(axis=0)).max())


@pytest.mark.parametrize("name", ["falling", "hopping", "walking"])
def test_moments_of_every_joint_are_those_that_moved_it(name, walk):
    take = {"falling": falling, "hopping": hopping, "walking": lambda: walk}[name]()
    loads = joint_loads(take.motion, take.inertias, outside(take))
    assert worst_share(loads.moments[:, 1:], take.moments[:, 1:]) < PEAK_SHARE
    # what no plate explains is the harness
    push = np.abs(loads.forces[2:-2, 0] - take.harness[2:-2]).max()
    heaviest = max(float(reaction.force[:, 2].max()) for reaction in take.reactions)
    assert push < PEAK_SHARE * max(heaviest, 9.81 * BODY_MASS)
    on = [float(reaction.loaded.mean()) for reaction in take.reactions]
    assert on == [0.0, 0.0] if name == "falling" else min(on) > 0.2


def as_recorded(take: Played, every: int) -> tuple[Motion, tuple[GroundReaction, ...]]:
    """The motion at a camera's rate; plates keep theirs."""
    motion = take.motion.frames(0, take.motion.n_frames - 1, every)
    return motion, take.reactions


def test_the_walk_as_a_laboratory_records_it(walk):
    """200 Hz, low-passed at 10: feet found on plates, moments by name, person weighed."""
    motion, reactions = as_recorded(walk, 10)
    angles = find_angles(motion, {})
    found = find_moments(motion, angles, reactions, BODY_MASS)
    assert {step.foot for step in found.steps} == {"left_foot", "right_foot"}
    assert all((step.plate == 1) == (step.foot == "left_foot") for step in found.steps)
    assert any(step.whole for step in found.steps)
    truth = low_pass(walk.moments, 10.0, 2000.0)[::10]
    axes = joint_axes(angles)
    for name in ("hip_flexion", "hip_adduction", "knee_flexion", "ankle_dorsiflexion"):
        for side in ("left", "right"):
            _, body, axis = axes[f"{side}_{name}"]
            wanted = np.sum(truth[:, motion.skeleton.index(body)] * axis, axis=-1)
            got = found.moments[:, found.names.index(f"{side}_{name}")]
            off = (got - wanted)[12:-12]
            assert np.isfinite(off).mean() > 0.5
            peak = np.linalg.norm(truth[:, motion.skeleton.index(body)], axis=-1).max()
            assert np.sqrt(np.nanmean(off**2)) < PEAK_SHARE * peak, (side, name)


def test_moments_are_left_out_while_markers_do_not_show_what_hangs_on_a_joint(walk):
    motion, reactions = as_recorded(walk, 10)
    seen = np.ones(motion.rotations.shape[:2], bool)
    seen[100:140, motion.skeleton.index("left_shin")] = False
    angles = find_angles(motion, {})
    whole = find_moments(motion, angles, reactions, BODY_MASS)
    found = find_moments(motion, angles, reactions, BODY_MASS, seen=seen)
    for name in ("left_hip_flexion", "left_knee_flexion"):
        assert np.isnan(found.moments[100:140, found.names.index(name)]).all()
    for name in ("left_ankle_dorsiflexion", "right_hip_flexion"):
        column = found.names.index(name)
        assert np.array_equal(found.moments[:, column], whole.moments[:, column], equal_nan=True)
    assert np.isnan(found.residual_force[100:140]).all()


def test_a_named_moment_pushes_its_angle(walk):
    """A small turn of the body about an angle's axis changes that angle alone, by as much."""
    motion = walk.motion.frames(0, walk.motion.n_frames - 1, 100)
    turned = quat.exp(np.array([0.3, -0.2, 0.4]) * np.linspace(0.2, 1.0, motion.n_frames)[:, None])
    rotations = motion.rotations.copy()
    rotations[:, 1:] = quat.multiply(rotations[:, 1:], turned[:, None])
    motion = replace(motion, rotations=rotations)
    for convention in ("isb", "pig", "opensim"):
        angles = find_angles(motion, {}, convention)
        for name, (label, _, axis) in joint_axes(angles).items():
            if label[1:] not in ("HipAngles", "KneeAngles", "AnkleAngles", "ShoulderAngles"):
                continue
            side = "left" if label[0] == "L" else "right"
            row = next(r for r in named_rows(convention) if r[0] == label)[1]
            parent = next(p for p in row.parents if row.segment(p, side) in angles.segments)
            upper, lower = (
                angles.segments[row.segment(each, side)].rotations for each in (parent, row.child)
            )
            moved = quat.multiply(quat.exp(1e-5 * axis), lower)
            before, after = (
                angles_between(convention, row.label, side, upper, each) for each in (lower, moved)
            )
            for other in before:
                change = (after[other] - before[other]) / 1e-5
                np.testing.assert_allclose(change, float(other == name), atol=1e-3)


def test_without_plates_it_says_no(walk):
    motion, reactions = as_recorded(walk, 20)
    angles = find_angles(motion, {})
    with pytest.raises(NotEnoughData, match="no force plates"):
        find_moments(motion, angles, ())
    nobody = tuple(replace(each, loaded=np.zeros_like(each.loaded)) for each in reactions)
    with pytest.raises(NotEnoughData, match="nobody steps"):
        find_moments(motion, angles, nobody)
    with pytest.raises(BadValue, match="mass"):
        find_moments(motion, angles, reactions, mass=-3.0)
    with pytest.raises(BadValue, match="cutoff"):
        find_moments(motion, angles, reactions, cutoff=60.0)


def test_both_feet_on_one_plate_are_not_told_apart(walk):
    motion, (left, _) = as_recorded(walk, 20)
    wide = CORNERS + [[0.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 0.0]]
    shift = left.corners.mean(axis=0) - wide.mean(axis=0)
    moment = left.moment + np.cross(shift, left.force)
    found = foot_loads(motion, (replace(left, corners=wide, moment=moment),), standing_of(motion))
    assert not found.known["left_foot"].all() and not found.known["right_foot"].all()
