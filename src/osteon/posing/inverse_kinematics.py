"""Inverse kinematics: poses that bring joints or markers to targets, within limits or without.

The same damped least squares as for recordings (docs/methods.md §12); limits pull back what leaves
them, first softly, so that the right ones become active, then hard, and at last exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import BadValue, ShapeError, UnknownName
from osteon.joint_limits import hold_within, make_bounds
from osteon.maths import quat, read_only
from osteon.posing._kernels.lanes import make_model
from osteon.posing._kernels.levenberg_marquardt import UNDECIDED, Status, Task
from osteon.posing._kernels.single_frame import FrameLimits, fit_frame, make_work
from osteon.posing.first_pose import on_joints
from osteon.posing.per_frame import PoseOptions, PoseProblem, run
from osteon.posing.rig import Rig, rig_on
from osteon.threads import one_thread
from osteon.typing import Array, Indices
from osteon.values import Motion, Skeleton

REACH_STAGES = ((1.0, 1e-2, 10.0), (30.0, 1e-3, 10.0), (1000.0, 1e-4, 1.0))
"""One solve after the other: weights of the limits and of the pull to where the stage before ended,
square metres per square radian, and the ratio of what is good enough to the tolerance. The pull
chooses among the poses that targets leave. Chosen: a firm one first is found soonest, a weak one
last hardly shows."""

PULL_LIMITS = FrameLimits(evaluations=12, tolerance=1e-3, gain=1e-4, scale=1e3, hold=1e-4)
"""Bounds of the time for a frame, and a pull to the pose that is given, square metres per square
radian, as weak as ``map``'s to the neutral posture. Chosen: a thousandth of a radian moves a foot
by a millimetre. The scale, in metres, is so wide that no point is doubted."""


@dataclass(frozen=True, slots=True, eq=False)
class ReachResult:
    """Poses, and how near they come to their targets."""

    motion: Motion
    error: Array
    """(n_frames, n_targets) distance left, metres; NaN where there is no target."""
    names: tuple[str, ...]
    """What the targets are for."""
    iterations: Indices
    """(n_frames,)"""
    status: Indices
    """(n_frames,) a Status each."""


@one_thread()
def reach(
    skeleton: Skeleton,
    targets: Mapping[str, ArrayLike],
    *,
    start: Motion | None = None,
    limits: str = "auto",
    root: str = "free",
    options: PoseOptions | None = None,
) -> ReachResult:
    """Poses in which joints or markers are at targets, as near as the skeleton can.

    Where targets leave freedom the pose stays near its start.

    Parameters
    ----------
    targets : name → (3,) or (n_frames, 3)
        Places in the world, metres, of markers, of bodies' joints by the body's name, or of a
        bone's free end by the body's name and `` tip``. NaN: no target in that frame.
    start : Motion, optional
        Poses to start from, of as many frames or of one; by default the rig's starting pose.
    limits : str
        ``auto`` (regions of poses that were seen; joints without one as ``cone``), ``cone``
        (hinge intervals and polygons of cones), ``ellipse``, ``zyz`` or ``none``.
    root : str
        ``free`` or ``held`` where it starts.
    """
    options = options or PoseOptions(tolerance=1e-3)
    if root not in ("free", "held"):
        raise BadValue(f"root must be free or held, got {root!r}")
    if limits == "zyz" and _has_cones(skeleton):
        # a box of ZYZ angles has walls and poles in the way of poses that start far off; what is
        # reached within the cones, which have none, need not go far
        near = reach(skeleton, targets, start=start, limits="cone", root=root, options=options)
        start = near.motion
    names = tuple(targets)
    observed = _observed(targets)
    bounds = None if limits == "none" else make_bounds(skeleton, limits)
    led = np.zeros((len(observed), len(skeleton.bodies), 4))  # stage by stage
    problem = PoseProblem(_rig(skeleton, names), observed, rest=led, bounds=bounds)
    rest = _starting_pose(skeleton) if start is None else np.array(start.rotations)
    place = np.zeros((1, 3)) if start is None else start.root
    if len(rest) not in (1, len(observed)):
        raise ShapeError(f"start must have 1 or {len(observed)} frames, got {len(rest)}")
    rest = on_joints(problem.rig.tree, rest)
    if limits == "auto":
        rest = _from_seen_poses(skeleton, problem.rig, observed, rest, place)
    if limits != "none":
        rest = hold_within(skeleton, rest, limits)
    task = problem.task()
    task.rotations[:], task.root[:] = rest, place
    task.status[np.isnan(observed[..., 0]).all(axis=1)] = Status.HELD
    _solve(problem, task, options, root_held=root == "held")
    rotations = quat.unroll(task.rotations)
    if limits != "none":
        rotations = hold_within(skeleton, rotations, limits)
    rate = 1.0 if start is None else start.rate
    motion = Motion(skeleton, rotations, task.root, rate)
    reached = motion.points(problem.rig.tree.marker_bodies, problem.rig.places)
    error = np.linalg.norm(reached - observed, axis=-1)
    return ReachResult(motion, error, names, task.iterations, task.status)


def _from_seen_poses(
    skeleton: Skeleton, rig: Rig, observed: Array, rest: Array, place: Array
) -> Array:
    """Start from the whole pose of the skeleton's regions that comes nearest to the targets.

    Regions are tubes about what was seen, and from afar a pose finds no way along them. A start
    that is nearer than all of them, or a skeleton without, stays.
    """
    seen = _whole_poses(skeleton)
    if not len(seen):
        return rest
    n_frames = len(observed)
    starts = np.array(np.broadcast_to(rest, (n_frames, *rest.shape[1:])))
    roots = np.broadcast_to(place, (n_frames, 3))
    seen = on_joints(rig.tree, seen)
    seen[:, 0] = quat.identity()
    origin = np.zeros((len(seen), 3))
    points = Motion(skeleton, seen, origin, 1.0).points(rig.tree.marker_bodies, rig.places)
    wanted = quat.rotate(quat.inverse(starts[:, :1, :]), observed - roots[:, None])
    given = Motion(skeleton, starts, roots, 1.0).points(rig.tree.marker_bodies, rig.places)
    best = np.nansum((given - observed) ** 2, axis=(1, 2))
    for pose, at in zip(seen, points, strict=True):
        apart = np.nansum((at - wanted) ** 2, axis=(1, 2))
        nearer = apart < best
        starts[nearer, 1:], best[nearer] = pose[1:], apart[nearer]
    return starts


def _whole_poses(skeleton: Skeleton) -> Array:
    """Return (n, n_bodies, 4) the poses that all regions of the skeleton share."""
    limits = [body.joint.limits for body in skeleton.bodies]
    regions = [None if each is None else each.region for each in limits]
    n_shared = min((region.shared for region in regions if region is not None), default=0)
    poses = np.broadcast_to(_starting_pose(skeleton), (n_shared, len(regions), 4)).copy()
    for index, region in enumerate(regions):
        if region is not None:
            poses[:, index] = region.poses[:n_shared]
    return poses


def _has_cones(skeleton: Skeleton) -> bool:
    limits = [body.joint.limits for body in skeleton.bodies]
    return any(each is not None and each.cone is not None for each in limits)


def _observed(targets: Mapping[str, ArrayLike]) -> Array:
    """Return the targets as one array (n_frames, n_targets, 3)."""
    if not targets:
        raise BadValue("reach needs at least one target")
    places = [np.asarray(place, dtype=np.float64) for place in targets.values()]
    for name, place in zip(targets, places, strict=True):
        if place.ndim not in (1, 2) or place.shape[-1] != 3:
            raise ShapeError(
                f"target {name!r} must have shape (3,) or (n_frames, 3), got {place.shape}"
            )
    n_frames = max(len(np.atleast_2d(place)) for place in places)
    try:
        spread = [np.broadcast_to(place, (n_frames, 3)) for place in places]
    except ValueError:
        raise ShapeError("all targets must have the same number of frames, or one") from None
    return np.ascontiguousarray(np.stack(spread, axis=1))


def _rig(skeleton: Skeleton, names: tuple[str, ...]) -> Rig:
    """Return the skeleton with a marker wherever there is a target."""
    points = {}
    for index, body in enumerate(skeleton.bodies):
        points[body.name] = (index, np.zeros(3))
        if (tip := body.tip_from_joint) is not None:
            points[f"{body.name} tip"] = (index, tip)
    for name, index, place in zip(*skeleton.marker_places(), strict=True):
        points[name] = (index, place)
    for name in names:
        if name not in points:
            raise UnknownName("joint, tip or marker", name, tuple(points))
    carriers, places = zip(*(points[name] for name in names), strict=True)
    return rig_on(skeleton, carriers, np.stack(places))


def _starting_pose(skeleton: Skeleton) -> Array:
    """Return (1, n_bodies, 4) the bind poses that the limits allow, else no turn."""
    limits = [body.joint.limits for body in skeleton.bodies]
    poses = [quat.identity() if x is None or x.bind is None else x.bind.rotation for x in limits]
    return np.stack(poses)[None]


def _solve(problem: PoseProblem, task: Task, options: PoseOptions, *, root_held: bool) -> None:
    """Fit by stages; each is pulled to where the one before has come."""
    held = task.status == Status.HELD
    total = np.zeros_like(task.iterations)
    for stiffness, pull, loose in REACH_STAGES:
        stiff = problem.bounds and problem.bounds._replace(weight=np.array([stiffness]))
        model = make_model(problem.rig, pull, stiff, root_held=root_held)
        task.status[~held] = UNDECIDED
        task = task._replace(rest=read_only(task.rotations.copy()))
        run(model, task, replace(options, tolerance=loose * options.tolerance))
        total += task.iterations
    task.iterations[:] = total


class PulledPose:
    """A rig whose points are pulled, a frame at a time."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self._model, self._work = make_model(rig, 0.0), make_work(rig.tree)

    def pull(self, rotations: Array, root: Array, targets: Array, weights: Array) -> None:
        """Bring a pose (n_bodies, 4), (3,) to where all pulls balance, in place.

        Parameters
        ----------
        targets : (n_points, 3)
        weights : (n_points,)
            Stiffness of each pull; 0 leaves it out.
        """
        self._work.trust[:] = weights
        start = np.zeros(self.rig.tree.n_dofs)
        fit_frame(self._model, self._work, targets, rotations, root, start, PULL_LIMITS)
