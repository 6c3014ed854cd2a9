"""Legs as Plug-in Gait builds them: each joint centre from the one above it, a marker on the outer
side, and a wand [Davis 1991] [Kadaba 1990].

A knee's centre lies half a knee's breadth inside its marker, square to the thigh, in the plane of
hip, marker and wand; an ankle's likewise below the knee. So frames follow markers as they were
recorded and not the rig, and where a wand sits askew they do, too. What a laboratory measured on
the person, or found in the standing trial (how far a wand is turned), stands in some files.
"""

from dataclasses import dataclass, replace

import numpy as np

from osteon.anatomy.frame_recipes import (
    MARK_SIGMA,
    FrameInput,
    FrameRecipe,
    MarkedFigure,
    frame,
)
from osteon.human import DEVICE_LABELS, MARKER_RADIUS, davis_hip
from osteon.maths import quat
from osteon.typing import Array

PLACES = {
    "THI": "thigh_outer",
    "KNE": "knee_lateral",
    "TIB": "shin_outer",
    "ANK": "malleolus_lateral",
    "TOE": "metatarsal_2",
}
"""Plug-in Gait's labels without their side → the template's landmarks."""
KNEE_RATIO, ANKLE_RATIO = 0.117, 0.078
"""Ratios of a knee's and an ankle's breadth to the leg's length, where nobody measured them.
Measured on the two people in view whose files state them: 0.115 to 0.119, 0.069 to 0.088."""
WAND_LIMIT = np.radians(25.0)
"""Radians between a wand and the plane in which the joint bends, beyond two deviations of that
plane, from which on the wand cannot be meant to show it. Chosen: twice the 10 to 15° by which
careful hands miss."""
UNSTATED = (
    "the file states neither how broad the knees are nor how wands were corrected (LKneeWidth, "
    "LThighRotation … in PROCESSING): hip rotation may be off by a constant of 10° and more, "
    "flexion of hip and knee by 4°"
)
"""What wands alone leave open; measured: up to 17° and 4.2° in four files of docs/numbers."""
LOW_SHARE, LOW_HEIGHT = 0.05, 0.015
"""Share of frames with the lowest toes, and metres above these, in which toes are on the ground.
Chosen: floors and skin differ by so much."""
STILL_RATE = np.radians(20.0)
"""Radians per second of pitch, up to which a foot lies on the ground. Chosen: heels rise by 100°
and more a second; of 8 to 30° every one gives the same zero within 1.5°."""
FRONT, LEVEL = np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0])
TURN_STEPS = 12
"""Count of steps that turn a wand's plane about the bone whose end it decides. Chosen: each leaves
less than a fifth of the error of the one before."""


@dataclass(frozen=True)
class BuiltBone:
    """A thigh or a shin: the joint centre above and below, and what shows its right."""

    above: Array
    below: Array
    right: Array
    """(n_frames, 3) to the right, square to the bone: the line through the marker beside it."""
    sigma: float
    """Deviation of ``right``, radians."""
    told: str
    doubt: str = ""


def marks_of(figure: MarkedFigure, side: str) -> dict[str, Array]:
    """Return the markers of Plug-in Gait's leg that are there, by their labels without the side."""
    found = {label: figure.worn(side, label, place) for label, place in PLACES.items()}
    return {label: path for label, path in found.items() if path is not None}


def is_worn(figure: MarkedFigure, side: str) -> bool:
    """Whether all of them are there."""
    return marks_of(figure, side).keys() == PLACES.keys()


