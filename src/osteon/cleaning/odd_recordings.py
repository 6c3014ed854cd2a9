"""What a recording cannot be if it shows a person; and what mends it: sides, axes, size."""

import re
from dataclasses import replace
from typing import NamedTuple

from osteon.cleaning.sides import exchanged_sides
from osteon.cleaning.size import length_text, odd_size
from osteon.cleaning.up_axis import stands_along, stood_up
from osteon.errors import BadValue, NotEnoughData
from osteon.human import Landmark, human, recognise
from osteon.values import Recording, Take

LIMBS = {"legs": ("thigh", "shin", "foot", "toes"), "arms": ("upper_arm", "forearm", "hand")}
_SIDE = re.compile(r"left|right|l|r", re.IGNORECASE)
_OTHER = {"left": "right", "right": "left", "l": "r", "r": "l"}


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
