"""A new take held against what is known of a performer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from osteon.calibration import Calibration
from osteon.identity.moved_markers import MovedMarker, find_moved_markers
from osteon.identity.same_person import ComparedBone, compare
from osteon.values import Passport, Recording, Skeleton


@dataclass(frozen=True)
class TakeFindings:
    """A take held against a passport."""

    person: str
    """``same``, ``other``, or ``open`` where the take does not settle it."""
    skeleton: Skeleton | None
    """What to solve the take with; None: the take must be calibrated on its own."""
    replaced: tuple[MovedMarker, ...] = ()
    """Markers that sit elsewhere on their body than they did."""
    doubtful: tuple[MovedMarker, ...] = ()
    """Markers that may; the take is solved with their known places."""
    anew: bool = False
    """Whether so many markers moved that the whole set was put on again."""
    bones: tuple[ComparedBone, ...] = ()
    """Lengths that differ from the passport's beyond chance."""
    log_odds: float | None = None
    """Of one person against two, by the bones; None where the markers alone settled it."""

    def sentences(self) -> tuple[str, ...]:
        """Return what there is to say; nothing where all is as it was."""
        if self.anew:
            who = {
                "same": "the same person by the bones, but the markers sit elsewhere",
                "other": "another person than the passport's",
                "open": "the markers sit elsewhere; whether it is the same person stays open",
            }[self.person]
            told = [f"{who}: the take was calibrated on its own"]
        else:
            told = [
                f"{one.name} was put {1e3 * one.moved:.0f} mm from its place on {one.body}"
                for one in self.replaced
            ]
            told += [
                f"{one.name} may have been put {1e3 * one.moved:.0f} mm from its place on "
                f"{one.body}: skin alone does as much in 1 of {1.0 / one.chance:.0f} takes"
                for one in self.doubtful
            ]
        changes = [
            f"{bone.name} {1e3 * bone.new:.0f} mm instead of {1e3 * bone.known:.0f} mm"
            for bone in self.bones
        ]
        return (*told, *changes)

    def facts(self) -> dict[str, Any]:
        """Return the same for summary.json."""
        return {
            "person": self.person,
            "log_odds": self.log_odds,
            "put_on_anew": self.anew,
            "replaced": [_fact(one) for one in self.replaced],
            "doubtful": [_fact(one) for one in self.doubtful],
            "bones": [
                {"bone": b.name, "known_mm": 1e3 * b.known, "new_mm": 1e3 * b.new}
                for b in self.bones
            ],
        }


def _fact(one: MovedMarker) -> dict[str, Any]:
    return {
        "marker": one.marker,
        "rival": one.rival or None,
        "body": one.body,
        "moved_mm": 1e3 * one.moved,
        "chance": one.chance,
    }


def hold_against(
    passport: Passport, take: Recording, calibrated: Callable[[], Calibration]
) -> tuple[TakeFindings, Calibration | None]:
    """Return whether a take is of the passport's person, and which markers were put elsewhere.

    Parameters
    ----------
    take
        Cleaned, z up.
    calibrated
        Calibrates the take on its own, which is only done where its markers do not settle it.
    """
    places = find_moved_markers(passport.skeleton, take)
    if not places.all_anew:
        return TakeFindings("same", places.skeleton, places.replaced, places.doubtful), None
    own = calibrated()
    likeness = compare(passport.skeleton, own.skeleton)
    found = TakeFindings(
        likeness.verdict,
        None,
        places.replaced,
        anew=True,
        bones=likeness.changed,
        log_odds=likeness.log_odds,
    )
    return found, own
