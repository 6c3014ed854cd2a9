"""A marker set made for a take whose labels nobody knows: is it a human, and which marker is where.

What says so is stated with a confidence; below one the answer is no, with the reason.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from osteon.errors import NotEnoughData
from osteon.human.landmark_fit import TRUNK, landmark_places, other_side
from osteon.human.marker_sets import MarkerSet, plain
from osteon.human.recognition import VOICE_ODDS, LaidFigure, arms_hang, lay_figure
from osteon.human.template import Landmark, human
from osteon.human.usual_posture import usual_posture
from osteon.values import Recording

SURE_CONFIDENCE = 0.6
"""Ratio, of 1 for certain, from which a take is called human; chosen: more likely than not."""
SURE_LIMBS, TRUNK_COUNT = 0.8, 3
"""Ratio, the same where so few markers (a count) are above the pelvis but for arms; measured: limbs
alone fit several sizes and postures, and a patient in deep crouch, half of whose markers went to
other bodies, had 0.61; three who walk in such sets have 0.95 and more."""
USUAL_MISFIT = 0.06
"""Metres that markers are from the template on average at which shape is a coin's throw; measured:
0.027 to 0.046 on nine takes of people who stand, 0.066 on one who sits in a wheelchair."""
USUAL_LOOSENESS = 0.22
"""Ratio of how much distances vary on bodies to between them at which motion is a coin's throw;
measured: 0.04 to 0.15 on six takes of people; 0.28 on a linkage laid on one."""
USUAL_DOUBT = 0.04
"""Metres that half of the landmarks may lie elsewhere, at which they are a coin's throw; measured:
0.007 to 0.023 on nineteen takes of people, 0.053 on a linkage laid on one."""
ALIKE_VOICES = 4.0
"""Count of markers that say the same about left and right; chosen: those of one body."""
MISFIT_POWER = 8
"""Count: how sharply confidence falls around all three; chosen: by half over a fifth of them."""
TWIN_SHARE = 0.75
"""Share of the markers on limbs whose counterpart the other limb has; measured: 0.83 to 1 on
nineteen takes of people, 0.36 to 0.67 on four of others."""
FAR_SHARE = 0.2
"""Share of markers that may be far from the template; chosen: props and a raised arm."""
FAR_MARKER_DISTANCE = 0.08
"""Metres from the template that count as far; chosen: twice what laboratories differ by."""
COMPUTED = re.compile(r".+JC\d*", re.IGNORECASE)
"""Names of joint centres as laboratories spell them (LHJC, R_KJC, LHJC2): computed, never worn."""
LEGS = ("left_thigh", "right_thigh", "left_shin", "right_shin")
NEEDED_BODIES = 7
"""Count of bodies with markers; chosen: a lower body has them, with feet and a pelvis."""
MOST_DOUBT, TOLD_DOUBT = 0.04, 0.02
"""Metres that a landmark may lie elsewhere beyond which the body alone is told, and from which a
doubt is; chosen: as landmarks of one body are apart, and half of that."""


class Unlike(NamedTuple):
    """Why a take is not taken for a human."""

    reason: str


@dataclass(frozen=True)
class Recognition:
    """A human, recognised without labels."""

    words: dict[str, str]
    """By label: the landmark it is near to, or the body alone."""
    doubts: dict[str, float]
    """By label: metres rms that the landmark may be another."""
    confidence: float
    """From 0 to 1, that it is a human whose left and right are not exchanged."""
    size: float = 1.0
    """Ratio to the template's 1.75 m."""

    @property
    def set_name(self) -> str:
        return "recognised by shape"

    def marker_set(self) -> tuple[MarkerSet, dict[str, Landmark]]:
        """Return the set and the labels found of it, as ``recognise`` does."""
        figure = human()
        found = {
            label: replace(figure.landmarks[word], doubt=self.doubts[label])
            if word in figure.landmarks
            else Landmark(word, None)
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
        return "\n".join([*lines, *map(self._line, self.words), ""])

    def _line(self, label: str) -> str:
        doubt = self.doubts[label]
        said = f"  # or another, {1e3 * doubt:.0f} mm away" if doubt > TOLD_DOUBT else ""
        return f'{json.dumps(label)} = "{self.words[label]}"{said}'


def recognise_shape(
    recording: Recording, words: frozenset[str] | None = None
) -> Recognition | Unlike:
    """Return which body each marker rides on, where they are a human's, else why they are not.

    Parameters
    ----------
    words
        The landmarks that markers may be on, besides anywhere on a body; None: all.
    """
    worn = [name for name in recording.names if COMPUTED.fullmatch(name) is None]
    try:
        posture = usual_posture(recording.select(worn))
    except NotEnoughData as error:
        return Unlike(str(error))
    found = lay_figure(posture, landmark_places(words))
    if lacking := _lacking(found):
        return Unlike(lacking)
    held = _confidences(found)
    confidence = float(np.prod(list(held.values())))
    on_trunk = [body for body in found.landmarked.bodies if body in {*TRUNK, "head"}]
    sure = SURE_CONFIDENCE if len(on_trunk) >= TRUNK_COUNT else SURE_LIMBS
    if confidence < sure:
        wrong = min(held, key=lambda each: held[each])
        return Unlike(f"like a human's with confidence {confidence:.2f} only, for {wrong}")
    on = found.landmarked
    rows = zip(found.names, on.words, on.bodies, on.doubts.tolist(), strict=True)
    said = {
        label: (word, doubt) if doubt < MOST_DOUBT else (body, 0.0)
        for label, word, body, doubt in rows
        if plain(label)
    }
    on_words = {label: word for label, (word, _) in said.items()}
    doubts = {label: doubt for label, (_, doubt) in said.items()}
    return Recognition(on_words, doubts, confidence, found.fit.size)


def _lacking(found: LaidFigure) -> str:
    """What a human has and the markers do not show; empty: nothing."""
    worn = set(found.landmarked.bodies)
    missing = [name.replace("_", " ") for name in LEGS if name not in worn]
    if missing:
        return f"nothing moves like a {missing[0]}"
    if not worn & {"pelvis", "chest"}:
        return "nothing moves like a pelvis or a chest"
    if not arms_hang(worn):
        return "nothing moves like the trunk that arms hang on"
    if len(worn) < NEEDED_BODIES:
        return f"they show {len(worn)} bodies of a human only"
    far = float(np.mean(found.fit.nearest > FAR_MARKER_DISTANCE))
    if far > FAR_SHARE:
        return f"{100 * far:.0f} % of them are far from a human's body"
    twins = _twin_share(found)
    few = f"only {100 * twins:.0f} % of those on limbs have a counterpart on the other one"
    return few if twins < TWIN_SHARE else ""


def _twin_share(found: LaidFigure) -> float:
    words = found.landmarked.words
    return float(np.mean([other_side(word) in words for word in words if other_side(word) != word]))


def _confidences(found: LaidFigure) -> dict[str, float]:
    """How sure each thing is that has to hold, by what is wrong if it does not."""
    doubt = float(np.median(found.landmarked.doubts))
    return {
        f"they are {1e3 * found.fit.cost:.0f} mm from its shape on average": _falling(
            found.fit.cost / USUAL_MISFIT
        ),
        "which side is left is open": _odds(found.margin / ALIKE_VOICES),
        "they walk or bend as if it faced the other way": _odds(VOICE_ODDS * found.voices),
        "those on one body move against each other": _falling(found.looseness / USUAL_LOOSENESS),
        "most of them could be elsewhere on it": _falling(doubt / USUAL_DOUBT),
    }


def _falling(ratio: float) -> float:
    return 1.0 / (1.0 + ratio**MISFIT_POWER)


def _odds(logarithm: float) -> float:
    return 1.0 / (1.0 + float(np.exp(-logarithm)))
