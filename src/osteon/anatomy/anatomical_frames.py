"""A moving human rig → anatomical frames of its segments, and how sure each of them is.

Every frame has x to the front, y up (along a limb: towards the trunk) and z to the right when the
body stands in the anatomical position, on both sides [Wu 2002] [Wu 2005]. What a frame is made of
is chosen segment by segment: landmarks that were marked, an axis that the motion shows, or the
template; the one with the least uncertainty wins, and is told.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from osteon.anatomy import plug_in_gait
from osteon.anatomy.frame_recipes import (
    MARK_SIGMA,
    RIGHT,
    TEMPLATE_SIGMA,
    UP,
    FrameInput,
    FrameRecipe,
    MarkedFigure,
    Segment,
    WornMarkers,
    by_template,
    frame,
)
from osteon.anatomy.knee_axes import AXIS_FLOOR, Axis, knee_axes, line_through, surest, together
from osteon.errors import NotEnoughData
from osteon.human import hip_centres, human, split_side
from osteon.maths import fit_rigid, quat
from osteon.typing import Array
from osteon.values import Motion

LEAST_BEND = np.sin(np.radians(15.0))
"""Ratio, the sine of the elbow's mean bend from which its plane shows the axis; chosen: three times
the angle between arm and forearm seen from the front."""
PITCH_SIGMA, ROLL_SIGMA = np.radians(2.3), np.radians(7.0)
"""Radians that a foot's level is unsure by to the front, where heel and toes tell it, and sideways;
measured: 1.1° (with 2° of markers 5 mm off) and 7° rms against 14 feet of models in view."""
OUTER_LANDMARKS = {"metatarsal_1", "metatarsal_5", "big_toe", "small_toe"}
"""Landmarks of a foot 2 cm and more beside the line that points to the front, by the template: one
of them, with the ankle, tells how a foot leans; the others lie so near that 5 mm are 14°."""
ASIDE = np.array([0.0, -0.1, 0.0])
"""Metres to the right of a point as rig and template stand; chosen: a foot's breadth."""
OPENSIM_TILT = np.radians(5.2)
"""Radians that the pelvis of OpenSim's Rajagopal model is tilted back from the plane of its ASIS
and PSIS; measured on two fitted models, 4.7° and 5.7°. That of gait2392 is tilted by 12.5°."""

OPENSIM_TURN, OPENSIM_SHIN_TURN = np.radians(3.4), np.radians(8.2)
"""Radians that thigh and shin of OpenSim's Rajagopal model are turned in against the plane in which
its shin swings, for that shin turns and abducts as it bends; measured on the three takes of two
people in view that walk and squat, 2.8° to 4.0° and 7.6° to 9.1°. gait2392's knee bends in a
plane."""


def find_segments(
    motion: Motion,
    landmarks: Mapping[str, str],
    convention: str = "isb",
    worn: WornMarkers | None = None,
) -> dict[str, Segment]:
    """Return the anatomical frames of a human rig by segment.

    Parameters
    ----------
    landmarks
        Label of a marker on the rig → landmark of the template; may be empty.
    convention
        Whose definitions to follow where they differ: ``isb``, ``pig`` or ``opensim``.
    worn
        Markers as they were recorded and measures of the person, which ``pig`` goes by.
    """
    figure = MarkedFigure(motion, landmarks, convention, worn)
    recipes: dict[str, FrameRecipe] = {}
    if figure.has("pelvis"):
        recipes["pelvis"] = _pelvis(figure)
    if figure.has("chest"):
        recipes["trunk"] = _trunk(figure)
    if figure.has("head"):
        recipes["head"] = _head(figure)
    for side in ("left", "right"):
        recipes |= _leg(figure, side)
        recipes |= _arm(figure, side)
    if not recipes:
        raise NotEnoughData(_nobody(sorted(motion.skeleton.marker_names)))
    return {name: recipe.segment(name) for name, recipe in recipes.items()}


