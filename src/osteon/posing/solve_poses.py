"""Recording + Skeleton → Motion, with the evidence.

Limbs that jump where no marker does are solved again, held back by time. A frame alone leaves
directions open. A collar bone turns about its one marker, a straight arm about itself; millimetres
of skin decide between poses that are tens of degrees apart, and each frame, or each lane of the
kernel, decides for itself. So where a joint turns faster than anybody moves, its limb is solved
again: it starts a little way from the pose before towards the pose that the frame alone would have,
and a weak pull holds it there. If markers draw it on all the same, they did jump, and the frame
stays as it was. A second sweep runs from the end to the beginning: what a marker shows when it
comes back is prepared for in the gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import NotEnoughData, counted
from osteon.joint_limits import hold_within, make_bounds
from osteon.maths import quat, read_only
from osteon.posing._kernels.lanes import make_model
from osteon.posing._kernels.led_limbs import find_jumps, find_leaps, lead_limbs, share_gone
from osteon.posing._kernels.single_frame import FrameLimits, fit_frame, make_work
from osteon.posing.first_pose import on_joints
from osteon.posing.per_frame import (
    PoseOptions,
    PoseProblem,
    PoseResult,
    Status,
    repeat_nearest,
    rest_weights_of,
    solve_frames,
)
from osteon.posing.rig import IN_BODY, compile_rig
from osteon.posing.whole_take import smooth_frames
from osteon.typing import Array, Indices, Mask, Share, unheard
from osteon.values import Motion, Recording, Skeleton

LIMIT_WEIGHT = 10.0
"""Square metres per square radian: pull back into the limits. Chosen: beside 3 mm of marker error
it leaves about a hundredth of a degree, which is then cut off."""
REFERENCE_RATE = 120.0
"""Frames per second that the numbers below are meant for. Chosen: that of many recordings."""
FAST_TURN = np.radians(8.0)
"""Radians. A joint that turns further from one frame to the next, 960° per second, is looked at
again. Chosen: nobody moves so fast."""
APPROACH_TURN = np.radians(4.0)
"""Radians that each joint of such a limb is led towards the pose of the frame alone. Chosen: half
of what is fast."""
HOLD_WEIGHT = 2e-3
"""Square metres per square radian: pull to where it is led. Chosen: three markers 5 cm from a joint
weigh four times as much, and win; between poses that they hardly tell apart it is a hundred times
what they say."""

INSISTING_SHARE = 2.0 / 3.0
"""Share of the way to the pose of the frame alone. Derived: markers that draw a limb so far against
the pull are weightier than twice the pull. They did jump, and the frame stays as it is."""
LEAP_DISTANCE = 0.05
"""Metres by which a marker that leaps moves otherwise than in the frames beside. Chosen: 6 m/s, at
once."""
SUDDEN_TURN = np.radians(15.0)
"""Radians from one frame to the next that are worth a word. Chosen."""
BACK_SECONDS = 0.15
"""Seconds within which sudden turns of one joint are told as one. Chosen: there and back again."""
SQUARED_SCALE = 1e3
"""Metres. Chosen: a loss that doubts no marker nearer than this is the sum of squares."""


def rms_per_marker(names: Sequence[str], errors: Array) -> dict[str, float]:
    """RMS of errors (n_frames, n_markers) of each marker that was seen, metres, worst first."""
    pairs = zip(names, errors.T, strict=True)
    known = [(name, rms) for name, of_one in pairs if (rms := rms_of_seen(of_one)) is not None]
    return dict(sorted(known, key=lambda pair: -pair[1]))


def rms_of_seen(errors: Array) -> float | None:
    """RMS of those that are not NaN; None where all are."""
    seen = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(seen**2))) if len(seen) else None


@dataclass(frozen=True, slots=True, eq=False)
class SolveResult:
    """The motion found, and how well it explains the recording."""

    motion: Motion
    marker_error: Array
    """(n_frames, n_markers) distance from model to data, metres; NaN = not seen."""
    marker_names: tuple[str, ...]
    status: Indices
    """(n_frames,) a Status each."""
    iterations: Indices
    """(n_frames,)"""

    @property
    def rms(self) -> float:
        """Over all markers and frames, metres."""
        return float(np.sqrt(np.nanmean(self.marker_error**2)))

    def rms_per_marker(self) -> dict[str, float]:
        return rms_per_marker(self.marker_names, self.marker_error)

    def __str__(self) -> str:
        worst, error = next(iter(self.rms_per_marker().items()))
        counts = ", ".join(
            f"{count} frames: {Status(code).text}"
            for code, count in enumerate(np.bincount(self.status))
            if count
        )
        return f"RMS {1e3 * self.rms:.1f} mm, worst marker {worst} {1e3 * error:.1f} mm; {counts}"


def solve(
    recording: Recording,
    skeleton: Skeleton,
    *,
    weights: ArrayLike = 1.0,
    smooth: bool = False,
    limits: str = "none",
    options: PoseOptions | None = None,
    progress: Share = unheard,
) -> SolveResult:
    """Fit a skeleton whose lengths and marker places are known to every frame of a recording.

    Markers that the skeleton does not carry are left out. Limbs that jump where their markers do
    not are held by time; see ``steady``. Frames with too little evidence repeat
    the nearest frame that has it and are listed in ``motion.held``.

    Parameters
    ----------
    weights : (n_markers,) or (n_frames, n_markers)
        Trust in each of the recording's markers that the skeleton carries, in their order.
    smooth
        Fit the whole clip instead of frame by frame; see ``smooth_frames``.
    limits : str
        Keep joints within the skeleton's limits: ``auto``, ``ellipse`` or ``zyz``, as in ``reach``.
        By ``auto`` joints are as free as they were seen, see ``as_free_as_seen``.
    """
    carried = skeleton.marker_names
    names = tuple(name for name in recording.names if name in carried)
    if len(names) < 3:
        raise NotEnoughData(
            f"{recording.source.file or 'the recording'} shows {counted(len(names), 'marker')} of "
            f"the {len(carried)} on the skeleton; a pose needs 3 or more: leave it out, or give "
            "it with its own labels"
        )
    bounds = None
    if limits == "auto":
        skeleton = as_free_as_seen(skeleton)
    if limits != "none":
        bounds = make_bounds(skeleton, limits)._replace(weight=np.array([LIMIT_WEIGHT]))
    rig, observed = compile_rig(skeleton, names), recording.select(names).positions
    pulls = rest_weights_of(skeleton)
    problem = PoseProblem(rig, observed, np.asarray(weights, dtype=float), pulls, bounds=bounds)
    result = solve_frames(problem, options=options, progress=progress)
    if len(result.held) == problem.n_frames:
        raise NotEnoughData("no frame shows three markers off a line; there is no pose to find")
    result = steady(problem, result, rate=recording.rate, options=options)
    found = smooth_frames(problem, result, rate=recording.rate) if smooth else result
    rotations = (
        found.rotations if bounds is None else hold_within(skeleton, found.rotations, limits)
    )
    did = "solved over the clip" if smooth else "solved frame by frame"
    motion = Motion.found_in(recording, skeleton, (rotations, found.root), did, result.held)
    return SolveResult(motion, found.marker_error, names, result.status, result.iterations)


def as_free_as_seen(skeleton: Skeleton) -> Skeleton:
    """Return the skeleton with balls where a joint's region has poses that its kind cannot take.

    A knee is a hinge, and what skin makes of it is not. Markers on that skin do not fit the hinge:
    limits that were found in a take would keep that very take out.
    """
    limits = [body.joint.limits for body in skeleton.bodies]
    regions = [None if each is None else each.region for each in limits]
    most = max((len(region.poses) for region in regions if region is not None), default=0)
    poses = np.broadcast_to(quat.identity(), (most, len(regions), 4)).copy()
    for column, region in enumerate(regions):
        if region is not None:
            poses[:, column] = quat.normalise(region.poses[np.arange(most) % len(region.poses)])
    allowed = on_joints(compile_rig(skeleton, ()).tree, poses)
    off = quat.angle(quat.between(allowed, poses))
    bodies = list(skeleton.bodies)
    for column, region in enumerate(regions):
        if region is not None and off[:, column].max() > region.radius:
            joint = replace(bodies[column].joint, kind="ball", axes=(), rest=quat.identity())
            bodies[column] = replace(bodies[column], joint=joint)
    return replace(skeleton, bodies=tuple(bodies))


def steady(
    problem: PoseProblem, poses: PoseResult, *, rate: float, options: PoseOptions | None = None
) -> PoseResult:
    """Poses that were solved frame by frame, without the turns that no marker asks for.

    Frames in which nothing turns fast stay as they are. ``cost`` and ``iterations`` remain those
    of the frames alone. Limits are not looked at.

    Parameters
    ----------
    problem, options
        That ``poses`` were solved from, as in ``solve_frames``.
    rate
        Frames per second.
    """
    options, pace, tree = options or PoseOptions(), REFERENCE_RATE / rate, problem.rig.tree
    frames = np.flatnonzero(poses.status != Status.HELD)
    limbs, homes = limbs_of(tree.parents.tolist()), read_only(tree.marker_bodies)
    leaps = find_leaps(read_only(problem.targets), homes, limbs, pace * LEAP_DISTANCE)
    if not find_jumps(read_only(poses.rotations), frames, leaps, pace * FAST_TURN).any():
        return poses
    rotations, root = np.array(poses.rotations), np.array(poses.root)
    again = _Limbs(problem, rotations, root, limbs, leaps, options, pace)
    changed = np.union1d(again.sweep(frames), again.sweep(frames[::-1].copy()))
    error = np.array(poses.marker_error)
    lack = problem.rig.distances(problem.targets[changed], rotations[changed], root[changed])
    error[changed] = np.where(np.isnan(error[changed]), np.nan, lack)
    repeat_nearest(poses.status, rotations, root)
    return replace(poses, rotations=quat.unroll(rotations), root=root, marker_error=error)


def sudden_turns(motion: Motion) -> list[tuple[str, int, float]]:
    """Body, frame and angle, radians, of turns that remained, largest first, one per body."""
    turns = quat.angle(quat.between(motion.rotations[:-1], motion.rotations[1:]))
    sudden = turns > SUDDEN_TURN * REFERENCE_RATE / motion.rate
    worst = [
        (motion.skeleton.names[body], int(turns[:, body].argmax()) + 1, float(turns[:, body].max()))
        for body in np.flatnonzero(sudden.any(axis=0))
    ]
    return sorted(worst, key=lambda turn: -turn[2])


class SuddenTurn(NamedTuple):
    """A joint that turns faster than people do."""

    body: str
    first: int
    """The frame that it has come to; ``last``: of several in short order."""
    last: int
    angle: float
    """The largest from one frame to the next, radians."""


def all_sudden_turns(motion: Motion) -> list[SuddenTurn]:
    """Return every sudden turn in order of time; turns there and back are one."""
    turns = quat.angle(quat.between(motion.rotations[:-1], motion.rotations[1:]))
    sudden = turns > SUDDEN_TURN * REFERENCE_RATE / motion.rate
    apart = round(BACK_SECONDS * motion.rate)
    found = []
    for body in np.flatnonzero(sudden.any(axis=0)):
        frames = np.flatnonzero(sudden[:, body])
        for run in np.split(frames, np.flatnonzero(np.diff(frames) > apart) + 1):
            largest = float(turns[run, body].max())
            name = motion.skeleton.names[body]
            found.append(SuddenTurn(name, int(run[0]) + 1, int(run[-1]) + 1, largest))
    return sorted(found, key=lambda turn: turn.first)


def limbs_of(parents: Sequence[int]) -> Indices:
    """Return (n_bodies,) the first body of each body's limb: a limb ends where the tree
    branches."""
    n_children = np.bincount([p for p in parents if p >= 0], minlength=len(parents))
    first: list[int] = []
    for body, parent in enumerate(parents):
        alone = parent > 0 and n_children[parent] == 1
        first.append(first[parent] if alone else body)
    return np.array(first)


class _Limbs:
    """Solves limbs again, in place."""

    def __init__(
        self,
        problem: PoseProblem,
        rotations: Array,
        root: Array,
        limbs: Indices,
        leaps: Mask,
        options: PoseOptions,
        pace: float,
    ) -> None:
        rig, self.observed, self.weights = problem.rig, problem.targets, problem.weights
        self.tree, self.rotations, self.root = rig.tree, rotations, root
        self.limbs, self.leaps = limbs, leaps
        self.fast, self.approach = pace * FAST_TURN, pace * APPROACH_TURN
        self.model = make_model(rig, problem.rest_weights)
        self.work = make_work(rig.tree)
        self.led, self.way = np.empty(rotations.shape[1:]), np.empty(rotations.shape[1])
        scale = SQUARED_SCALE if options.loss == "squared" else options.loss_scale
        self.limits = FrameLimits(options.max_iterations, 1e-4, 1e-5, scale, HOLD_WEIGHT / pace)

    def sweep(self, frames: Indices) -> Indices:
        """Go along the frames; from where a joint turns fast until the frames alone agree again.

        Returns those that were solved again.
        """
        changed, done = [], 0
        jumps = find_jumps(read_only(self.rotations), frames, self.leaps, self.fast)
        for begin in np.flatnonzero(jumps).tolist():
            if begin <= done:  # there the last stretch ended: its frame was tried
                continue
            at = begin
            while at < len(frames) and self._solve_again(frames[at - 1], frames[at]):
                changed.append(frames[at])
                at += 1
            done = at
        return np.array(changed, dtype=np.int64)

    def _solve_again(self, before: int, frame: int) -> bool:
        """Solve a frame's fast limbs again, held to the frame before.

        False where none is fast, or markers insist: then the frame stays as it is.
        """
        pose, last, n_frames = self.rotations[frame], self.rotations[before], abs(frame - before)
        led, way, leaps = self.led, self.way, self.leaps[max(frame, before)]
        limits = self.fast * n_frames, self.approach * n_frames
        if not lead_limbs(last, pose, leaps, self.limbs, *limits, led, way):
            return False
        root = self.root[frame].copy()
        self._fit(frame, led, root)
        if share_gone(led, pose, way) > INSISTING_SHARE:
            return False
        self.rotations[frame], self.root[frame] = led, root
        return True

    def _fit(self, frame: int, led: Array, root: Array) -> None:
        if (self.tree.dof_kind == IN_BODY).any():  # between two poses of a universal joint is none
            led[:] = on_joints(self.tree, led)
        self.work.trust[:] = self.weights[min(frame, len(self.weights) - 1)]
        still, seen = np.zeros(self.tree.n_dofs), np.array(self.observed[frame])
        fit_frame(self.model, self.work, seen, led, root, still, self.limits)
