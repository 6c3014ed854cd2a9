"""Skeletons in motion for the tests of formats: small, made up, every joint moving."""

import numpy as np

from osteon.maths import quat
from osteon.values import Body, Joint, Limits, Marker, Motion, Skeleton

HUMAN = {
    "pelvis": (None, (0, 0, 0)),
    "spine": ("pelvis", (-0.02, 0, 0.12)),
    "chest": ("spine", (0, 0, 0.18)),
    "neck": ("chest", (0.01, 0, 0.24)),
    "head": ("neck", (0.02, 0, 0.11)),
    "left_clavicle": ("chest", (0, 0.03, 0.2)),
    "left_upper_arm": ("left_clavicle", (0, 0.15, 0)),
    "left_forearm": ("left_upper_arm", (0, 0, -0.29)),
    "left_hand": ("left_forearm", (0, 0, -0.25)),
    "right_upper_arm": ("chest", (0, -0.18, 0.2)),
    "right_forearm": ("right_upper_arm", (0, 0, -0.29)),
    "left_thigh": ("pelvis", (0, 0.09, -0.05)),
    "left_shin": ("left_thigh", (0, 0, -0.43)),
    "left_foot": ("left_shin", (0, 0, -0.41)),
    "right_thigh": ("pelvis", (0, -0.09, -0.05)),
    "right_shin": ("right_thigh", (0, 0, -0.43)),
    "right_foot": ("right_shin", (0, 0, -0.41)),
}
"""Name → parent and the joint seen from the parent's: 17 bodies."""


def human() -> Skeleton:
    """Seventeen bodies whose frames do not start at their joints, with limits, tips and markers."""
    in_body = {name: 0.01 * np.array([i, -i, 3.0]) for i, name in enumerate(HUMAN)}
    in_body["pelvis"] = np.zeros(3)
    bodies = []
    for name, (parent, offset) in HUMAN.items():
        base = np.zeros(3) if parent is None else in_body[parent]
        hinge = name.endswith(("shin", "forearm"))
        joint = Joint(
            "free" if parent is None else "hinge" if hinge else "ball",
            base + offset,
            in_body[name],
            [(0, 1, 0)] if hinge else (),
            Limits((-0.1, 2.5)) if hinge else None,
        )
        tip = in_body[name] + (0.15, 0, 0) if name.endswith(("foot", "hand", "head")) else None
        markers = (Marker(f"{name}_1", in_body[name] + 0.05, 0.002),)
        bodies.append(Body(name, parent, joint, markers=markers, tip=tip))
    return Skeleton(tuple(bodies), "somebody", history=("made up",))


def hinge_chain(n_bodies: int = 5) -> Skeleton:
    joints = [Joint("hinge", (0, 0, 0.3), axes=[(0, 1, 0)]) for _ in range(n_bodies)]
    joints[0] = Joint("free")
    return Skeleton(
        tuple(
            Body(f"link_{i}", f"link_{i - 1}" if i else None, joint)
            for i, joint in enumerate(joints)
        )
    )


def single_body() -> Skeleton:
    return Skeleton((Body("box", None, Joint("free")),))


def move(skeleton: Skeleton, n_frames: int, rate: float = 120.0, **changes) -> Motion:
    """Every joint swings up to about a radian, each in its own way; the root walks in a circle."""
    rng = np.random.default_rng(7)
    n_bodies = len(skeleton.bodies)
    t = np.arange(n_frames)[:, None, None] / rate
    swing = rng.normal(size=(n_bodies, 3)) * 0.5
    phase, pace = rng.uniform(0, 6, size=(2, n_bodies, 3))
    rotations = quat.exp(swing * np.sin(phase + pace * t))
    angle = 0.5 * t[:, 0, 0]
    root = np.stack([3 * np.cos(angle), 3 * np.sin(angle), 0.9 + 0.05 * np.sin(9 * angle)], -1)
    return Motion(skeleton, rotations, root, rate, **changes)
