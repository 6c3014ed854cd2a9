"""A solved take → the recording, cleaned, with what the rig knows beside what cameras saw."""

from dataclasses import replace

import numpy as np

from osteon.cleaning import fill
from osteon.human import words_for_joint
from osteon.maths import runs
from osteon.pipeline.solved import Solved
from osteon.typing import Array
from osteon.values import Recording, Skeleton

MODEL_ENDING, CENTRE_ENDING = "_model", "_centre"


def clean_take(solved: Solved) -> Recording:
    """Return the markers of a solved take without exchanged labels, spikes and gaps, and after them
    where the rig has each (``LTHI_model``) and the joint centres (``left_knee_centre``).

    Gaps are filled from neighbouring markers, and where those are silent too from the rig. Only
    what cameras saw keeps its residual: all else has 0, and counts as no evidence when read again.
    """
    skeleton, motion = solved.skeleton, solved.motion
    carried = skeleton.marker_places(solved.recording.names)
    model = motion.points(carried.bodies, carried.places)
    joints = [index for index, parent in enumerate(skeleton.parents) if parent >= 0]
    centres = motion.world()[1][:, joints]
    filled = _fill_from_rig(fill(solved.recording), carried.names, model, motion.held)
    names = [f"{name}{MODEL_ENDING}" for name in carried.names]
    names += [_centre_name(skeleton, index) for index in joints]
    return _with_points(filled, names, np.concatenate([model, centres], axis=1))


def _centre_name(skeleton: Skeleton, index: int) -> str:
    """Return what the joint that a body hangs on is called among points."""
    body = skeleton.names[index]
    words = words_for_joint(body)
    return f"{body if words is None else words.name.replace(' ', '_')}{CENTRE_ENDING}"


def _fill_from_rig(
    recording: Recording, names: tuple[str, ...], model: Array, held: tuple[int, ...]
) -> Recording:
    """Fill what is still missing by the rig's own marker, led to where the real one is seen."""
    positions = np.array(recording.positions)
    posed = np.ones(recording.n_frames, dtype=bool)
    posed[list(held)] = False
    for column, name in enumerate(names):
        marker = recording.index(name)
        shown = np.flatnonzero(recording.seen[:, marker])
        if not len(shown):
            continue
        off = positions[shown, marker] - model[shown, column]
        for first, last in runs(~recording.seen[:, marker] & posed):
            frames = np.arange(first, last + 1)
            between = [np.interp(frames, shown, off[:, axis]) for axis in range(3)]
            positions[frames, marker] = model[frames, column] + np.stack(between, axis=-1)
    new = np.isfinite(positions[..., 0]) & ~recording.seen
    if not new.any():
        return recording
    return recording.with_filled(positions, new, f"filled {new.sum()} samples from the rig")


def _with_points(recording: Recording, names: list[str], points: Array) -> Recording:
    """Return the recording with points that no camera saw."""
    names = [name if name not in recording.names else f"{name}{MODEL_ENDING}" for name in names]
    known = recording.residuals
    if known is None:  # so that what was measured differs from what was not
        known = np.full(recording.seen.shape, np.nan)
    return replace(
        recording,
        positions=np.concatenate([recording.positions, points], axis=1),
        names=(*recording.names, *names),
        residuals=np.concatenate([known, np.zeros(points.shape[:2])], axis=1),
        history=(*recording.history, f"added {len(names)} points of the rig"),
    )
