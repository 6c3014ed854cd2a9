"""Where a limb's right is, by epicondyles, motion and template, and by all of them together."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from osteon.anatomy.frame_recipes import MARK_SIGMA, RIGHT, FrameInput, MarkedFigure
from osteon.maths import quat
from osteon.typing import Array

AXIS_FLOOR = np.radians(3.0)
"""Radians that an axis from motion is unsure by at least; measured: so far from the anatomical one,
rms, where the markers of four people with known bones are clean."""
OPENSIM_STRAIGHT = np.radians(0.9)
"""Radians by which hip, knee and ankle of OpenSim's models lie beside one plane square to the
thigh's right; measured on clean takes in view: 0.4 in Rajagopal's, 1.3 in gait2392's."""
LEAST_LEG_BEND = np.radians(5.0)
"""Radians of a knee's mean bend from which hip, knee and ankle show a plane; chosen: below it
joints known to 3 mm leave more than 10° open."""
SWING_NOISE = np.radians(0.5)
"""Radians that a shin sways across its plane without anybody seeing it; chosen: who stands shows no
axis, whatever the noise of that stand may point to."""
LEAST_SHARE = 0.1
"""Share of what tells an axis from which on it is named; chosen: less turns it by a degree."""


class Axis(NamedTuple):
    """A direction to the right."""

    source: str
    """``landmarks``, ``motion`` or ``template``."""
    told: str
    """What it was made of, in words."""
    way: FrameInput
    swings: bool = False
    """Whether it is square to how a knee swings: not where the leg is on average."""


def surest(axes: Sequence[Axis]) -> Axis:
    """Return the one of which most is known."""
    return min(axes, key=lambda axis: axis.way.sigma)


def together(axes: Sequence[Axis]) -> tuple[Axis, float]:
    """Return what axes of this person say together, each by its certainty, and the swing's share.

    The template's counts where it is the surest alone: it knows nothing of this person.
    """
    source = surest(axes).source
    counted = [axis for axis in axes if axis.source in (source, "landmarks", "motion")]
    weights = np.array([axis.way.sigma**-2.0 for axis in counted])
    shares = weights / weights.sum()
    over_time = [share * axis.way.over_time for share, axis in zip(shares, counted, strict=True)]
    by_share = sorted(zip(shares, counted, strict=True), key=lambda each: -each[0])
    told = " with ".join(axis.told for share, axis in by_share if share > LEAST_SHARE)
    mean = FrameInput(quat.normalise(np.sum(over_time, axis=0)), float(weights.sum() ** -0.5))
    swung = sum(share for share, axis in by_share if axis.swings)
    return Axis(source, told, mean), float(swung)


def knee_axes(figure: MarkedFigure, side: str) -> list[Axis]:
    """What may tell the thigh's right: the motion of the knee, both epicondyles, the template."""
    thigh = f"{side}_thigh"
    axes = [Axis("template", "the template's knee axis", figure.rest(thigh, RIGHT))]
    marks = figure.marks(f"{side}_knee_lateral", f"{side}_knee_medial")
    if marks is not None:
        axes.append(Axis("landmarks", "both epicondyles", line_through(marks, side)))
    if figure.has(f"{side}_foot"):
        axes.append(_swing_axis(figure, side))
        plane = _plane_axis(figure, side) if figure.convention == "opensim" else None
        axes += [plane] if plane else []
    return axes


def _swing_axis(figure: MarkedFigure, side: str) -> Axis:
    """The axis square to the plane in which the shin swings, as the thigh sees it.

    It leaves the knee the least abduction that any axis square to the thigh does.
    """
    swing = _shin_in_thigh(figure, side)[1]
    swing -= swing.mean(axis=0)
    sizes, ways = np.linalg.eigh(swing.T @ swing / len(swing))
    across, along = np.sqrt(np.maximum(sizes[1:], 1e-12))
    told = f"the knee's axis from motion ({np.degrees(along):.0f}° rms of bending)"
    sigma = float(np.hypot(np.hypot(across, SWING_NOISE) / along, AXIS_FLOOR))
    axis = figure.way(f"{side}_thigh", _to_the_right(ways[:, 1]), sigma)
    return Axis("motion", told, axis, swings=True)


def _plane_axis(figure: MarkedFigure, side: str) -> Axis | None:
    """The axis square to the mean plane of hip, knee and ankle; None where the leg is straight.

    Flesh that slides as the knee bends turns the plane of the swing, but not this mean. Whose legs
    are not straight from the front has it turned; OpenSim's models have none but straight ones.
    """
    long, swing = _shin_in_thigh(figure, side)
    mean = swing.mean(axis=0)
    bend = float(np.arcsin(min(np.linalg.norm(mean), 1.0)))
    if bend < LEAST_LEG_BEND:
        return None
    hip, knee, ankle = (figure.joint(f"{side}_{part}") for part in ("thigh", "shin", "foot"))
    thigh, shin = (
        float(np.nanmean(np.linalg.norm(above.over_time - below.over_time, axis=-1)))
        for above, below in ((hip, knee), (knee, ankle))
    )
    axis = _to_the_right(quat.normalise(np.cross(mean, long)))
    told = f"the mean plane of the leg ({np.degrees(bend):.0f}° bent)"
    ends = (hip.sigma / thigh, knee.sigma / thigh + knee.sigma / shin, ankle.sigma / shin)
    sigma = float(np.linalg.norm([OPENSIM_STRAIGHT, *ends])) / np.sin(bend)
    return Axis("motion", told, figure.way(f"{side}_thigh", axis, sigma))


def _shin_in_thigh(figure: MarkedFigure, side: str) -> tuple[Array, Array]:
    """Return the thigh's length (3,) as its body has it, and the way up the shin (n_frames, 3)
    square to that."""
    thigh, shin, foot = (f"{side}_{part}" for part in ("thigh", "shin", "foot"))
    hip, knee, ankle = (figure.joint(body).over_time for body in (thigh, shin, foot))
    back = quat.inverse(figure.turn(thigh))
    long = quat.normalise(np.nanmean(quat.rotate(back, hip - knee), axis=0))
    swing = quat.normalise(quat.rotate(back, knee - ankle))
    return long, swing - np.outer(swing @ long, long)


def _to_the_right(axis: Array) -> Array:
    """Return an axis of a leg's body, whose y is to the left, so signed that it is to the right."""
    return axis if axis[1] < 0.0 else -axis


def line_through(marks: Sequence[FrameInput], side: str) -> FrameInput:
    """The direction to the right through a lateral and a medial mark."""
    lateral, medial = (mark.over_time for mark in marks)
    away = lateral - medial if side == "right" else medial - lateral
    size = float(np.nanmean(np.linalg.norm(away, axis=-1)))
    return FrameInput(quat.normalise(away), np.sqrt(2.0) * MARK_SIGMA / size)
