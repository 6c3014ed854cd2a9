"""Any skeleton as a MuJoCo model in memory: capsules with weight, joints, and springs to pull them.

A spring is a soft ``connect`` between a point of a body and a body of its own that is put where the
marker is. MuJoCo solves such constraints implicitly, so that stiff springs on light bodies do not
explode. It scales their softness by the inertia they meet; ``set_stiffness`` undoes that, so that
every spring has the stiffness it is given and the model's rest is the minimum of the energy.

MuJoCo knows limits as ranges of angles only. So each joint with a cone has two ropes between its
bodies, one against too much swing, one against too much twist. Where the joint leaves its cone a
rope is hung so that it is too short by as much, and pulls both bodies straight back; along the
cone's edge, across the rope, they slide freely. Else it is slack.
"""

import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from osteon.errors import BadValue, MissingExtra
from osteon.human import bone_lengths
from osteon.joint_limits import HINGE, Bounds, hold_inside, make_bounds
from osteon.maths import quat, rotations as turns
from osteon.posing import IN_BODY, Rig, RigTree, on_joints, universal_angles
from osteon.retargeting.springs import LIMIT_STIFFNESS
from osteon.typing import Array
from osteon.values import Joint, Skeleton

ROPE_ARM = 0.1
"""Metres from the joint to the point that its rope pulls. Chosen: any serves, for the stiffness is
set by it."""
STIFF = LIMIT_STIFFNESS / ROPE_ARM**2
"""Of each rope, against a marker's spring."""
ROPE_COUNT = 2
"""Count of ropes of each joint, derived: twist and swing."""
ROPE, SLACK = 1.0, 100.0
"""Metres that a rope is long, and that a slack one may be. Chosen: so long that it pulls straight,
and never too short."""
BEYOND_ANGLE = 1e-6
"""Radians outside a cone at which ropes begin to pull. Chosen: above rounding."""
SPRING_STIFFNESS = 1e5
"""Newtons per metre of a marker's spring. Chosen: only its ratio to the others matters for the
rest."""
SETTLING_SECONDS = 0.0075
"""Seconds in which springs come to rest on bodies lighter than they are stiff. Chosen: one step and
a half of the simulation; at twice that MuJoCo makes pins on light feet softer than they are."""
POSTURE_RATE = 80.0
"""Radians per second at which the pull to the neutral posture swings, critically damped, whatever
it moves. Chosen: its inertia is raised to fit, for at rest inertia does not matter."""
LIGHT_SHARE = 0.3
"""Share of its mass that a body is given. Chosen: light bodies rest after 24 steps instead of 34,
and where they rest does not depend on mass."""
RADIUS_SHARE = 0.12
"""Share of its bone's length: radius of a capsule. Chosen: at rest it does not matter."""


@dataclass(frozen=True, eq=False)
class Stops:
    """The ropes of the joints that have cones, and where they are in the model."""

    bounds: Bounds
    """Of these joints alone."""
    bodies: np.ndarray
    """(n_stops,) which bodies of the skeleton."""
    parents: np.ndarray
    """(n_stops,)"""
    offsets: Array
    """(n_stops, 3) the joints in their parents."""
    sites: np.ndarray
    """(n_stops, ROPE_COUNT, 2) the model's points on parents and bodies."""
    ropes: np.ndarray
    """(n_stops, ROPE_COUNT) the model's ropes."""


def cones_of(bounds: Bounds) -> Bounds:
    """Leave out the hinges, whose ranges MuJoCo keeps itself."""
    rows = bounds.shape != HINGE
    each = [name for name in bounds._fields if name not in ("weight", "seen")]
    return bounds._replace(**{name: getattr(bounds, name)[rows] for name in each})


def add_stops(spec: Any, added: list[Any], skeleton: Skeleton, b: Bounds) -> None:
    """Hang slack ropes on every joint that ``b`` bounds."""
    arm = np.array([ROPE_ARM, 0.0, 0.0])
    for body in b.body.tolist():
        for which in range(ROPE_COUNT):
            above, here = f"stop{body}_{which}", f"stopped{body}_{which}"
            added[skeleton.parents[body]].add_site(name=above, pos=skeleton.offsets[body] - arm)
            added[body].add_site(name=here, pos=arm)
            rope = spec.add_tendon(name=f"rope{body}_{which}", limited=True, range=[0.0, SLACK])
            rope.wrap_site(above)
            rope.wrap_site(here)


