"""The template standing with its arms and legs anywhere, and how far points are from its bodies.

A limb is tried in many ways at once: each way points its upper bone in one direction and its lower
bone in another, turned as little as possible. What hangs below follows straight.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from osteon.human.marker_sets import known_sets
from osteon.human.template import Human, Landmark, human
from osteon.typing import Array

BONE_POINT_OFFSET = 0.03
"""Metres that a place beside a bone counts as farther than one on a landmark; chosen: half of what
lies between two landmarks."""
TRIED_UPPER, TRIED_LOWER = 40, 40
"""Count of directions over the sphere in which upper and lower bones of arms are tried; chosen:
about 35 degrees apart, and finer around the best."""
LIMB_RADII = {"thigh": 0.075, "shin": 0.055, "upper_arm": 0.05, "forearm": 0.04}
"""Metres from bone to skin where no landmark is; chosen by the soft landmarks of the template."""
TRIED_LEG, FINER_COUNT = 160, 10
"""Count of directions over the sphere of which legs take those below them, and of directions around
one that was found; chosen as for arms."""
FOLDED_COSINE = -0.85
"""Ratio: the cosine between two bones below which a limb folds up farther than limbs do; chosen:
150 degrees of elbow or knee."""
LEG_LEAN, SHIN_LEAN = 0.7, 1.4
"""Radians from the vertical within which thighs and shins are tried; chosen: an upright figure
walks or sits no lower in most of its frames."""

NOWHERE_DISTANCE = 1.0
"""Metres from a body that carries no markers; chosen: far."""


@dataclass(frozen=True)
class Spot:
    """A body's landmarks, and its bone where markers may sit anywhere around it."""

    places: Array
    """(n, 3) in the rest pose."""
    bone: Array | None
    """(2, 3) its ends in the rest pose."""
    radius: float


@cache
def skin_landmarks() -> dict[str, tuple[Landmark, float]]:
    """Return the landmarks that markers are put on, each with how rarely it is: from 0, which most
    marker sets have, to 1, which none has. Those of markerless systems lie within the body."""
    sets = [each for each in known_sets() if not each.of_hands]
    on_skin = Counter(id(m) for each in sets if not each.keypoints for m in each.markers.values())
    within = {id(m) for each in sets if each.keypoints for m in each.markers.values()}
    most = max(on_skin.values())
    return {
        word: (mark, 1.0 - on_skin[id(mark)] / most)
        for word, mark in human().landmarks.items()
        if id(mark) in on_skin or id(mark) not in within
    }


@cache
def spots() -> dict[str, Spot]:
    """Return by body what markers may be near to."""
    figure = human()
    found = {}
    for name in figure.bodies:
        places = [
            mark.at
            for mark, _ in skin_landmarks().values()
            if mark.body == name and mark.at is not None
        ]
        limb = name.split("_", 1)[-1]
        bone = _bone(figure, name) if limb in LIMB_RADII else None
        if places:
            found[name] = Spot(np.stack(places), bone, LIMB_RADII.get(limb, 0.0))
    return found


def _bone(figure: Human, name: str) -> Array:
    below = [body.at for body in figure.bodies.values() if body.parent == name]
    return np.stack([figure.bodies[name].at, below[0]])


def distances(points: Array, spot: Spot, turns: Array, shifts: Array) -> Array:
    """Return (n_ways, n_points) how far points are from a body that stands in several ways.

    ``turns`` (n_ways, 3, 3) and ``shifts`` (n_ways, 3) lead from the rest pose to each.
    """
    back = np.einsum("wji,wnj->wni", turns, points[None] - shifts[:, None])
    squares = np.sum(back**2, axis=-1, keepdims=True) - 2.0 * back @ spot.places.T
    nearest = (squares + np.sum(spot.places**2, axis=-1)).min(axis=-1)
    away = np.sqrt(np.maximum(nearest, 0.0))
    if spot.bone is None:
        return away
    return np.minimum(away, _off_skin(back, spot.bone, spot.radius) + BONE_POINT_OFFSET)


def _off_skin(points: Array, bone: Array, radius: float) -> Array:
    """(...) how far points are from the skin around a bone."""
    start, along = bone[0], bone[1] - bone[0]
    share = np.clip((points - start) @ along / (along @ along), 0.0, 1.0)
    return np.abs(np.linalg.norm(points - start - share[..., None] * along, axis=-1) - radius)


