"""Which way is up, where the file does not say: from the feet to the head."""

from dataclasses import replace

import numpy as np

from ossature.calibrate.marker_sets import Landmark
from ossature.maths import quat
from ossature.maths.quat import Array
from ossature.values import Recording

SURE = 0.8
"""Share of the mean feet-to-head direction that must lie along one axis."""
# x forward, y left of a y-up or x-up world become x and −z, or −z and y, of ours
_TURNS = {
    0: quat.from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(-np.pi / 2)),
    1: quat.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(np.pi / 2)),
}


def upright(recording: Recording, found: dict[str, Landmark]) -> Recording:
    """The recording turned to z up, where a known set shows that another axis is.

    People stand more than they lie: the direction from the lower to the upper landmarks, averaged
    over the take, points up. Where no axis stands out the recording stays as it is.
    """
    if recording.source.up_known:
        return recording
    direction = _feet_to_head(recording, found)
    axis = int(np.argmax(np.abs(direction)))
    if axis == 2 or direction[axis] < SURE * np.linalg.norm(direction):
        return recording
    turned = quat.rotate(_TURNS[axis], recording.positions)
    source = replace(recording.source, up="xyz"[axis])
    done = recording.with_positions(turned, did=f"turned from {'xyz'[axis]} up to z up")
    return replace(done, source=source)


def _feet_to_head(recording: Recording, found: dict[str, Landmark]) -> Array:
    heights = {
        name: float(landmark.at[2])
        for name, landmark in found.items()
        if landmark.at is not None and name in recording.names
    }
    if len(heights) < 4:
        return np.array([0.0, 0.0, 1.0])
    names = sorted(heights, key=lambda name: heights[name])
    quarter = max(1, len(names) // 4)
    low = [recording.index(name) for name in names[:quarter]]
    high = [recording.index(name) for name in names[-quarter:]]
    both = recording.seen[:, low].any(axis=1) & recording.seen[:, high].any(axis=1)
    if not both.any():
        return np.array([0.0, 0.0, 1.0])
    frames = recording.positions[both]
    return np.mean(_centroid(frames[:, high]) - _centroid(frames[:, low]), axis=0)


def _centroid(points: Array) -> Array:
    seen = np.isfinite(points[..., :1])
    return np.where(seen, points, 0.0).sum(axis=1) / seen.sum(axis=1)
