"""Which angles a motion can do without, and what that costs. [002] §4: compact means fewer numbers.

A joint of one angle is a hinge, of two a universal. The angles that stay are fitted anew, so that
they make up for those that stand still.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.anatomy.movement_axes import MovementAxes
from osteon.maths import quat
from osteon.posing import reach
from osteon.typing import Array
from osteon.values import Body, CompactMotion, Motion, Skeleton

ROOT_NUMBERS = 6
"""Count of numbers of the root: place and turn. Defined by space."""
LOOK_FRAMES = 200
"""Count of frames that errors are judged by. Chosen: time; evenly over the take."""
NUMBER_COUNTS = (12, 18, 24, 30, 36, 42, 48)
"""Counts of numbers a frame at which the cost is told, the root's among them. Chosen: about 30,
beside more and fewer."""


@dataclass(frozen=True, eq=False)
class FewerAngles:
    """A motion told by so many numbers a frame."""

    numbers: int
    """The root's six among them."""
    names: tuple[str, ...]
    """Angles that stay, in the skeleton's order."""
    error: float
    """Mean distance of joints and free ends from where they were, metres."""
    limbs: dict[str, float]
    """The same at the far end of each body that has one."""


def fewer_angles(
    told: MovementAxes, counts: Sequence[int] = NUMBER_COUNTS
) -> tuple[FewerAngles, ...]:
    """Tell what a motion costs by fewer numbers; counts that it does not have are left out."""
    step = max(1, told.compact.n_frames // LOOK_FRAMES)
    few = replace(
        told.compact,
        angles=told.compact.angles[::step],
        root=told.compact.root[::step],
        turn=told.compact.turn[::step],
    )
    seen = np.isfinite(few.angles).all(axis=1) & np.isfinite(few.root).all(axis=1)
    few = replace(few, angles=few.angles[seen], root=few.root[seen], turn=few.turn[seen])
    if not few.n_frames:
        return ()
    usual = np.median(few.angles, axis=0)
    order = np.argsort(-_costs(few, usual))
    most = ROOT_NUMBERS + len(order)
    return tuple(
        _told_by(few, usual, np.sort(order[: count - ROOT_NUMBERS]), count)
        for count in counts
        if ROOT_NUMBERS < count <= most
    )


def _costs(few: CompactMotion, usual: Array) -> Array:
    """Return (n_parameters,) how far joints are off if one angle alone stands still, metres."""
    truth, costs = _places(few.motion()), np.zeros(len(usual))
    for column in range(len(usual)):
        angles = np.array(few.angles)
        if np.ptp(angles[:, column]) == 0.0:
            continue
        angles[:, column] = usual[column]
        apart = _places(few.with_angles(angles).motion()) - truth
        costs[column] = np.sqrt(np.mean(np.sum(apart**2, axis=-1)))
    return costs


def _places(motion: Motion) -> Array:
    """Return (n_frames, n, 3) joints and free ends."""
    ends = _targets_of(motion)
    return np.stack(list(ends.values()), axis=1)


def _targets_of(motion: Motion) -> dict[str, Array]:
    turned, joints = motion.world()
    targets = {}
    for index, body in enumerate(motion.skeleton.bodies):
        targets[body.name] = joints[:, index]
        if (tip := body.tip_from_joint) is not None:
            targets[f"{body.name} tip"] = joints[:, index] + quat.rotate(turned[:, index], tip)
    return targets


def _told_by(few: CompactMotion, usual: Array, kept: np.ndarray, count: int) -> FewerAngles:
    angles = np.array(np.broadcast_to(usual, few.angles.shape))
    angles[:, kept] = few.angles[:, kept]
    skeleton = _with_fewer(few.skeleton, usual, set(kept.tolist()))
    start = replace(few.with_angles(angles).motion(), skeleton=skeleton)
    found = reach(skeleton, _targets_of(few.motion()), start=start, limits="none")
    off = dict(zip(found.names, found.error.mean(axis=0).tolist(), strict=True))
    limbs = {name.removesuffix(" tip"): error for name, error in off.items() if " tip" in name}
    names = tuple(few.names[column] for column in kept)
    return FewerAngles(count, names, float(found.error.mean()), limbs)


def _with_fewer(skeleton: Skeleton, usual: Array, kept: set[int]) -> Skeleton:
    bodies, column = [skeleton.bodies[0]], 0
    for body in skeleton.bodies[1:]:
        assert body.movement is not None
        n = len(body.movement.parameters)
        own = [column + i in kept for i in range(n)]
        bodies.append(_with_axes(body, usual[column : column + n], own))
        column += n
    return skeleton.with_bodies(bodies, f"told by {len(kept)} angles")


def _with_axes(body: Body, usual: Array, kept: Sequence[bool]) -> Body:
    """Return a body whose joint turns about the axes that are kept, the others stand still."""
    movement = body.movement
    assert movement is not None
    fixed, left = quat.identity(), []
    for axis, angle, stays in zip(
        [*movement.axes, quat.rotate(movement.rest, movement.direction)], usual, kept, strict=True
    ):
        if stays:
            left.append(quat.rotate(fixed, axis))
        else:
            fixed = quat.multiply(fixed, quat.from_axis_angle(axis, angle))
    kind = ("fixed", "hinge", "universal", "ball")[len(left)]
    axes = np.array(left if len(left) < 3 else []).reshape(-1, 3)
    rest = quat.multiply(fixed, movement.rest)
    return replace(body, joint=replace(body.joint, kind=kind, axes=axes, rest=rest, limits=None))
