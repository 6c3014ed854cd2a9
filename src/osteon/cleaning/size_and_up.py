"""Is what was recorded as large as anything that lives, and which way is up? Wrong units end here.

Where the file does not say what is up, or cannot be right: from the feet to the head.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.errors import BadValue
from osteon.formats import LOOKS, METRES, TO_Z_UP, metres_per, stance_of, turn_points
from osteon.human import Landmark, human, scale_of
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Recording

HUMAN_SIZES = (0.15, 2.0)
"""Ratios of a person's size to the average adult's. Chosen: a newborn that curls up, a giant that
reaches up; every pair of metres, centimetres and millimetres that is mixed up lies outside."""
CREATURE_SPANS = (0.02, 30.0)
"""Metres that markers span. Chosen: nothing longer lives, and in smaller ones every marker is as
near to its neighbour as skin moves it."""
FEWEST_LANDMARKS = 4
"""Count of labels that tell a size. Chosen: how far two or three lie apart, the pose decides."""
LIKELY_SIZES = (0.28, 1.5)
"""Ratios to the average adult of whom there is no doubt. Chosen: from a newborn to the tallest
there ever was."""
UNIT_WORDS = {"m": "metres", "cm": "centimetres", "mm": "millimetres", "in": "inches"}
SURE_SHARE = 0.8
"""Share of the mean feet-to-head direction that must lie along one axis. Chosen: within 37° of
it."""
STEADY_SHARE = 0.5
"""Share of the feet-to-head distance that must be left of it on average. Chosen: who tumbles has no
up."""
FLAT_RATIO = 0.5
"""Ratio of height to length of somebody who lies, at most. Chosen: at least twice as long as
high."""
TRAVEL_DISTANCE = 0.5
"""Metres. Chosen: who gets as far as this does not lie."""
HANDS_HEIGHT = 0.1
"""Metres that hands are above the head of somebody whose feet are. Chosen: then one is hung up, or
upside down."""
FLOOR_DEPTH = -0.5
"""Metres. Chosen: where the lowest markers are so far below the floor, and the feet are the
highest, z points down."""
_TURNS = {
    "x": TO_Z_UP["x"],
    "y": TO_Z_UP["y"],
    "-x": quat.inverse(TO_Z_UP["x"]),
    "-y": quat.inverse(TO_Z_UP["y"]),
    "-z": np.array([0.0, 1.0, 0.0, 0.0]),
}
"""By the axis that points up, as read, the rotation to z up."""


def check_size(recording: Recording, found: dict[str, Landmark]) -> None:
    """Refuse markers that span what no subject can.

    Parameters
    ----------
    found
        The recording's labels on the average human; where there are none it may be any creature.
    """
    ratio = _of_average(recording, found)
    if ratio is not None:
        if not HUMAN_SIZES[0] < ratio < HUMAN_SIZES[1]:
            tall = f"the figure would be {length_text(ratio * human().height)} tall"
            really = "; for a figure that really is: `template=none`"
            raise BadValue(_question(recording, tall, ratio) + really)
        return
    stance = stance_of(recording.positions)
    span = 0.0 if stance is None else float(stance.height.max())
    if span and not CREATURE_SPANS[0] < span < CREATURE_SPANS[1]:
        wide = f"the markers would span {length_text(span)}"
        raise BadValue(_question(recording, wide, span) + _other_units(recording, span))


def _of_average(recording: Recording, found: dict[str, Landmark]) -> float | None:
    """How large the recorded person is, 1.0 for the average; by how far markers lie apart."""
    at = {label: mark.at for label, mark in found.items() if mark.at is not None}
    labels = [label for label in recording.names if label in at]
    if len(labels) < FEWEST_LANDMARKS:
        return None
    points = recording.select(labels).positions[:: max(1, recording.n_frames // LOOKS)]
    template = np.where(np.isfinite(points), np.stack([at[label] for label in labels]), np.nan)
    whole = np.isfinite(points[..., 0]).sum(axis=1) >= FEWEST_LANDMARKS
    if not whole.any():
        return None
    return float(np.median(_spread(points[whole]) / _spread(template[whole])))


def sampled(recording: Recording, found: dict[str, Landmark]) -> dict[str, Array]:
    """Return places (n, 3) by label, of those known on the template, frames evenly spread."""
    labels = [label for label in recording.names if label in found and found[label].at is not None]
    points = recording.select(labels).positions[:: max(1, recording.n_frames // LOOKS)]
    return dict(zip(labels, np.moveaxis(points, 1, 0), strict=True))


def odd_size(recording: Recording, found: dict[str, Landmark]) -> float | None:
    """Tell how large the person is, 1.0 for the average, where nobody is so small or so large.

    Two measures must agree: poses change how far markers lie apart, and the distances that no pose
    changes may be few and short.
    """
    apart, observed = _of_average(recording, found), sampled(recording, found)
    if not apart:
        return None
    steady = scale_of({label: found[label] for label in observed}, observed)
    sizes = sorted((apart, steady), key=lambda size: abs(np.log(size)))
    return None if LIKELY_SIZES[0] < sizes[0] < LIKELY_SIZES[1] else sizes[0]


def _spread(points: Array) -> Array:
    """(n_frames,) RMS distance of the points seen, (n_frames, n_points, 3), from their middle."""
    off = points - np.nanmean(points, axis=1, keepdims=True)
    return np.sqrt(np.nanmean(np.sum(off**2, axis=-1), axis=1))


def _question(recording: Recording, what: str, size: float) -> str:
    """``size`` is near 1 where the unit is right."""
    unit, file = recording.source.unit, recording.source.file
    steps = {u: abs(np.log(size * METRES[u] / metres_per(unit))) for u in UNIT_WORDS}
    likely = min(steps, key=lambda u: steps[u])
    factor, asked = METRES[likely] / metres_per(unit), f"are these {UNIT_WORDS[likely]}?"
    if likely == unit:  # no unit explains it: somebody multiplied by a power of ten
        factor = 10.0 ** -np.rint(np.log10(size))
        asked = "ten times too large, or more?" if size > 1.0 else "ten times too small, or more?"
    if not file:
        how = f"then multiply them by {factor:g}"
    elif recording.source.format == "CSV" and likely != unit:
        how = f"a line '# unit={likely}' above the header says so"
    else:
        how = f"then: osteon convert {file} mended-{file} --scale {factor:g}"
    name = f"{file}: " if file else ""
    return f"{name}{what}, read as {UNIT_WORDS.get(unit, unit)}; {asked} {how}"


def _other_units(recording: Recording, span: float) -> str:
    """Of a creature, which may be of any size: what else to multiply by."""
    unit = recording.source.unit
    factors = {u: METRES[u] / metres_per(unit) for u in UNIT_WORDS if u != unit}
    likely = min(factors, key=lambda u: abs(np.log(span * factors[u])))
    low, high = CREATURE_SPANS
    others = [u for u, factor in factors.items() if u != likely and low < span * factor < high]
    if recording.source.format == "CSV":
        told = [f"unit={u}" for u in others]
    else:
        told = [f"{factors[u]:g} for {UNIT_WORDS[u]}" for u in others]
    return f" (or {', '.join(told)})" if told else ""


def length_text(metres: float) -> str:
    """Say a length as people do: 1.7 km, 17 m, 17 cm, 1.7 mm."""
    for unit, name in ((1e3, "km"), (1.0, "m"), (1e-2, "cm")):
        if metres >= unit:
            return f"{metres / unit:{'.2g' if metres < 100 * unit else '.0f'}} {name}"
    return f"{1e3 * metres:.2g} mm"


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
    plates = tuple(plate.turned(quat.to_matrix(_TURNS[way])) for plate in recording.plates)
    return replace(recording, plates=plates).with_positions(
        turned, did=f"turned from {way} up to z up"
    )


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
    level = np.delete(centroid(recording.positions[recording.seen.any(axis=1)]), axis, axis=1)
    return bool(np.linalg.norm(np.ptp(level, axis=0)) > TRAVEL_DISTANCE)


def _head_down(recording: Recording, found: dict[str, Landmark]) -> bool:
    """Whether it is the world that is upside down: on one's hands they are below the head."""
    hands, head = (
        _middle(recording, [label for label, mark in found.items() if mark.body.endswith(ends)])
        for ends in (("hand", "forearm"), ("head",))
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
    columns = [recording.index(name) for name in names if name in recording.names]
    return centroid(recording.positions[:, columns])


def centroid(points: Array) -> Array:
    """(n_frames, 3) middle of the points seen, (n_frames, n_points, 3); NaN where none is."""
    seen = np.isfinite(points[..., :1])
    count = seen.sum(axis=1)
    total = np.where(seen, points, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
