"""Points as markerless programs write them → a take: names, unit and axes are judged.

Their files rarely say any of these. An array's points are named by its count, the unit is the one
in which a person is a person's size, and up is from the feet to the head.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.shared.text_table import unique_labels, without_zeros
from osteon.formats.shared.units import LOOKS, METRES, stance_of, to_z_up, turn_points
from osteon.human import human, known_sets, recognise
from osteon.typing import Array
from osteon.values import Recording, Source, Take

DEFAULT_RATE = 30.0
"""Hz where the file does not say; chosen: what most video cameras have, and the user is told."""
PERSON_SIZE = (0.35, 3.4)
"""Metres between which a person's points are spread, corner to corner; chosen about a crouching
child and a tall man who stretches. Units that differ tenfold cannot both fit."""
HAND_SIZE = (0.06, 0.35)
"""Metres between which a hand's points are spread, chosen about a fist and a large hand."""
OF_ANIMALS = re.compile("tail|paw|snout|whisker|hock|hoof|wing|beak|fin(?!ger)|withers", re.I)
"""What only animals have: their points say nothing of a size."""
MIDDLE_SHARE = 0.02
"""Share of the spread within which a point lies between two others; chosen: files round."""
HAND_POINTS = ("wrist", *(
    f"{finger}_{knuckle}"
    for finger, knuckles in {
        "thumb": ("cmc", "mcp", "ip", "tip"),
        "index_finger": ("mcp", "pip", "dip", "tip"),
        "middle_finger": ("mcp", "pip", "dip", "tip"),
        "ring_finger": ("mcp", "pip", "dip", "tip"),
        "pinky": ("mcp", "pip", "dip", "tip"),
    }.items()
    for knuckle in knuckles
))  # fmt: skip
"""MediaPipe's 21 of a hand, in its order."""
UNNAMED = "points without names"
"""The detail of a source whose points were named by their count."""
WHOLE_BODY_COUNT, OPENPOSE_COUNT = 133, 67
"""Counts of COCO-WholeBody's points, defined by it: 17, 6 of feet, 68 of a face, 21 of each hand;
and of OpenPose's: 25 and 21 of each hand."""
COCO_FEET = ("LBigToe", "LSmallToe", "LHeel", "RBigToe", "RSmallToe", "RHeel")
BODY_COUNT, HOLISTIC_COUNT = 33, 75
"""Counts of MediaPipe's points: of a body, and with both hands; defined by it. FreeMoCap puts the
right hand first, and a face behind them."""


@dataclass(frozen=True)
class PeoplePoints:
    """What a file says of one person."""

    values: Array
    """(n_frames, n_points, 3 or more) x, y, z, and confidence where there is a fourth."""
    names: tuple[str, ...] | None = None
    """Of the points; None: the file has none."""
    rate: float | None = None
    """Hz; None: the file does not say."""
    subject: str = ""
    problems: tuple[str, ...] = ()


def take_of(path: Path, people: Sequence[PeoplePoints], form: str) -> Take:
    """Return the recordings of everybody in a file."""
    return Take(recordings=tuple(_recording(path, person, form) for person in people))


def _recording(path: Path, person: PeoplePoints, form: str) -> Recording:
    points = _sane(path, person.values)
    names, points, named = _named(path, person.names, points)
    points, zeros = without_zeros(points)
    known = recognise(names)
    of_hand = known is not None and known[0].of_hands
    if known is None and any(map(OF_ANIMALS.search, names)):
        unit, sized = _animal_unit(path, points)
    else:
        unit, sized = _unit(path, points, HAND_SIZE if of_hand else PERSON_SIZE)
    up, points, stood = _upright(names, points * METRES[unit])
    rate, assumed = person.rate, ()
    if rate is None:
        rate = DEFAULT_RATE
        assumed = (f"{form} does not say the rate; {rate:g} frames per second assumed",)
    source = Source(
        file=path.name,
        format=form,
        detail=UNNAMED if person.names is None else "",
        unit=unit,
        up=up,
        problems=(*assumed, *named, sized, stood, *person.problems, *zeros),
    )
    return Recording(points, names, rate, person.subject, source=source)


def _sane(path: Path, values: Array) -> Array:
    """(n_frames, n_points, 3); points without confidence, or partly missing, are gaps."""
    if values.ndim != 3 or values.shape[2] < 3 or 0 in values.shape:
        found = " × ".join(map(str, values.shape))
        raise FormatError(path, f"expected frames × points × 3 or 4 numbers, found {found}")
    points = np.array(values[..., :3], dtype=float)
    gone = ~np.isfinite(points).all(axis=-1)
    if values.shape[2] == 4:
        gone |= ~(np.asarray(values[..., 3], dtype=float) > 0.0)
    points[gone] = np.nan
    return points


