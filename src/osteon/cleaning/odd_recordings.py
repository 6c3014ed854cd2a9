"""What a recording cannot be if it shows a person; and what mends it: sides, axes, size.

Is left left? A body is not its own mirror image: front, up and left fix each other. Coordinates of
a left-handed world show a mirror image, and so do labels whose sides are exchanged: no marker tells
which of the two it is. Both at once are a body again.
"""

import re
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from osteon.cleaning.size_and_up import (
    centroid,
    length_text,
    odd_size,
    sampled,
    stands_along,
    stood_up,
)
from osteon.errors import BadValue, NotEnoughData
from osteon.human import Landmark, human, recognise, scale_of
from osteon.maths import RigidFit, fit_rigid, quat
from osteon.typing import Array
from osteon.values import Recording, Take

LIMBS = {"legs": ("thigh", "shin", "foot", "toes"), "arms": ("upper_arm", "forearm", "hand")}
_SIDE = re.compile(r"left|right|l|r", re.IGNORECASE)
_OTHER = {"left": "right", "right": "left", "l": "r", "r": "l"}
TRUNK_BODIES = frozenset(
    ("pelvis", "spine", "chest", "neck", "head", "left_clavicle", "right_clavicle")
)
"""Bodies that look like the template in any pose."""
LEGS = ("thigh", "shin", "foot")
LOWER_BODIES = frozenset(
    ("pelvis", *(f"{side}_{leg}" for side in ("left", "right") for leg in LEGS))
)
LIMB_BODIES = {"legs": "thigh", "arms": "upper_arm"}
"""By limb the body at the trunk: it cannot change sides."""
FEWEST_MARKERS = 4
"""Count of markers. Derived: a mirror image of three is a turn of them."""
BEST_SHARE = 0.1
"""Share of the frames, those most like the template, that tell how well it fits. Chosen: every take
has some that do."""
CLEAR_RATIO = 1.35
"""Ratio by which the other hypothesis must fit better. Chosen: real people fit better as they are
in any posture."""
ACROSS_SHARE = -0.3
"""Share of where a limb belongs, negative where it is over on the other side. Chosen: crossed legs
leave thighs above 0."""
MIRROR = np.array([1.0, -1.0, 1.0])


class Oddity(NamedTuple):
    """Something that no person is like."""

    what: str
    mends: tuple[str, ...]
    """Options of ``osteon convert``, each of which mends it; who recorded it knows which."""


def oddities(recording: Recording, found: dict[str, Landmark]) -> tuple[Oddity, ...]:
    """Look for mirrored or exchanged sides, impossible sizes, and feet in the air.

    Parameters
    ----------
    found
        The recording's labels on the average human; empty where no set is known.
    """
    told = (_sides(recording, found), _size(recording, found), _up(recording, found))
    return tuple(odd for odd in told if odd is not None)


def _sides(recording: Recording, found: dict[str, Landmark]) -> Oddity | None:
    wrong = exchanged_sides(recording, found)
    if wrong == "all":
        what = (
            "the markers show the mirror image of a person: the labels of left and right are "
            "exchanged, or the file's axes are left-handed; bones come out centimetres wrong"
        )
        return Oddity(what, ("--swap-sides all", "--mirror"))
    if wrong:
        what = f"the {wrong} are on the wrong side of the trunk: their labels are exchanged"
        return Oddity(what, (f"--swap-sides {wrong}",))
    return None


def _size(recording: Recording, found: dict[str, Landmark]) -> Oddity | None:
    size = odd_size(recording, found)
    if size is None:
        return None
    tall = length_text(size * human().height)
    what = f"the performer would be {tall} tall, as nobody is: are the lengths in another unit?"
    return Oddity(what, (f"--scale {1.0 / size:.2g} (to the average height)",))


def _up(recording: Recording, found: dict[str, Landmark]) -> Oddity | None:
    way = stands_along(recording, found) if found else "z"
    if way == "z":
        return None
    how = "is upside down" if way == "-z" else "lies, yet moves as if standing"
    return Oddity(f"the performer {how}: {way} points up, not z as was said", ("--upright",))


def mend(
    take: Take,
    *,
    mirror: bool = False,
    swap_sides: str = "",
    upright: bool = False,
    scale: float = 1.0,
) -> Take:
    """Return a take with its markers as they should have been recorded.

    Parameters
    ----------
    mirror
        The file's axes are left-handed: y becomes −y.
    swap_sides
        Labels of left and right are exchanged: of ``all``, of the ``legs`` or of the ``arms``.
    upright
        Another axis is up than the file says: the one from the performer's feet to the head.
    scale
        Lengths were given in another unit, this many times as long.
    """
    if not take.recordings:
        held = " and ".join(take.kinds) or "nothing"
        raise NotEnoughData(f"only markers can be mended; the file holds {held}")
    recordings = []
    for each in take.recordings:
        done = each.markers()  # what others worked out from them does not hold any more
        done = _swapped(done, swap_sides) if swap_sides else done
        if mirror or scale != 1.0:
            done = replace(done, plates=())  # nobody knows whether they lie right
        if mirror:
            done = done.with_positions(done.positions * [1.0, -1.0, 1.0], did="mirrored")
        if scale != 1.0:
            done = done.with_positions(scale * done.positions, did=f"scaled by {scale:g}")
        recordings.append(_upright(done) if upright else done)
    return replace(take, recordings=tuple(recordings))


