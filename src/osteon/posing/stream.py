"""The pose of one frame at a time, each from the pose before it: for live streams."""

import math
from dataclasses import dataclass

import numpy as np

from osteon.maths import quat
from osteon.posing._kernels.lanes import make_model
from osteon.posing._kernels.single_frame import FrameLimits, fit_frame, make_work
from osteon.posing.first_pose import has_evidence, start_frames
from osteon.posing.per_frame import PoseOptions, rest_weights_of
from osteon.posing.rig import compile_rig
from osteon.typing import Array
from osteon.values import Body, Joint, Marker, Skeleton

LOST_DISTANCE = 0.05
"""Metres: when the median marker is this far off, the pose before is no place to start from; when
any is, no pose to hold on to. Chosen: no skin slides so far."""
AGAIN_FRAMES = 60
"""Between starts from nothing. Chosen: one takes the time of several frames, and where nothing fits
the next one would do no better."""
USUAL = PoseOptions()
UNSEEN_WEIGHT = 3e-5
"""Square metres per square radian: pull to rest of bodies with one marker or none. Chosen: without
it a clavicle, which turns about its one marker at will, now and then fell over to the other side
for tenths of a second and took the shoulder along by 8 cm; whole takes are solved with second
opinions against that."""
HOLD_PULL = 1e-3
"""Square metres per square radian: pull to the pose before. Where markers hardly see a direction a
limb moves on slowly instead of falling over. Chosen: three markers 5 cm from a joint weigh eight
times as much; what they show lags an eighth of a frame."""
LIMITS = FrameLimits(
    USUAL.max_iterations, tolerance=1e-4, gain=1e-5, scale=USUAL.loss_scale, hold=HOLD_PULL
)
"""A ten-thousandth of a radian is far below what markers show. Both bounds together save two thirds
of the steps and move joints by 0.02 mm in the median, 2 mm in one frame of a hundred."""
FREE = LIMITS._replace(hold=0.0)
WIDE = [FREE._replace(scale=wider * USUAL.loss_scale) for wider in (64.0, 8.0, 1.0)]
"""A loss that forgets far markers has local minima; widened first, it chooses well. Whoever is lost
has no pose to hold on to."""


@dataclass(frozen=True, slots=True, eq=False)
class FramePose:
    """A pose and how well it explains its frame."""

    rotations: Array
    """(n_bodies, 4) to the parent's frame from the body's."""
    root: Array
    """(3,)"""
    errors: Array
    """(n_seen,) of the markers or bodies that were seen, metres, smallest first."""
    settled: bool = True
    """False where the time for a frame ended before the fit did; the next frame goes on with it."""

    @property
    def typical(self) -> float:
        """The median error, metres."""
        return float(self.errors[len(self.errors) // 2])

    @property
    def rms(self) -> float:
        """Of the errors, metres."""
        return math.sqrt(self.errors @ self.errors / len(self.errors))

    @property
    def n_far(self) -> int:
        """How many errors no skin explains."""
        return len(self.errors) - int(np.searchsorted(self.errors, LOST_DISTANCE))


class Follower:
    """A skeleton that follows a stream of markers.

    A frame starts where the motion before it leads and has a bounded number of steps, so that the
    time a frame takes hardly varies.
    """

    def __init__(self, skeleton: Skeleton, marker_names: tuple[str, ...]) -> None:
        carried = skeleton.marker_names
        columns = [i for i, name in enumerate(marker_names) if name in carried]
        self.columns = np.array(columns, dtype=np.int64)
        self.skeleton, self.names = skeleton, marker_names
        self.rig = compile_rig(skeleton, [marker_names[i] for i in columns])
        tree = self.rig.tree
        n_markers = np.bincount(tree.marker_bodies, minlength=tree.n_bodies)
        unseen = np.where(n_markers < 2, UNSEEN_WEIGHT, 0.0)
        rest_weights = np.maximum(unseen, rest_weights_of(skeleton))
        self._model, self._work = make_model(self.rig, rest_weights), make_work(tree)
        self._weights = np.ones((1, len(self.columns)))
        self._last: FramePose | None = None
        self._velocity = np.zeros(tree.n_dofs)
        self._wait = 0

    def follow(self, positions: Array) -> FramePose | None:
        """Return the pose of markers (n_markers, 3); None where they are too few to show one."""
        observed = positions[self.columns]
        if not has_evidence(observed[None], self._weights)[0]:
            return None
        found = None if self._last is None else self._next(observed, self._last)
        if found is not None and _lost(found):
            found = self._onwards(observed, found, WIDE)
        self._wait -= 1
        if found is None or (_lost(found) and self._wait < 0):
            self._wait = AGAIN_FRAMES
            found = self._afresh(observed)
        self._last = found
        return found

    def go_on_from(self, other: "Follower") -> None:
        """Start where another calibration of the same bodies has come to."""
        self._last = other._last

    def begin_at(self, pose: FramePose | None) -> None:
        """Start at rest in a pose, whatever was followed before; None: from nothing."""
        self._last, self._wait = pose, 0
        self._velocity[:] = 0.0

    def _next(self, observed: Array, last: FramePose) -> FramePose:
        """Held to the pose before, unless a limb came back elsewhere and would be kept from it."""
        held = self._onwards(observed, last, [LIMITS])
        if not held.n_far:
            return held
        velocity = self._velocity.copy()
        free = self._onwards(observed, held, [FREE])
        if free.n_far < held.n_far:
            return free
        self._velocity[:] = velocity
        return held

    def _onwards(self, observed: Array, last: FramePose, limits: list[FrameLimits]) -> FramePose:
        rotations, root, velocity = last.rotations.copy(), last.root.copy(), self._velocity
        evaluations, errors = 0, np.zeros(0)
        for each in limits:
            evaluations, errors = fit_frame(
                self._model, self._work, observed, rotations, root, velocity, each
            )
        return FramePose(rotations, root, errors, evaluations <= limits[-1].evaluations)

    def _afresh(self, observed: Array) -> FramePose:
        self._velocity[:] = 0.0
        rest = quat.identity((1, self.rig.tree.n_bodies))
        rotations, root = start_frames(self.rig, observed[None], weights=self._weights, rest=rest)
        return self._onwards(observed, FramePose(rotations[0], root[0], np.zeros(0)), WIDE)


def _lost(pose: FramePose) -> bool:
    return not pose.typical < LOST_DISTANCE


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