def find_stops(model: Any, skeleton: Skeleton, b: Bounds) -> Stops:
    """Find where the ropes are in a compiled model."""
    bodies = b.body.astype(int)
    parents = np.array(skeleton.parents, dtype=int)[bodies]
    names = [f"{body}_{which}" for body in bodies for which in range(ROPE_COUNT)]
    sites = [[model.site(f"{end}{name}").id for end in ("stop", "stopped")] for name in names]
    ropes = [model.tendon(f"rope{name}").id for name in names]
    return Stops(
        b,
        bodies,
        parents,
        skeleton.offsets[bodies],
        np.array(sites, dtype=int).reshape(-1, ROPE_COUNT, 2),
        np.array(ropes, dtype=int).reshape(-1, ROPE_COUNT),
    )


def hang_stops(stops: Stops, model: Any, turned: Array) -> None:
    """Hang the ropes by the pose that ``turned`` (n_bodies, 4), world rotations, shows."""
    local = quat.identity((1, len(turned)))
    local[0, stops.bodies] = quat.between(turned[stops.parents], turned[stops.bodies])
    held = local.copy()
    hold_inside(stops.bounds, held)
    own, wanted = local[0, stops.bodies], held[0, stops.bodies]
    parts = _twist_and_swing(
        quat.log(quat.multiply(own, quat.inverse(wanted))),
        quat.rotate(own, stops.bounds.axes[:, 0]),
    )
    outside = np.linalg.norm(parts, axis=-1) > BEYOND_ANGLE
    model.tendon_range[stops.ropes, 1] = np.where(outside, ROPE, SLACK)
    arms = ROPE_ARM * _across(parts)
    edge = quat.rotate(quat.exp(-parts), arms)
    away = quat.normalise(np.where(outside[..., None], arms - edge, arms))
    model.site_pos[stops.sites[..., 0]] = stops.offsets[:, None] + edge - ROPE * away
    model.site_pos[stops.sites[..., 1]] = quat.rotate(quat.inverse(own)[:, None], arms)


def _twist_and_swing(turns: Array, bones: Array) -> Array:
    """(n, 2, 3) the parts of rotation vectors (n, 3) about and across the bones (n, 3)."""
    twist = np.sum(turns * bones, axis=-1, keepdims=True) * bones
    return np.stack([twist, turns - twist], axis=1)


def _across(axes: Array) -> Array:
    """(..., 3) a unit vector across each."""
    least = np.eye(3)[np.argmin(np.abs(axes), axis=-1)]
    return quat.normalise(np.cross(axes + 1e-12, least))


@dataclass(frozen=True, eq=False)
class Model:
    """A compiled model, its state, and where things are in it."""

    mujoco: ModuleType
    model: Any
    data: Any
    tree: RigTree
    bodies: np.ndarray
    """(n_bodies,) the model's number of each body."""
    first: np.ndarray
    """(n_bodies,) where each body's coordinates start: MuJoCo goes down one limb at a time."""
    mocap: np.ndarray
    """(n_points,) row of each point's target."""
    sites: np.ndarray
    """(n_points,) the model's number of each point."""
    softness: Array
    """(n_points,) inverse inertia that MuJoCo reckons each spring meets."""
    stops: Stops
    """What keeps joints within their cones."""


def load_mujoco() -> ModuleType:
    try:
        import mujoco
    except ImportError:
        raise MissingExtra("mujoco-core", "the mode 'dynamics' of map", "physics") from None
    silence: Any = mujoco  # the package's stubs do not know the next function
    silence.set_mju_user_warning(lambda message: None)  # it would write a log file otherwise
    return mujoco


def build_model(
    skeleton: Skeleton, rig: Rig, masses: Array, *, posture: Array, rest: Array
) -> Model:
    """Build a model of the skeleton whose points of ``rig`` can be pulled.

    Parameters
    ----------
    masses : (n_bodies,)
        Kilograms.
    posture : (n_bodies,)
        Stiffness of each joint's pull to ``rest``, Newton metres per radian.
    rest : (n_bodies, 4)
        Local rotations.
    """
    mujoco = load_mujoco()
    spec = mujoco.MjSpec()
    spec.option.gravity = [0.0, 0.0, 0.0]
    spec.option.timestep = 0.005
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET  # we mend it ourselves
    added = []
    for index, parent in enumerate(skeleton.parents):
        above = spec.worldbody if parent < 0 else added[parent]
        added.append(_add_body(mujoco, above, index, skeleton, rig, masses, posture))
    _add_springs(mujoco, spec, added, rig)
    cones = cones_of(make_bounds(skeleton, "cone"))
    add_stops(spec, added, skeleton, cones)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it warns of models that it cannot move
            model = spec.compile()
    except (ValueError, UserWarning) as error:
        first = str(error).splitlines()[0]
        raise BadValue(f"MuJoCo refuses the skeleton {skeleton.subject!r}: {first}") from None
    return _compiled(mujoco, model, rig, rest, find_stops(model, skeleton, cones))


