"""Keypoints + a person's skeleton → poses: every frame the rigid figure nearest to its keypoints.

Keypoints are first freed of noise and jumps by time (``tracks``), then each frame is a fit by least
squares of the whole rig, whose bones are constant. What keypoints leave open is drawn a little
towards how anatomy has it (``turns_from_joints``).
"""

from dataclasses import dataclass

import numpy as np

from osteon.errors import NotEnoughData
from osteon.keypoints.tracks import Tracks, steady_tracks
from osteon.keypoints.turns_from_joints import turns_from_joints
from osteon.maths import quat
from osteon.posing import (
    PoseOptions,
    PoseProblem,
    PoseResult,
    Rig,
    SolveResult,
    compile_rig,
    hold_within,
    solve_frames,
)
from osteon.typing import Array, Share, unheard
from osteon.values import Motion, Recording, Skeleton

ON_JOINT = 1e-6
"""Metres from a joint within which a keypoint is that joint. Chosen: rounding is far below."""
AHEAD_DISTANCE = 0.05
"""Metres ahead of the ankle from which a keypoint of the foot shows where it points. Chosen: toes
are, heels are not."""
ANATOMY_WEIGHT = 4e-4
"""Pull to the turns that anatomy suggests, square metres per square radian. Derived: 10 mm, what
smoothed keypoints are off, to half a radian, what limbs twist."""
GIRDLE_WEIGHT = 0.0075
"""The same of collar bones. Derived: 13 mm to 0.15 radians, which shoulders go up and down by."""
DOUBT_DISTANCE = 0.06
"""Metres from the model at which a keypoint begins to lose weight. Chosen: three times what such
systems are off on joints [Nakano 2020], and less than a jump."""
SYSTEMATIC_ERROR = 0.013
"""Metres per axis that keypoints are off their joint for all of a take. [Nakano 2020]: half of the
mean distances from markers' joints are below 20 mm, four fifths below 30 mm."""


def pose_keypoints(
    recording: Recording,
    skeleton: Skeleton,
    *,
    limits: str = "none",
    progress: Share = unheard,
) -> SolveResult:
    """Fit a skeleton to the keypoints of every frame.

    Parameters
    ----------
    recording
        Its points that the skeleton carries count; as the system wrote them, noise and jumps
        included.
    limits
        Keep joints within the skeleton's limits: ``auto``, ``ellipse`` or ``zyz``.
    """
    names = tuple(name for name in recording.names if name in skeleton.marker_names)
    if len(names) < 3:
        raise NotEnoughData(
            f"recording and skeleton share {len(names)} keypoints; a pose needs 3 or more"
        )
    given = recording.select(names).positions
    tracks = steady_tracks(given, recording.rate)
    rig = compile_rig(skeleton, names)
    found = fit_poses(skeleton, rig, tracks, progress)
    if len(found.held) == len(given):
        raise NotEnoughData("no frame shows three keypoints off a line; there is no pose to find")
    rotations = found.rotations
    if limits != "none":
        rotations = hold_within(skeleton, np.array(rotations), limits)
    motion = Motion(
        skeleton,
        rotations,
        found.root,
        recording.rate,
        marks=recording.marks,
        held=found.held,
        history=(*recording.history, "solved from keypoints, their noise taken out over time"),
        source=recording.source,
    )
    error = np.linalg.norm(given - rig.markers(rotations, found.root), axis=-1)
    error[tracks.jumps] = np.nan
    return SolveResult(motion, error, names, found.status, found.iterations)


def fit_poses(
    skeleton: Skeleton, rig: Rig, tracks: Tracks, progress: Share = unheard
) -> PoseResult:
    """Fit the rig to smoothed keypoints, frame by frame."""
    points = KeypointsOnRig(skeleton, rig, tracks.positions)
    turns = turns_from_joints(skeleton, points.joints(), points.forward())
    weights = SYSTEMATIC_ERROR**2 / (SYSTEMATIC_ERROR**2 + tracks.noise**2)
    girdles = [name.endswith("clavicle") for name in skeleton.names]
    pulls = np.where(girdles, GIRDLE_WEIGHT, ANATOMY_WEIGHT)
    problem = PoseProblem(rig, tracks.positions, weights, pulls, turns)
    options = PoseOptions(loss="geman-mcclure", loss_scale=DOUBT_DISTANCE)
    start = (turns, points.root(turns))
    return solve_frames(problem, start=start, options=options, progress=progress)


@dataclass(frozen=True, eq=False)
class KeypointsOnRig:
    """Where keypoints are, by the bodies that carry them."""

    skeleton: Skeleton
    rig: Rig
    positions: Array
    """(n_frames, n_points, 3) metres; NaN where not known."""

    def joints(self) -> Array:
        """(n_frames, n_bodies, 3) those that are keypoints; NaN for others."""
        shape = (len(self.positions), len(self.skeleton.bodies), 3)
        joints = np.full(shape, np.nan)
        on_joint = np.linalg.norm(self.rig.places, axis=-1) < ON_JOINT
        for point in np.flatnonzero(on_joint):
            joints[:, self.rig.tree.marker_bodies[point]] = self.positions[:, point]
        return joints

    def forward(self) -> Array:
        """(n_frames, n_bodies, 3) from joints to the middle of the keypoints ahead of them."""
        ahead = np.full((len(self.positions), len(self.skeleton.bodies), 3), np.nan)
        joints = self.joints()
        for body in range(len(self.skeleton.bodies)):
            own = self.rig.tree.marker_bodies == body
            toes = np.flatnonzero(own & (self.rig.places[:, 0] > AHEAD_DISTANCE))
            if len(toes):
                ahead[:, body] = self.positions[:, toes].mean(axis=1) - joints[:, body]
        return ahead

    def root(self, turns: Array) -> Array:
        """(n_frames, 3) where the root is when the figure so turned lies best on its keypoints."""
        placed = self.rig.markers(turns, np.zeros((len(turns), 3)))
        off = self.positions - placed
        seen = np.isfinite(off[..., 0])
        total = np.where(seen[..., None], off, 0.0).sum(axis=1)
        return total / np.where(seen.any(axis=1), seen.sum(axis=1), np.nan)[:, None]


def in_bodies(rig: Rig, poses: PoseResult, positions: Array) -> Array:
    """Return (n_frames, n_points, 3) keypoints as their bodies have them, from their joint."""
    rotations, joints = rig.world(poses.rotations, poses.root)
    own = rig.tree.marker_bodies
    return quat.rotate(quat.inverse(rotations[:, own]), positions - joints[:, own])
