"""Joint positions → rotations: how each body turns to point at its children ([004] §3.4)."""

from collections.abc import Sequence

import numpy as np

from osteon.maths import quat
from osteon.typing import Array

FAINT_WEIGHT = 1e-9
"""Ratio: weight of a body's expected turn beside its children. Chosen: decides only what they leave
open."""
SHAPE_FRAMES, SHAPE_ROUNDS = 2000, 8
"""Frames that the shape of a body is found from, at most, and rounds of finding it. Chosen: bounds
time."""


def rotations_from_joints(
    positions: Array, offsets: Array, parents: Sequence[int], guide: Array | None = None
) -> tuple[Array, Array]:
    """Turn every body so that its children come as near to their places as rigid bodies allow.

    A body with one child is turned the least that points its bone there, one with several by the
    best rotation of all of them about its joint, one with none not at all.

    Parameters
    ----------
    positions : (n_frames, n_joints, 3)
        Where the joints should be, metres.
    offsets : (n_joints, 3)
        Each joint from its parent's joint at rest, where all bodies are turned alike.
    parents : (n_joints,)
        Index of each parent, −1 for the root.
    guide : (n_frames, n_joints, 4), optional
        Where each body would be turned in the world; the turn nearest to it is chosen. By default
        as its parent is: no twist but what the children show.

    Returns
    -------
    rotations : (n_frames, n_joints, 4)
        To the parent's frame from the body's; the root's to the world.
    placed : (n_frames, n_joints, 3)
        Where the joints are then.
    """
    children = children_of(parents)
    world = quat.identity(positions.shape[:2])
    local, placed = world.copy(), positions.copy()
    for joint, parent in enumerate(parents):
        above = quat.identity((len(positions),)) if parent < 0 else world[:, parent]
        if parent >= 0:
            placed[:, joint] = placed[:, parent] + quat.rotate(above, offsets[joint])
        start = above if guide is None else guide[:, joint]
        wanted = positions[:, children[joint]] - placed[:, joint, None]
        world[:, joint] = _turned(start, offsets[children[joint]], wanted)
        local[:, joint] = quat.between(above, world[:, joint])
    return quat.unroll(local), placed


def body_shapes(
    positions: Array, offsets: Array, parents: Sequence[int], guide: Array | None = None
) -> Array:
    """Offsets (n_joints, 3) whose directions, where several children share a body, suit all frames.

    Lengths stay as they are. Parameters as in :func:`rotations_from_joints`.
    """
    some = np.unique(np.linspace(0, len(positions) - 1, SHAPE_FRAMES).astype(int))
    positions = positions[some]
    offsets = np.array(offsets)
    for joint, children in enumerate(children_of(parents)):
        if len(children) < 2:
            continue
        start = quat.identity((len(some),)) if guide is None else guide[some, joint]
        bones = positions[:, children] - positions[:, joint, None]
        lengths = np.linalg.norm(offsets[children], axis=-1, keepdims=True)
        for _ in range(SHAPE_ROUNDS):
            turn = _turned(start, offsets[children], bones)
            mean = np.mean(quat.rotate(quat.inverse(turn)[:, None], bones), axis=0)
            size = np.linalg.norm(mean, axis=-1, keepdims=True)
            scaled = mean * lengths / np.where(size > 0.0, size, 1.0)
            offsets[children] = np.where(size > 0.0, scaled, offsets[children])
    return offsets


def children_of(parents: Sequence[int]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parents]
    for joint, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(joint)
    return children


def _turned(start: Array, bones: Array, wanted: Array) -> Array:
    """World rotations (n_frames, 4) near ``start`` that bring ``bones`` (n, 3) to ``wanted``."""
    long = np.linalg.norm(bones, axis=-1) > 0.0
    bones, wanted = bones[long], wanted[:, long]
    if len(bones) == 0:
        return start
    if len(bones) == 1:
        turn = quat.shortest(quat.rotate(start, bones[0]), wanted[:, 0])
        turn = np.where(np.isfinite(turn), turn, quat.identity())
        return quat.multiply(turn, start)
    scale = FAINT_WEIGHT * np.sum(bones**2)
    pull = np.einsum("fci,cj->fij", wanted, bones) + scale * quat.to_matrix(start)
    return quat.from_matrix(quat.nearest_matrix(pull))