def set_stiffness(model: Model, weights: Array) -> None:
    """Give every spring its stiffness against a marker's, (n_points,); 0 lets go."""
    own = slice(len(weights))
    model.data.eq_active[own] = weights > 0.0
    solref, solimp = model.model.eq_solref[own], model.model.eq_solimp[own]
    _make_springs(solref, solimp, weights, model.softness)


def _make_springs(solref: Array, solimp: Array, weights: Array, softness: Array) -> None:
    """Make constraints (n, …) linear springs of ``weights`` (n,) against a marker's."""
    asked = np.maximum(SPRING_STIFFNESS * weights, 1e-9)
    firm = softness / (softness + 1.0 / (SETTLING_SECONDS**2 * asked))
    solimp[:, 0] = solimp[:, 1] = firm
    # written so that aref = −B v − K r with the same K and B whatever the firmness is
    solref[:, 0] = -firm / SETTLING_SECONDS**2
    solref[:, 1] = -2.0 * firm / SETTLING_SECONDS


def keep_within(model: Model) -> None:
    """Let the limits of cones pull where the state is outside them."""
    if len(model.stops.bodies):
        model.mujoco.mj_kinematics(model.model, model.data)  # a step leaves those it began with
        hang_stops(model.stops, model.model, model.data.xquat[model.bodies])


def put_pose(model: Model, rotations: Array, root: Array) -> None:
    """Set the state: local rotations (n_bodies, 4) and the root's place; at rest."""
    model.data.qpos[:], model.data.qvel[:] = coordinates_of(model, rotations, root), 0.0
    model.mujoco.mj_kinematics(model.model, model.data)


def coordinates_of(model: Model, rotations: Array, root: Array | float = 0.0) -> Array:
    """Return the model's coordinates (..., nq) of local rotations (..., n_bodies, 4) and places of
    the root (..., 3)."""
    coordinates = np.zeros((*rotations.shape[:-2], model.model.nq))
    coordinates[..., :3], coordinates[..., 3:7] = root, rotations[..., 0, :]
    for body in range(1, model.tree.n_bodies):
        own = _coordinates(model.tree, body, rotations[..., body, :])
        first = model.first[body]
        coordinates[..., first : first + own.shape[-1]] = own
    return coordinates


def points_of(model: Model) -> Array:
    """Return (n_points, 3) where the points that springs pull are now."""
    return np.array(model.data.site_xpos[model.sites])


def local_poses(model: Model, turned: Array) -> Array:
    """Return local rotations (..., n_bodies, 4) of world ones, as the joints allow them."""
    parents = model.tree.parents
    above = turned[..., np.maximum(parents, 0), :]
    local = np.where((parents >= 0)[:, None], quat.between(above, turned), turned)
    return on_joints(model.tree, local)


def _add_body(
    mujoco: ModuleType,
    above: Any,
    index: int,
    skeleton: Skeleton,
    rig: Rig,
    masses: Array,
    posture: Array,
) -> Any:
    zero = rig.tree.rest[index] if index else quat.identity()
    body = above.add_body(name=f"b{index}", pos=rig.offsets[index] * (index > 0), quat=zero)
    if index == 0:
        body.add_freejoint()
    else:
        _add_joints(mujoco, body, index, rig.tree, posture[index], skeleton.bodies[index].joint)
    ends = [end for end in skeleton.bone_ends(index) if np.linalg.norm(end) > 1e-4]
    radius = max(RADIUS_SHARE * float(bone_lengths(skeleton)[index]), 0.005)
    solid = {"contype": 0, "conaffinity": 0}
    for end in ends:
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=[0.0, 0.0, 0.0, *end],
            size=[radius, 0.0, 0.0],
            mass=LIGHT_SHARE * masses[index] / len(ends),
            **solid,
        )
    if not ends:
        ball = mujoco.mjtGeom.mjGEOM_SPHERE
        mass = LIGHT_SHARE * masses[index]
        body.add_geom(type=ball, size=[radius, 0.0, 0.0], mass=mass, **solid)
    return body


