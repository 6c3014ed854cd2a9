"""Bring the end of a chain to a place with the least turning, all frames at once."""

from typing import NamedTuple

import numpy as np

from osteon.maths import quat
from osteon.typing import Array

CLOSE = 1e-12
"""Metres: near enough to stop."""
ROUNDS = 200
WIDEST = 0.5
"""Radians that a joint turns in one round at most."""


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
    for _ in range(ROUNDS):
        open_ = np.flatnonzero((left > CLOSE) & (patience < 12))
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
    """The rule of [004]: the least turn of the last body from P1 to P2 (docs/methods.md §6)."""
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
    turns *= np.minimum(1.0, WIDEST / np.maximum(widest, 1e-300))[:, None, None]
    before = np.concatenate([chain.above[:, None], world[:, :-1]], axis=1)
    in_parent = quat.rotate(quat.inverse(before), turns)
    return quat.normalise(quat.multiply(quat.exp(in_parent), chain.local))


def _allowed(chain: Chain, world: Array) -> Array:
    """(n_frames, n_bodies, 3, 3) columns: world axes that each body may turn about."""
    allowed = np.broadcast_to(np.eye(3), (*world.shape[:2], 3, 3)).copy()
    for i, axis in enumerate(chain.axes):
        if axis is not None:
            before = chain.above if i == 0 else world[:, i - 1]
            allowed[:, i] = 0.0
            allowed[:, i, :, 0] = quat.rotate(before, axis)
    return allowed


def _unlocked(chain: Chain, wanted: Array) -> Array:
    """A straight chain cannot start towards a target on its own line: bend it a little first."""
    _, joints, end = _world(chain)
    lever, error = end[:, None] - joints, wanted - end
    across = np.linalg.norm(np.cross(lever, error[:, None]), axis=-1).max(axis=-1)
    scale = np.linalg.norm(lever, axis=-1).max(axis=-1) * np.linalg.norm(error, axis=-1)
    locked = (across < 1e-6 * scale) & (np.linalg.norm(error, axis=-1) > CLOSE)
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
