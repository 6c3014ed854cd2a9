"""Markers that no set knows but that ride on a body all the same."""

from dataclasses import replace

import numpy as np

from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Marker, Motion, Recording

LOOSEST_RIDE = 0.015
"""Metres. A marker that strays farther than this from its mean place rides on nothing: chosen, more
than most skin does."""
FEWEST_FRAMES = 30
"""Frames a marker must be seen in: chosen."""


def add_riders(recording: Recording, motion: Motion, errors: Array) -> tuple[Motion, Array]:
    """Give the remaining markers to the bodies they keep still on; they did not shape the pose.

    Returns the motion on the extended skeleton, and ``errors`` (n_frames, n_markers) with the new
    markers' distances filled in.
    """
    carried = motion.skeleton.marker_names
    others = [name for name in recording.names if name not in carried]
    if not others or not motion.n_frames:
        return motion, errors
    rotations, joints = motion.world()
    bodies, errors = list(motion.skeleton.bodies), errors.copy()
    for name in others:
        column = recording.index(name)
        seen = np.flatnonzero(recording.measured[:, column])
        if len(seen) < FEWEST_FRAMES:
            continue
        point = recording.positions[seen, column][:, None]
        local = quat.rotate(quat.inverse(rotations[seen]), point - joints[seen])
        place = np.median(local, axis=0)
        distance = np.linalg.norm(local - place, axis=-1)
        rms = np.sqrt(np.mean(distance**2, axis=0))
        best = int(np.argmin(rms))
        if rms[best] <= LOOSEST_RIDE:
            body = bodies[best]
            rider = Marker(name, place[best] + body.joint.in_body, rms=float(rms[best]))
            bodies[best] = replace(body, markers=(*body.markers, rider))
            errors[seen, column] = distance[:, best]
    skeleton = replace(motion.skeleton, bodies=tuple(bodies))
    return replace(motion, skeleton=skeleton), errors
