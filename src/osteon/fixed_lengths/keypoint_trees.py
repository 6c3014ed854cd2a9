"""Which keypoint of a markerless system hangs on which, by the joints that they lie on."""

from collections.abc import Sequence

import numpy as np

from osteon.human import Landmark, human, recognise

HIPS = "hips"
"""The root where no keypoint is the hips' middle."""


def keypoint_parents(names: Sequence[str]) -> dict[str, str | None] | None:
    """Return a table joint → parent of points that are keypoints of a known set; else None."""
    known = recognise(names)
    if known is None or not known[0].keypoints:
        return None
    found = known[1]
    joints = _joints(found)
    parents = {name: _parent(name, mark, joints) for name, mark in found.items()}
    on_fingers = {**found, **known[0].match_fingers(names)}
    parents |= _finger_parents(on_fingers, joints)
    root = next(iter(found)) if known[0].of_hands else joints["pelvis"]
    return {root: None} | {name: up or root for name, up in parents.items() if name != root}


def _joints(found: dict[str, Landmark]) -> dict[str, str]:
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
