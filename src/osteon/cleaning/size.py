"""Is what was recorded as large as anything that lives? Wrong units end here."""

import numpy as np

from osteon.errors import BadValue
from osteon.formats import LOOKS, METRES, metres_per, stance_of
from osteon.human import Landmark, human, scale_of
from osteon.typing import Array
from osteon.values import Recording

HUMAN_SIZES = (0.15, 2.0)
"""Size of a person, in average adults: a newborn that curls up, a giant that reaches up. Every
pair of metres, centimetres and millimetres that is mixed up lies outside."""
CREATURE_SPANS = (0.02, 30.0)
"""Metres that markers span: nothing longer lives, and smaller than this every marker is as near to
its neighbour as skin moves it."""
LIKELY_SIZES = (0.28, 1.5)
"""The same for whom there is no doubt: from a newborn to the tallest there ever was."""
UNIT_WORDS = {"m": "metres", "cm": "centimetres", "mm": "millimetres", "in": "inches"}


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
        raise BadValue(_question(recording, f"the markers would span {length_text(span)}", span))


def _of_average(recording: Recording, found: dict[str, Landmark]) -> float | None:
    """How large the recorded person is, 1.0 for the average; by how far markers lie apart."""
    at = {label: mark.at for label, mark in found.items() if mark.at is not None}
    labels = [label for label in recording.names if label in at]
    if len(labels) < 2:
        return None
    points = recording.select(labels).positions[:: max(1, recording.n_frames // LOOKS)]
    template = np.where(np.isfinite(points), np.stack([at[label] for label in labels]), np.nan)
    whole = np.isfinite(points[..., 0]).sum(axis=1) >= 2
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
    unit = recording.source.unit
    steps = {u: abs(np.log(size * METRES[u] / metres_per(unit))) for u in UNIT_WORDS if u != unit}
    likely = min(steps, key=lambda u: steps[u])
    file, factor = recording.source.file, METRES[likely] / metres_per(unit)
    name = f"{file}: " if file else ""
    if not file:
        how = f"then multiply them by {factor:g}"
    elif recording.source.format == "CSV":
        how = f"a line '# unit={likely}' above the header says so"
    else:
        how = f"then: osteon convert {file} mended-{file} --scale {factor:g}"
    return (
        f"{name}{what}, read as {UNIT_WORDS.get(unit, unit)}; are these {UNIT_WORDS[likely]}? {how}"
    )


def length_text(metres: float) -> str:
    """Say a length as people do: 1.7 km, 17 m, 17 cm, 1.7 mm."""
    for unit, name in ((1e3, "km"), (1.0, "m"), (1e-2, "cm")):
        if metres >= unit:
            return (
                f"{metres / unit:.2g} {name}"
                if metres < 100 * unit
                else f"{metres / unit:.0f} {name}"
            )
    return f"{1e3 * metres:.2g} mm"
