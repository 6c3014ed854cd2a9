"""What models for simulators need of a skeleton: joints as turns, bones as capsules with a mass.

A joint is turns about successive axes, R = R(first)·R(second)·R(third)·rest: each axis is carried
along by the turns before it, the first is fixed in the parent. Axes are given in the parent's frame
with all angles zero.

Every bone – from a body's joint to each joint it carries, and to its tip – is a capsule with a
radius of 15 % of its length, of the density of water. A body without any is a ball as large as the
skeleton's typical bone is thick. Rough: replace the masses where dynamics matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from osteon.maths import euler, quat
from osteon.typing import Array
from osteon.values import Cone, Joint, Limits, Skeleton

STILL_ANGLE = 1e-7
"""Radians; below, a rotation is no motion; chosen: above what doubles lose near zero, 1e-8."""
SQUARE_COSINE = 1e-6
"""Cosine up to which two axes count as perpendicular; chosen: room for printed digits."""
BALL_ORDER = "yxz"
"""Axes of a ball joint that names none: bending, sideways, twist. The middle one, which must stay
clear of ±90°, is the one with the least range in a figure that stands upright."""
FULL_TURN = 2.0 * np.pi
"""Radians, defined as 360°: the open end of a range in files that must name both ends."""
_AXES = dict(zip("xyz", np.eye(3), strict=True))
_TURN_COUNTS = {"hinge": 1, "universal": 2, "ball": 3, "free": 3}
"""Count of turns that a joint of this kind has; defined by the kind."""
FLESH_DENSITY = 1000.0
"""Kilograms per cubic metre; chosen: water's, in which people nearly float."""
RADIUS_SHARE = 0.15
"""Share of a capsule's length that is its radius; chosen: a rough limb, where any mass will do."""
TYPICAL_LENGTH = 0.2
"""Metres of a typical bone where a skeleton has none; chosen: between hand and forearm."""
SHORTEST_BONE = 1e-6
"""Metres; chosen: what is shorter is no bone."""


class Turn(NamedTuple):
    """One angle of a joint."""

    axis: Array
    """(3,) unit, in the parent's frame with all angles zero."""
    low: float = -np.inf
    high: float = np.inf

    @property
    def limited(self) -> bool:
        return bool(np.isfinite(self.low) or np.isfinite(self.high))

    @property
    def range(self) -> tuple[float, float]:
        """Both ends as finite numbers."""
        return max(self.low, -FULL_TURN), min(self.high, FULL_TURN)


class Freedom(NamedTuple):
    """All that a joint can do."""

    turns: tuple[Turn, ...]
    """None for a fixed joint, one for a hinge, two, or three."""
    rest: Array
    """(4,) rotation to the parent's frame from the body's with all angles zero."""

    @property
    def body_axes(self) -> Array:
        """(n_turns, 3) the axes in the body's own frame."""
        axes = np.array([turn.axis for turn in self.turns]).reshape(-1, 3)
        return quat.rotate(quat.inverse(self.rest), axes)

    def angles(self, rotations: Array) -> Array:
        """Return angles (n_frames, n_turns) of the joint's rotations (n_frames, 4), without jumps.

        What the joint cannot do is left out.
        """
        return _angles(self.turns, quat.multiply(rotations, quat.inverse(self.rest)))

    def widen(self, rotations: Array) -> "Freedom":
        """Return the same, with further turns where these cannot make all rotations."""
        made = quat.multiply(_compose(self.turns, self.angles(rotations)), self.rest)
        if np.all(quat.angle(quat.between(made, rotations)) < STILL_ANGLE):
            return self
        turns = complete_turns(self.turns) if perpendicular(self.turns) else BALL
        return Freedom(turns, self.rest)


