"""Anatomical frames → joint angles with the names, order and signs of a convention.

A left limb is mirrored first, so one table tells both sides. Everywhere a, b, c are successive
angles of the child's frame from the parent's about axes that turn along: ``zxy`` is Grood and
Suntay's order [Grood 1983], flexion first, rotation about the limb last.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from osteon.anatomy.anatomical_frames import find_segments
from osteon.anatomy.frame_recipes import TRIED_FRAMES, Segment, WornMarkers, frame
from osteon.errors import NotEnoughData, UnknownName
from osteon.maths import euler, quat, unwrap
from osteon.typing import Array
from osteon.values import Motion

LEAST_WALK = 0.5
"""Metres of way from which a walk has a direction; chosen: a step."""
STRAIGHT_SHARE = 0.7
"""Share of the way walked that lies between its ends, from which it is straight; chosen: less is a
turn or a way back."""
HINGES = {
    "ankle": ((-0.10501355, -0.17402245, 0.97912632), (0.7871796, 0.60474746, -0.12094949)),
    "elbow": ((0.22604696, 0.022269, 0.97386183), (0.05639803, 0.99840646, 0.001952)),
}
"""Axes of a right joint that turns about two which are not square to each other, ratios of their
length: defined by OpenSim's models, of ankle and subtalar joint, of elbow and forearm."""
HINGE_STEPS = 12
"""Count of Newton steps to angles about such axes; chosen: they double the digits each time."""
SIDES = ("left", "right")
SIDE_WORDS = re.compile(r"\{side\}_|\{S\}|_\{s\}")
OWN_SIDE = {
    "right_up": "own_side_up",
    "bending_right": "bending_to_own_side",
    "rotation_left": "own_side_forwards",
    "lumbar_bending": "lumbar_bending_to_own_side",
    "lumbar_rotation": "lumbar_own_side_forwards",
}
"""What angles of pelvis, trunk and head are called where both sides' cycles stand together: a word
of the right side's → one that is true of either."""
LIMBS = ("thigh", "shin", "malleoli", "foot", "upper_arm", "forearm", "hand")


@dataclass(frozen=True)
class AngleColumn:
    """One angle of a joint: its name, which of the three successive ones, and its sign."""

    name: str
    """With ``{side}``, ``{s}`` or ``{S}`` for left or right in a limb's."""
    slot: int
    sign: float = 1.0
    shift: float = 0.0
    """Degrees added."""


@dataclass(frozen=True)
class JointRow:
    """How a convention tells one joint."""

    label: str
    """What its three angles are called as a point of a C3D file, without the side."""
    parents: tuple[str, ...]
    """Segments it is told from: the first that is known."""
    child: str
    order: str
    """Three axes, or a key of ``HINGES``."""
    columns: tuple[AngleColumn, ...]
    both_sides: bool

    def segment(self, name: str, side: str) -> str:
        return f"{side}_{name}" if name in LIMBS else name


@dataclass(frozen=True)
class AngleChannel:
    """An angle of both sides, or of the middle."""

    title: str
    """Its name without the side."""
    joint: str
    """As a point of a C3D file is called, without the side."""
    place: int
    """Which of the joint's angles: 0 sagittal, 1 frontal, 2 transverse, where they are such."""
    names: dict[str, str]
    """``left`` and ``right`` → the column of each side; the same of what is in the middle."""
    mirrored: bool = False
    """Whether the column is told of the right side, and the left's is its negative."""

    def sign(self, side: str) -> float:
        return -1.0 if self.mirrored and side == "left" else 1.0


