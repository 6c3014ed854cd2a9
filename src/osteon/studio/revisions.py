"""Changes that several pages make to one session: which may go on top of which."""

from osteon.edits import Edit
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
            if edit.touches.meets(other.touches):
                raise OutOfDate(
                    f"another page has changed the same meanwhile ({other.sentence}); "
                    "look again and repeat the edit if it still makes sense"
                )

    def check_newest(self, seen: int) -> None:
        """Refuse undo and redo of a page that does not show the newest state."""
        changes = self._since(seen)
        if changes:
            raise OutOfDate(
                f"another page has made a change meanwhile ({changes[-1].sentence}); "
                "look again before taking anything back"
            )

    def _since(self, seen: int) -> list[Edit]:
        if not self._oldest <= seen <= self.current:
            raise OutOfDate("the page shows another take than the one that is open; load it again")
        return self._changes[seen - self._oldest :]
