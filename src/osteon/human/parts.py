"""Which body of a character is which part of a human, by its name and by where it hangs."""

import re
from collections.abc import Mapping
from itertools import pairwise

from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.human.bone_names import NEEDED, bare_names, own_name, recognise_names
from osteon.values import Skeleton

PARTS = {
    "thigh": ("femur", "thigh", "upleg", "upperleg", "hip"),
    "shin": ("tibia", "shin", "shank", "calf", "lowerleg", "lowleg", "leg", "knee"),
    "foot": ("foot", "ankle"),
    "toes": ("toes", "toebase", "toe", "ball"),
    "upper_arm": ("humerus", "upperarm", "uparm", "arm", "shoulder"),
    "clavicle": ("clavicle", "collarbone", "collar", "shoulder"),
    "forearm": ("radius", "forearm", "lowerarm", "lowarm", "ulna", "elbow"),
    "hand": ("hand", "wrist"),
}
"""Words of paired parts; an earlier word is the better name, and no body is two parts."""
MIDDLE = {
    "head": ("head", "skull"),
    "neck": ("neck", "lowerneck"),
    "chest": ("chest", "thorax", "upperchest", "torso"),
    "pelvis": ("pelvis", "hips", "hip", "root"),
}
NUMBERED = {
    "leg": ("thigh", "shin", "foot", "toes"),
    "arm": ("upper_arm", "forearm", "hand"),
    "neck": ("neck", "head"),
}
"""What bodies are that hang on each other and are all called by one word, as ``leg_1``, ``leg_2``,
where no other body is called by a better one."""
SIDES = {"left": "left", "l": "left", "right": "right", "r": "right"}
IDLE = ("bip", "jnt", "joint", "def", "bone", "skeleton")
"""Words that say nothing."""
SHOWN_COUNT = 32
"""Count of bodies that are named to a user who has to say which is which; chosen: all of most
skeletons."""

_WORDS = {word for words in (*PARTS.values(), *MIDDLE.values()) for word in words}


def name_parts(
    skeleton: Skeleton, given: Mapping[str, str] | None = None, table: str = "bodies"
) -> dict[str, str]:
    """Return human parts (as ``left_thigh``) → bodies of the character.

    Parameters
    ----------
    given
        Parts that the user names; they go before anything found.
    table
        Of a mapping file, in which the user names them.
    """
    parts = find_parts(skeleton, given)
    missing = [part for part in NEEDED if part not in parts]
    if missing:
        raise NotEnoughData(
            f"the skeleton's {len(skeleton.bodies)} bodies ({_some(skeleton)}) show no "
            f"{' or '.join(missing)}; {understood(skeleton, parts)}; name them in a mapping file: "
            f'[{table}] {missing[0]} = "…"'
        )
    return parts


