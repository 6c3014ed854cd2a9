"""The average human of ``sets/human.toml``: bodies, rest joints and landmarks, both sides."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from osteon.human.finger_bones import Finger

LEAST_GLIDE = 0.0001
"""Metres. Of a joint that is a ball: chosen, far less than cameras see."""


@dataclass(frozen=True)
class TemplateBody:
    """A body of the average human."""

    name: str
    parent: str | None
    at: np.ndarray
    """(3,) the joint to the parent in the rest pose, metres."""
    alone: np.ndarray
    """(3,) the same where the parent was left out."""
    sigma: float
    """How sure the template is of the joint, metres."""
    needs: int
    """Markers without which the body is left out; its children then hang on its parent."""
    instead: str | None
    """The body that takes the markers of one left out; None: it is never left out."""
    skin: float = 0.0
    """What markers do against the bone, metres rms."""
    glide: float = LEAST_GLIDE
    """How far the joint is from a point that both bones share, metres rms per axis."""
    axis: str = ""
    """The axis, x, y or z in the rest pose, about which the joint mostly turns; empty: any."""
    aligned: bool = False
    """Whether both bones keep that axis in common."""
    girdle: bool = False
    """Whether it turns but little, and mostly carries one marker."""


@dataclass(frozen=True)
class Landmark:
    """A place on the skin. ``at`` is None where only the body is known."""

    body: str
    at: np.ndarray | None
    soft: bool = False
    """Not on a bone that can be felt: where along the limb it sits is anybody's choice."""
    doubt: float = 0.0
    """Metres rms that it may be another landmark, where shape alone says which."""


@dataclass(frozen=True)
class Human:
    """The template: bodies in tree order, bone tips and landmarks."""

    height: float
    bodies: dict[str, TemplateBody]
    tips: dict[str, np.ndarray]
    landmarks: dict[str, Landmark]
    fingers: dict[str, Finger]
    """By name with its side, as ``left_index``, thumbs first."""
    hand_landmarks: dict[str, Landmark]
    """Of hand sets, on hands and fingers: no body is recognised by them."""


@cache
def human() -> Human:
    """Return the average human of ``sets/human.toml``, both sides."""
    table = tomllib.loads((sets_folder() / "human.toml").read_text(encoding="utf-8"))
    bodies = {
        name: TemplateBody(
            name,
            entry.get("parent"),
            np.array(entry["at"], dtype=float),
            np.array(entry.get("alone", entry["at"]), dtype=float),
            entry.get("sigma", 0.0),
            entry.get("needs", 0),
            entry.get("instead"),
            entry["skin"],
            entry.get("glide", LEAST_GLIDE),
            entry.get("axis", ""),
            entry.get("aligned", False),
            entry.get("girdle", False),
        )
        for name, entry in _both_sides(table["bodies"]).items()
    }
    tips = {name: np.array(at, dtype=float) for name, at in _both_sides(table["tips"]).items()}
    fingers = {n: Finger.of(n, **entry) for n, entry in _finger_tables(table["fingers"]).items()}
    places = [finger.places() for finger in fingers.values()]
    on_hands = {word: Landmark(*place) for own in places for word, place in own.items()}
    on_hands |= _landmarks(table["hand_landmarks"])
    landmarks = _landmarks(table["landmarks"])
    return Human(table["height"], bodies, tips, landmarks, fingers, on_hands)


def _landmarks(table: dict[str, Any]) -> dict[str, Landmark]:
    return {
        name: Landmark(entry["body"], np.array(entry["at"], dtype=float), entry.get("soft", False))
        for name, entry in _both_sides(table).items()
    }


def _finger_tables(table: dict[str, Any]) -> dict[str, Any]:
    """Of both sides; lengths are no places, and have no mirror image."""
    both = _both_sides(table)
    return {
        name: {**both[name], "lengths": own["lengths"]}
        for left, own in table.items()
        for name in (left, right_of(left))
    }


def _both_sides(table: dict[str, Any]) -> dict[str, Any]:
    """Return left entries and their mirror images, in the order written."""
    both: dict[str, Any] = dict(table)
    both.update({right_of(name): _mirror(entry) for name, entry in table.items() if is_left(name)})
    return both


def _mirror(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {key: _mirror(value) for key, value in entry.items()}
    if isinstance(entry, str):
        return right_of(entry) if is_left(entry) else entry
    return [entry[0], -entry[1], entry[2]] if isinstance(entry, list) else entry


def is_left(name: str) -> bool:
    """Return whether a body or landmark is one of a pair, the left one."""
    return name.startswith("left_")


def right_of(name: str) -> str:
    """Return the name of a left one's mirror image."""
    return "right_" + name.removeprefix("left_")


def sets_folder():
    """Return where the template and the marker sets lie."""
    return resources.files("osteon.human") / "sets"
