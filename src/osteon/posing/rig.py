"""A skeleton as flat arrays: what the pose kernels walk over.

Degrees of freedom are numbered body by body in tree order. Each is one screw: the root first has
three translations along the world's axes; every rotation turns about an axis that is fixed either
in the parent or in the body itself (the second axis of a universal joint).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import BadValue, NotEnoughData, ShapeError
from osteon.maths import chain, exp, kernel, multiply, quat, read_only
from osteon.typing import Array, Indices
from osteon.values import Skeleton, frozen

TRANSLATION, IN_PARENT, IN_BODY = 0, 1, 2
"""Codes of what a degree of freedom moves along or about, defined here."""

_N_AXES = {"fixed": 0, "hinge": 1, "universal": 2, "ball": 3}
"""Count of axes by kind of joint: defined by the kinds."""


@dataclass(frozen=True, slots=True, eq=False)
class RigTree:
    """Topology only: bones, their joints' freedom, and which body carries which marker."""

    parents: Indices
    """(n_bodies,) −1 for the root, which stands first."""
    marker_bodies: Indices
    """(n_markers,)"""
    dof_body: Indices
    """(n_dofs,)"""
    dof_kind: Indices
    """(n_dofs,) TRANSLATION, IN_PARENT or IN_BODY."""
    dof_axis: Array
    """(n_dofs, 3) unit axis in the frame that ``dof_kind`` names."""
    dof_depth: Indices
    """(n_dofs,) how many degrees of freedom stand between this one and the world."""
    row_start: Indices
    """(n_dofs,) where the row of each degree of freedom starts in ``path``."""
    path: Indices
    """Row after row: the degrees of freedom from the root down to this one, itself included. The
    normal matrix has entries there and nowhere else, before and after factorisation."""
    rest: Array
    """(n_bodies, 4) local rotation where all angles of a joint are zero."""

    @property
    def first_dof(self) -> Indices:
        """(n_bodies + 1,) where each body's degrees of freedom start."""
        return np.searchsorted(self.dof_body, np.arange(self.n_bodies + 1))

    @property
    def n_bodies(self) -> int:
        return len(self.parents)

    @property
    def n_dofs(self) -> int:
        return len(self.dof_body)

    @property
    def n_markers(self) -> int:
        return len(self.marker_bodies)


@dataclass(frozen=True, slots=True, eq=False)
class Rig:
    """A tree with its lengths: all that turns a pose into marker positions."""

    tree: RigTree
    offsets: Array
    """(n_bodies, 3) each joint from its parent's joint, in the parent's frame; root unused."""
    places: Array
    """(n_markers, 3) each marker from its body's joint, in the body's frame."""

    def __post_init__(self) -> None:
        tree = self.tree
        object.__setattr__(self, "offsets", frozen(self.offsets, (tree.n_bodies, 3), "offsets"))
        object.__setattr__(self, "places", frozen(self.places, (tree.n_markers, 3), "places"))

    def world(self, rotations: Array, root: Array) -> tuple[Array, Array]:
        """Return world rotations (..., n_bodies, 4) and joint places (..., n_bodies, 3) of local
        rotations (..., n_bodies, 4) and root places (..., 3)."""
        offsets = np.array(np.broadcast_to(self.offsets, (*rotations.shape[:-1], 3)))
        offsets[..., 0, :] = root
        return chain.forward_kinematics(rotations, offsets, self.tree.parents.tolist())

    def markers(self, rotations: Array, root: Array) -> Array:
        """Return where a pose has its markers in the world, (..., n_markers, 3); see ``world``."""
        world = self.world(rotations, root)
        return chain.place_points(*world, self.tree.marker_bodies, self.places)

    def distances(self, observed: Array, rotations: Array, root: Array) -> Array:
        """Return how far observed markers are from where a pose has them, (..., n_markers)."""
        return np.linalg.norm(observed - self.markers(rotations, root), axis=-1)

    def in_bodies(self, observed: Array, rotations: Array, root: Array) -> Array:
        """Return (..., n_markers, 3) where bodies in a pose have observed markers, from joints."""
        turned, joints = self.world(rotations, root)
        on = self.tree.marker_bodies
        return quat.rotate(quat.inverse(turned[..., on, :]), observed - joints[..., on, :])

    def move(self, rotations: Array, root: Array, step: Array) -> tuple[Array, Array]:
        """Return the pose a step (..., n_dofs) further, on every joint's manifold."""
        tree, lead = self.tree, np.broadcast_shapes(step.shape[:-1], rotations.shape[:-2])
        shape = (*lead, tree.n_bodies, 4)
        moved = np.array(np.broadcast_to(rotations, shape)).reshape(-1, tree.n_bodies, 4)
        steps = read_only(np.broadcast_to(step, (*lead, tree.n_dofs)).reshape(-1, tree.n_dofs))
        _turn_joints(tree.dof_body, tree.dof_kind, tree.dof_axis, steps, moved)
        return moved.reshape(shape), root + step[..., :3]