def _nobody(labels: Sequence[str]) -> str:
    """What to do about a rig without a human's names."""
    told = (
        "no body of the rig has a human's name, so no joint has a clinical one; solve with a "
        "marker set (`template` or `own_set`)"
    )
    if not labels:
        return told
    return (
        f"{told}. No known set says where {labels[0]} and the other {len(labels) - 1} markers sit: "
        f'a file for `own_set` does, by a line for each under [markers] as "{labels[0]}" = '
        '"left_thigh" (a body) or "left_heel" (a landmark)'
    )


def _pelvis(figure: MarkedFigure) -> FrameRecipe:
    marks = _pelvis_marks(figure)
    if marks is None:
        return by_template(figure, "pelvis")
    told = "both ASIS and " + ("both PSIS" if len(marks) == 4 else "the sacrum")
    tilt = OPENSIM_TILT if figure.convention == "opensim" else 0.0
    level = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(tilt))
    return FrameRecipe("landmarks", told, marks, lambda *m: quat.multiply(_pelvis_frame(*m), level))


def _pelvis_marks(figure: MarkedFigure) -> list[FrameInput] | None:
    """Left and right ASIS, and both PSIS or the sacrum."""
    front = ("left_asis", "right_asis")
    return figure.marks(*front, "left_psis", "right_psis") or figure.marks(*front, "sacrum")


def _pelvis_frame(left: Array, right: Array, *back: Array) -> Array:
    ahead = 0.5 * (left + right) - np.mean(back, axis=0)
    return frame("z", right - left, "x", ahead)


def _trunk(figure: MarkedFigure) -> FrameRecipe:
    for low in ("t8", "t10"):
        marks = figure.marks("jugular_notch", "c7", "xiphoid", low)
        if marks is not None:
            told = f"jugular notch, C7, xiphoid and {low.upper()}"
            return FrameRecipe("landmarks", told, marks, _trunk_frame)
    return by_template(figure, "chest")


def _trunk_frame(notch: Array, c7: Array, xiphoid: Array, back: Array) -> Array:
    return frame("y", 0.5 * (notch + c7 - xiphoid - back), "x", notch - c7)


def _head(figure: MarkedFigure) -> FrameRecipe:
    names = [f"{side}_{end}_head" for end in ("front", "back") for side in ("left", "right")]
    marks = figure.marks(*names)
    if marks is None:
        return by_template(figure, "head")
    return FrameRecipe("landmarks", "four markers around the head", marks, _head_frame)


def _head_frame(lf: Array, rf: Array, lb: Array, rb: Array) -> Array:
    return frame("x", lf + rf - lb - rb, "z", rf + rb - lf - lb)


def _leg(figure: MarkedFigure, side: str) -> dict[str, FrameRecipe]:
    thigh, shin, foot = (f"{side}_{part}" for part in ("thigh", "shin", "foot"))
    recipes: dict[str, FrameRecipe] = {}
    if figure.has(thigh, shin, foot):
        (source, told, axis, _), swung = together(knee_axes(figure, side))
        centre, where = _knee_centre(figure, side, axis)
        hip, hip_told = _hip_centre(figure, side)
        inward = np.array([0.0, 1.0 if side == "right" else -1.0, 0.0])
        turn = OPENSIM_TURN * swung if figure.convention == "opensim" else 0.0
        shin_turn = turn + (OPENSIM_SHIN_TURN - OPENSIM_TURN if turn else 0.0)
        recipes[thigh] = FrameRecipe(
            source,
            f"{hip_told}, {where}, {told}",
            [hip, centre, axis],
            lambda *ends: quat.multiply(_limb(*ends), quat.exp(turn * inward)),
        )
        axis = figure.carried(shin, axis.over_time, axis.sigma)
        ends = [centre, figure.joint(foot)]
        told = f"{where}, ankle centre, {told} (which leaves the knee unturned on average)"
        recipes[shin] = FrameRecipe(
            source,
            told,
            [*ends, axis],
            lambda *ends: quat.multiply(_limb(*ends), quat.exp(shin_turn * inward)),
        )
        marks = figure.marks(f"{side}_malleolus_lateral", f"{side}_malleolus_medial")
        if marks is not None and figure.convention == "isb":
            marks = marks if side == "right" else marks[::-1]
            told = "knee centre and both malleoli"
            recipes[f"{side}_malleoli"] = FrameRecipe(
                "landmarks", told, [centre, *marks], _malleoli
            )
    if figure.has(foot):
        recipes[foot] = _foot(figure, side)
    if figure.convention == "pig" and shin in recipes:
        recipes |= _as_plug_in_gait(figure, side, recipes)
    elif shin in recipes and _rolls_unseen(figure, recipes[foot], foot):
        recipes[foot] = plug_in_gait.foot_beside_shin(recipes[foot], recipes[shin].inputs[-1])
    return recipes


