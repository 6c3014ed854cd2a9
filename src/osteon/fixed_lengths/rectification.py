"""End effectors onto their targets by turning bones as little as possible ([004] §3.4.1).

The paper turns the last bone alone: the least rotation from P1 to P2 about its joint. That meets a
target only where the distance happens to fit, and it puts the whole error into one joint. Here the
turn is spread over the limb; ``spread=0`` is the paper's rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import BadValue, NotEnoughData, ShapeError
from osteon.maths import quat
from osteon.threads import one_thread
from osteon.typing import Array
from osteon.values import Motion, Skeleton

CLOSE_DISTANCE = 1e-12
"""Metres: near enough to stop. Chosen: a thousandth of ``MISSED_DISTANCE``."""
MOST_ROUNDS = 200
"""Count of rounds of turning. Chosen: bounds time where a target is out of reach."""
WIDEST_TURN = 0.5
"""Radians that a joint turns in one round at most. Chosen: so far a step is still nearly
straight."""
MISSED_DISTANCE = 1e-9
"""Metres from which a target counts as not reached. Chosen: rounding is far below."""


class Chain(NamedTuple):
    """Bodies one after another, from the base to the end."""

    base: Array
    """(n_frames, 3) the first body's joint."""
    above: Array
    """(n_frames, 4) how the first body's parent is turned in the world."""
    local: Array
    """(n_frames, n_bodies, 4) rotation to the body before from each."""
    arms: Array
    """(n_bodies, 3) from each body's joint to the next one's, the last to the end."""
    ease: Array
    """(n_bodies,) how readily each turns."""
    axes: tuple[Array | None, ...]
    """What each turns about, in the frame before it; None: anything; zero: nothing."""


def reach(chain: Chain, wanted: Array) -> tuple[Array, Array]:
    """Rotations (n_frames, n_bodies, 4) that bring the end to ``wanted`` (n_frames, 3).

    Damped least squares with the least sum of squared turns per step, damping by the square of
    the distance so that it vanishes at the target. Also the distance left, (n_frames,) metres.
    """
    if chain.axes[-1] is None and not chain.ease[:-1].any():
        return _last_alone(chain, wanted)
    local = _unlocked(chain, wanted)
    left = _distance(chain._replace(local=local), wanted)
    damping = np.full(len(wanted), 1e-3)
    patience = np.zeros(len(wanted), dtype=int)
    for _ in range(MOST_ROUNDS):
        open_ = np.flatnonzero((left > CLOSE_DISTANCE) & (patience < 12))
        if not len(open_):
            break
        part = _frames(chain._replace(local=local), open_)
        tried = _step(part, wanted[open_], damping[open_])
        nearer = _distance(part._replace(local=tried), wanted[open_])
        better = nearer < left[open_]
        gain = np.where(better, 1.0 - nearer / left[open_], 0.0)
        good = open_[better]
        local[good], left[good] = tried[better], nearer[better]
        damping[open_] *= np.where(better, 0.2, 8.0)
        patience[open_] = np.where(gain > 1e-3, 0, patience[open_] + 1)
    # what could not be improved on stays as it was
    worse = left > _distance(chain, wanted)
    local[worse] = chain.local[worse]
    return local, _distance(chain._replace(local=local), wanted)


def _last_alone(chain: Chain, wanted: Array) -> tuple[Array, Array]:
    """Return the rule of [004]: the least turn of the last body from P1 to P2 (docs/methods.md
    §6)."""
    world, joints, end = _world(chain)
    turn = quat.shortest(end - joints[:, -1], wanted - joints[:, -1])
    turn = np.where(np.isfinite(turn), turn, quat.identity())
    before = chain.above if len(chain.arms) < 2 else world[:, -2]
    local = chain.local.copy()
    local[:, -1] = quat.between(before, quat.multiply(turn, world[:, -1]))
    return local, _distance(chain._replace(local=local), wanted)


def _frames(chain: Chain, frames: np.ndarray) -> Chain:
    return chain._replace(
        base=chain.base[frames], above=chain.above[frames], local=chain.local[frames]
    )


