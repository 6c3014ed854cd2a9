"""The bodies of any take: sensors as they are, clusters of markers, or a moving skeleton."""

from collections.abc import Collection

import numpy as np

from ossature.bodies.segment import segment
from ossature.bodies.track import TrackedBodies, track
from ossature.errors import NotEnoughData
from ossature.joints.noise import PoseNoise, estimate_noise
from ossature.values import Bodies, Motion, Take

FINEST = 1e-9
"""Metres: noise that even made-up data is granted."""


def bodies_of(take: Take, subject: str | None = None) -> tuple[Bodies, PoseNoise | None]:
    """Bodies, and their noise where the markers' shapes tell it."""
    if take.bodies:
        return take.body_poses(subject), None
    if take.recordings:
        recording = take.recording(subject).markers()
        tracked = track(recording, segment(recording))
        return tracked.bodies, cluster_noise(tracked)
    if take.motions:
        return _bodies_of_motion(take.motion(subject)), None
    raise NotEnoughData("joints need moving bodies or markers; the file holds neither")


def without(
    bodies: Bodies, noise: PoseNoise | None, names: Collection[str]
) -> tuple[Bodies, PoseNoise | None]:
    """As if these bodies had not been recorded."""
    out = {bodies.index(name) for name in names}
    kept = [column for column in range(bodies.n_bodies) if column not in out]
    if noise is not None:
        noise = PoseNoise(noise.position[kept], noise.rotation[kept])
    return bodies.select([bodies.names[column] for column in kept]), noise


def cluster_noise(tracked: TrackedBodies) -> PoseNoise:
    """Pose noise of marker clusters: their shape turns marker noise into turning noise.

    The origin is the markers' mean, so place and turn are independent. Skin that slides slowly is
    no white noise: the level is what the trajectories show at high frequency, if that is less.
    """
    white = estimate_noise(tracked.bodies).position
    position, rotation = [], []
    for template, noise, seen in zip(tracked.templates, tracked.marker_noise, white, strict=True):
        square = max(min(float(noise), float(seen) * np.sqrt(len(template))), FINEST) ** 2
        inertia = np.sum(template**2) * np.eye(3) - template.T @ template
        position.append(np.sqrt(square / len(template)))
        rotation.append(square * np.linalg.inv(inertia))
    return PoseNoise(np.array(position), np.array(rotation))


def _bodies_of_motion(motion: Motion) -> Bodies:
    rotations, places = motion.world()
    names = motion.skeleton.names
    return Bodies(places, rotations, names, motion.rate, subject=motion.skeleton.subject)