@kernel
def _turn_joints(dof_body, dof_kind, dof_axis, steps, rotations):
    """Turn joints (n, n_bodies, 4) by steps (n, n_dofs), in place."""
    for frame in range(len(steps)):
        dof = 3
        while dof < len(dof_body):
            body = dof_body[dof]
            x = y = z = u = v = w = 0.0
            while dof < len(dof_body) and dof_body[dof] == body:
                step, axis = steps[frame, dof], dof_axis[dof]
                if dof_kind[dof] == IN_PARENT:
                    x, y, z = x + step * axis[0], y + step * axis[1], z + step * axis[2]
                else:
                    u, v, w = u + step * axis[0], v + step * axis[1], w + step * axis[2]
                dof += 1
            q = rotations[frame, body]
            turned = multiply(exp((x, y, z)), (q[0], q[1], q[2], q[3]))
            turned = multiply(turned, exp((u, v, w)))
            for i in range(4):
                q[i] = turned[i]


def build_tree(
    parents: Sequence[int],
    kinds: Sequence[str],
    axes: Sequence[ArrayLike],
    marker_bodies: Sequence[int] | Indices,
    rests: ArrayLike | None = None,
) -> RigTree:
    """Number the degrees of freedom of a tree.

    Parameters
    ----------
    parents : (n_bodies,)
        −1 for the root, which must stand first; every parent before its children.
    kinds, axes : (n_bodies,)
        Kind of each joint and its (n_axes, 3) unit axes in the parent's frame. A ball joint needs
        none. The root is free whatever its kind.
    marker_bodies : (n_markers,)
    rests : (n_bodies, 4)
        Local rotations where the angles about the axes are zero; none turned where not given.
    """
    _check_parents(parents)
    rest = quat.identity((len(parents),)) if rests is None else np.array(rests, dtype=float)
    bodies, dof_kinds = [0, 0, 0], [TRANSLATION] * 3
    dof_axes: list[Array] = [*np.eye(3)]
    for body, (kind, axis) in enumerate(zip(kinds, axes, strict=True)):
        own = _axes_of(body, "ball" if body == 0 else kind, axis)
        bodies += [body] * len(own)
        dof_kinds += [IN_BODY if i and kind == "universal" else IN_PARENT for i in range(len(own))]
        dof_axes += [*own]
        if len(own) == 2:
            dof_axes[-1] = quat.rotate(quat.inverse(rest[body]), own[1])
    paths = _paths(parents, bodies)
    depth = np.array([len(path) - 1 for path in paths])
    return RigTree(
        parents=np.array(parents, dtype=np.int64),
        marker_bodies=np.array(marker_bodies, dtype=np.int64),
        dof_body=np.array(bodies),
        dof_kind=np.array(dof_kinds),
        dof_axis=np.array(dof_axes),
        dof_depth=depth,
        row_start=np.concatenate([[0], np.cumsum(depth + 1)[:-1]]),
        path=np.concatenate(paths),
        rest=rest,
    )


def compile_rig(skeleton: Skeleton, marker_names: Sequence[str]) -> Rig:
    """Return the rig of a skeleton for the markers of a recording, in the recording's order."""
    carried = skeleton.marker_places()
    row = {name: index for index, name in enumerate(carried.names)}
    missing = [name for name in marker_names if name not in row]
    if missing:
        raise NotEnoughData(
            f"the skeleton carries no marker {', '.join(map(repr, missing[:8]))}; "
            "leave it out of the recording or give it a place"
        )
    rows = np.array([row[name] for name in marker_names], dtype=int)
    return rig_on(skeleton, carried.bodies[rows], carried.places[rows])


def rig_on(skeleton: Skeleton, bodies: Sequence[int] | Indices, places: Array) -> Rig:
    """Return the rig of a skeleton for points (n_points, 3) on bodies, seen from their joints.

    A thing that hangs on nobody (*free*) turns where it was; a pose does not carry it elsewhere.
    """
    joints = [body.joint for body in skeleton.bodies]
    below = [body.parent is not None for body in skeleton.bodies]
    kinds = [
        "ball" if joint.kind == "free" and inner else joint.kind
        for joint, inner in zip(joints, below, strict=True)
    ]
    axes = [joint.axes for joint in joints]
    tree = build_tree(skeleton.parents, kinds, axes, bodies, skeleton.rest)
    return Rig(tree, skeleton.offsets, places)


def _check_parents(parents: Sequence[int]) -> None:
    if len(parents) == 0 or parents[0] != -1:
        raise BadValue("a tree needs its root, whose parent is −1, as the first body")
    for body, parent in enumerate(parents[1:], start=1):
        if not 0 <= parent < body:
            raise BadValue(
                f"body {body} has parent {parent}; one root is allowed, parents before children"
            )


def _axes_of(body: int, kind: str, axes: ArrayLike) -> Array:
    if kind not in _N_AXES:
        raise BadValue(f"body {body} is {kind!r}; below the root a pose knows {', '.join(_N_AXES)}")
    if kind == "ball":
        return np.eye(3)
    axes = np.asarray(axes, dtype=float).reshape(-1, 3)[: _N_AXES[kind]]
    if len(axes) < _N_AXES[kind]:
        raise ShapeError(f"body {body}: a {kind} needs {_N_AXES[kind]} axes, got {len(axes)}")
    return axes / np.linalg.norm(axes, axis=-1, keepdims=True)


def _paths(parents: Sequence[int], bodies: list[int]) -> list[list[int]]:
    """Return the degrees of freedom from the root down to each."""
    of_body: list[list[int]] = []  # the whole path through each body's own freedom
    paths: list[list[int]] = [[] for _ in bodies]
    for body, parent in enumerate(parents):
        above = of_body[parent] if parent >= 0 else []
        for dof in (d for d, b in enumerate(bodies) if b == body):
            above = [*above, dof]
            paths[dof] = above
        of_body.append(above)
    return paths
