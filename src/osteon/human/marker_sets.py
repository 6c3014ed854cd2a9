"""Marker sets as data: which label sits on which landmark of which body.

Every file of ``sets/`` but the template names a set's labels by the template's landmarks. A user's
own set is a file of the same form; a label may name a landmark, or a body alone where its place on
the body is for the data to find. How large a person is against the template is measured between
their markers.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from osteon.errors import FormatError, UnknownName
from osteon.human.finger_bones import is_finger
from osteon.human.template import Landmark, human, is_left, right_of, sets_folder
from osteon.maths import weighted_median
from osteon.typing import Array

ENOUGH_OF_SET = 0.6
"""Share of a set's labels, of the bodies it instruments, that a recording must have; chosen:
laboratories leave some out."""
PREFIX_SHARE = 0.9
"""Share of labels that begin with the same word and an underscore, from which that is a prefix;
chosen: nearly all, for some markers may be of something else."""
ENOUGH_LABELS = 10
"""Count of matching labels; chosen: fewer are chance, not a marker set."""
ENOUGH_FINGERS = 3
"""Count of fingers of one hand that labels must show; chosen: a thumb and an index alone are on
many sets, and bend no others."""
ENOUGH_ON_HAND = 3
"""Count of labels on a hand without a body, derived: fewer show no pose of it."""
NAMED_COUNT = 6
"""Count of missing markers that are named; chosen: one line, where there may be dozens."""
STEADY_SHARE = 0.06
"""Share of its mean by which the distance of two markers may vary to measure the subject's size;
chosen: markers of one body keep theirs but for the skin."""

NEAR_JOINT = 0.075
"""Metres from a joint within which a marker keeps its distance from the next body's markers as the
joint turns; chosen: half the breadth of a knee, and a marker."""


@dataclass(frozen=True)
class MarkerSet:
    """A set's labels on the template."""

    name: str
    markers: dict[str, Landmark]
    """By label as the set writes it, in the order of arrays that know no labels."""
    keypoints: bool = False
    """Whether a markerless system found its points: on joints, not on skin."""
    spellings: dict[str, str] = field(default_factory=dict)
    """Other labels of the same points → the set's own."""
    sides: bool = False
    """Whether ``LIndexTip`` and ``left_index_tip`` are one; of keypoints they are."""

    @property
    def of_hands(self) -> bool:
        """Whether it is of hands alone."""
        return all(is_finger(m.body) or m.body.endswith("_hand") for m in self.markers.values())

    def without_fingers(self) -> "MarkerSet":
        """Return the set as it is on bodies that are solved at once."""
        kept = {own: mark for own, mark in self.markers.items() if not is_finger(mark.body)}
        spellings = {other: own for other, own in self.spellings.items() if own in kept}
        return replace(self, markers=kept, spellings=spellings)

    def match(self, labels: Iterable[str]) -> dict[str, Landmark]:
        """Return the recording's labels that belong to the set, under the recording's own
        spelling; those of fingers apart."""
        return {own: mark for own, mark in self._all(labels).items() if not is_finger(mark.body)}

    def match_fingers(self, labels: Iterable[str]) -> dict[str, Landmark]:
        """Return the same of markers on fingers."""
        return {own: mark for own, mark in self._all(labels).items() if is_finger(mark.body)}

    def _all(self, labels: Iterable[str]) -> dict[str, Landmark]:
        return {label: self.markers[own] for label, own in self._named(labels).items()}

    def lacks(self, labels: Iterable[str]) -> list[str]:
        """Return the set's labels that a recording does not have."""
        found = set(self._named(labels).values())
        return [label for label in self.markers if label not in found]

    def _named(self, labels: Iterable[str]) -> dict[str, str]:
        """The recording's labels → the set's own."""
        known = {self._word(plain(label)): label for label in self.markers}
        for other, label in self.spellings.items():
            known.setdefault(self._word(plain(other)), label)
        given = _without_prefix(tuple(labels))
        words = {label: self._word(word) for label, word in given.items()}
        return {label: known[word] for label, word in words.items() if word in known}

    def _word(self, word: str) -> str:
        """Keypoints are spelt ``LHip``, ``left_hip`` or ``HipLeft``: all are one."""
        if not (self.keypoints or self.sides):
            return word
        for side in ("LEFT", "RIGHT"):
            if word.startswith(side) or word.endswith(side):
                return side[0] + word.removeprefix(side).removesuffix(side)
        return word


@cache
def plain(label: str) -> str:
    """Return a label without subject prefix, case and punctuation: ``Take:L.Asis`` → ``LASIS``."""
    return re.sub(r"[^A-Z0-9]", "", label.rsplit(":", 1)[-1].upper())


def _without_prefix(labels: tuple[str, ...]) -> dict[str, str]:
    """Return by label its plain form, without a word that nearly all begin with, as
    ``Actor_Chest``."""
    heads = Counter(label.split("_", 1)[0] for label in labels if "_" in label)
    head, count = heads.most_common(1)[0] if heads else ("", 0)
    side = head.lower() in ("left", "right", "l", "r")  # of one hand or leg alone, no name
    shared = head + "_" if count >= PREFIX_SHARE * len(labels) and count > 1 and not side else ""
    return {label: plain(label.removeprefix(shared)) for label in labels}