def find_parts(skeleton: Skeleton, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the human parts of any creature: as many as there are, none perhaps."""
    parts = _check(skeleton, given or {})
    _name_by_scheme(parts, skeleton)
    bare = bare_names(skeleton.names)
    spoken = {name: _side_and_word(own) for name, own in zip(skeleton.names, bare, strict=True)}
    for word, limbs in NUMBERED.items():
        for side in ("left", "right", ""):
            _name_numbered(parts, skeleton, side, word, limbs, spoken)
    for side in ("left", "right"):
        for part, words in PARTS.items():
            _name_one(parts, f"{side}_{part}", side, words, spoken)
    for part, words in MIDDLE.items():
        several = sum(said[1] in words for said in spoken.values()) > 1
        if part != "chest" or not several:  # of several the one that arms hang on
            _name_one(parts, part, "", words, spoken)
    _name_trunk(skeleton, parts)
    return parts


def understood(skeleton: Skeleton, parts: Mapping[str, str]) -> str:
    """Tell which bodies are known as parts of a human."""
    if not parts:
        return f"none of {', '.join(skeleton.names[:8])} … is known as a part of a human"
    return "understood: " + ", ".join(f"{part} = {body}" for part, body in parts.items())


def chain_between(skeleton: Skeleton, first: str, last: str) -> list[str]:
    """Return the bodies from ``first`` down to just above ``last``; ``first`` alone where it is not
    above it."""
    chain, body = [], skeleton.body(last).parent
    while body is not None:
        chain.append(body)
        if body == first:
            return chain[::-1]
        body = skeleton.body(body).parent
    return [first]


def _check(skeleton: Skeleton, given: Mapping[str, str]) -> dict[str, str]:
    for part, body in given.items():
        if part not in _known_parts():
            raise UnknownName("human part", part, _known_parts())
        skeleton.index(body)
    if len(set(given.values())) < len(given):
        raise BadValue("the mapping names one body for several parts; give each part its own")
    return dict(given)


def _name_by_scheme(parts: dict[str, str], skeleton: Skeleton) -> None:
    """Name what a scheme of names knows; of the chest the arms that hang on it tell more."""
    scheme = recognise_names(skeleton)
    known = [part for part in _known_parts() if part != "chest"]
    for part, body in ({} if scheme is None else scheme.found_in(skeleton)).items():
        if part in known and body not in parts.values():
            parts.setdefault(part, body)


def _known_parts() -> list[str]:
    return [*MIDDLE, *(f"{side}_{part}" for side in ("left", "right") for part in PARTS)]


def _name_numbered(
    parts: dict[str, str],
    skeleton: Skeleton,
    side: str,
    word: str,
    limbs: tuple[str, ...],
    spoken: Mapping[str, tuple[str, str]],
) -> None:
    chain = [name for name, said in spoken.items() if said == (side, word)]
    hung = pairwise(chain)
    if len(chain) < 2 or any(skeleton.body(below).parent != above for above, below in hung):
        return
    own = [limb if not side else f"{side}_{limb}" for limb in limbs]
    words = [PARTS.get(limb) or MIDDLE[limb] for limb in limbs[: len(chain)]]
    better = {(side, each) for limb in words for each in limb if each != word}
    if not better & set(spoken.values()):
        for part, name in zip(own, chain, strict=False):
            if name not in parts.values():
                parts.setdefault(part, name)


def _name_one(
    parts: dict[str, str],
    part: str,
    side: str,
    words: tuple[str, ...],
    spoken: Mapping[str, tuple[str, str]],
) -> None:
    if part in parts:
        return
    for word in words:
        for name, said in spoken.items():
            if said == (side, word) and name not in parts.values():
                parts[part] = name
                return


def _name_trunk(skeleton: Skeleton, parts: dict[str, str]) -> None:
    """Name pelvis and chest, whatever they are called: legs hang on the one, arms on the other."""
    for part, limb in (("pelvis", "thigh"), ("chest", "clavicle"), ("chest", "upper_arm")):
        pair = [parts[f"{side}_{limb}"] for side in ("left", "right") if f"{side}_{limb}" in parts]
        if len(pair) == 2 and (shared := _shared_ancestor(skeleton, *pair)) is not None:
            parts.setdefault(part, shared)


def _shared_ancestor(skeleton: Skeleton, one: str, other: str) -> str | None:
    above = set(_ancestors(skeleton, one))
    return next((name for name in _ancestors(skeleton, other) if name in above), None)


def _ancestors(skeleton: Skeleton, name: str) -> list[str]:
    found, body = [], skeleton.body(name).parent
    while body is not None:
        found.append(body)
        body = skeleton.body(body).parent
    return found


def _side_and_word(name: str) -> tuple[str, str]:
    """Return side and word of ``mixamorig:LeftUpLeg``, ``upperleg.L``, ``Bip01 L Thigh``,
    ``lfemur``."""
    own = own_name(name)
    words = [w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", own)]
    words = [word for word in words if word not in IDLE]
    sides = [SIDES[word] for word in words if word in SIDES]
    if sides:
        return sides[0], "".join(word for word in words if word not in SIDES)
    word = "".join(words)
    for start, side in SIDES.items():
        if word.startswith(start) and word[len(start) :] in _WORDS:
            return side, word[len(start) :]
    return "", word


def _some(skeleton: Skeleton) -> str:
    return ", ".join(skeleton.names[:SHOWN_COUNT]) + (
        ", …" if len(skeleton.names) > SHOWN_COUNT else ""
    )
