"""What people call the joints of a rig, the motion that shows one, and the marker that does."""

from dataclasses import dataclass

import numpy as np

from osteon.human.finger_bones import FINGERS
from osteon.human.template import human
from osteon.typing import Array
from osteon.values import Skeleton

SURE_COSINE = 0.8
"""Ratio: a direction is called by an axis from 37° on; chosen, nearer to it than to any other."""
BESIDE_RADIUS = 0.06
"""Metres off a joint's axis within which a marker is on the joint's side: chosen, half of a knee's
depth."""
ARMS = ("upper_arm", "forearm", "hand")
"""Bodies that lie along y in the rest pose."""
WORDS = {
    "thigh": ("hip", "circle the {side}leg{s}", ""),
    "shin": ("knee", "bend the {side}knee{s}", "a marker on the inner side of the knee"),
    "foot": ("ankle", "circle the {side}ankle{s}", "a marker on the inner ankle"),
    "toes": ("toe joint", "rise on the {side}toes", ""),
    "clavicle": ("collar bone joint", "shrug and roll the {side}shoulder{s}", ""),
    "upper_arm": ("shoulder", "circle the {side}arm{s}", ""),
    "forearm": (
        "elbow",
        "bend and turn the {side}forearm{s}",
        "a marker on the inner side of the elbow",
    ),
    "hand": ("wrist", "circle the {side}hand{s}", ""),
    **{
        f"{finger}_1": (
            f"{finger} knuckle",
            "spread and close the {side}hand{s}",
            "a marker on the knuckle",
        )
        for finger in FINGERS
    },
    **{
        f"{finger}_2": (f"{finger} finger's middle joint", "make a {side}fist", "")
        for finger in FINGERS
    },
    **{
        f"{finger}_3": (f"{finger} finger's last joint", "make a {side}fist", "")
        for finger in FINGERS
    },
    "thumb_1": ("thumb's joint at the wrist", "circle the {side}thumb{s}", ""),
    "thumb_2": ("thumb knuckle", "bend the {side}thumb{s}", ""),
    "thumb_3": ("thumb's last joint", "bend the {side}thumb{s}", ""),
    "spine": ("lower back", "bend and turn the trunk", ""),
    "chest": ("back", "bend and turn the trunk", ""),
    "neck": ("base of the neck", "nod and turn the head", ""),
    "head": ("top of the neck", "nod and turn the head", ""),
}
"""By body without its side: its joint, the motion that shows it, and the marker that tells its
place along its axis."""


SPOTS = {
    "c7": "the lowest bone of the neck that stands out",
    "t2": "the spine below the neck",
    "t8": "the spine between the shoulder blades",
    "t10": "the spine below the shoulder blades",
    "jugular_notch": "the notch above the breastbone",
    "xiphoid": "the lower end of the breastbone",
    "scapula": "{side} shoulder blade",
    "sacrum": "the sacrum",
    "asis": "the front of {side} hip bone",
    "psis": "the back of {side} hip bone",
    "iliac_crest": "the crest of {side} hip bone",
    "acromion": "the top of {side} shoulder",
    "front_shoulder": "the front of {side} shoulder",
    "back_shoulder": "the back of {side} shoulder",
    "upper_arm_outer": "the outer side of {side} upper arm",
    "elbow_lateral": "the outer side of {side} elbow",
    "elbow_medial": "the inner side of {side} elbow",
    "forearm_outer": "the outer side of {side} forearm",
    "wrist_radial": "the thumb's side of {side} wrist",
    "wrist_ulnar": "the little finger's side of {side} wrist",
    "hand_radial": "the back of {side} hand, at the index finger",
    "hand_ulnar": "the back of {side} hand, at the little finger",
    "trochanter": "{side} greater trochanter",
    "thigh_outer": "the outer side of {side} thigh",
    "thigh_front": "the front of {side} thigh",
    "knee_lateral": "the outer side of {side} knee",
    "knee_medial": "the inner side of {side} knee",
    "tibial_tuberosity": "{side} shin, below the kneecap",
    "fibula_head": "the head of {side} fibula",
    "shin_outer": "the outer side of {side} shin",
    "shin_front": "the front of {side} shin",
    "malleolus_lateral": "{side} outer ankle",
    "malleolus_medial": "{side} inner ankle",
    "heel": "{side} heel",
    "metatarsal_1": "the ball of {side} foot, at the big toe",
    "metatarsal_5": "the ball of {side} foot, at the little toe",
    "front_head": "{side} forehead",
    "back_head": "the back of the head",
}
"""By landmark without its side: where people put a marker for it."""


def words_for_spot(landmark: str, *, both: bool = False) -> str | None:
    """Return where a marker of a landmark goes, or those of both sides; None where nobody puts one
    there."""
    side, plain = split_side(landmark)
    told = SPOTS.get(plain)
    return None if told is None else told.format(side="each" if both else f"the {side}")


@dataclass(frozen=True)
class JointWords:
    """Of the joint that a body hangs on."""

    name: str
    """``left knee``; ``knees`` for both."""
    motion: str
    """What to do so that its place is seen."""
    marker: str
    """What tells its place along its axis, which no motion does; empty where it has none."""


def split_side(body: str) -> tuple[str, str]:
    """Return a body's side, empty where it has none, and its name without it."""
    side, _, plain = body.partition("_")
    return (side, plain) if side in ("left", "right") else ("", body)


def words_for_joint(body: str, *, both: bool = False) -> JointWords | None:
    """Return the words for the joint that a body hangs on, or for both sides' joints; None where
    the template has no such body."""
    side, plain = split_side(body)
    if plain not in WORDS:
        return None
    name, motion, marker = WORDS[plain]
    side = "" if both or not side else f"{side} "
    plural = "s" if both else ""
    return JointWords(f"{side}{name}{plural}", motion.format(side=side, s=plural), marker)


def direction_word(parent: str, direction: Array) -> str:
    """Return what people call a direction (3,) in a body's frame; empty where it lies between."""
    ahead, aside, up = (abs(share) > SURE_COSINE for share in direction)
    arm = split_side(parent)[1] in ARMS
    if aside:
        return "along the arm" if arm else "sideways"
    if ahead:
        return "forwards" if not arm else "across the arm"
    return ("across the arm" if arm else "up") if up else ""


def is_flanked(skeleton: Skeleton, body: str, axis: Array) -> bool:
    """Whether markers lie on both sides of a joint, beside it along an axis (3,) of its parent."""
    own = skeleton.body(body)
    if own.parent is None:
        return False
    places = [marker.position for marker in skeleton.body(own.parent).markers]
    away = np.array(places).reshape(-1, 3) - own.joint.in_parent
    along = away @ axis
    beside = np.linalg.norm(away - np.outer(along, axis), axis=-1) < BESIDE_RADIUS
    return bool((along[beside] > 0.0).any() and (along[beside] < 0.0).any())


def is_along_axis(body: str, direction: Array) -> bool:
    """Whether a direction (3,) in the parent's frame is that of the axis about which a joint of the
    template mostly turns."""
    known = human().bodies.get(body)
    axis = "" if known is None else known.axis
    return bool(axis) and abs(float(direction["xyz".index(axis)])) > SURE_COSINE