def leg_of(
    figure: MarkedFigure,
    side: str,
    pelvis: list[FrameInput],
    swing: FrameInput,
    foot: FrameRecipe,
) -> dict[str, FrameRecipe]:
    """Return the frames of thigh, shin, shin as the ankle sees it, and foot.

    Parameters
    ----------
    pelvis
        Left and right ASIS, both PSIS or the sacrum.
    swing
        The knee's axis as motion, epicondyles or the template show it: where nothing tells how far
        a wand is turned.
    foot
        Its frame otherwise: where no standing trial tells how it stood.
    """
    measures = _Measures(figure, side, pelvis)
    marks = marks_of(figure, side)
    thigh = _thigh(figure, measures, _hip(measures, side, pelvis), marks, swing)
    axis = None
    if not measures.known and figure.has_labels(side, DEVICE_LABELS):
        axis = figure.carried(f"{side}_shin", thigh.right).over_time
    shin = _bone(measures, "shank", thigh.below, marks["TIB"], marks["ANK"], axis)
    torsion = measures.angle("tibial_torsion")
    unturned = -torsion if side == "right" else torsion
    knee_right = _turned(shin.right, shin.above - shin.below, unturned)
    recipes = {
        f"{side}_thigh": _limb(thigh, "Davis' hip centre", thigh.right),
        f"{side}_shin": _limb(shin, "Plug-in Gait's knee centre", knee_right),
        f"{side}_malleoli": _limb(shin, "Plug-in Gait's knee centre", shin.right),
    }
    toe = FrameInput(marks["TOE"], MARK_SIGMA)
    own = [FrameInput(shin.below, MARK_SIGMA), toe, FrameInput(knee_right, shin.sigma)]
    recipes[f"{side}_foot"] = _foot(measures, side, own, foot, figure.rate)
    return recipes


class _Measures:
    """What is known of a leg: as the file states it, else by the leg's length."""

    def __init__(self, figure: MarkedFigure, side: str, pelvis: list[FrameInput]) -> None:
        self.side, self.stated = side, figure.measures
        self.leg = self._stated("leg_length") or _leg_length(figure, side, pelvis)

    def _stated(self, name: str) -> float | None:
        return self.stated.get(f"{self.side}_{name}")

    def breadth(self, joint: str) -> float:
        ratio = {"knee": KNEE_RATIO, "ankle": ANKLE_RATIO}[joint]
        return self._stated(f"{joint}_width") or ratio * self.leg

    def angle(self, name: str) -> float:
        return self._stated(name) or 0.0

    @property
    def known(self) -> bool:
        """Whether the person was measured: what is not stated then is 0."""
        return self._stated("knee_width") is not None

    def trochanter(self) -> float | None:
        return self._stated("asis_trochanter_distance")


def _leg_length(figure: MarkedFigure, side: str, pelvis: list[FrameInput]) -> float:
    """From ASIS over the knee's marker to the ankle's, metres."""
    marks = marks_of(figure, side)
    places = [pelvis[0 if side == "left" else 1].over_time, marks["KNE"], marks["ANK"]]
    return float(np.nanmedian(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum(axis=0)))


def _hip(measures: _Measures, side: str, pelvis: list[FrameInput]) -> Array:
    """(n_frames, 3) by Davis' regression in every frame's own pelvis."""
    left, right, *back = (mark.over_time for mark in pelvis)
    middle = 0.5 * (left + right)
    turn = frame("z", right - left, "x", middle - np.mean(back, axis=0))
    width = measures.stated.get("inter_asis_distance")
    width = width or float(np.nanmedian(np.linalg.norm(right - left, axis=-1)))
    ahead, up, outward = davis_hip(width, measures.leg, measures.trochanter())
    return middle + quat.rotate(
        turn, np.array([ahead, up, outward if side == "right" else -outward])
    )


def _thigh(
    figure: MarkedFigure,
    measures: _Measures,
    hip: Array,
    marks: dict[str, Array],
    swing: FrameInput,
) -> BuiltBone:
    """By its wand; where nothing is stated of that and it cannot be meant, by the knee's axis."""
    thigh = _bone(measures, "thigh", hip, marks["THI"], marks["KNE"])
    if measures.known:
        return thigh
    off = _angle_between(thigh.right, swing.over_time, thigh.above - thigh.below)
    doubted = off > WAND_LIMIT + 2.0 * swing.sigma
    if not doubted and not figure.has_labels(measures.side, DEVICE_LABELS):
        return replace(thigh, doubt=UNSTATED)
    by_axis = _bone(measures, "thigh", hip, marks["THI"], marks["KNE"], swing.over_time)
    askew = (
        f"the wand of the {measures.side} thigh is {np.degrees(off):.0f}° beside the plane in "
        "which the knee bends, which is taken instead"
    )
    return replace(by_axis, doubt=askew) if doubted else by_axis