@cache
def known_sets() -> tuple[MarkerSet, ...]:
    """Return every set that osteon ships."""
    files = sorted(entry.name for entry in sets_folder().iterdir() if entry.name.endswith(".toml"))
    return tuple(
        parse_set((sets_folder() / name).read_text(encoding="utf-8"), name)
        for name in files
        if name != "human.toml"
    )


def load_set(path: str | Path) -> MarkerSet:
    """Return a user's own set."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise FormatError(path.name, "not a readable text file; a marker set is TOML") from None
    return parse_set(text, path.name)


def parse_set(text: str, file: str) -> MarkerSet:
    """Return a set from its TOML text."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(file, f"not valid TOML: {error}") from None
    words = table.get("markers")
    if not isinstance(words, dict):
        raise FormatError(file, 'a marker set needs a [markers] table such as LASI = "left_asis"')
    for label, word in words.items():
        if not isinstance(word, str) or not plain(label):
            raise FormatError(
                file, f'{label} = {word!r} must name a landmark, such as LASI = "left_asis"'
            )
    given = {label: _landmark(word) for label, word in words.items()}
    mirrored = {
        "R" + label[1:]: _landmark(right_of(word))
        for label, word in words.items()
        if label[0] == "L" and is_left(word)
    }
    return MarkerSet(
        str(table.get("name", file)),
        {**given, **mirrored, **given},
        table.get("keypoints", False) is True,
        _spellings(table.get("spellings", {}), {**given, **mirrored}, file),
        table.get("sides", False) is True,
    )


def _spellings(table: Any, given: dict[str, Landmark], file: str) -> dict[str, str]:
    if not isinstance(table, dict) or not all(label in given for label in table.values()):
        raise FormatError(
            file, 'lines of [spellings], such as HeadTop = "Head", must name labels of [markers]'
        )
    return table


def recognise(
    labels: Iterable[str], sets: tuple[MarkerSet, ...] | None = None
) -> tuple[MarkerSet, dict[str, Landmark]] | None:
    """Return the set that explains most of a recording's labels, or None when none does."""
    labels = tuple(labels)
    best: tuple[int, float, int, MarkerSet, dict[str, Landmark]] | None = None
    known = known_sets() if sets is None else sets
    for candidate in known:
        if candidate.of_hands:
            continue
        found = candidate.match(labels)
        share = _share_of_touched_bodies(candidate, found)
        if len(found) >= ENOUGH_LABELS and share >= ENOUGH_OF_SET:
            # of sets that explain as much, the one that asks for least
            rank = (len(found), share, -len(candidate.markers), candidate, found)
            best = rank if best is None or rank[:3] > best[:3] else best
    if best is None:
        return _hands_alone(labels, known)
    return with_hands(best[3], labels, known)


def with_hands(
    body: MarkerSet, labels: Sequence[str], sets: tuple[MarkerSet, ...] | None = None
) -> tuple[MarkerSet, dict[str, Landmark]]:
    """Return a body's set and what a recording has of it; together with the hand set that explains
    most of what is left, where that shows fingers."""
    found = body.match(labels)
    known = known_sets() if sets is None else sets
    hands = [each for each in known if each.of_hands and each.keypoints == body.keypoints]
    hands = [each for each in hands if _fingers_shown(each, labels) >= ENOUGH_FINGERS]
    if not hands or body.of_hands:
        return body, found
    hand = max(hands, key=lambda each: (len(each._all(labels)), -len(each.markers)))
    joined = MarkerSet(
        f"{body.name} + {hand.name}",
        {**hand.markers, **body.markers},
        body.keypoints,
        {**hand.spellings, **body.spellings},
        body.sides or hand.sides,
    )
    return joined, {**hand.match(labels), **found}


def _hands_alone(
    labels: Sequence[str], sets: tuple[MarkerSet, ...]
) -> tuple[MarkerSet, dict[str, Landmark]] | None:
    """The hand set that explains most of a recording of a hand; None where it shows none."""
    hands = [
        (len(each._all(labels)), each)
        for each in sets
        if each.of_hands
        and _fingers_shown(each, labels) >= ENOUGH_FINGERS
        and max(_count_sides(each.match(labels)).values(), default=0) >= ENOUGH_ON_HAND
    ]
    if not hands:
        return None
    best = max(hands, key=lambda pair: (pair[0], -len(pair[1].markers)))[1]
    return best, best.match(labels)


def _fingers_shown(hand: MarkerSet, labels: Sequence[str]) -> int:
    """How many fingers of one hand carry labels of a set."""
    marks = hand.match_fingers(labels).values()
    shown = {mark.body.rpartition("_")[0] for mark in marks}
    return max(Counter(finger.partition("_")[0] for finger in shown).values(), default=0)


def _count_sides(found: dict[str, Landmark]) -> Counter[str]:
    return Counter(mark.body.partition("_")[0] for mark in found.values())


