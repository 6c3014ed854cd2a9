"""What other programs call the bones of a human: one table for reading and writing each scheme.

``names/<scheme>.toml`` says for each of our bodies what it is called there; the left side stands
for both. Of several names the first is written and all are read.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from osteon.errors import BadValue
from osteon.human.finger_bones import BONE_COUNT
from osteon.values import Skeleton

MOST_SPELLINGS = 4096
"""Count of names whose plain letters are remembered. Chosen: all schemes together have fewer."""
OWN = "osteon"
"""The scheme of our own names."""
NEEDED = ("left_thigh", "right_thigh", "left_shin", "right_shin")
"""Without these parts there is no telling how the character stands."""
PREFIX_SHARE = 0.9
"""Share of bones that begin with the same word, from which that is the character's and not theirs;
chosen: nearly all, for an armature above them has a name of its own."""


@dataclass(frozen=True)
class BoneNames:
    """A scheme of names."""

    name: str
    title: str
    bones: dict[str, tuple[str, ...]]
    """Our body → what it is called, without prefix; the first is written."""
    prefix: str = ""
    """Written before every name."""
    also: tuple[str, ...] = ()
    """Prefixes that are read."""

    def written(self, own: str) -> str:
        """Return what one of our bodies is called; its own name where the scheme has none."""
        return self.prefix + self.bones[own][0] if own in self.bones else own

    def found_in(self, skeleton: Skeleton) -> dict[str, str]:
        """Return our bodies → those of a skeleton with such names, as many as there are."""
        spelled = self._spellings(skeleton)
        found: dict[str, str] = {}
        for own, names in self.bones.items():
            there = [spelled[plain] for name in names if (plain := plain_name(name)) in spelled]
            free = [name for name in there if name not in found.values()]
            # arms hang on the last of several chests; of other parts the first holds the rest
            if free:
                found[own] = (max if own == "chest" else min)(free, key=skeleton.index)
        return found

    def _spellings(self, skeleton: Skeleton) -> dict[str, str]:
        prefixes = [plain_name(prefix) for prefix in (self.prefix, *self.also) if prefix]
        spelled: dict[str, str] = {}
        for names in (skeleton.names, bare_names(skeleton.names)):
            for body, name in zip(skeleton.names, names, strict=True):
                plain = plain_name(name)
                spelled.setdefault(plain, body)
                for prefix in prefixes:
                    spelled.setdefault(plain.removeprefix(prefix), body)
        return spelled


def known_names() -> tuple[str, ...]:
    """Return what schemes are called: our own, then the others by name."""
    return tuple(_schemes())


def load_names(name: str) -> BoneNames:
    """Return a scheme; refuse what is not known."""
    if name.lower() not in _schemes():
        raise BadValue(f"no bone names are known as {name!r}; known: {', '.join(known_names())}")
    return _schemes()[name.lower()]


def recognise_names(skeleton: Skeleton) -> BoneNames | None:
    """Return the scheme that names most of a skeleton's bodies, among them both legs; None: no
    scheme does."""
    best: tuple[int, BoneNames | None] = (0, None)
    for scheme in _schemes().values():
        found = scheme.found_in(skeleton)
        if len(found) > best[0] and all(part in found for part in NEEDED):
            best = len(found), scheme
    return best[1]


@lru_cache(MOST_SPELLINGS)
def plain_name(name: str) -> str:
    """Return a name in plain letters: ``mixamorig:LeftHandIndex1``, ``left_hand_index_1`` →
    ``lefthandindex1``."""
    return re.sub(r"[^a-z0-9]", "", own_name(name).lower())


def own_name(name: str) -> str:
    """Return a name without that of the file or character before it; some programs drop Mixamo's
    colon."""
    return re.sub(r"^mixamorig\d*(?=[A-Z])", "", re.split("[:|]", name)[-1])


def bare_names(names: Sequence[str]) -> list[str]:
    """Return names without the word that nearly all of them begin with, as ``Hero_Hips``."""
    words = [re.match(r"[A-Za-z0-9]+[_\-. ]", name) for name in names]
    first = Counter(word[0] for word in words if word).most_common(1)
    if not first or first[0][1] < PREFIX_SHARE * len(names):
        return list(names)
    return [name.removeprefix(first[0][0]) or name for name in names]


@cache
def _schemes() -> dict[str, BoneNames]:
    folder = resources.files("osteon.human") / "names"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".toml"))
    others = [_scheme(tomllib.loads((folder / file).read_text("utf-8"))) for file in files]
    bodies = dict.fromkeys(own for scheme in others for own in scheme.bones)
    own = BoneNames(OWN, "Osteon", {body: (body,) for body in bodies})
    return {scheme.name: scheme for scheme in (own, *others)}


def _scheme(table: dict[str, Any]) -> BoneNames:
    """Return what a file says; ``sides``: what left and right are called in its names."""
    bones = {
        own: (said,) if isinstance(said, str) else tuple(said)
        for own, said in table["bones"].items()
    }
    for finger, said in table.get("fingers", {}).items():
        numbered = (f"{finger}_{number}" for number in range(1, BONE_COUNT + 1))
        bones |= {own: (name,) for own, name in zip(numbered, said, strict=True)}
    both: dict[str, tuple[str, ...]] = {}
    for own, names in bones.items():
        both[own] = names
        if own.startswith("left_"):
            right = own.replace("left_", "right_", 1)
            both[right] = tuple(_right(name, *table["sides"]) for name in names)
    about = {key: table[key] for key in ("name", "title")}
    return BoneNames(
        **about, bones=both, prefix=table.get("prefix", ""), also=tuple(table.get("also", ()))
    )


def _right(name: str, left: str, right: str) -> str:
    """Return the right side's name; SMPL's models say ``left_hip`` and ``L_Hip``."""
    at = name.rfind(left) if left.startswith(("_", ".")) else name.find(left)
    if at < 0:
        return name.replace("L_", "R_", 1)
    return name[:at] + right + name[at + len(left) :]