@dataclass(frozen=True, eq=False)
class ClinicalAngles:
    """Joint angles over a take. Radians."""

    convention: str
    names: tuple[str, ...]
    values: Array
    """(n_frames, n_angles), continuous in time."""
    deviations: Array
    """(n_angles,) standard deviation of the constant by which an angle may be off, as the frames'
    uncertainties cause it."""
    points: dict[str, tuple[str, ...]]
    """Label of a point in a C3D file → names of the angles that are its x, y and z."""
    segments: dict[str, Segment]
    rate: float
    walking: str
    """Where the walking direction comes from, in words."""
    channels: tuple[AngleChannel, ...] = ()
    """The columns by joint, both sides as one; only what both sides have."""

    def of(self, name: str) -> Array:
        """(n_frames,) one angle."""
        if name not in self.names:
            raise UnknownName("angle", name, self.names)
        return self.values[:, self.names.index(name)]


TABLES = {
    "isb": """
        PelvisAngles walking pelvis zxy
            pelvis_tilt_forward=-0 pelvis_obliquity_right_up=-1 pelvis_rotation_left=+2
        PelvisLabAngles laboratory pelvis yxz
            pelvis_lab_tilt_forward=-2 pelvis_lab_obliquity_right_up=-1 pelvis_lab_rotation_left=+0
        ThoraxAngles walking trunk zxy
            thorax_tilt_forward=-0 thorax_obliquity_right_up=-1 thorax_rotation_left=+2
        SpineAngles pelvis trunk zxy
            trunk_flexion=-0 trunk_bending_right=+1 trunk_rotation_left=+2
        NeckAngles trunk head zxy neck_flexion=-0 neck_bending_right=+1 neck_rotation_left=+2
        HipAngles pelvis thigh zxy
            {side}_hip_flexion=+0 {side}_hip_adduction=+1 {side}_hip_internal_rotation=+2
        KneeAngles thigh shin zxy
            {side}_knee_flexion=-0 {side}_knee_adduction=+1 {side}_knee_internal_rotation=+2
        AnkleAngles malleoli/shin foot zxy
            {side}_ankle_dorsiflexion=+0 {side}_ankle_inversion=+1 {side}_ankle_internal_rotation=+2
        FootProgressAngles walking foot zyx {side}_foot_toes_up=+0 {side}_foot_toes_in=+1
        ShoulderAngles trunk upper_arm yxy
            {side}_shoulder_elevation_plane=+0 {side}_shoulder_elevation=-1
            {side}_shoulder_internal_rotation=+2
        ElbowAngles upper_arm forearm zxy
            {side}_elbow_flexion=+0 {side}_elbow_adduction=+1 {side}_elbow_pronation=+2
        WristAngles forearm hand zxy
            {side}_wrist_flexion=+0 {side}_wrist_ulnar_deviation=+1 {side}_wrist_pronation=+2
    """,
    "pig": """
        PelvisAngles walking pelvis zxy {S}*_X=-0 {S}*_Y=-1 {S}*_Z=+2
        ThoraxAngles walking trunk zxy {S}*_X=-0 {S}*_Y=-1 {S}*_Z=+2
        HeadAngles walking head zxy {S}*_X=+0 {S}*_Y=-1 {S}*_Z=+2
        SpineAngles pelvis trunk yxz {S}*_X=-2 {S}*_Y=+1 {S}*_Z=-0
        NeckAngles trunk head yxz {S}*_X=-2 {S}*_Y=+1 {S}*_Z=-0
        HipAngles pelvis thigh zxy {S}*_X=+0 {S}*_Y=+1 {S}*_Z=+2
        KneeAngles thigh shin zxy {S}*_X=-0 {S}*_Y=+1 {S}*_Z=+2
        AnkleAngles malleoli/shin foot zyx {S}*_X=+0 {S}*_Y=-2 {S}*_Z=+1
        FootProgressAngles walking foot zyx {S}*_X=-0-90 {S}*_Y=+2 {S}*_Z=+1
        ShoulderAngles trunk upper_arm xzy {S}*_X=+1 {S}*_Y=-0 {S}*_Z=+2
        ElbowAngles upper_arm forearm zxy {S}*_X=+0
        WristAngles forearm hand zxy {S}*_X=+0 {S}*_Y=+1 {S}*_Z=+2
    """,
    "opensim": """
        PelvisAngles laboratory pelvis zxy pelvis_tilt=+0 pelvis_list=+1 pelvis_rotation=+2
        HipAngles pelvis thigh zxy hip_flexion_{s}=+0 hip_adduction_{s}=+1 hip_rotation_{s}=+2
        KneeAngles thigh shin zxy knee_angle_{s}=-0
        AnkleAngles shin foot ankle ankle_angle_{s}=+0 subtalar_angle_{s}=+1
        SpineAngles pelvis trunk zxy lumbar_extension=+0 lumbar_bending=+1 lumbar_rotation=+2
        ShoulderAngles trunk upper_arm zxy arm_flex_{s}=+0 arm_add_{s}=+1 arm_rot_{s}=+2
        ElbowAngles upper_arm forearm elbow elbow_flex_{s}=+0 pro_sup_{s}=+1
        WristAngles forearm hand zxy wrist_flex_{s}=+0 wrist_dev_{s}=+1
    """,
}
"""A line per joint: its label as a point of a C3D file, the segment it is told from (or several, of
which the first that is known), the segment, the axes, and by name which of the three angles with
which sign, and what is added to it in degrees. ``*`` is the label. Order and signs of Plug-in Gait
give back the angles of its files from their own segment axes to 0.01°. docs/guide/angles.md."""


