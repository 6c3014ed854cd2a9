"""64 frames side by side: a block's working memory, and how the poses in it stand and move.

The frames of a block are the innermost axis of every array, the lanes: each loop over lanes is
straight-line arithmetic that the compiler turns into vector instructions. Arrays are flat, an item
is several quantities one after the other, each ``LANES`` long: ``array[item + K[k] + lane]``.
Constant distances between quantities let the compiler prove that they do not overlap, and unsigned
indices spare it numpy's counting from the end. Views of rows and 32 lanes, whose loops are unrolled
instead, took twice as long together; 8 to 32 lanes alone made the factorisation take twice as long.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from osteon.joint_limits import Bounds, no_bounds
from osteon.maths import FAST_MATH, kernel
from osteon.posing.rig import IN_BODY, IN_PARENT, Rig

LANES = 64
"""Count of frames side by side. Measured: fewer took up to twice as long, see above."""

CACHE_LINE = 64
"""Bytes: defined by processors, x86 as well as most ARM."""

U = np.uint64
L = U(LANES)
K = tuple(U(k * LANES) for k in range(17))

# Sizes of an item, and what its quantities are.
QUATERNION = K[4]
FRAME, PLACE = K[12], K[9]  # a 3×3 rotation row by row, then a place; frame 0 is the world
OBSERVED, SEEN = K[4], K[3]  # place, weight (0: not seen)
POINT, LACK, WEIGHT, COST = K[8], K[3], K[6], K[7]  # place, what it lacks to the observed, …
PULL, IN_BODY_FRAME, PULL_COST = K[7], K[3], K[6]  # rest prior: gradient in the parent's frame, …
# Σw, Σwx, xx yy zz xy xz yz, Σ x×wr, Σwr
MOMENTS, WRENCH = K[16], K[10]
SCREW = K[6]

HELD_STILL = 1e12
"""Ratio to the stiffness of a marker. Chosen: beside it no pull of a marker counts."""


class PoseModel(NamedTuple):
    """The rig as the kernels see it; see RigTree and Rig."""

    parent_frame: np.ndarray
    """(n_bodies,) the parent's frame: its index plus one, for frame 0 is the world."""
    offsets: np.ndarray
    marker_bodies: np.ndarray
    places: np.ndarray
    dof_body: np.ndarray
    dof_kind: np.ndarray
    dof_axis: np.ndarray
    dof_depth: np.ndarray
    row_start: np.ndarray
    path: np.ndarray
    first_dof: np.ndarray
    rest_weights: np.ndarray
    """(n_bodies,)"""
    stiffness: np.ndarray
    """(n_dofs,) added to the diagonal of the normal matrix; HELD_STILL holds a freedom still."""
    bounds: Bounds


class Lanes(NamedTuple):
    """Working memory of one block; flat arrays of items."""

    rotations: np.ndarray
    """n_bodies QUATERNIONs, local."""
    root: np.ndarray
    """One place, from the lane's reference point."""
    observed: np.ndarray
    """n_markers OBSERVED, from the reference point."""
    rest: np.ndarray
    """n_bodies QUATERNIONs that the rest prior pulls to."""
    frames: np.ndarray
    """n_bodies + 1 FRAMEs."""
    points: np.ndarray
    """n_markers POINTs."""
    pull: np.ndarray
    """n_bodies PULLs."""
    moments: np.ndarray
    """n_bodies MOMENTS."""
    screws: np.ndarray
    """n_dofs SCREWs."""
    scratch: np.ndarray
    """One SCREW."""
    normal: np.ndarray
    """One entry per element of ``path``: the normal matrix, then its factors."""
    step: np.ndarray
    """n_dofs entries: the gradient, then the step."""
    damping: np.ndarray
    """One entry."""
    bounds: np.ndarray
    """Excesses over the joints' limits; see bound_lanes."""
    active: np.ndarray
    """(n_limited,) how many excesses are not zero."""


def make_model(
    rig: Rig, rest_weights: ArrayLike, bounds: Bounds | None = None, *, root_held: bool = False
) -> PoseModel:
    """Return the rig as kernels walk over it; ``rest_weights`` are one number or (n_bodies,)."""
    tree = rig.tree
    pulls = np.array(np.broadcast_to(rest_weights, tree.n_bodies), dtype=np.float64)
    pulls[0] = 0.0  # a root has no rest: the world has no front
    stiffness = np.zeros(tree.n_dofs)
    stiffness[:6] = HELD_STILL if root_held else 0.0
    return PoseModel(
        (tree.parents + 1).astype(U),
        np.array(rig.offsets),
        tree.marker_bodies.astype(U),
        np.array(rig.places),
        tree.dof_body.astype(U),
        tree.dof_kind,
        tree.dof_axis,
        tree.dof_depth.astype(U),
        tree.row_start.astype(U),
        tree.path.astype(U),
        tree.first_dof.astype(U),
        pulls,
        stiffness,
        no_bounds() if bounds is None else bounds,
    )