def freedom_of(joint: Joint) -> Freedom:
    """Return what a joint can do, with its limits as ranges of angles.

    A cone becomes the box around it, with its middle at zero: two swings and the twist.
    """
    limits = joint.limits or Limits()
    if joint.kind == "fixed":
        return Freedom((), joint.rest)
    if _is_box(limits):
        return Freedom(_box(limits, wanted=_TURN_COUNTS[joint.kind]), quat.identity())
    if joint.kind == "hinge" and len(joint.axes) == 1:
        low, high = limits.hinge or (-np.inf, np.inf)
        return Freedom((Turn(joint.axes[0], low, high),), joint.rest)
    if joint.kind == "universal" and len(joint.axes) == 2:
        return Freedom(tuple(Turn(axis) for axis in joint.axes), joint.rest)
    if limits.cone is not None:
        return _around_cone(limits.cone)
    return Freedom(BALL, quat.identity())


def box_of(turns: Sequence[Turn]) -> Limits | None:
    """Return the ranges of two or three perpendicular turns; None where they have none."""
    if not any(turn.limited for turn in turns):
        return None
    frame, letters = _frame(turns)
    ranges = [(letter, t.low, t.high) for letter, t in zip(letters, turns, strict=False)]
    w, x, y, z = frame.tolist()
    return Limits(euler=tuple(ranges), frame=(w, x, y, z))


def perpendicular(turns: Sequence[Turn]) -> bool:
    axes = np.array([turn.axis for turn in turns])
    return bool(np.abs(axes @ axes.T - np.eye(len(axes))).max(initial=0.0) < SQUARE_COSINE)


def complete_turns(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Return perpendicular turns and those about the axes that are missing, three in all."""
    axes = [turn.axis for turn in turns] or [_AXES[BALL_ORDER[0]]]
    if len(axes) == 1:
        axes.append(quat.rotate(quat.shortest(_AXES["x"], axes[0]), _AXES["y"]))
    axes.append(np.cross(axes[0], axes[1]))
    return (*turns, *(Turn(axis) for axis in axes[len(turns) : 3]))


def _angles(turns: Sequence[Turn], rotations: Array) -> Array:
    """Return angles of rotations (n_frames, 4); three turns must be about perpendicular axes."""
    if len(turns) == 3:
        frame, letters = _frame(turns)
        inner = quat.multiply(quat.multiply(quat.inverse(frame), rotations), frame)
        return euler.from_quat(inner, letters)
    angles, left = [], rotations
    for place, turn in enumerate(turns):
        last = place == len(turns) - 1
        angle = _twist(left, turn.axis) if last else _swing(left, turn.axis, turns[-1].axis)
        angles.append(np.unwrap(angle))
        left = quat.multiply(quat.from_axis_angle(turn.axis, -angle), left)
    return np.stack(angles, axis=-1) if angles else np.zeros((len(rotations), 0))


def _compose(turns: Sequence[Turn], angles: Array) -> Array:
    q = quat.identity(angles.shape[:-1])
    for place, turn in enumerate(turns):
        q = quat.multiply(q, quat.from_axis_angle(turn.axis, angles[..., place]))
    return q


def _twist(q: Array, axis: Array) -> Array:
    """Return the angle (n_frames,) of rotations about their own part along ``axis``."""
    return 2.0 * np.arctan2(q[..., 1:] @ axis, q[..., 0])


def _swing(q: Array, axis: Array, carried: Array) -> Array:
    """Return the angle (n_frames,) about ``axis`` that takes ``carried`` where rotations do."""
    to = quat.rotate(q, carried)
    side = np.cross(axis, carried)
    return np.arctan2(to @ side, to @ np.cross(side, axis))


def _is_box(limits: Limits) -> bool:
    letters = [letter for letter, _, _ in limits.euler]
    return bool(letters) and len(set(letters)) == len(letters)


def _box(limits: Limits, wanted: int) -> tuple[Turn, ...]:
    """Return turns about the axes that ranges name, and about others the joint is free in."""
    named = {letter: (low, high) for letter, low, high in limits.euler}
    letters = [*named, *(letter for letter in BALL_ORDER if letter not in named)]
    return tuple(
        Turn(quat.rotate(np.array(limits.frame), _AXES[letter]), *named.get(letter, ()))
        for letter in letters[: max(wanted, len(named))]
    )


def _around_cone(cone: Cone) -> Freedom:
    axes = quat.rotate(cone.centre, np.array([*cone.across, cone.axis]))
    swings = [(-float(radius), float(radius)) for radius in cone.radii]
    ranges = [*swings, cone.twist]
    turns = [Turn(axis, *ends) for axis, ends in zip(axes, ranges, strict=True)]
    return Freedom(tuple(turns), cone.centre)


def _frame(turns: Sequence[Turn]) -> tuple[Array, str]:
    """Return a frame (4,) along whose axes the turns go, and the letters of these axes in order."""
    first, second = turns[0].axis, turns[1].axis
    third = np.cross(first, second)
    if len(turns) == 3 and third @ turns[2].axis < 0.0:
        columns, letters = (first, -third, second), "xzy"
    else:
        columns, letters = (first, second, third), "xyz"
    return quat.from_matrix(np.stack(columns, axis=-1)), letters


BALL = tuple(Turn(_AXES[letter]) for letter in BALL_ORDER)


@dataclass(frozen=True, eq=False)
class Capsule:
    """A rod with round ends, in the body's frame; a ball where both ends agree."""

    start: Array
    end: Array
    radius: float

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.end - self.start))