def _upright(recording: Recording) -> Recording:
    """With the performer's feet down; the file written says which axis is up."""
    known = recognise(recording.names)
    unsaid = replace(recording.source, up_known=False)
    way = stands_along(replace(recording, source=unsaid), known[1] if known else {})
    done = recording if way == "z" else stood_up(recording, way)
    return replace(done, source=replace(recording.source, up_known=True))


def _swapped(recording: Recording, which: str) -> Recording:
    bodies = {}
    if which != "all":
        known = recognise(recording.names)
        bodies = {label: mark.body for label, mark in known[1].items()} if known else {}
    names = {}
    for label in recording.names:
        limb = bodies.get(label, "").partition("_")[2]
        other = other_side(label, recording.names)
        if other is not None and (which == "all" or limb in LIMBS[which]):
            names[label] = other
    if not names:
        whose = "" if which == "all" else f" of the {which}"
        raise BadValue(
            f"no two labels{whose} differ in left and right alone, as LASI and RASI do: "
            f"got {', '.join(recording.names[:6])}, …"
        )
    renamed = tuple(names.get(label, label) for label in recording.names)
    history = (*recording.history, f"exchanged left and right of {which}")
    return replace(recording, names=renamed, history=history)


def other_side(label: str, labels: tuple[str, ...]) -> str | None:
    """Find the label that differs from this one in its side alone: RASI for LASI."""
    known = {each.upper(): each for each in labels}
    for match in _SIDE.finditer(label.upper()):
        other = _OTHER[match[0].lower()].upper()
        found = known.get(label.upper()[: match.start()] + other + label.upper()[match.end() :])
        if found is not None:
            return found
    return None


def exchanged_sides(recording: Recording, found: dict[str, Landmark]) -> str:
    """Tell what is on the wrong side: ``all``, ``legs`` or ``arms``; empty where left is left.

    Parameters
    ----------
    found
        The recording's labels on the average human.
    """
    observed = sampled(recording, found)
    placed = {label: found[label] for label in observed}
    size = scale_of(placed, observed)
    trunk, lower = (_Fit(observed, placed, bodies, size) for bodies in (TRUNK_BODIES, LOWER_BODIES))
    told = trunk if abs(np.log(trunk.better)) > np.log(CLEAR_RATIO) else lower
    if told.better < 1.0 / CLEAR_RATIO:
        return "all"
    if trunk.better > CLEAR_RATIO:
        for limb, body in LIMB_BODIES.items():
            if _side(observed, placed, body, trunk.left) < ACROSS_SHARE * size:
                return limb
    return ""


class _Fit:
    """The template on some bodies in every frame, as it is and mirrored."""

    def __init__(
        self,
        observed: dict[str, Array],
        placed: dict[str, Landmark],
        bodies: Collection[str],
        size: float,
    ) -> None:
        own = [label for label in observed if placed[label].body in bodies]
        self.better, self.left = 1.0, np.zeros(3)
        """How many times better it fits as it is; the body's left (n_frames, 3) in the world."""
        if len(own) < FEWEST_MARKERS:
            return
        template = size * np.stack([np.asarray(placed[label].at) for label in own])
        points = np.stack([observed[label] for label in own], axis=1)
        told = np.isfinite(points[..., 0]).sum(axis=1) >= max(FEWEST_MARKERS, len(own) // 2)
        if told.any():
            as_is = fit_rigid(template, points)
            mirrored = fit_rigid(template * MIRROR, points)
            self.better = _misfit(mirrored, told) / _misfit(as_is, told)
            self.left = quat.rotate(as_is.rotations, np.array([0.0, 1.0, 0.0]))


def _misfit(fit: RigidFit, told: np.ndarray) -> float:
    """Metres rms, of the best frames; a tenth of a millimetre where it is perfect."""
    rms = fit.rms[told & np.isfinite(fit.rms)]
    return max(float(np.quantile(rms, BEST_SHARE)), 1e-4) if len(rms) else 1.0


def _side(observed: dict[str, Array], placed: dict[str, Landmark], body: str, left: Array) -> float:
    """How far left of the right one a limb's left body is, 1.0 for as far as on the template."""
    middle, rest = [], []
    for side in ("left", "right"):
        own = [label for label in observed if placed[label].body == f"{side}_{body}"]
        if not own:
            return 1.0
        middle.append(centroid(np.stack([observed[label] for label in own], axis=1)))
        rest.append(np.mean([np.asarray(placed[label].at)[1] for label in own]))
    apart = np.sum((middle[0] - middle[1]) * left, axis=-1)
    apart = apart[np.isfinite(apart)]
    return float(np.median(apart)) / float(rest[0] - rest[1]) if len(apart) else 1.0
