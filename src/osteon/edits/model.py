"""What every edit knows: the stage that it changes, what it touches, and its sentence.

An edit says what to do, never what came out, so that the same list on the same recording gives the
same rig from the studio and from the command line. Frames count from 0 and both ends belong to a
range. The kinds, and what they do, stand in one module per stage: ``recording_edits``,
``rig_edits`` (with limits), ``motion_edits``.
"""

import math
from typing import Literal, NamedTuple

import msgspec

from osteon.values import Skeleton

Place3 = tuple[float, float, float]
"""x, y, z in metres."""

EditStage = Literal["recording", "kept", "labels", "rig", "character", "limits", "motion"]
"""What an edit changes; each is made after the ones before it. ``character``: where a marker sits
on a character that is moved instead of the performer's rig; ``kept``: nothing, what was found is
right."""

MOST_NAMED = 4
"""Names that a sentence tells; of more it tells one fewer and a count. Chosen: one line of text."""


class Touched(NamedTuple):
    """What an edit is about."""

    what: str
    names: tuple[str, ...] | None = None
    """Markers or bodies; None: the whole figure."""
    first: int = 0
    last: float = math.inf

    def meets(self, other: "Touched") -> bool:
        """Return whether two edits are about the same thing at the same time."""
        everything = self.names is None or other.names is None
        same = everything or not set(self.names or ()).isdisjoint(other.names or ())
        together = self.first <= other.last and other.first <= self.last
        return self.what == other.what and same and together


class BaseEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="edit"):
    """One change."""

    @property
    def stage(self) -> EditStage:
        """The stage that it changes."""
        raise NotImplementedError

    @property
    def touches(self) -> Touched:
        """What it is about: a page may not change what another page has just changed."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """A few words, for histories."""
        raise NotImplementedError

    @property
    def carried(self) -> dict[str, str]:
        """Marker → body that is to carry it, empty for none; nothing where markers stay."""
        return {}

    def bodies_on(self, character: str) -> tuple[str, ...]:
        """Return the bodies that the next solve must find in a character's file.

        An empty name stands for the performer's own rig.
        """
        return ()

    def check(self, skeleton: Skeleton) -> None:
        """Refuse what would leave no tree of bodies."""


def list_names(names: tuple[str, ...]) -> str:
    """Return names as a sentence tells them."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    told = names[: MOST_NAMED - 1]
    return f"{', '.join(told)} and {len(names) - len(told)} more"


def name_frames(first: int, last: int) -> str:
    """Return a range of frames as a sentence tells it."""
    return f"frame {first}" if first == last else f"{first}–{last}"
