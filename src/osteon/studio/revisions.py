"""Changes that several pages make to one session: which may go on top of which."""

from osteon.edits import Assign, Edit, Place, RecordingEdit, SetPlant, SetPose, SwapLabels, told
from osteon.errors import OsteonError


class OutOfDate(OsteonError):
    """A change of what somebody else has changed meanwhile."""


class Revisions:
    """Counts changes and remembers them as long as a take is open."""

    def __init__(self) -> None:
        self.current = 0
        self._oldest = 0
        self._changes: list[Edit] = []

    def forget(self) -> None:
        """Another take is open: what pages saw before counts no more."""
        self.current += 1
        self._oldest, self._changes = self.current, []

    def add(self, edit: Edit) -> None:
        """A change was made, or taken back."""
        self.current += 1
        self._changes.append(edit)

    def check(self, seen: int, edit: Edit) -> None:
        """Refuse an edit of something that has changed since revision ``seen``."""
        for other in self._since(seen):
            if _clash(edit, other):
                raise OutOfDate(
                    f"another page has changed the same meanwhile ({told(other)}); "
                    "look again and repeat the edit if it still makes sense"
                )

    def check_newest(self, seen: int) -> None:
        """Refuse undo and redo of a page that does not show the newest state."""
        changes = self._since(seen)
        if changes:
            raise OutOfDate(
                f"another page has made a change meanwhile ({told(changes[-1])}); "
                "look again before taking anything back"
            )

    def _since(self, seen: int) -> list[Edit]:
        if not self._oldest <= seen <= self.current:
            raise OutOfDate("the page shows another take than the one that is open; load it again")
        return self._changes[seen - self._oldest :]


def _clash(one: Edit, other: Edit) -> bool:
    """Whether two edits are about the same thing."""
    if isinstance(one, RecordingEdit) and isinstance(other, RecordingEdit):
        return bool(_markers(one) & _markers(other)) and _overlap(_frames(one), _frames(other))
    if isinstance(one, Assign | Place) and isinstance(other, Assign | Place):
        return one.marker == other.marker
    if isinstance(one, SetPose) and isinstance(other, SetPose):
        return one.frame == other.frame
    if isinstance(one, SetPlant) and isinstance(other, SetPlant):
        return one.body == other.body and _overlap(_frames(one), _frames(other))
    return type(one) is type(other) and getattr(one, "body", 0) == getattr(other, "body", 1)


def _markers(edit: RecordingEdit) -> set[str]:
    return {edit.a, edit.b} if isinstance(edit, SwapLabels) else set(edit.markers)


def _frames(edit: RecordingEdit | SetPlant) -> tuple[int, int]:
    return edit.first, edit.last


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