def _bone(
    measures: _Measures,
    bone: str,
    above: Array,
    wand: Array,
    mark: Array,
    axis: Array | None = None,
) -> BuiltBone:
    """A bone from the joint above it, its wand and the marker beside the joint below; ``axis``, to
    the right, in the wand's place."""
    outward = 1.0 if measures.side == "right" else -1.0
    joint = "knee" if bone == "thigh" else "ankle"
    deep = 0.5 * measures.breadth(joint) + MARKER_RADIUS
    turn = outward * measures.angle(f"{bone}_rotation")
    # files differ in its sign; the outer malleolus is the lower one on either side
    lift = abs(measures.angle("ankle_abduction")) if joint == "ankle" else 0.0
    shown = wand if axis is None else mark + outward * axis
    below = joint_beside(above, mark, shown, deep, turn, lift)
    what = "the wand's plane" if axis is None else "the knee's axis, not the wand"
    told = f"{what}, {joint} {2e3 * (deep - MARKER_RADIUS):.0f} mm broad"
    right = _square(outward * (mark - below), above - below)
    return BuiltBone(above, below, right, _wand_sigma(above, mark, wand), told)


def _square(near: Array, along: Array) -> Array:
    """(n_frames, 3) unit vectors square to some, near to others."""
    return quat.rotate(frame("y", along, "z", near), np.array([0.0, 0.0, 1.0]))


def joint_beside(
    above: Array, mark: Array, wand: Array, deep: float, turn: float = 0.0, lift: float = 0.0
) -> Array:
    """Return a joint's centre (n_frames, 3), ``deep`` metres from the marker beside it.

    Parameters
    ----------
    above, mark, wand : (n_frames, 3)
        The joint centre above, the marker beside this one, and what shows the plane of both.
    turn
        Of the wand's plane about the bone, radians.
    lift
        By how much more than square the marker lies to the bone, radians.
    """
    centre, shown = above, wand
    for _ in range(TURN_STEPS if turn else 1):
        down = mark - above
        long = np.linalg.norm(down, axis=-1, keepdims=True)
        # law of cosines, the angle at the centre being square and ``lift``
        bone = np.sqrt(np.maximum(long**2 - (deep * np.cos(lift)) ** 2, 0.0)) - deep * np.sin(lift)
        along = (bone**2 + long**2 - deep**2) / (2.0 * long)
        aside = np.sqrt(np.maximum(bone**2 - along**2, 0.0))
        outward = quat.rotate(frame("x", down, "y", shown - above), np.array([0.0, 1.0, 0.0]))
        centre = above + along * down / long - aside * outward
        shown = above + _turned(wand - above, above - centre, turn)
    return centre


def _turned(vectors: Array, about: Array, angle: float) -> Array:
    turn = quat.from_axis_angle(quat.normalise(about), np.full(len(about), angle))
    return quat.rotate(turn, vectors)


def _angle_between(one: Array, other: Array, along: Array) -> float:
    """Return the median angle between two directions, seen along a third, radians."""
    both = [_square(each, along) for each in (one, other)]
    return float(np.nanmedian(np.arccos(np.clip(np.sum(both[0] * both[1], axis=-1), -1.0, 1.0))))


def _wand_sigma(above: Array, mark: Array, wand: Array) -> float:
    """Radians by which a plane is unsure: a misplaced wand near the bone turns it more."""
    way = quat.normalise(mark - above)
    far = np.linalg.norm(np.cross(wand - above, way), axis=-1)
    return float(np.sqrt(2.0) * MARK_SIGMA / max(float(np.nanmedian(far)), MARK_SIGMA))


def _limb(bone: BuiltBone, top: str, right: Array) -> FrameRecipe:
    ends = [FrameInput(bone.above, MARK_SIGMA), FrameInput(bone.below, MARK_SIGMA)]
    told = f"as Plug-in Gait: {top}, {bone.told}"
    axis = FrameInput(quat.normalise(right), bone.sigma)
    return FrameRecipe(
        "landmarks", told, [*ends, axis], lambda a, b, c: frame("y", a - b, "z", c), bone.doubt
    )


