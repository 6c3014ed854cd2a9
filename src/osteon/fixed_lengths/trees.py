"""Which joint hangs on which: from a skeleton, a table, or names that everybody uses."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.errors import BadValue, FormatError, NotEnoughData
from osteon.human import Landmark, human, recognise
from osteon.maths import untwisted_joints
from osteon.typing import Array
from osteon.values import Recording, Skeleton

Table = Mapping[str, str | None]
"""Joint → parent; None or an empty word for the root."""

SIDES, LONG_SIDES = ("L", "R"), ("left", "right")
HIPS = "hips"
"""The root where no point is the hips' middle."""

PLUG_IN_GAIT: Table = {
    "PELO": None,
    "TRXO": "PELO",
    "HEDO": "TRXO",
    **{f"{side}{end}": f"{side}{start}" for side in SIDES for start, end in (
        ("FEP", "FEO"), ("FEO", "TIO"), ("TIO", "FOO"), ("CLO", "HUO"), ("HUO", "RAO"),
        ("RAO", "HNO"),
    )},
    **{f"{side}FEP": "PELO" for side in SIDES},
    **{f"{side}CLO": "TRXO" for side in SIDES},
}  # fmt: skip
"""Segment origins that Plug-in Gait writes: FEP is the hip, FEO the knee, TIO the ankle."""

JOINT_CENTRES: Table = {
    HIPS: None,
    **{f"{side}HJC": HIPS for side in SIDES},
    **{f"{side}KJC": f"{side}HJC" for side in SIDES},
    **{f"{side}AJC": f"{side}KJC" for side in SIDES},
}
"""Joint centres of the legs; the hips' middle carries them."""

CLEANED: Table = {
    HIPS: None,
    "lower_back_centre": HIPS,
    "back_centre": "lower_back_centre",
    "top_of_the_neck_centre": "back_centre",
    **{f"{side}_{end}_centre": f"{side}_{start}_centre" for side in LONG_SIDES for start, end in (
        ("hip", "knee"), ("knee", "ankle"), ("ankle", "toe_joint"),
        ("collar_bone_joint", "shoulder"), ("shoulder", "elbow"), ("elbow", "wrist"),
    )},
    **{f"{side}_hip_centre": HIPS for side in LONG_SIDES},
    **{f"{side}_collar_bone_joint_centre": "back_centre" for side in LONG_SIDES},
}  # fmt: skip
"""Joint centres as ``osteon clean`` writes them beside the markers."""

MIDDLES = {
    HIPS: (
        ("LHJC", "RHJC"),
        ("LHip", "RHip"),
        ("left_hip", "right_hip"),
        ("left_hip_centre", "right_hip_centre"),
    )
}
"""Joints that are the middle of two points, by the names that these have."""