def _rolls_unseen(figure: MarkedFigure, recipe: FrameRecipe, foot: str) -> bool:
    """Whether landmarks tell where a foot points but not how it leans: the rig's leans at will."""
    return recipe.source == "landmarks" and not _foot_points(figure, foot).keys() & OUTER_LANDMARKS


def _as_plug_in_gait(
    figure: MarkedFigure, side: str, recipes: Mapping[str, FrameRecipe]
) -> dict[str, FrameRecipe]:
    """The leg by that model where its markers are worn, else the foot alone beside our shin."""
    pelvis, foot = _pelvis_marks(figure), f"{side}_foot"
    if pelvis is None or not plug_in_gait.is_worn(figure, side):
        shin = recipes[f"{side}_shin"]
        return {foot: plug_in_gait.foot_beside_shin(recipes[foot], shin.inputs[-1])}
    # it stands for a device on the epicondyles, so no mean with what is less sure than they
    swing = surest(knee_axes(figure, side)).way
    return plug_in_gait.leg_of(figure, side, pelvis, swing, recipes[foot])


def _limb(top: Array, bottom: Array, right: Array) -> Array:
    return frame("y", top - bottom, "z", right)


def _malleoli(knee: Array, right: Array, left: Array) -> Array:
    return frame("y", knee - 0.5 * (right + left), "z", right - left)


def _hip_centre(figure: MarkedFigure, side: str) -> tuple[FrameInput, str]:
    """The rig's hip; where Plug-in Gait is asked for, by its regression [Davis 1991]."""
    joint = figure.joint(f"{side}_thigh")
    marks = _pelvis_marks(figure)
    if marks is None or figure.convention != "pig":
        return joint, "hip centre"
    # what stays in the pelvis is found in its frame and carried along
    turn, origin = figure.turn("pelvis"), figure.joint("pelvis").over_time
    local = [
        np.nanmean(quat.rotate(quat.inverse(turn), each.over_time - origin), axis=0)
        for each in (joint, *marks)
    ]
    ends = [figure.joint(f"{side}_{part}").over_time[0] for part in ("thigh", "shin", "foot")]
    bones = float(np.linalg.norm(np.diff(ends, axis=0), axis=-1).sum())
    leg = bones + float(local[1][2] - local[0][2])
    both = hip_centres(local[1], local[2], np.mean(local[3:], axis=0), leg, "davis")
    centre = both[0 if side == "left" else 1]
    return FrameInput(origin + quat.rotate(turn, centre), joint.sigma), "Davis' hip centre"


def _knee_centre(figure: MarkedFigure, side: str, axis: FrameInput) -> tuple[FrameInput, str]:
    """The rig's knee; where Plug-in Gait is asked for, on the axis through the lateral marker, as
    deep in the knee as the rig's [Davis 1991]."""
    centre = figure.joint(f"{side}_shin")
    marks = figure.marks(f"{side}_knee_lateral")
    if marks is None or figure.convention != "pig":
        return centre, "knee centre"
    (mark,) = marks
    way = axis.over_time
    deep = np.sum((centre.over_time - mark.over_time) * way, axis=-1, keepdims=True)
    return FrameInput(
        mark.over_time + deep * way, mark.sigma
    ), "knee centre beside the lateral marker"


