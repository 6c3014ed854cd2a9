"""A rig with every kind of joint, and what its motion must look like in other programs."""

from dataclasses import replace

import numpy as np

from osteon.formats.shared.simulation_models import Freedom, freedom_of
from osteon.maths import quat
from osteon.values import Body, Cone, GlidePath, Joint, Limits, Marker, Motion, Skeleton

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


def gliding() -> Skeleton:
    """Joints that glide as they turn: a ball's path about a skew axis, hinges from their rest."""
    angles = np.array([-0.9, -0.4, 0.1, 0.7, 1.3])
    places = 0.01 * np.array([(0, 0, 0), (1, 0, -0.5), (-0.4, 0.3, 0.2), (0.8, 0, 1), (0, 0, 0)])
    axis, rest = np.array([0.0, 0.6, 0.8]), quat.exp(np.array([0.3, -0.5, 0.2]))
    path = GlidePath(axis, rest, angles, places)
    back = quat.multiply(quat.from_axis_angle(axis, 0.25), rest)
    joints = {
        "hips": Joint("free"),
        "loose": Joint("ball", (0, 0.1, 0.3), (0.01, 0, 0.02), glide_path=path),
        "knee": Joint("hinge", (0, 0, -0.4), (0.02, 0, 0), [axis], rest=back, glide_path=path),
        "turned": Joint("hinge", (0.1, 0, -0.4), axes=[-axis], rest=back, glide_path=path),
    }
    parents = [None, "hips", "hips", "knee"]
    bodies = [
        Body(name, parent, joint, markers=(Marker(f"{name} mark", joint.in_body + 0.05),))
        for (name, joint), parent in zip(joints.items(), parents, strict=True)
    ]
    return Skeleton(tuple(bodies), "gliding")


def glided(motion: Motion) -> Motion:
    """The same with joints where their paths have them."""
    offsets = np.array(np.broadcast_to(motion.skeleton.offsets, (*motion.rotations.shape[:2], 3)))
    for index, body in enumerate(motion.skeleton.bodies):
        path = body.joint.glide_path
        if path is not None:
            offsets[:, index] += path.at(path.angles_of(motion.rotations[:, index]))
    return replace(motion, offsets=offsets)


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