CONVENTIONS = tuple(TABLES)


def rows_of(convention: str) -> tuple[JointRow, ...]:
    """Return the joints of a convention."""
    rows: list[JointRow] = []
    words = TABLES[convention].split()
    while words:
        label, parents, child, order, *words = words
        columns = []
        while words and "=" in words[0]:
            name, _, told = words.pop(0).partition("=")
            sign = -1.0 if told[0] == "-" else 1.0
            columns.append(
                AngleColumn(name.replace("*", label), int(told[1]), sign, float(told[2:] or 0))
            )
        sided = "{" in columns[0].name
        rows.append(JointRow(label, tuple(parents.split("/")), child, order, tuple(columns), sided))
    return tuple(rows)


def find_angles(
    motion: Motion,
    landmarks: Mapping[str, str],
    convention: str = "isb",
    worn: WornMarkers | None = None,
) -> ClinicalAngles:
    """Return the joint angles of a human rig.

    Parameters
    ----------
    landmarks
        Label of a marker on the rig → landmark of the template; may be empty.
    convention
        ``isb``, ``pig`` (Plug-in Gait) or ``opensim``.
    worn
        Markers as they were recorded and measures of the person, which ``pig`` goes by.
    """
    if convention not in CONVENTIONS:
        raise UnknownName("convention", convention, CONVENTIONS)
    segments = find_segments(motion, landmarks, convention, worn)
    worlds, walking = _worlds(motion, segments, convention)
    known = segments | worlds
    names, values, deviations, points = [], [], [], {}
    for row, side in _sided(rows_of(convention)):
        parent = next((p for p in row.parents if row.segment(p, side) in known), None)
        child = row.segment(row.child, side)
        if parent is None or child not in known:
            continue
        upper, lower = known[row.segment(parent, side)], known[child]
        told = [_named(column.name, side) for column in row.columns]
        names += told
        values.append(_read(row, side, upper.rotations, lower.rotations))
        deviations.append(_deviations(row, side, upper, lower))
        points[_label(row, side)] = tuple(told)
    if not names:
        raise NotEnoughData("no two neighbouring segments of the rig are known: no joint angle")
    return ClinicalAngles(
        convention,
        tuple(names),
        np.concatenate(values, axis=1),
        np.concatenate(deviations),
        points,
        segments,
        motion.rate,
        walking,
        _channels(convention, names),
    )


