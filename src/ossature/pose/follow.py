"""The pose of one frame at a time, each from the pose before it: for live streams."""

from dataclasses import dataclass

import numpy as np

from ossature.maths import quat
from ossature.pose import damping, lanes
from ossature.pose.frames import PoseOptions, run, solve_frames
from ossature.pose.start import has_evidence
from ossature.pose.tree import compile_rig
from ossature.values import Body, Joint, Marker, Skeleton
from ossature.values.arrays import Array

LOST = 0.05
"""Metres: when the median marker is this far off, the pose before is no place to start from."""
OPTIONS = PoseOptions(loss="geman-mcclure", tolerance=1e-4)
"""A ten-thousandth of a radian is far below what markers show, and saves a third of the steps."""


@dataclass(frozen=True, slots=True, eq=False)
class FramePose:
    """A pose and how well it explains its frame."""

    rotations: Array
    """(n_bodies, 4) to the parent's frame from the body's."""
    root: Array
    """(3,)"""
    error: Array
    """(n,) of every marker or body of the stream, metres; NaN where not seen."""


class Follower:
    """A skeleton that follows a stream of markers.

    The kernel is the one that solves takes; here it gets one frame, a start and no second
    opinions, so that the time a frame takes hardly varies.
    """

    def __init__(self, skeleton: Skeleton, marker_names: tuple[str, ...]) -> None:
        carried = {marker.name for body in skeleton.bodies for marker in body.markers}
        self.columns = [i for i, name in enumerate(marker_names) if name in carried]
        self.skeleton, self.names = skeleton, marker_names
        self.rig = compile_rig(skeleton, [marker_names[i] for i in self.columns])
        rest_weights = np.full(self.rig.tree.n_bodies, OPTIONS.rest_weight)
        rest_weights[0] = 0.0
        self._model = lanes.make_model(self.rig, rest_weights, None)
        self._weights = np.ones((1, len(self.columns)))
        self._rest = quat.identity((1, self.rig.tree.n_bodies))
        self._last: FramePose | None = None

    def follow(self, positions: Array) -> FramePose | None:
        """The pose of markers (n_markers, 3); None where they are too few to show one."""
        observed = np.ascontiguousarray(positions[None, self.columns])
        if not has_evidence(self.rig, observed, self._weights)[0]:
            return None
        found = None if self._last is None else self._onwards(observed, self._last)
        if found is None or not np.nanmedian(found.error) < LOST:
            found = self._afresh(observed)
        self._last = found
        return found

    def go_on_from(self, other: "Follower") -> None:
        """Start where another calibration of the same bodies has come to."""
        self._last = other._last

    def _onwards(self, observed: Array, last: FramePose) -> FramePose:
        task = damping.Task(
            observed=observed,
            weights=self._weights,
            rest=self._rest,
            rotations=last.rotations[None].copy(),
            root=last.root[None].copy(),
            marker_error=np.full(observed.shape[:2], np.nan),
            cost=np.zeros(1),
            iterations=np.zeros(1, dtype=np.int64),
            status=np.full(1, damping.UNDECIDED),
        )
        run(self._model, task, OPTIONS)
        return self._pose(task.rotations[0], task.root[0], task.marker_error[0])

    def _afresh(self, observed: Array) -> FramePose:
        found = solve_frames(self.rig, observed, options=OPTIONS)
        return self._pose(found.rotations[0], found.root[0], found.marker_error[0])

    def _pose(self, rotations: Array, root: Array, errors: Array) -> FramePose:
        spread = np.full(len(self.names), np.nan)
        spread[self.columns] = errors
        return FramePose(rotations, root, spread)


def warm_up() -> None:
    """Have the kernels ready: the first frame of a stream must not wait for a compiler."""
    corners = 0.1 * np.eye(3)
    root = Body("root", None, Joint("free"), markers=_markers("a", corners))
    arm = Body("arm", "root", Joint(in_parent=corners[0]), markers=_markers("b", corners))
    follower = Follower(Skeleton((root, arm)), ("a0", "a1", "a2", "b0", "b1", "b2"))
    for _ in range(2):  # the first is solved afresh, the second goes on from it
        follower.follow(np.concatenate([corners, corners + corners[0]]))


def _markers(letter: str, places: Array) -> tuple[Marker, ...]:
    return tuple(Marker(f"{letter}{i}", place) for i, place in enumerate(places))
