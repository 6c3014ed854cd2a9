"""Keypoints + a person's skeleton → poses: every frame the rigid figure nearest to its keypoints.

Keypoints are first freed of noise and jumps by time (``tracks``), then each frame is a fit by least
squares of the whole rig, whose bones are constant. What keypoints leave open is drawn a little
towards how anatomy has it (``limb_turns``).
"""

from dataclasses import dataclass

import numpy as np

from osteon.errors import NotEnoughData
from osteon.joint_limits import hold_within
from osteon.keypoints.lasting_errors import SYSTEMATIC_ERROR
from osteon.keypoints.limb_turns import turns_from_joints
from osteon.keypoints.tracks import Tracks, steady_tracks
from osteon.maths import fit_rigid, quat
from osteon.posing import (
    PoseOptions,
    PoseProblem,
    PoseResult,
    Rig,
    SolveResult,
    compile_rig,
    solve_frames,
    steady,
)
from osteon.typing import Array, Mask, Share, part, unheard
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
STRAY_RATIO = 4.0
"""Ratio of a sample's distance from the rig to its deviation per axis, from which it jumped.
Derived: χ of three is beyond once in a thousand."""
TWIST_SECONDS = 0.08
"""Seconds, standard deviation, over which a limb's twist is judged. Chosen: a stride has a
second, so its twist is not smoothed away."""


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
    given, rate = recording.select(names).positions, recording.rate
    rig = compile_rig(skeleton, names)
    tracks = steady_tracks(given, rate)
    found = fit_poses(skeleton, rig, tracks, rate, part(progress, 0.0, 0.5))
    # a rig tells of jumps that time alone did not
    strayed = tracks.jumps | _strayed(rig, found, given, tracks.noise)
    tracks = steady_tracks(np.where(strayed[..., None], np.nan, given), rate)
    found = fit_poses(skeleton, rig, tracks, rate, part(progress, 0.5, 1.0))
    rotations = found.rotations
    if limits != "none":
        rotations = hold_within(skeleton, rotations, limits)
    did = "solved from keypoints, their noise taken out over time"
    motion = Motion.found_in(recording, skeleton, (rotations, found.root), did, found.held)
    error = rig.distances(given, rotations, found.root)
    error[strayed | tracks.jumps] = np.nan
    return SolveResult(motion, error, names, found.status, found.iterations)


def _strayed(rig: Rig, poses: PoseResult, given: Array, noise: Array) -> Mask:
    """(n_frames, n_points) samples that lie farther from the rig than such systems are off."""
    return rig.distances(given, poses.rotations, poses.root) > stray_distance(noise)


def stray_distance(noise: Array) -> Array:
    """Return metres from the rig from which a keypoint of such white noise jumped."""
    return np.maximum(DOUBT_DISTANCE, STRAY_RATIO * np.hypot(noise, SYSTEMATIC_ERROR))


def fit_poses(
    skeleton: Skeleton,
    rig: Rig,
    tracks: Tracks,
    rate: float = 0.0,
    progress: Share = unheard,
) -> PoseResult:
    """Fit the rig to smoothed keypoints, frame by frame.

    ``rate`` in Hz where frames follow each other; 0: they do not.
    """
    points = KeypointsOnRig(skeleton, rig, tracks.positions)
    window = TWIST_SECONDS * rate
    turns = turns_from_joints(skeleton, points.joints(), points.forward(), window)
    if skeleton.names[0].endswith("_hand"):
        turns[:, 0] = points.root_turns()
    weights = SYSTEMATIC_ERROR**2 / (SYSTEMATIC_ERROR**2 + tracks.noise**2)
    girdles = [name.endswith("clavicle") for name in skeleton.names]
    pulls = np.where(girdles, GIRDLE_WEIGHT, ANATOMY_WEIGHT)
    problem = PoseProblem(rig, tracks.positions, weights, pulls, turns)
    options = PoseOptions(loss="geman-mcclure", loss_scale=DOUBT_DISTANCE)
    start = (turns, points.root(turns))
    found = solve_frames(problem, start=start, options=options, progress=progress)
    if len(found.held) == problem.n_frames:
        raise NotEnoughData("no frame shows three keypoints off a line; there is no pose to find")
    return steady(problem, found, rate=rate, options=options) if rate else found


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

    def root_turns(self) -> Array:
        """(n_frames, 4) of a root that is a hand, by its own keypoints; at rest where they are too
        few."""
        own = np.flatnonzero(self.rig.tree.marker_bodies == 0)
        found = fit_rigid(self.rig.places[own], self.positions[:, own]).rotations
        return np.where(np.isfinite(found), found, quat.identity())

    def root(self, turns: Array) -> Array:
        """(n_frames, 3) where the root is when the figure so turned lies best on its keypoints."""
        placed = self.rig.markers(turns, np.zeros((len(turns), 3)))
        off = self.positions - placed
        seen = np.isfinite(off[..., 0])
        total = np.where(seen[..., None], off, 0.0).sum(axis=1)
        return total / np.where(seen.any(axis=1), seen.sum(axis=1), np.nan)[:, None]
