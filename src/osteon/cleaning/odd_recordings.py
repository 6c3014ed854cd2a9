"""What a recording cannot be if it shows a person, and what mends it."""

from dataclasses import dataclass

from osteon.cleaning.sides import exchanged_sides
from osteon.cleaning.size import length_text, odd_size
from osteon.cleaning.up_axis import stands_along
from osteon.human import Landmark, human
from osteon.values import Recording


@dataclass(frozen=True)
class Oddity:
    """Something that no person is like."""

    what: str
    mends: tuple[str, ...]
    """Options of ``osteon convert``, each of which mends it; who recorded it knows which."""


def oddities(recording: Recording, found: dict[str, Landmark]) -> tuple[Oddity, ...]:
    """Mirrored or exchanged sides, impossible sizes, and feet in the air.

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