def _world(chain: Chain) -> tuple[Array, Array, Array]:
    """Rotations (n_frames, n_bodies, 4), joints (n_frames, n_bodies, 3), end (n_frames, 3)."""
    world, joints = np.zeros_like(chain.local), np.zeros((*chain.local.shape[:2], 3))
    turn, place = chain.above, chain.base
    for i, arm in enumerate(chain.arms):
        turn = quat.multiply(turn, chain.local[:, i])
        world[:, i], joints[:, i] = turn, place
        place = place + quat.rotate(turn, arm)
    return world, joints, place


def _distance(chain: Chain, wanted: Array) -> Array:
    return np.linalg.norm(_world(chain)[2] - wanted, axis=-1)


def _step(chain: Chain, wanted: Array, damping: Array) -> Array:
    """Local rotations after one step."""
    world, joints, end = _world(chain)
    error = wanted - end
    lever = end[:, None] - joints
    allowed = _allowed(chain, world)
    # ways[f, i, :, k]: how the end moves when body i turns about world axis k
    ways = np.cross(np.moveaxis(allowed, -1, -2), lever[:, :, None]).swapaxes(-1, -2)
    gram = np.einsum("i,fiak,fibk->fab", chain.ease, ways, ways)
    size = np.einsum("faa->f", gram) + 1e-30
    shift = damping * np.minimum(1.0, np.sum(error**2, axis=-1) / size) * size + 1e-15 * size
    gram += shift[:, None, None] * np.eye(3)
    pull = np.linalg.solve(gram, error[..., None])[..., 0]
    turns = chain.ease[:, None] * np.einsum("fiak,fibk,fb->fia", allowed, ways, pull)
    widest = np.linalg.norm(turns, axis=-1).max(axis=-1)
    turns *= np.minimum(1.0, WIDEST_TURN / np.maximum(widest, 1e-300))[:, None, None]
    before = np.concatenate([chain.above[:, None], world[:, :-1]], axis=1)
    in_parent = quat.rotate(quat.inverse(before), turns)
    return quat.normalise(quat.multiply(quat.exp(in_parent), chain.local))


def _allowed(chain: Chain, world: Array) -> Array:
    """Return (n_frames, n_bodies, 3, 3) columns: world axes that each body may turn about."""
    allowed = np.broadcast_to(np.eye(3), (*world.shape[:2], 3, 3)).copy()
    for i, axis in enumerate(chain.axes):
        if axis is not None:
            before = chain.above if i == 0 else world[:, i - 1]
            allowed[:, i] = 0.0
            allowed[:, i, :, 0] = quat.rotate(before, axis)
    return allowed


def _unlocked(chain: Chain, wanted: Array) -> Array:
    """Bend a straight chain, which cannot start towards a target on its own line, a little
    first."""
    _, joints, end = _world(chain)
    lever, error = end[:, None] - joints, wanted - end
    across = np.linalg.norm(np.cross(lever, error[:, None]), axis=-1).max(axis=-1)
    scale = np.linalg.norm(lever, axis=-1).max(axis=-1) * np.linalg.norm(error, axis=-1)
    locked = (across < 1e-6 * scale) & (np.linalg.norm(error, axis=-1) > CLOSE_DISTANCE)
    local = chain.local.copy()
    if len(chain.arms) < 2 or not locked.any():
        return local
    along = np.where(np.abs(error) > 0.0, error, 0.0)
    side = np.cross(along, np.eye(3)[np.argmin(np.abs(along), axis=-1)])
    kick = quat.exp(1e-2 * quat.rotate(quat.inverse(chain.above), quat.normalise(side)))
    movable = [i for i, axis in enumerate(chain.axes) if axis is None]
    if movable:
        i = movable[0]
        local[locked, i] = quat.multiply(kick, chain.local[:, i])[locked]
    return local


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
            name: tuple(np.flatnonzero(left > MISSED_DISTANCE).tolist())
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
    """Return what a joint turns about, in the parent's frame: any axis (None), one, or none
    (zero)."""
    joint = skeleton.bodies[body].joint
    if joint.kind == "fixed":
        return np.zeros(3)
    if joint.kind == "hinge" and len(joint.axes):
        return joint.axes[0]
    return None