def _named(
    path: Path, given: tuple[str, ...] | None, points: Array
) -> tuple[tuple[str, ...], Array, tuple[str, ...]]:
    """Names, the points that have one, and what there is to say about it."""
    count = points.shape[1]
    if given is not None:
        if len(given) != count:
            raise FormatError(path, f"names {len(given)} keypoints, but frames have {count}")
        names, renamed = unique_labels(given)
        return names, points, renamed
    if count == WHOLE_BODY_COUNT:
        return _with_hands("COCO-17", COCO_FEET, points)
    if count == OPENPOSE_COUNT:
        return _with_hands("BODY-25", (), points)
    if count in (BODY_COUNT + 468 + 42, BODY_COUNT + 478 + 42, HOLISTIC_COUNT):
        return _holistic(points)
    sets = [
        each
        for each in known_sets()
        if each.keypoints
        and count in (len(each.markers), each.of_hands and len(each.markers) // 2)
        and all(mark.at is not None for mark in each.markers.values())
    ]
    if not sets:
        known = sorted({len(each.markers) for each in known_sets() if each.keypoints})
        raise FormatError(
            path,
            f"has {count} points without names; known by their count are "
            f"{', '.join(map(str, known))}: write them as TRC or CSV with names",
        )
    best = next((each for each in sets if _roots_between(points, tuple(each.markers))), sets[0])
    return (
        tuple(best.markers)[:count],
        points,
        (f"{count} points without names were taken for {best.name}",),
    )


def _with_hands(
    body: str, feet: Sequence[str], points: Array
) -> tuple[tuple[str, ...], Array, tuple[str, ...]]:
    """A body's points, those of its feet, and last its hands, left hand first; what is between is a
    face and stays behind."""
    own = next(each for each in known_sets() if each.name == body)
    hands = [f"{side}_hand_{point}" for side in ("left", "right") for point in HAND_POINTS]
    count, before = points.shape[1], len(own.markers) + len(feet)
    kept = np.r_[0:before, count - len(hands) : count]
    told = (f"{count} points without names were taken for {body}'s body, left and right hand",)
    left = count - len(kept)
    told += (f"{left} points of the face were left out",) if left else ()
    return (*own.markers, *feet, *hands), points[:, kept], told


def _holistic(points: Array) -> tuple[tuple[str, ...], Array, tuple[str, ...]]:
    """MediaPipe's body and hands; a face stays behind."""
    body = next(each for each in known_sets() if each.name == "BlazePose-33")
    hands = [f"{side}_hand_{point}" for side in ("right", "left") for point in HAND_POINTS]
    left = points.shape[1] - HOLISTIC_COUNT
    told = ("points without names were taken for MediaPipe's body, right and left hand",)
    told += (f"{left} points of the face were left out",) if left else ()
    return (*body.markers, *hands), points[:, :HOLISTIC_COUNT], told


def _roots_between(points: Array, names: tuple[str, ...]) -> bool:
    """Whether the point that a set calls the hips' middle is that."""
    if not {"Hip", "LHip", "RHip"} <= set(names):
        return False
    root, left, right = (points[:, names.index(name)] for name in ("Hip", "LHip", "RHip"))
    off = np.linalg.norm(root - 0.5 * (left + right), axis=-1)
    off = off[np.isfinite(off)]
    return bool(len(off)) and float(np.median(off)) < MIDDLE_SHARE * _spread(points)


def _spread(points: Array) -> float:
    """From corner to corner of what a typical frame shows; NaN where none shows anything."""
    sample = points[:: max(1, len(points) // LOOKS)]
    sample = sample[np.isfinite(sample[..., 0]).any(axis=1)]
    if not len(sample):
        return np.nan
    low, high = np.nanmin(sample, axis=1), np.nanmax(sample, axis=1)
    return float(np.median(np.linalg.norm(high - low, axis=-1)))


def _unit(path: Path, points: Array, usual: tuple[float, float]) -> tuple[str, str]:
    size = _spread(points)
    if not np.isfinite(size):
        raise FormatError(path, "no point is ever seen")
    who = "hand" if usual == HAND_SIZE else "person"
    for unit in ("m", "cm", "mm"):
        if usual[0] <= size * METRES[unit] < usual[1]:
            return unit, f"the file does not say its unit; {unit} judged from a {who}'s size"
    raise FormatError(
        path,
        f"its points are {size:.3g} apart, which is no {who}'s size in m, cm or mm; pixels, or a "
        "network's own scale? give points in 3D in one of these",
    )


def _animal_unit(path: Path, points: Array) -> tuple[str, str]:
    """Animals have any size: what is too large in metres is mm, as such programs mostly write."""
    size = _spread(points)
    if not np.isfinite(size):
        raise FormatError(path, "no point is ever seen")
    unit = "m" if size < PERSON_SIZE[1] else "mm"
    return unit, (
        f"the file does not say its unit; {unit} assumed of an animal {size * METRES[unit]:.2g} m "
        "across; if that is wrong, osteon convert --scale puts it right"
    )


def _upright(names: tuple[str, ...], points: Array) -> tuple[str, Array, str]:
    """The axis that is up, points with z up, and a sentence."""
    towards = _feet_to_head(names, points)
    if towards is None:
        stance = stance_of(points)
        up = (None if stance is None else stance.up()) or "z"
        return up, turn_points(points, to_z_up(up)), f"{up} is up, judged from how points stand"
    axis = int(np.argmax(np.abs(towards)))
    up = "xyz"[axis]
    told = f"{up} is up, judged from feet and head"
    if towards[axis] < 0.0:
        points = points.copy()
        # half a turn about the next axis, as a camera's y that points down needs it
        points[..., [axis, (axis + 2) % 3]] *= -1.0
        told = f"{up} points down, judged from feet and head; turned over"
    return up, turn_points(points, to_z_up(up)), told


def _feet_to_head(names: tuple[str, ...], points: Array) -> Array | None:
    """(3,) how points go with their height on the average human; None where they are not known."""
    known = recognise(names)
    if known is None or known[0].of_hands:
        return None
    figure = human()
    heights = np.array(
        [
            np.nan if (mark := known[1].get(name)) is None else figure.bodies[mark.body].at[2]
            for name in names
        ]
    )
    own = np.isfinite(heights)
    sample = points[:: max(1, len(points) // LOOKS), own]
    sample = sample[np.isfinite(sample).all(axis=(1, 2))]
    if not len(sample):
        return None
    middle = sample - sample.mean(axis=1, keepdims=True)
    return np.einsum("fki,k->i", middle, heights[own] - heights[own].mean())