class Mass(NamedTuple):
    """What a body weighs, and how its weight lies."""

    total: float
    centre: Array
    """(3,) in the body's frame."""
    inertia: Array
    """(3, 3) about the centre, along the body's axes."""


def capsules_of(skeleton: Skeleton) -> list[list[Capsule]]:
    """Return the capsules of every body, at least one each."""
    ends: dict[str, list[Array]] = {body.name: [] for body in skeleton.bodies}
    for body in skeleton.bodies:
        if body.parent is not None:
            ends[body.parent].append(body.joint.in_parent)
        if body.tip is not None:
            ends[body.name].append(body.tip)
    bones = [
        [
            Capsule(start, end, RADIUS_SHARE * float(length))
            for end in ends[body.name]
            if (length := np.linalg.norm(end - start)) > SHORTEST_BONE
        ]
        for body, start in ((body, body.joint.in_body) for body in skeleton.bodies)
    ]
    lengths = [capsule.length for some in bones for capsule in some]
    radius = RADIUS_SHARE * float(np.median(lengths)) if lengths else RADIUS_SHARE * TYPICAL_LENGTH
    return [
        some or [Capsule(body.joint.in_body, body.joint.in_body, radius)]
        for body, some in zip(skeleton.bodies, bones, strict=True)
    ]


def mass_of(capsules: list[Capsule]) -> Mass:
    """Return the mass of all capsules of a body together; where they overlap, they weigh twice."""
    weights = np.array([sum(_masses(capsule)) for capsule in capsules])
    centres = np.array([0.5 * (capsule.start + capsule.end) for capsule in capsules])
    total = float(weights.sum())
    centre = weights @ centres / total
    inertia = sum(
        _inertia(capsule) + _shift_inertia(weight, place - centre)
        for capsule, weight, place in zip(capsules, weights, centres, strict=True)
    )
    return Mass(total, centre, np.asarray(inertia))


def _masses(capsule: Capsule) -> tuple[float, float]:
    """Return the mass of the rod, and of both round ends together."""
    disc = FLESH_DENSITY * np.pi * capsule.radius**2
    return disc * capsule.length, disc * 4.0 / 3.0 * capsule.radius


def _inertia(capsule: Capsule) -> Array:
    """Return the inertia (3, 3) of one capsule about its middle."""
    rod, ends = _masses(capsule)
    length, radius = capsule.length, capsule.radius
    along = radius**2 * (rod / 2.0 + 2.0 / 5.0 * ends)
    across = rod * (length**2 / 12.0 + radius**2 / 4.0) + ends * (
        2.0 / 5.0 * radius**2 + length**2 / 4.0 + 3.0 / 8.0 * length * radius
    )
    axis = (capsule.end - capsule.start) / length if length > 0.0 else np.array([1.0, 0.0, 0.0])
    return across * np.eye(3) + (along - across) * np.outer(axis, axis)


def _shift_inertia(mass: float, by: Array) -> Array:
    """Return the inertia (3, 3) that a point mass has from afar."""
    return mass * (by @ by * np.eye(3) - np.outer(by, by))