def _foot(figure: MarkedFigure, side: str) -> FrameRecipe:
    foot = f"{side}_foot"
    for toes in (("metatarsal_2",), ("toe",), ("metatarsal_1", "metatarsal_5")):
        marks = figure.marks(f"{side}_heel", *(f"{side}_{toe}" for toe in toes))
        if marks is not None:
            words = " and ".join(toe.replace("_", " ") for toe in toes)
            pitch, roll, how = _level(figure, foot, toes)
            told = f"heel and {words}, level as {how}"
            return FrameRecipe("landmarks", told, [pitch, roll, *marks], _foot_frame)
    return by_template(figure, foot)


FootPoint = tuple[Array, Array]
"""Where a point of a foot is in the template and in the rig's body."""


def _level(
    figure: MarkedFigure, foot: str, toes: Sequence[str]
) -> tuple[FrameInput, FrameInput, str]:
    """Up of a foot that stands flat, as pitch and roll know it, and what tells it: the template's
    whose ankle and landmarks lie on the rig's; where Plug-in Gait is asked for, the rig's sole."""
    points = _foot_points(figure, foot)
    if figure.convention == "pig" or not points.keys() >= {"heel", *toes}:
        return figure.rest(foot, UP), figure.rest(foot, UP), "the rig's sole"
    beside = [points[name] for name in points if name in {"ankle", *OUTER_LANDMARKS}]
    roll_sigma = ROLL_SIGMA
    if len(beside) == 1:  # the ankle: how the foot leans the rig's sole tells
        beside.append((beside[0][0] + ASIDE, beside[0][1] + ASIDE))
        roll_sigma = TEMPLATE_SIGMA
    ends = [points[name] for name in ("heel", *toes)]
    there, here = (_beside_line(beside, ends, which) for which in (0, 1))
    laid = fit_rigid(there, here[None]).rotations[0]
    up = quat.rotate(laid, np.array([0.0, 0.0, 1.0]))
    pitch, roll = (figure.way(foot, up, sigma) for sigma in (PITCH_SIGMA, roll_sigma))
    return pitch, roll, "the template's foot"


def _beside_line(points: Sequence[FootPoint], ends: Sequence[FootPoint], which: int) -> Array:
    """Return points that stand for a foot: the line from heel to toes as two upon it, and where
    ankle and outer landmarks lie beside it, from their middle.

    So that line tells pitch and the others roll: laboratories put heel and toes as high as each
    other, but lower or higher than the ankle as they like.
    """
    heel, *toes = (each[which] for each in ends)
    line = quat.normalise(np.mean(toes, axis=0) - heel)
    others = np.array([each[which] for each in points])
    others = others - others.mean(axis=0)
    others = others - np.outer(others @ line, line)
    far = np.linalg.norm(others) * line
    return np.concatenate([[far, -far], others])


def _foot_points(figure: MarkedFigure, foot: str) -> dict[str, FootPoint]:
    """Where ankle and landmarks of a foot are in the template and in the rig's body."""
    template, own = human(), figure.skeleton.body(foot)
    points = {"ankle": (template.bodies[foot].at, own.joint.in_body)}
    for marker in own.markers:
        name = figure.landmarks.get(marker.name, "")
        landmark = template.landmarks.get(name)
        if landmark is not None and landmark.at is not None and not landmark.soft:
            points[split_side(name)[1]] = landmark.at, marker.position
    return points


def _foot_frame(pitch: Array, roll: Array, heel: Array, *toes: Array) -> Array:
    return frame("z", np.cross(np.mean(toes, axis=0) - heel, roll), "y", pitch)


def _arm(figure: MarkedFigure, side: str) -> dict[str, FrameRecipe]:
    upper, fore, hand = (f"{side}_{part}" for part in ("upper_arm", "forearm", "hand"))
    recipes: dict[str, FrameRecipe] = {}
    if figure.has(upper, fore):
        source, told, axis, _ = surest(_elbow_axes(figure, side))
        long = [figure.joint(upper), figure.joint(fore)]
        recipes[upper] = FrameRecipe(
            source, f"shoulder and elbow centres, {told}", [*long, axis], _limb
        )
    if figure.has(fore):
        recipes[fore] = _forearm(figure, side)
    if figure.has(hand):
        recipes[hand] = _hand(figure, side)
    return recipes


