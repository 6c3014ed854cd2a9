"""A marker set made for a take whose labels nobody knows: is it a human, and which marker is where.

What says so is stated with a confidence; below one the answer is no, with the reason.
"""

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from osteon.errors import NotEnoughData
from osteon.human.marker_sets import Landmark, MarkerSet, human, known_sets, plain
from osteon.human.recognition import LaidFigure, lay_figure, other_side, partners
from osteon.human.usual_posture import usual_posture
from osteon.values import Recording

SURE_CONFIDENCE = 0.6
"""Ratio, of 1 for certain, from which a take is called human; chosen: more likely than not."""
USUAL_MISFIT = 0.06
"""Metres that markers are from the template on average at which shape is a coin's throw; measured:
0.027 to 0.046 on nine takes of people who stand, 0.066 on one who sits in a wheelchair."""
USUAL_LOOSENESS = 0.22
"""Ratio of how much distances vary on bodies to between them at which motion is a coin's throw;
measured: 0.04 to 0.15 on six takes of people; 0.28 on a linkage laid on one."""
MISFIT_POWER = 8
"""Count: how sharply confidence falls around both; chosen: by half over a fifth of them."""
FAR_SHARE = 0.2
"""Share of markers that may be far from the template; chosen: props and a raised arm."""
FAR_MARKER_DISTANCE = 0.08
"""Metres from the template that count as far; chosen: twice what laboratories differ by."""
LEGS = ("left_thigh", "right_thigh", "left_shin", "right_shin")
NEEDED_BODIES = 7
"""Count of bodies with markers; chosen: a lower body has them, with feet and a pelvis."""
LANDMARK_DISTANCE = 0.07
"""Metres from a landmark within which a marker is called by it; measured: with 0.05 joints
lie farther from those that true labels give, on three of four takes."""


RARE_DISTANCE = 0.05
"""Metres that a landmark which no set has is farther away than one that most have; chosen: as far
as two neighbours are apart."""


class Unlike(NamedTuple):
    """Why a take is not taken for a human."""

    reason: str


@dataclass(frozen=True)
class Recognition:
    """A human, recognised without labels."""

    words: dict[str, str]
    """By label: the landmark it is near to, or the body alone."""
    confidence: float
    """From 0 to 1, that it is a human whose left and right are not exchanged."""

    @property
    def set_name(self) -> str:
        return "recognised by shape"

    def marker_set(self) -> tuple[MarkerSet, dict[str, Landmark]]:
        """Return the set and the labels found of it, as ``recognise`` does."""
        figure = human()
        found = {
            label: figure.landmarks.get(word) or Landmark(word, None)
            for label, word in self.words.items()
        }
        return MarkerSet(self.set_name, found), found

    def toml(self) -> str:
        """Return the set as a file that a user may correct and give back."""
        lines = [
            "# Found by shape and motion, not by labels: "
            f"a human with confidence {self.confidence:.2f}.",
            "# Correct what is wrong (landmarks and bodies: docs/guide/marker_sets.md), then solve "
            "with this file as the set of your own.",
            f'name = "{self.set_name}"',
            "",
            "[markers]",
        ]
        return "\n".join(
            [*lines, *(f'{json.dumps(label)} = "{word}"' for label, word in self.words.items()), ""]
        )


def recognise_shape(recording: Recording) -> Recognition | Unlike:
    """Return which body each marker rides on, where they are a human's, else why they are not."""
    try:
        posture = usual_posture(recording)
    except NotEnoughData as error:
        return Unlike(str(error))
    found = lay_figure(posture)
    if lacking := _lacking(found):
        return Unlike(lacking)
    confidence = _confidence(found)
    if confidence < SURE_CONFIDENCE:
        return Unlike(f"they are like a human's with confidence {confidence:.2f} only")
    words = {
        label: word
        for label, word in zip(found.names, _words(found), strict=True)
        if plain(label) and word
    }
    return Recognition(words, confidence)


def _lacking(found: LaidFigure) -> str:
    """What a human has and the markers do not show; empty: nothing."""
    worn = set(found.bodies)
    missing = [name.replace("_", " ") for name in LEGS if name not in worn]
    if missing:
        return f"nothing moves like a {missing[0]}"
    if not worn & {"pelvis", "chest"}:
        return "nothing moves like a pelvis or a chest"
    if len(worn) < NEEDED_BODIES:
        return f"they show {len(worn)} bodies of a human only"
    far = float(np.mean(found.fit.nearest > FAR_MARKER_DISTANCE))
    return f"{100 * far:.0f} % of them are far from a human's body" if far > FAR_SHARE else ""


def _confidence(found: LaidFigure) -> float:
    shape = 1.0 / (1.0 + (found.fit.cost / USUAL_MISFIT) ** MISFIT_POWER)
    sides = 1.0 / (1.0 + float(np.exp(-found.margin)))
    motion = 1.0 / (1.0 + (found.looseness / USUAL_LOOSENESS) ** MISFIT_POWER)
    return shape * sides * motion


def _words(found: LaidFigure) -> list[str]:
    """Landmarks, each for the marker nearest to it; bodies alone for the others.

    Counterparts on both sides are called alike, or neither.
    """
    partner = partners(found.fit, found.bodies)
    words, given = list(found.bodies), set[str]()
    for _, gap, marker, word in sorted(_candidates(found, partner)):
        other, twin = int(partner[marker]), other_side(word)
        free = words[marker] == found.bodies[marker] and not {word, twin} & given
        if gap > LANDMARK_DISTANCE or not free:
            continue
        words[marker] = word
        if other >= 0:
            words[other] = twin
        given |= {word, twin}
    return words


def _candidates(found: LaidFigure, partner: np.ndarray) -> list[tuple[float, float, int, str]]:
    """How far markers are from the landmarks of their bodies, metres, counterparts together; first
    with what a landmark is farther for being rarely marked."""
    ranked, rarity = [], _rarity()
    for word, mark in human().landmarks.items():
        if mark.soft or word.endswith("_centre"):
            continue
        for marker, body in enumerate(found.bodies):
            other, twin = int(partner[marker]), other_side(word)
            if body != mark.body or (other >= 0) != (twin != word):
                continue
            gaps = [_gap(found, marker, word)]
            if other >= 0:
                if found.bodies[other] != human().landmarks[twin].body:
                    continue
                gaps.append(_gap(found, other, twin))
            gap = float(np.mean(gaps))
            ranked.append((gap + RARE_DISTANCE * rarity[word], gap, marker, word))
    return ranked


@cache
def _rarity() -> dict[str, float]:
    """By landmark: from 0, which most marker sets have, to 1, which none has."""
    words = {id(mark): word for word, mark in human().landmarks.items()}
    marked = Counter(
        words[id(mark)]
        for each in known_sets()
        for mark in each.markers.values()
        if id(mark) in words and not each.of_hands
    )
    most = max(marked.values())
    return {word: 1.0 - marked[word] / most for word in human().landmarks}


def _gap(found: LaidFigure, marker: int, word: str) -> float:
    mark = human().landmarks[word]
    assert mark.at is not None
    place = found.fit.placed(mark.body, mark.at)
    return found.fit.size * float(np.linalg.norm(found.fit.points[marker] - place))
