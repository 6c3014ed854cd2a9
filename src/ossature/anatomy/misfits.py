"""Markers that do not lie where a moving skeleton carries them."""

import numpy as np

from ossature.errors import BadValue, NotEnoughData
from ossature.maths.chain import place_points
from ossature.maths.quat import Array
from ossature.values import Motion, Recording

UNUSUAL = 8.0
"""Spreads (of a normal law) above a marker's median distance from which it is misplaced."""
LEAST = 0.012
"""Metres by which a misplaced marker is further off than usual: skin slides less than that."""


def marker_distances(motion: Motion, recording: Recording) -> tuple[Array, tuple[str, ...]]:
    """Distances (n_frames, n_markers) of recorded markers from where the skeleton carries them,
    NaN where not seen, and the body of each marker."""
    if recording.n_frames != motion.n_frames:
        raise BadValue(
            f"the recording has {recording.n_frames} frames, the motion {motion.n_frames}; "
            "give the recording that the motion was solved from"
        )
    carried = [
        (index, marker.position - body.joint.in_body, recording.names.index(marker.name))
        for index, body in enumerate(motion.skeleton.bodies)
        for marker in body.markers
        if marker.name in recording.names
    ]
    if not carried:
        raise NotEnoughData(
            "the skeleton carries none of the recording's markers; "
            "give motion.glb or motion.oss, which keep them, and not BVH"
        )
    bodies, places, columns = zip(*carried, strict=True)
    model = place_points(*motion.world(), bodies, np.array(places))
    away = np.linalg.norm(recording.positions[:, list(columns)] - model, axis=-1)
    return away, tuple(motion.skeleton.names[body] for body in bodies)


def marker_misfits(motion: Motion, recording: Recording) -> dict[str, Array]:
    """Body → (n_frames,) how unusual the worst of its markers is; above 1: misplaced.

    What is usual for a marker is what it does in most of the take.
    """
    away, bodies = marker_distances(motion, recording)
    found: dict[str, Array] = {}
    for column, body in enumerate(bodies):
        seen = away[:, column][np.isfinite(away[:, column])]
        if not len(seen):
            continue
        usual = np.median(seen)
        spread = 1.4826 * np.median(np.abs(seen - usual))
        misfit = (away[:, column] - usual) / max(UNUSUAL * spread, LEAST)
        found[body] = np.fmax(found.get(body, np.full(len(away), np.nan)), misfit)
    return found