def _elbow_axes(figure: MarkedFigure, side: str) -> list[Axis]:
    """What may tell the upper arm's right: both epicondyles, the elbow's plane, the template."""
    upper, fore = f"{side}_upper_arm", f"{side}_forearm"
    axes = [Axis("template", "the template's elbow axis", figure.rest(upper, RIGHT))]
    marks = figure.marks(f"{side}_elbow_lateral", f"{side}_elbow_medial")
    if marks is not None:
        axes.append(Axis("landmarks", "both epicondyles", line_through(marks, side)))
    ends = _forearm_ends(figure, side)
    if ends is not None:
        long = figure.joint(upper).over_time - figure.joint(fore).over_time
        below = ends.over_time - figure.joint(fore).over_time
        # bent, the forearm points to the front: what is square to both points to the right
        normal = np.cross(quat.normalise(long), quat.normalise(below))
        local = quat.rotate(quat.inverse(figure.turn(upper)), -normal)
        mean = np.nanmean(local, axis=0)
        if np.linalg.norm(mean) > LEAST_BEND:
            off = local - (local @ quat.normalise(mean))[:, None] * quat.normalise(mean)
            spread = float(np.sqrt(np.nanmean(np.sum(off**2, -1)) / (mean @ mean)))
            axis = figure.way(upper, quat.normalise(mean), max(spread, AXIS_FLOOR))
            axes.append(Axis("motion", "the plane in which the elbow bends", axis))
    return axes


def _forearm_ends(figure: MarkedFigure, side: str) -> FrameInput | None:
    """The wrist: its joint, or the middle of both styloids."""
    if figure.has(f"{side}_hand"):
        return figure.joint(f"{side}_hand")
    marks = figure.marks(f"{side}_wrist_radial", f"{side}_wrist_ulnar")
    if marks is None:
        return None
    return FrameInput(0.5 * (marks[0].over_time + marks[1].over_time), MARK_SIGMA)


def _forearm(figure: MarkedFigure, side: str) -> FrameRecipe:
    fore, sign = f"{side}_forearm", 1.0 if side == "right" else -1.0
    marks = figure.marks(f"{side}_wrist_ulnar", f"{side}_wrist_radial")
    if marks is None:
        return by_template(figure, fore)
    inputs = [figure.joint(fore), *marks]
    if figure.convention == "isb":
        told = "elbow centre, ulnar and radial styloid"
        return FrameRecipe(
            "landmarks", told, inputs, lambda e, u, r: frame("y", e - u, "z", sign * (r - u))
        )
    told = "elbow centre, the middle of both styloids and their line"
    return FrameRecipe(
        "landmarks",
        told,
        inputs,
        lambda e, u, r: frame("y", e - 0.5 * (u + r), "z", sign * (r - u)),
    )


def _hand(figure: MarkedFigure, side: str) -> FrameRecipe:
    hand, sign = f"{side}_hand", 1.0 if side == "right" else -1.0
    wrist = figure.joint(hand)
    marks = figure.marks(f"{side}_hand_radial", f"{side}_hand_ulnar")
    if marks is not None:
        return FrameRecipe(
            "landmarks",
            "wrist centre and the knuckles of both sides",
            [wrist, *marks],
            lambda wrist, radial, ulnar: frame(
                "y", wrist - 0.5 * (radial + ulnar), "z", sign * (radial - ulnar)
            ),
        )
    marks = figure.marks(f"{side}_hand_back")
    if marks is None:
        return by_template(figure, hand)
    inputs = [wrist, *marks, figure.rest(hand, RIGHT)]
    return FrameRecipe("template", "wrist centre and the back of the hand", inputs, _limb)
