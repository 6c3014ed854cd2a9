"""Markers that do not lie where a moving skeleton carries them."""

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.maths import NORMAL_RATIO
from osteon.typing import Array
from osteon.values import Motion, Recording

UNUSUAL_RATIO = 8.0
"""Standard deviations (of a normal law) above a marker's median distance from which it may be
misplaced; chosen: skin slides further than a normal law allows, how often it is right:
docs/numbers/accuracy.md."""
LEAST_MISFIT = 0.012
"""Metres by which a misplaced marker is further off than usual; chosen: where skin begins, see
below."""
STRAY_DISTANCE = 0.04
"""Metres by which a marker counts as misplaced even where no other belongs. Chosen, for there is no
gap in what was measured: skin was 0.012 to 0.03 off in a real walk, drop jump and squats; in a
vigorous take distances run on from there to 0.1."""


def carried_markers(motion: Motion, recording: Recording) -> tuple[Array, Array, tuple[str, ...]]:
    """Return where a recording's markers are, NaN where not seen, and where the skeleton carries
    them, both (n_frames, n_markers, 3); and the body of each."""
    if recording.n_frames != motion.n_frames:
        raise BadValue(
            f"the recording has {recording.n_frames} frames, the motion {motion.n_frames}; "
            "give the recording that the motion was solved from"
        )
    carried = motion.skeleton.marker_places(recording.names)
    if not carried.names:
        raise NotEnoughData(
            "the skeleton carries none of the recording's markers; "
            "give motion.glb or motion.osteon, which keep them, and not BVH"
        )
    columns = [recording.names.index(name) for name in carried.names]
    model = motion.points(carried.bodies, carried.places)
    names = motion.skeleton.names
    return recording.positions[:, columns], model, tuple(names[body] for body in carried.bodies)


def marker_misfits(motion: Motion, recording: Recording) -> dict[str, Array]:
    """Body → (n_frames,) how unusual the worst of its markers is; above 1: misplaced.

    What is usual for a marker is what it does in most of the take. One that is unusually far off
    is misplaced where it lies nearer to another's place than to its own, as swapped ones do, or
    is as far off as ``STRAY_DISTANCE``.
    """
    found: dict[str, Array] = {}
    points, model, bodies = carried_markers(motion, recording)
    for column, body in enumerate(bodies):
        away = np.linalg.norm(points[:, column] - model[:, column], axis=-1)
        seen = away[np.isfinite(away)]
        if not len(seen):
            continue
        usual = np.median(seen)
        spread = NORMAL_RATIO * np.median(np.abs(seen - usual))
        misfit = (away - usual) / max(UNUSUAL_RATIO * spread, LEAST_MISFIT)
        slid = np.flatnonzero((misfit > 1.0) & (away - usual < STRAY_DISTANCE))
        nearest = np.linalg.norm(points[slid, column, None] - model[slid], axis=-1).argmin(axis=-1)
        misfit[slid[nearest == column]] = 1.0
        found[body] = np.fmax(found.get(body, np.full(len(away), np.nan)), misfit)
    return found