def _channels(convention: str, known: list[str]) -> tuple[AngleChannel, ...]:
    found = []
    for row in rows_of(convention):
        for count, column in enumerate(row.columns):
            plain = len(set(row.order)) == 3 and row.order not in HINGES
            place = "zxy".index(row.order[column.slot]) if plain else count
            names = {side: _named(column.name, side) for side in SIDES}
            if all(name in known for name in names.values()):
                title = SIDE_WORDS.sub("", column.name)
                own = title if "laboratory" in row.parents else _own_side(title)
                found.append(AngleChannel(own, row.label, place, names, mirrored=own != title))
    return tuple(found)


def _own_side(title: str) -> str:
    for word, told in OWN_SIDE.items():
        title = title.replace(word, told)
    return title


def angles_between(
    convention: str, label: str, side: str, upper: Array, lower: Array
) -> dict[str, Array]:
    """Return the angles of one joint by name, (n_frames,) each, from frames that are known.

    Parameters
    ----------
    label
        As in C3D files, without the side: ``HipAngles``.
    upper, lower : (n_frames, 4)
        To the world from the frames of both segments: x front, y up, z right.
    """
    rows = {row.label: row for row in rows_of(convention)}
    if label not in rows:
        raise UnknownName("joint", label, list(rows))
    row = rows[label]
    names = [_named(column.name, side) for column in row.columns]
    return dict(zip(names, _read(row, side, upper, lower).T, strict=True))


def named_rows(convention: str) -> list[tuple[str, JointRow, str]]:
    """Return the joints of both sides: label of the point in a C3D file, how it is told, side."""
    return [(_label(row, side), row, side) for row, side in _sided(rows_of(convention))]


def _sided(rows: tuple[JointRow, ...]) -> list[tuple[JointRow, str]]:
    """Each joint of each side; those of the middle count as the right's, which is not mirrored."""
    return [(row, side) for row in rows for side in (SIDES if row.both_sides else ("right",))]


def _named(name: str, side: str) -> str:
    return name.format(side=side, s=side[0], S=side[0].upper())


def _label(row: JointRow, side: str) -> str:
    return f"{side[0].upper()}{row.label}" if row.both_sides else row.label


def _read(row: JointRow, side: str, upper: Array, lower: Array) -> Array:
    """(n_frames, n_columns) of a joint's columns, radians."""
    turns = quat.between(upper, lower)
    if side == "left":
        turns = turns * np.array([1.0, -1.0, -1.0, 1.0])
    found = _successive(turns, row.order)
    told = [c.sign * found[:, c.slot] + np.radians(c.shift) for c in row.columns]
    return np.stack(told, axis=-1)


def _successive(turns: Array, order: str) -> Array:
    """(n_frames, 3) angles of rotations (n_frames, 4) about successive axes."""
    if order in HINGES:
        return _about_hinges(turns, *np.array(HINGES[order]))
    if order == "yxy":
        return _about_twice(turns)
    return euler.from_quat(turns, order)


def _about_twice(turns: Array) -> Array:
    """The shoulder's: plane of elevation, elevation (negative, as the ISB has it), rotation."""
    # y, x, z of the frame are z, y, x of an even permutation, for which ZYZ is known
    plane, lift, turn = euler.zyz_from_quat(turns[:, [0, 3, 1, 2]]).T
    plane, turn = plane + np.pi, turn - np.pi
    return _near_zero(unwrap(np.stack([plane, -lift, turn], axis=-1)))


def _near_zero(angles: Array) -> Array:
    """Whole turns taken off each track so that its middle is nearest to zero."""
    turns = np.rint(np.median(angles, axis=0) / (2.0 * np.pi))
    return angles - 2.0 * np.pi * turns


