"""Which way is up, where the file does not say or cannot be right: from the feet to the head."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.formats import TO_Z_UP, stance_of, turn_points
from osteon.human import Landmark
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Recording

SURE_SHARE = 0.8
"""Share of the mean feet-to-head direction that must lie along one axis."""
STEADY_SHARE = 0.5
"""Share of the feet-to-head distance that must be left of it on average: who tumbles has no up."""
FLAT_RATIO = 0.5
"""Height by length of somebody who lies, at most."""
TRAVEL_DISTANCE = 0.5
"""Metres: who gets as far as this does not lie."""
HANDS_HEIGHT = 0.1
"""Metres that hands are above the head of somebody whose feet are: hung up, or upside down."""
FLOOR_DEPTH = -0.5
"""Metres: where the lowest markers are so far below the floor, and the feet are the highest, z
points down."""
_TURNS = {
    "x": TO_Z_UP["x"],
    "y": TO_Z_UP["y"],
    "-x": quat.inverse(TO_Z_UP["x"]),
    "-y": quat.inverse(TO_Z_UP["y"]),
    "-z": np.array([0.0, 1.0, 0.0, 0.0]),
}
"""By the axis that points up, as read, the rotation to z up."""


def upright(recording: Recording, found: dict[str, Landmark]) -> Recording:
    """Turn the recording to z up, where the file does not say what is and the performer does."""
    way = "z" if recording.source.up_known else stands_along(recording, found)
    if way == "z":
        return recording
    said = f"the file does not say which axis is up; {way} judged from how the performer stands"
    source = replace(recording.source, problems=(*recording.source.problems, said))
    if way in TO_Z_UP:
        source = replace(source, up=way)
    return replace(stood_up(recording, way), source=source)


def stood_up(recording: Recording, way: str) -> Recording:
    """Turn it to z up, where ``way`` is up as it is."""
    turned = turn_points(recording.positions, _TURNS[way])
    return recording.with_positions(turned, did=f"turned from {way} up to z up")


def stands_along(recording: Recording, found: dict[str, Landmark]) -> str:
    """Judge which axis points up, by the performer: ``z`` where nothing else is sure.

    People stand more than they lie: the direction from the lower to the upper landmarks, averaged
    over the take, points up. Where no set is known, what is tall and keeps to a floor stands.
    """
    heads = _feet_to_head(recording, found)
    if heads is None:
        stance = stance_of(recording.positions)
        return (stance.up() if stance else None) or "z"
    mean = heads.mean(axis=0)
    axis, length = int(np.argmax(np.abs(mean))), float(np.linalg.norm(mean))
    steady = length > STEADY_SHARE * float(np.mean(np.linalg.norm(heads, axis=1)))
    if not steady or abs(mean[axis]) < SURE_SHARE * length:
        return "z"
    if axis == 2:
        return "-z" if mean[2] < 0.0 and _head_down(recording, found) else "z"
    sign = -1 if mean[axis] < 0.0 else 1
    way = ("-" if sign < 0 else "") + "xyz"[axis]
    return way if _stands(recording, axis, sign) else "z"


def _stands(recording: Recording, axis: int, sign: int) -> bool:
    """Whether who is stretched along a level axis stands, and does not lie on the floor.

    Where the file says which axis is up, nobody who stays in place is taken to stand.
    """
    upside = stance_of(sign * recording.positions)
    on_feet = upside is not None and upside.up() == "xyz"[axis]
    if recording.source.up_known:
        return on_feet and _travels(recording, axis)
    return on_feet or not _flat(recording, axis)


def _flat(recording: Recording, axis: int) -> bool:
    stance = stance_of(recording.positions)
    if stance is None:
        return False
    on_floor = -0.1 < stance.floor[2] < 0.3 and stance.unrest[2] < 0.1
    return bool(on_floor and stance.height[2] < FLAT_RATIO * stance.height[axis])


def _travels(recording: Recording, axis: int) -> bool:
    level = np.delete(_centroid(recording.positions[recording.seen.any(axis=1)]), axis, axis=1)
    return bool(np.linalg.norm(np.ptp(level, axis=0)) > TRAVEL_DISTANCE)


def _head_down(recording: Recording, found: dict[str, Landmark]) -> bool:
    """Whether it is the world that is upside down: on one's hands they are below the head."""
    head = _middle(recording, [label for label, mark in found.items() if mark.body == "head"])
    hands = _middle(
        recording,
        [label for label, mark in found.items() if mark.body.endswith(("hand", "forearm"))],
    )
    above = hands[:, 2] - head[:, 2]
    if np.isfinite(above).any():
        return float(np.nanmedian(above)) > HANDS_HEIGHT
    stance = stance_of(recording.positions)
    return stance is not None and stance.floor[2] < FLOOR_DEPTH


def _feet_to_head(recording: Recording, found: dict[str, Landmark]) -> Array | None:
    """(n, 3) in the frames that show both; None where the set does not say what is low or high."""
    heights = {
        name: float(landmark.at[2])
        for name, landmark in found.items()
        if landmark.at is not None and name in recording.names
    }
    if len(heights) < 4:
        return None
    names = sorted(heights, key=lambda name: heights[name])
    quarter = max(1, len(names) // 4)
    way = _middle(recording, names[-quarter:]) - _middle(recording, names[:quarter])
    way = way[np.isfinite(way[:, 0])]
    return way if len(way) else None


def _middle(recording: Recording, names: Sequence[str]) -> Array:
    """(n_frames, 3) of those seen; NaN where none is."""
    points = recording.positions[:, [recording.index(n) for n in names if n in recording.names]]
    return _centroid(points)


def _centroid(points: Array) -> Array:
    seen = np.isfinite(points[..., :1])
    count = seen.sum(axis=1)
    total = np.where(seen, points, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
