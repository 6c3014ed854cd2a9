"""What skin makes of a joint's motion: turns about one axis that show up about the others.

Skin slides as joints bend, and the markers on it take their bodies along. How far that turns a body
depends on how well its markers tell a turn: a shin is 40 cm long and 10 cm thick, so the same slide
twists it four times as far as it swings it. Held against what the markers tell in each direction, a
bending knee shows its cross-talk for what it is.
"""

import numpy as np

from osteon.maths import Spread, forward_kinematics, place_points, point_jacobian
from osteon.typing import Array
from osteon.values import Motion

N_POSES = 5
UNSEEN = 0.003
"""Marker error, metres, beside which a turn that no marker shows may be a radian."""


def turn_doubts(motion: Motion) -> Array | None:
    """(n_bodies, 3, 3) how much markers leave open of each joint's turn, in its body's frame.

    The covariance of the joint's rotation if every marker is off by the same, in all directions and
    each for itself, in units of that error; the mean of a few poses. None where the motion was not
    solved from markers.
    """
    skeleton = motion.skeleton
    places = [
        (index, marker.position - body.joint.in_body)
        for index, body in enumerate(skeleton.bodies)
        for marker in body.markers
        if marker.rms is not None
    ]
    whole = np.flatnonzero(np.isfinite(motion.rotations[..., 0]).all(axis=1))
    if not places or not len(whole):
        return None
    poses = motion.rotations[whole[np.linspace(0, len(whole) - 1, N_POSES).astype(int)]]
    carriers = [index for index, _ in places]
    offsets = np.broadcast_to(skeleton.offsets, (*poses.shape[:2], 3))
    world = forward_kinematics(poses, offsets, skeleton.parents)
    placed = place_points(*world, carriers, np.stack([place for _, place in places]))
    moves = point_jacobian(*world, skeleton.parents, carriers, placed)
    moves = moves.reshape(N_POSES, -1, moves.shape[-1])
    known = moves.transpose(0, 2, 1) @ moves + UNSEEN**2 * np.eye(moves.shape[-1])
    doubts = np.linalg.inv(known).mean(axis=0)
    turns = 3 + 3 * np.arange(len(skeleton.bodies))[:, None] + np.arange(3)
    return doubts[turns[:, :, None], turns[:, None, :]]


def second_to_first(spread: Spread, doubts: Array) -> Array:
    """(n_joints,) spread in the second direction as a share of that in the first.

    Directions and spreads are in units of ``doubts`` (n_joints, 3, 3).
    """
    scaled = spread.std[..., None] * spread.directions
    whitener = np.swapaxes(np.linalg.inv(np.linalg.cholesky(doubts)), -1, -2)
    first, second, _ = np.moveaxis(np.linalg.svd(scaled @ whitener, compute_uv=False), -1, 0)
    return second / np.maximum(first, 1e-300)