def _about_hinges(turns: Array, first: Array, second: Array) -> Array:
    """Angles about two axes, and about a third that is square to both and turns with the first: the
    rest, as the angle that an arm carries."""
    between = np.cross(second, first)
    axes = quat.normalise(np.stack([first, between, second]))
    flexion, aside, along = euler.from_quat(turns, "zxy").T
    angles = np.stack([flexion, np.zeros(len(turns)), second[0] * aside + second[1] * along], -1)
    for _ in range(HINGE_STEPS):
        made = [quat.from_axis_angle(axis, angles[:, i]) for i, axis in enumerate(axes)]
        lower = quat.multiply(made[1], made[2])
        left = quat.log(quat.between(quat.multiply(made[0], lower), turns))
        # what each angle turns by, as the body sees it that has made all turns
        ways = np.stack(
            [
                quat.rotate(quat.inverse(lower), axes[0]),
                quat.rotate(quat.inverse(made[2]), axes[1]),
                np.broadcast_to(axes[2], left.shape),
            ],
            axis=-1,
        )
        angles = angles + np.linalg.solve(ways, left[..., None])[..., 0]
    return _near_zero(unwrap(angles[:, [0, 2, 1]]))


def _deviations(row: JointRow, side: str, upper: Segment, lower: Segment) -> Array:
    """(n_columns,) of a joint's angles, by small constant turns of both frames."""
    every = max(1, len(lower.rotations) // TRIED_FRAMES)
    both = [upper.rotations[::every], lower.rotations[::every]]
    right = _read(row, side, *both)
    total = np.zeros(len(row.columns))
    for place, segment in enumerate((upper, lower)):
        for turn in np.diag(segment.deviation):
            moved = [
                quat.multiply(q, quat.exp(turn)) if i == place else q for i, q in enumerate(both)
            ]
            off = _read(row, side, *moved) - right
            off = (off + np.pi) % (2.0 * np.pi) - np.pi
            total += np.mean(off**2, axis=0)
    return np.sqrt(total)


def _worlds(
    motion: Motion, segments: Mapping[str, Segment], convention: str
) -> tuple[dict[str, Segment], str]:
    """The laboratory and the walking direction as frames that stand still."""
    bearer = segments.get("pelvis") or segments.get("trunk")
    ahead, told = np.array([1.0, 0.0, 0.0]), "the laboratory's x: the rig has no trunk"
    if bearer is not None:
        ahead, told = walking_direction(motion.root, bearer.rotations)
    if convention == "pig":
        axis = int(np.argmax(np.abs(ahead[:2])))
        ahead = np.sign(ahead[axis]) * np.eye(3)[axis]
        told = f"the laboratory's {'+-'[int(ahead[axis] < 0)]}{'xy'[axis]}, nearest to {told}"
    ways = {"laboratory": np.array([1.0, 0.0, 0.0]), "walking": ahead}
    still = {
        name: Segment(name, _standing(way, motion.n_frames), "", "", np.zeros(3))
        for name, way in ways.items()
    }
    return still, told


def _standing(ahead: Array, n_frames: int) -> Array:
    turn = frame("y", np.array([0.0, 0.0, 1.0]), "x", ahead)
    return np.broadcast_to(turn, (n_frames, 4))


def walking_direction(path: Array, pelvis: Array) -> tuple[Array, str]:
    """Return the horizontal direction (3,) that somebody walks or faces, and which of them it is.

    Parameters
    ----------
    path : (n_frames, 3)
        Of the pelvis, metres.
    pelvis : (n_frames, 4)
        Its anatomical frame.
    """
    faced = quat.rotate(pelvis, np.array([1.0, 0.0, 0.0]))
    faced = np.mean(faced * [1.0, 1.0, 0.0], axis=0)
    flat = path * [1.0, 1.0, 0.0]
    way = flat[-1] - flat[0]
    walked = float(
        np.sum(np.linalg.norm(np.diff(flat[:: max(1, len(flat) // 50)], axis=0), axis=-1))
    )
    if np.linalg.norm(way) > LEAST_WALK and np.linalg.norm(way) > STRAIGHT_SHARE * walked:
        backwards = float(way @ faced) < 0.0
        told = "the way walked" + (", backwards" if backwards else "")
        return quat.normalise(-way if backwards else way), told
    if np.linalg.norm(faced) < 1e-3:
        return np.array([1.0, 0.0, 0.0]), "the laboratory's x: nobody faces one way here"
    return quat.normalise(faced), "where the pelvis faces on average"
