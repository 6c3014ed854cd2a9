"""The device that laboratories clamp to knees while people stand: three markers on stems of one
length, square to each other, which meet where the marker on the knee would be. The first stem is
the knee's axis."""

from dataclasses import replace

import numpy as np

from osteon.typing import Array
from osteon.values import Recording

DEVICE_LABELS = ("KAX", "KD1", "KD2")
"""Labels, without their side: at the end of the stem along the knee's axis, and of the others."""
KNEE_LABEL = "KNE"
"""Label, without its side, of the marker in whose place the device is clamped."""


def with_knee_markers(recording: Recording) -> Recording:
    """Return a recording in which a knee's device has become the marker that it stands for.

    Its own markers, a hand's breadth beside the knee, are left out, also where the knee has its
    marker.
    """
    for side in "LR":
        labels = [f"{side}{label}" for label in DEVICE_LABELS]
        if set(labels) <= set(recording.names):
            recording = _without_device(recording, labels, f"{side}{KNEE_LABEL}")
    return recording


def _without_device(recording: Recording, labels: list[str], knee: str) -> Recording:
    others = [name for name in recording.names if name not in labels]
    ends = np.stack([recording.positions[:, recording.index(label)] for label in labels], axis=1)
    if not np.isfinite(ends).all(axis=(1, 2)).any():
        return recording  # labels of a standing trial that are kept in a walk's list
    if knee in others and recording.seen[:, recording.index(knee)].any():
        return recording.select(others, did=f"left out the device at {knee}")
    rest = recording.select([name for name in others if name != knee])
    point = _meeting_point(ends, np.nanmean(rest.positions, axis=1))
    known = recording.residuals
    if known is not None:
        own = known[:, [recording.index(label) for label in labels]].max(axis=1, keepdims=True)
        known = np.concatenate([known[:, [recording.index(n) for n in rest.names]], own], axis=1)
    return replace(
        rest,
        positions=np.concatenate([rest.positions, point[:, None]], axis=1),
        names=(*rest.names, knee),
        residuals=known,
        history=(*rest.history, f"{knee} from the device clamped to the knee"),
    )


def _meeting_point(ends: Array, body: Array) -> Array:
    """(n_frames, 3) where the stems meet: on the side of the body."""
    first, second, third = ends.swapaxes(0, 1)
    normal = np.cross(second - first, third - first)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    sides = [np.linalg.norm(a - b, axis=-1) for a, b in ((first, second), (second, third))]
    # a corner of a cube stands so far above the triangle of its three neighbours
    height = np.mean([*sides, np.linalg.norm(third - first, axis=-1)], axis=0)[:, None] / np.sqrt(
        6.0
    )
    middle = ends.mean(axis=1)
    inward = np.nansum((body - middle) * normal, axis=-1).sum() > 0.0
    return middle + (height if inward else -height) * normal