def make_lanes(model: PoseModel) -> Lanes:
    n_bodies, n_markers = len(model.parent_frame), len(model.marker_bodies)
    n_dofs = len(model.dof_body)
    lanes = Lanes(
        rotations=_zeros(n_bodies * QUATERNION),
        root=_zeros(K[3]),
        observed=_zeros(n_markers * OBSERVED),
        rest=_zeros(n_bodies * QUATERNION),
        frames=_zeros((n_bodies + 1) * FRAME),
        points=_zeros(n_markers * POINT),
        pull=_zeros(n_bodies * PULL),
        moments=_zeros(n_bodies * MOMENTS),
        screws=_zeros(n_dofs * SCREW),
        scratch=_zeros(SCREW),
        normal=_zeros(len(model.path) * L),
        step=_zeros(n_dofs * L),
        damping=_zeros(L),
        bounds=np.zeros(len(model.bounds.body) * 12 * LANES),
        active=np.zeros(len(model.bounds.body), dtype=np.int64),
    )
    lanes.rotations.reshape(n_bodies, 4, LANES)[:, 0] = 1.0
    lanes.rest.reshape(n_bodies, 4, LANES)[:, 0] = 1.0
    lanes.frames.reshape(-1, 12, LANES)[0, [0, 4, 8]] = 1.0
    lanes.screws.reshape(n_dofs, 6, LANES)[[0, 1, 2], [3, 4, 5]] = 1.0  # the root's translations
    return lanes


def _zeros(size: np.unsignedinteger) -> np.ndarray:
    """Zeros that begin where a line of the cache does: else each vector would lie on two."""
    room = np.zeros(int(size) + CACHE_LINE // 8)
    begin = -room.ctypes.data % CACHE_LINE // 8
    return room[begin : begin + int(size)]


@kernel(fastmath=FAST_MATH)
def forward(model, lanes):
    """Local quaternions to world frames."""
    q, frames = lanes.rotations, lanes.frames
    for body in range(U(len(model.parent_frame))):
        r, p, c = body * QUATERNION, model.parent_frame[body] * FRAME, (body + U(1)) * FRAME
        ox, oy, oz = model.offsets[body, 0], model.offsets[body, 1], model.offsets[body, 2]
        for n in range(L):
            w, x, y, z = q[r + n], q[r + K[1] + n], q[r + K[2] + n], q[r + K[3] + n]
            m00 = 1 - 2 * (y * y + z * z)
            m11 = 1 - 2 * (x * x + z * z)
            m22 = 1 - 2 * (x * x + y * y)
            m01, m10 = 2 * (x * y - w * z), 2 * (x * y + w * z)
            m02, m20 = 2 * (x * z + w * y), 2 * (x * z - w * y)
            m12, m21 = 2 * (y * z - w * x), 2 * (y * z + w * x)
            for i in range(U(3)):
                row = p + U(3) * i * L + n
                a, b, d = frames[row], frames[row + K[1]], frames[row + K[2]]
                out = c + U(3) * i * L + n
                frames[out] = a * m00 + b * m10 + d * m20
                frames[out + K[1]] = a * m01 + b * m11 + d * m21
                frames[out + K[2]] = a * m02 + b * m12 + d * m22
                at = frames[p + PLACE + i * L + n]
                frames[c + PLACE + i * L + n] = at + a * ox + b * oy + d * oz
        if body == 0:
            for n in range(K[3]):
                frames[c + PLACE + n] = lanes.root[n]


@kernel(fastmath=FAST_MATH)
def take_step(model, lanes, go):
    """Move along the step in the lanes that ``go`` (1 or 0), staying on every joint's manifold."""
    root, step, turn = lanes.root, lanes.step, lanes.scratch
    for n in range(K[3]):
        root[n] += go[n % L] * step[n]
    for body in range(U(len(model.parent_frame))):
        for kind in (IN_PARENT, IN_BODY):
            turn[:] = 0.0
            n_turns = 0
            for dof in range(model.first_dof[body], model.first_dof[body + U(1)]):
                if model.dof_kind[dof] == kind:
                    _add_turn(step, dof * L, go, model.dof_axis, dof, turn)
                    n_turns += 1
            if n_turns > 0:
                side = 1.0 if kind == IN_PARENT else -1.0
                _turn(lanes.rotations, body * QUATERNION, turn, side)


@kernel(fastmath=FAST_MATH)
def _add_turn(step, s, go, axes, dof, turn):
    x, y, z = 0.5 * axes[dof, 0], 0.5 * axes[dof, 1], 0.5 * axes[dof, 2]
    for n in range(L):
        angle = go[n] * step[s + n]
        turn[n] += angle * x
        turn[K[1] + n] += angle * y
        turn[K[2] + n] += angle * z


@kernel(fastmath=FAST_MATH)
def _turn(q, r, turn, side):
    """Multiply by the rotation (1, turn), made unit, from the left (side 1) or the right (−1).

    It agrees with the exponential to second order, needs no sine, and cannot pass half a turn.
    """
    for n in range(L):
        a, b, c = turn[n], turn[K[1] + n], turn[K[2] + n]
        w, x, y, z = q[r + n], q[r + K[1] + n], q[r + K[2] + n], q[r + K[3] + n]
        nw = w - a * x - b * y - c * z
        nx = x + a * w + side * (b * z - c * y)
        ny = y + b * w + side * (c * x - a * z)
        nz = z + c * w + side * (a * y - b * x)
        scale = 1.0 / np.sqrt(nw * nw + nx * nx + ny * ny + nz * nz)
        q[r + n] = nw * scale
        q[r + K[1] + n] = nx * scale
        q[r + K[2] + n] = ny * scale
        q[r + K[3] + n] = nz * scale