@dataclass(frozen=True, slots=True, eq=False)
class JointTree:
    """Joints in tree order."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    rest: Array | None = None
    """(n_joints, 3) places at rest, where all bodies are turned alike; None: not known."""
    tips: Mapping[str, Array] | None = None
    """Ends of last bones from their joint at rest."""

    def within(self, present: Sequence[str]) -> "JointTree":
        """Only these joints; what hung on one left out hangs on the next one above."""
        kept = [j for j, name in enumerate(self.names) if name in set(present)]
        place = {-1: -1} | {joint: index for index, joint in enumerate(kept)}
        parents = []
        for joint in kept:
            above = self.parents[joint]
            while above not in place:
                above = self.parents[above]
            parents.append(place[above])
        if len(kept) < 2:
            raise NotEnoughData(
                f"of the tree's {len(self.names)} joints ({', '.join(self.names[:4])} …) the file "
                f"has {len(kept)}: its points must be joint centres that are named as in `tree`"
            )
        if parents.count(-1) != 1:
            tops = [self.names[joint] for joint, up in zip(kept, parents, strict=True) if up < 0]
            raise NotEnoughData(
                f"of the tree's joints the file has {len(kept)}, apart at {', '.join(tops)}; "
                "they must hang together on one root"
            )
        rest = None if self.rest is None else self.rest[kept]
        return JointTree(tuple(self.names[j] for j in kept), tuple(parents), rest, self.tips)


def tree_of_skeleton(skeleton: Skeleton) -> JointTree:
    rest = untwisted_joints(skeleton.offsets, skeleton.parents)
    known = ((body.name, body.tip_from_joint) for body in skeleton.bodies)
    tips = {name: tip for name, tip in known if tip is not None}
    return JointTree(skeleton.names, skeleton.parents, rest, tips)


def tree_of_table(table: Table) -> JointTree:
    """Sort a table of parents so that every parent stands before its children."""
    parents = {name: parent or None for name, parent in table.items()}
    names: list[str] = []
    for parent in dict.fromkeys(parents.values()):
        if parent is not None and parent not in parents:
            raise BadValue(f"the tree names {parent!r} as a parent but not as a joint; add it")
    while len(names) < len(parents):
        ready = [n for n, up in parents.items() if n not in names and (up is None or up in names)]
        if not ready:
            circle = [name for name in parents if name not in names]
            raise BadValue(f"the tree runs in a circle through {', '.join(circle[:6])}")
        names += ready
    indices = [-1 if (up := parents[name]) is None else names.index(up) for name in names]
    return JointTree(tuple(names), tuple(indices))


def read_tree(path: Path) -> JointTree:
    """Return a tree from a TOML table ``[parents]`` or from any file that holds a skeleton."""
    if path.suffix.lower() != ".toml":
        from osteon.formats import read

        return tree_of_skeleton(read(path).skeleton())
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("parents")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(path, f"is not TOML: {error}") from error
    if not isinstance(table, dict) or not all(isinstance(up, str) for up in table.values()):
        raise FormatError(path, 'expected a table [parents] with lines like knee = "hip"')
    return tree_of_table(table)


def known_tree(names: Sequence[str]) -> JointTree | None:
    """Return the usual tree of these names, where enough of one is there."""
    for table in (PLUG_IN_GAIT, JOINT_CENTRES, CLEANED):
        tree = tree_of_table(table)
        if len(_found(tree, names)) >= 0.5 * len(tree.names):
            return tree
    keypoints = _keypoint_parents(names)
    return None if keypoints is None else tree_of_table(keypoints)


def _keypoint_parents(names: Sequence[str]) -> dict[str, str | None] | None:
    """Return a table joint → parent of points that are keypoints of a known set; else None."""
    known = recognise(names)
    if known is None or not known[0].keypoints:
        return None
    found = known[1]
    joints = _keypoint_joints(found)
    parents = {name: _parent(name, mark, joints) for name, mark in found.items()}
    on_fingers = {**found, **known[0].match_fingers(names)}
    parents |= _finger_parents(on_fingers, joints)
    root = next(iter(found)) if known[0].of_hands else joints["pelvis"]
    return {root: None} | {name: up or root for name, up in parents.items() if name != root}


def _keypoint_joints(found: dict[str, Landmark]) -> dict[str, str]:
    """Body → the keypoint that is its joint; the chest's is between the shoulders."""
    figure = human()
    joints = {"pelvis": HIPS}
    for name, mark in found.items():
        body = figure.bodies[mark.body]
        if mark.at is not None and np.array_equal(mark.at, body.at):
            joints[mark.body] = name
        elif mark.at is figure.landmarks["shoulder_middle"].at:
            joints["chest"] = name
    return joints


def _finger_parents(found: dict[str, Landmark], joints: dict[str, str]) -> dict[str, str | None]:
    """Along each finger, from the wrist to the tip."""
    marks = human().hand_landmarks
    called = {id(mark.at): name for name, mark in found.items()}
    parents: dict[str, str | None] = {}
    for finger in human().fingers.values():
        above = joints.get(finger.hand)
        for joint in finger.joints:
            name = called.get(id(marks[f"{finger.name}_{joint}_centre"].at))
            if name is not None:
                parents[name] = above
                above = name
    return parents


def _parent(name: str, mark: Landmark, joints: dict[str, str]) -> str | None:
    """The joint of the point's own body, else the next one above; None: the root's."""
    body: str | None = mark.body
    while body is not None:
        joint = joints.get(body)
        if joint is not None and joint != name:
            return joint
        body = human().bodies[body].parent
    return None


def pick_joints(recording: Recording, tree: JointTree) -> tuple[JointTree, Array]:
    """Return the part of a tree that a recording's points show, and (n_frames, n_joints, 3) of it.

    Names may differ in case and in punctuation; a point that is never seen is not there.
    """
    seen = recording.seen
    names = [name for column, name in enumerate(recording.names) if seen[:, column].any()]
    found = _found(tree, names)
    part = tree.within(list(found))
    columns = [
        np.mean([recording.positions[:, recording.index(each)] for each in found[name]], axis=0)
        for name in part.names
    ]
    return part, np.stack(columns, axis=1)


def _found(tree: JointTree, names: Sequence[str]) -> dict[str, list[str]]:
    """Joint → points whose middle it is."""
    plain = {_plain(name): name for name in reversed(names)}
    found = {}
    for joint in tree.names:
        for points in ((joint,), *MIDDLES.get(joint, ())):
            if all(_plain(point) in plain for point in points):
                found[joint] = [plain[_plain(point)] for point in points]
                break
    return found


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
