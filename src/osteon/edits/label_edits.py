"""What a stretch of a track is, said by hand: it counts before the label that is found."""

from collections.abc import Sequence

from osteon.edits.model import BaseEdit, EditStage, Touched, name_frames
from osteon.labelling import Labelled, SaidLabel, relabel
from osteon.values import Recording


class SetLabel(BaseEdit, frozen=True, tag="label"):
    """A stretch of a track has this label, or none."""

    track: str
    first: int
    last: int
    label: str
    """Empty: none; it is left out."""

    @property
    def stage(self) -> EditStage:
        return "labels"

    @property
    def touches(self) -> Touched:
        return Touched("labels", (self.track,), self.first, self.last)

    @property
    def sentence(self) -> str:
        what = f"is {self.label}" if self.label else "has no label"
        return f"{self.track} {name_frames(self.first, self.last)} {what}"


def said_labels(found: Labelled, source: Recording, edits: Sequence[SetLabel]) -> Labelled:
    """Return what was found of a recording, with what is said by hand on top."""
    said = [SaidLabel(edit.track, edit.first, edit.last, edit.label) for edit in edits]
    return relabel(found, source, said)