def _add_joints(
    mujoco: ModuleType, body: Any, index: int, tree: RigTree, stiffness: float, joint: Joint
) -> None:
    dofs = np.flatnonzero(tree.dof_body == index)
    common = {
        "stiffness": stiffness,
        "damping": 2.0 * stiffness / POSTURE_RATE,
        "armature": stiffness / POSTURE_RATE**2,
    }
    if len(dofs) == 3:
        body.add_joint(type=mujoco.mjtJoint.mjJNT_BALL, **common)
        return
    for dof in dofs:
        axis = tree.dof_axis[dof]
        if tree.dof_kind[dof] != IN_BODY:  # it is given in the parent, MuJoCo wants the body
            axis = quat.rotate(quat.inverse(tree.rest[index]), axis)
        if joint.kind == "hinge" and joint.limits is not None and joint.limits.hinge is not None:
            common |= {"limited": True, "range": np.degrees(joint.limits.hinge)}
        body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis, **common)


def _add_springs(mujoco: ModuleType, spec: Any, bodies: list[Any], rig: Rig) -> None:
    for point, (carrier, place) in enumerate(zip(rig.tree.marker_bodies, rig.places, strict=True)):
        target = spec.worldbody.add_body(name=f"t{point}", mocap=True)
        target.add_site(name=f"to{point}")
        bodies[carrier].add_site(name=f"at{point}", pos=place)
        spring = spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name=f"s{point}"
        )
        spring.name1, spring.name2 = f"to{point}", f"at{point}"


def _compiled(mujoco: ModuleType, model: Any, rig: Rig, rest: Array, stops: Stops) -> Model:
    data = mujoco.MjData(model)
    bodies = np.array([model.body(f"b{i}").id for i in range(rig.tree.n_bodies)])
    points = range(rig.tree.n_markers)
    mocap = np.array([model.body(f"t{i}").mocapid[0] for i in points], dtype=int)
    sites = np.array([model.site(f"at{i}").id for i in points], dtype=int)
    order = [model.equality(f"s{i}").id for i in points]
    if order != list(points):
        raise BadValue("MuJoCo put the springs in another order than they were made in")
    softness = model.body_invweight0[bodies[rig.tree.marker_bodies], 0]
    joints = np.maximum(model.body_jntadr[bodies], 0)  # a fixed body has none, and needs none
    first = model.jnt_qposadr[joints]
    softness = np.maximum(softness, 1e-9)
    built = Model(mujoco, model, data, rig.tree, bodies, first, mocap, sites, softness, stops)
    # ropes are hung anew all the time, and MuJoCo reckons with where they were at first
    meets = model.tendon_invweight0
    meets[stops.ropes] = model.body_invweight0[bodies[stops.bodies], 0, None]
    stiff = np.full(model.ntendon, STIFF)
    _make_springs(model.tendon_solref_lim, model.tendon_solimp_lim, stiff, meets)
    limits = np.full(model.njnt, LIMIT_STIFFNESS)
    moving = np.maximum(model.dof_invweight0[model.jnt_dofadr], 1e-9)
    _make_springs(model.jnt_solref, model.jnt_solimp, limits, moving)
    put_pose(built, rest, np.zeros(3))
    model.qpos_spring[7:] = coordinates_of(built, rest)[7:]
    return built


def _coordinates(tree: RigTree, body: int, q: Array) -> Array:
    """(..., n) coordinates of one joint: angles, or a quaternion from where they are zero.

    Angles are within half a turn: a spring must not pull the long way round.
    """
    dofs = np.flatnonzero(tree.dof_body == body)
    moved = quat.multiply(q, quat.inverse(tree.rest[body]))
    if len(dofs) == 3:
        return quat.between(tree.rest[body], q)
    if len(dofs) == 0:
        return np.zeros((*q.shape[:-1], 0))
    if len(dofs) == 1:
        axis = tree.dof_axis[dofs[0]]
        return turns.wrap(2.0 * np.arctan2(moved[..., 1:] @ axis, moved[..., 0])[..., None])
    second = quat.rotate(tree.rest[body], tree.dof_axis[dofs[1]])
    return turns.wrap(universal_angles(moved, tree.dof_axis[dofs[0]], second))