def foot_beside_shin(foot: FrameRecipe, shin_axis: FrameInput) -> FrameRecipe:
    """Return a foot with its length from markers and the shin's axis beside it."""

    def build(axis: Array, *rest: Array) -> Array:
        ahead = quat.rotate(foot.build(*rest), np.array([1.0, 0.0, 0.0]))
        return frame("x", ahead, "z", axis)

    told = f"{foot.told}, beside the shin's axis"
    return FrameRecipe(foot.source, told, [shin_axis, *foot.inputs], build)


def _foot(
    measures: _Measures, side: str, own: list[FrameInput], otherwise: FrameRecipe, rate: float
) -> FrameRecipe:
    """From ankle to toes, turned as the standing trial has it; without one, as it stands."""
    known = measures.stated.keys() >= {f"{side}_static_plantarflexion", f"{side}_static_rotation"}
    if not known:
        return foot_as_it_stands(own, otherwise, rate)
    outward = 1.0 if side == "right" else -1.0
    yaw = outward * measures.angle("static_rotation")
    stood = _offset(measures.angle("static_plantarflexion"), yaw)

    def build(ankle: Array, toe: Array, axis: Array) -> Array:
        return quat.multiply(_plain_foot(ankle, toe, axis), stood)

    return FrameRecipe("landmarks", "as Plug-in Gait: ankle, toe, the standing trial", own, build)


def foot_as_it_stands(own: list[FrameInput], foot: FrameRecipe, rate: float) -> FrameRecipe:
    """From ankle to toes, turned by a constant: flat while it stands, else as another points."""
    ankle, toe, axis = (each.over_time for each in own)
    ahead = quat.rotate(foot.segment("foot").rotations, FRONT)
    standing = _stands(ankle, toe, rate)
    told = f"as Plug-in Gait: ankle, toe; its zero: {foot.told}"
    if standing.any():
        plain = _plain_foot(ankle, toe, axis)
        pitch, _ = _pitch_and_yaw(plain[standing], ((toe - ankle) * LEVEL)[standing])
        _, yaw = _pitch_and_yaw(plain, ahead)
        ahead = quat.rotate(quat.multiply(plain, _offset(pitch, yaw)), FRONT)
        told = f"as Plug-in Gait: ankle, toe, flat while it stands; its turn: {foot.told}"

    def build(ankle: Array, toe: Array, axis: Array, ahead: Array) -> Array:
        plain = _plain_foot(ankle, toe, axis)
        return quat.multiply(plain, _offset(*_pitch_and_yaw(plain, ahead)))

    inputs = [*own, FrameInput(ahead, float(foot.deviation().max()))]
    return FrameRecipe(foot.source, told, inputs, build)


def _plain_foot(ankle: Array, toe: Array, axis: Array) -> Array:
    return frame("x", toe - ankle, "z", axis)


def _pitch_and_yaw(plain: Array, ahead: Array) -> tuple[float, float]:
    """Return how a foot's front is mostly turned in another frame, radians."""
    x, y, z = quat.rotate(quat.inverse(plain), quat.normalise(ahead)).T
    return float(np.nanmedian(np.arctan2(y, x))), float(np.nanmedian(-np.arcsin(z)))


def _offset(pitch: float, yaw: float) -> Array:
    """(4,) the turn by a foot's pitch, then by its yaw, as a standing trial keeps both."""
    return quat.multiply(quat.exp(np.array([0.0, 0.0, pitch])), quat.exp(np.array([0.0, yaw, 0.0])))


def _stands(ankle: Array, toe: Array, rate: float) -> np.ndarray:
    """(n_frames,) whether a foot stands flat: its toe is low, and it does not pitch."""
    rise = np.arctan2((toe - ankle)[:, 2], np.linalg.norm((toe - ankle)[:, :2], axis=1))
    low = toe[:, 2] < np.quantile(toe[:, 2], LOW_SHARE) + LOW_HEIGHT
    return low & (np.abs(np.gradient(rise)) * rate < STILL_RATE)