def explain_misfit(asked: MarkerSet, labels: Iterable[str]) -> str:
    """Return what a recording lacks of a set, and what to ask for instead; empty where it has
    all."""
    labels = tuple(labels)
    missing = asked.lacks(labels)
    if not missing:
        return ""
    n = len(asked.markers)
    best = recognise(labels)
    if best is None:
        advice = "no known set fits: describe yours with `own_set`, or give `template=none`"
    elif best[0].name == asked.name:
        advice = "no known set fits better: give `template=none`"
    else:
        name, fits = best[0].name, f"{len(best[1])} of {len(best[0].markers)}"
        advice = f"{name!r} fits best ({fits}): give `template={name!r}` instead"
    return (
        f"the file has {n - len(missing)} of the {n} markers of {asked.name!r}, "
        f"not {_some(missing)}; {advice}"
    )


def explain_unrecognised(labels: Sequence[str]) -> str:
    """Return why a recording is solved by motion alone, and what to do about it."""
    said = f"no known marker set has these labels ({_some(labels)})"
    nearest = max(known_sets(), key=lambda each: (len(each.match(labels)), -len(each.markers)))
    if nearest.match(labels):
        missing = nearest.lacks(labels)
        n = len(nearest.markers)
        said += (
            f"; nearest is {nearest.name!r} with {n - len(missing)} of {n}, not {_some(missing)}"
        )
    return (
        f"{said}: bodies were found by motion alone and are called body_01 …; for a human rig "
        "label the take by the set that is worn (osteon label --set), or say with `own_set` where "
        "your markers sit"
    )


def _some(labels: Sequence[str]) -> str:
    return ", ".join(labels[:NAMED_COUNT]) + (", …" if len(labels) > NAMED_COUNT else "")


def another_fits_better(asked: MarkerSet, labels: Sequence[str]) -> bool:
    """Return whether a known set explains more of a recording's labels than the one asked for."""
    best = recognise(labels)
    return (
        best is not None and best[0].name != asked.name and len(best[1]) > len(asked.match(labels))
    )


def landmark_names(found: dict[str, Landmark]) -> dict[str, str]:
    """Return by label the name of the template's landmark, of labels that sit on one."""
    names = {id(landmark): name for name, landmark in human().landmarks.items()}
    return {label: names[id(mark)] for label, mark in found.items() if id(mark) in names}


def _share_of_touched_bodies(candidate: MarkerSet, found: dict[str, Landmark]) -> float:
    """Return how complete the set is on the bodies it shares with the recording: a lower body is
    whole.

    Clusters, whose markers have no place of their own, come and go and do not count.
    """
    touched = {landmark.body for landmark in found.values()}
    placed = [mark for mark in candidate.markers.values() if mark.at is not None]
    asked = sum(landmark.body in touched for landmark in placed)
    return sum(landmark.at is not None for landmark in found.values()) / max(asked, 1)


def _landmark(word: str) -> Landmark:
    template = human()
    if word in template.landmarks:
        return template.landmarks[word]
    if word in template.hand_landmarks:
        return template.hand_landmarks[word]
    if word in template.bodies or is_finger(word):
        return Landmark(word, None)
    known = [*template.landmarks, *template.hand_landmarks, *template.bodies]
    raise UnknownName("landmark or body", word, known)


def scale_of(found: dict[str, Landmark], observed: dict[str, Array]) -> float:
    """Return the subject's size: distances that no pose changes, against the template's."""
    labels = [label for label, mark in found.items() if mark.at is not None and not mark.soft]
    if len(labels) < 2:
        return 1.0
    marks = [found[label] for label in labels]
    template = np.stack([np.asarray(mark.at) for mark in marks])
    points = np.stack([observed[label] for label in labels], axis=1)
    pairs = [
        (one, other)
        for one in range(len(marks))
        for other in range(one)
        if _keep_distance(marks[one], marks[other])
    ]
    if not pairs:
        return 1.0
    first, second = np.array(pairs).T
    wanted = np.linalg.norm(template[first] - template[second], axis=-1)
    gaps = np.linalg.norm(points[:, first] - points[:, second], axis=-1)
    count = np.isfinite(gaps).sum(axis=0)
    total = np.where(np.isfinite(gaps), gaps, 0.0).sum(axis=0)
    mean = total / np.maximum(count, 1)
    off = np.where(np.isfinite(gaps), gaps - mean, 0.0)
    spread = np.sqrt((off**2).sum(axis=0) / np.maximum(count, 1))
    steady = (count > 10) & (spread < STEADY_SHARE * mean) & (wanted > 0.08)
    if not steady.any():
        return 1.0
    return weighted_median(mean[steady] / wanted[steady], wanted[steady])


def _keep_distance(one: Landmark, other: Landmark) -> bool:
    """Whether no pose changes it: on one body, or one of them beside the joint between two."""
    if one.body == other.body:
        return True
    bodies = human().bodies
    for upper, lower in ((one, other), (other, one)):
        if bodies[lower.body].parent == upper.body:
            joint = bodies[lower.body].at
            away = [float(np.linalg.norm(np.asarray(mark.at) - joint)) for mark in (one, other)]
            return min(away) < NEAR_JOINT
    return False
