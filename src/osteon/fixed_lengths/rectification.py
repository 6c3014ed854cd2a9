"""End effectors onto their targets by turning bones as little as possible ([004] §3.4.1).

The paper turns the last bone alone: the least rotation from P1 to P2 about its joint. That meets a
target only where the distance happens to fit, and it puts the whole error into one joint. Here the
turn is spread over the limb; ``spread=0`` is the paper's rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import BadValue, NotEnoughData, ShapeError
from osteon.fixed_lengths.least_turn import Chain, reach
from osteon.maths import quat
from osteon.threads import one_thread
from osteon.typing import Array
from osteon.values import Motion, Skeleton

MISSED = 1e-9
"""Metres from which a target counts as not reached."""


@dataclass(frozen=True, slots=True, eq=False)
class RectifyResult:
    """A motion whose end effectors are on their targets, and where they could not be."""

    motion: Motion
    distance: dict[str, Array]
    """By target, (n_frames,) metres that are left; NaN where there was no target."""
    turned: Array
    """(n_frames, n_bodies) how far each joint was turned, radians."""

    @property
    def unreachable(self) -> dict[str, tuple[int, ...]]:
        """Frames in which a target was not reached, by target; those always reached left out."""
        missed = {
            name: tuple(np.flatnonzero(left > MISSED).tolist())
            for name, left in self.distance.items()
        }
        return {name: frames for name, frames in missed.items() if frames}

    def __str__(self) -> str:
        n_missed = len({frame for frames in self.unreachable.values() for frame in frames})
        most = np.degrees(self.turned.max(initial=0.0))
        return f"joints turned by up to {most:.1f}°; targets missed in {n_missed} frames"


@one_thread()
def rectify(
    motion: Motion, targets: Mapping[str, ArrayLike], *, spread: float = 1.0
) -> RectifyResult:
    """Turn limbs as little as brings their ends onto targets.

    Only joints between the end and the next body that several limbs share are turned, or the next
    target further up. Hinges turn about their axis, fixed joints not at all.

    Parameters
    ----------
    targets
        By body, (n_frames, 3) or (3,): where its joint shall be, metres; NaN leaves a frame alone.
        ``left_hand.tip`` stands for the end of the body's bone.
    spread
        How readily a joint turns compared with the next one further down: 1 = all alike, 0 = only
        the last one, as the paper does.
    """
    if motion.offsets is not None:
        raise NotEnoughData("the bones of this motion stretch; fit() gives them fixed lengths")
    if not 0.0 <= spread <= 1.0:
        raise BadValue(f"spread must lie between 0 and 1, got {spread}")
    skeleton = motion.skeleton
    ends = {name: _end(skeleton, name) for name in targets}
    wanted = {name: _places(name, place, motion.n_frames) for name, place in targets.items()}
    met = [body for body, tip in ends.values() if tip is None]
    rotations = np.array(motion.rotations)
    distance: dict[str, Array] = {}
    for name in sorted(ends, key=lambda each: ends[each][0]):  # from the root outwards
        bodies = _chain(skeleton, ends[name], met)
        distance[name] = _rectify_one(
            replace(motion, rotations=rotations),
            rotations,
            bodies,
            ends[name],
            wanted[name],
            spread,
        )
    turned = quat.angle(quat.between(motion.rotations, rotations))
    did = f"rectified {', '.join(targets)}"
    rectified = replace(motion, rotations=quat.unroll(rotations), history=(*motion.history, did))
    return RectifyResult(rectified, distance, turned)


def _rectify_one(
    motion: Motion,
    rotations: Array,
    bodies: list[int],
    end: tuple[int, Array | None],
    wanted: Array,
    spread: float,
) -> Array:
    """Turn one chain inside ``rotations``; what is left of the way, (n_frames,) metres."""
    world, joints = motion.world()
    skeleton = motion.skeleton
    point = joints[:, end[0]]
    if end[1] is not None:
        point = point + quat.rotate(world[:, end[0]], end[1])
    frames = np.flatnonzero(np.isfinite(wanted).all(axis=-1))
    distance = np.linalg.norm(wanted - point, axis=-1)
    if not bodies:
        return distance
    path = [*bodies[1:], end[0]] if end[1] is None else bodies[1:]
    arms = [skeleton.offsets[body] for body in path] + ([] if end[1] is None else [end[1]])
    above = [skeleton.parents[body] for body in bodies]
    upper = quat.identity((len(frames),)) if above[0] < 0 else world[frames, above[0]]
    chain = Chain(
        base=joints[frames, bodies[0]],
        above=upper,
        local=rotations[frames[:, None], bodies],
        arms=np.array(arms),
        ease=np.array([spread ** (len(bodies) - 1 - i) for i in range(len(bodies))]),
        axes=tuple(_axis(skeleton, body) for body in bodies),
    )
    turned, distance[frames] = reach(chain, wanted[frames])
    rotations[frames[:, None], bodies] = turned
    return distance


def _end(skeleton: Skeleton, name: str) -> tuple[int, Array | None]:
    """Body of a target, and the point on it seen from its joint; None: the joint itself."""
    if name not in skeleton.names and name.endswith(".tip"):
        body = skeleton.body(name.removesuffix(".tip"))
        if body.tip is None:
            raise NotEnoughData(f"body {body.name!r} has no tip; its joint is named {body.name!r}")
        return skeleton.index(body.name), body.tip_from_joint
    return skeleton.index(name), None


def _places(name: str, place: ArrayLike, n_frames: int) -> Array:
    places = np.asarray(place, dtype=float)
    if places.shape not in ((3,), (n_frames, 3)):
        raise ShapeError(
            f"target {name!r} must have shape (3,) or ({n_frames}, 3), got {places.shape}"
        )
    return np.broadcast_to(places, (n_frames, 3))


def _chain(skeleton: Skeleton, end: tuple[int, Array | None], met: list[int]) -> list[int]:
    """Bodies that may turn for an end, from the base outwards."""
    parents = skeleton.parents
    bodies = []
    body = end[0] if end[1] is not None else parents[end[0]]
    while body >= 0 and len(skeleton.children_of(body)) <= 1:
        bodies.append(body)
        if body in met:  # turning farther up would move a target that is already met
            break
        body = parents[body]
    return bodies[::-1]


def _axis(skeleton: Skeleton, body: int) -> Array | None:
    """What a joint turns about, in the parent's frame: any axis (None), one, or none (zero)."""
    joint = skeleton.bodies[body].joint
    if joint.kind == "fixed":
        return np.zeros(3)
    if joint.kind == "hinge" and len(joint.axes):
        return joint.axes[0]
    return None