def bone_distances(points: Array, names: Sequence[str]) -> Array:
    """Return (n_bodies, n_points) how far points (n_bodies, n_points, 3) of the rest pose are from
    where markers may be on each body: around the bones of limbs, else near the landmarks."""
    away = np.full(points.shape[:-1], NOWHERE_DISTANCE)
    for body, name in enumerate(names):
        spot = spots().get(name)
        if spot is None:
            continue
        if spot.bone is not None:
            away[body] = _off_skin(points[body], spot.bone, spot.radius)
        else:
            gaps = np.linalg.norm(points[body][:, None] - spot.places, axis=-1)
            away[body] = gaps.min(axis=1)
    return away


@dataclass(frozen=True)
class LimbWays:
    """Ways in which a limb's bodies may stand, each (n_ways, 3, 3) and (n_ways, 3) by body."""

    turns: dict[str, Array]
    shifts: dict[str, Array]

    def way(self, index: int) -> "LimbWays":
        return LimbWays(
            {name: turns[index, None] for name, turns in self.turns.items()},
            {name: shifts[index, None] for name, shifts in self.shifts.items()},
        )


ARM, LEG = ("upper_arm", "forearm", "hand"), ("thigh", "shin", "foot")


@cache
def limb_ways(side: str, limb: tuple[str, str, str]) -> LimbWays:
    """Return all ways that are tried first for an arm or a leg."""
    if limb == ARM:
        uppers, lowers = _sphere(TRIED_UPPER), _sphere(TRIED_LOWER)
    else:
        ways = _sphere(TRIED_LEG)
        uppers = ways[ways[:, 2] < -np.cos(LEG_LEAN)]
        lowers = ways[(ways[:, 2] < -np.cos(SHIN_LEAN)) & (np.abs(ways[:, 1]) < np.sin(LEG_LEAN))]
    one, other = (grid.ravel() for grid in np.meshgrid(range(len(uppers)), range(len(lowers))))
    keep = np.sum(uppers[one] * lowers[other], axis=-1) > FOLDED_COSINE
    return _ways(side, limb, uppers[one[keep]], lowers[other[keep]])


def finer_ways(side: str, limb: tuple[str, str, str], way: LimbWays, step: float) -> LimbWays:
    """Return ways around one, whose bones point up to ``step`` radians elsewhere."""
    figure = human()
    at = [figure.bodies[f"{side}_{name}"].at for name in limb]
    bones = [below - above for above, below in pairwise(at)]
    turns = [way.turns[f"{side}_{name}"][0] for name in limb[:2]]
    ahead = [turn @ bone / np.linalg.norm(bone) for turn, bone in zip(turns, bones, strict=True)]
    nudges = np.concatenate([np.zeros((1, 3)), step * _sphere(FINER_COUNT)])
    uppers, lowers = (one + nudges for one in ahead)
    uppers, lowers = (w / np.linalg.norm(w, axis=-1, keepdims=True) for w in (uppers, lowers))
    one, other = (grid.ravel() for grid in np.meshgrid(range(len(nudges)), range(len(nudges))))
    return _ways(side, limb, uppers[one], lowers[other])


def _ways(side: str, limb: tuple[str, str, str], uppers: Array, lowers: Array) -> LimbWays:
    figure, names = human(), [f"{side}_{name}" for name in limb]
    root, middle, end = (figure.bodies[name].at for name in names)
    upper = _turn_onto((middle - root)[None], uppers)
    bend = root + upper @ (middle - root)
    lower = _turn_onto(upper @ (end - middle), lowers) @ upper
    if limb == ARM:
        last, end_shift = lower, bend - lower @ middle
    else:  # a sole stays level
        last, end_shift = (
            np.broadcast_to(np.eye(3), lower.shape),
            bend + lower @ (end - middle) - end,
        )
    shifts = (root - upper @ root, bend - lower @ middle, end_shift)
    return LimbWays(
        dict(zip(names, (upper, lower, last), strict=True)), dict(zip(names, shifts, strict=True))
    )


def _sphere(count: int) -> Array:
    """(count, 3) directions evenly over the sphere, on a spiral."""
    height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    around = np.pi * (1.0 + 5.0**0.5) * np.arange(count)
    flat = np.sqrt(1.0 - height**2)
    return np.stack([flat * np.cos(around), flat * np.sin(around), height], axis=-1)


def _turn_onto(start: Array, end: Array) -> Array:
    """(n, 3, 3) the least turn from each direction to the other."""
    start = np.broadcast_to(start / np.linalg.norm(start, axis=-1, keepdims=True), end.shape)
    cosine = np.sum(start * end, axis=-1)[:, None, None]
    x, y, z = np.cross(start, end).T
    zero = np.zeros_like(x)
    cross = np.moveaxis(np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]), -1, 0)
    return np.eye(3) + cross + cross @ cross / np.maximum(1.0 + cosine, 1e-3)
