"""What was found in a take that somebody should look at, and what becomes of it.

A finding is accepted by the edit that mends it, and refused by ``KeepFinding``: it is right as it
is. Samples that are kept so are left alone by the cleaning that comes before a solve.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from osteon.cleaning import RightSamples, find_spikes, find_swaps, repair_swaps
from osteon.edits.model import BaseEdit, EditStage, Touched, list_names, name_frames
from osteon.edits.motion_edits import Ease, MotionEdit, SetPlant
from osteon.edits.recording_edits import Cut, Fill, RecordingEdit, SwapLabels
from osteon.maths import runs
from osteon.pipeline import SLIDE_MM, Solved
from osteon.posing import Contact, all_sudden_turns, find_stances, slides_of, standing_of
from osteon.values import Motion, Recording, Swap

FindingKind = Literal["swap", "spike", "gap", "pop", "slide"]
"""Exchanged labels; samples that fly off; samples that are missing; a joint that turns faster than
people do; a foot that slides along the ground."""


class KeepFinding(BaseEdit, frozen=True, tag="keep"):
    """What was found is right as it is."""

    kind: FindingKind
    names: tuple[str, ...]
    """Markers, or the body."""
    first: int
    last: int

    @property
    def stage(self) -> EditStage:
        return "kept"

    @property
    def touches(self) -> Touched:
        return Touched(f"kept {self.kind}", self.names, self.first, self.last)

    @property
    def sentence(self) -> str:
        where = f"{list_names(self.names)} {name_frames(self.first, self.last)}"
        return f"no {self.kind}, right as it is: {where}"

    @property
    def holds_samples(self) -> bool:
        """Whether cleaning would have changed them: the next solve is another one."""
        return self.kind in ("swap", "spike")


class Finding(NamedTuple):
    """Something that somebody should look at."""

    kind: FindingKind
    names: tuple[str, ...]
    """Markers, or the body."""
    first: int
    last: int
    size: float | None = None
    """Of a pop the turn from one frame to the next, radians; of a slide its length, metres."""
    mended: bool = False
    """Whether cleaning has put it right for the last solve."""

    @property
    def sentence(self) -> str:
        """A few words."""
        names = list_names(self.names)
        match self.kind:
            case "swap":
                return f"{' and '.join(self.names)} exchanged"
            case "spike":
                return f"{names} {'fly' if len(self.names) > 1 else 'flies'} off"
            case "gap":
                return f"{names} not seen"
            case "pop":
                return f"{names} turns {np.degrees(self.size or 0.0):.0f}° in a frame"
            case "slide":
                return f"{names} slides {1e3 * (self.size or 0.0):.0f} mm"

    def mending(self) -> RecordingEdit | MotionEdit:
        """Return the edit that puts it right."""
        match self.kind:
            case "swap":
                return SwapLabels(self.names[0], self.names[1], self.first, self.last)
            case "spike":
                return Cut(self.names, self.first, self.last)
            case "gap":
                return Fill(self.names, self.first, self.last)
            case "pop":
                return Ease(self.names[0], self.first, self.last)
            case "slide":
                return SetPlant(self.names[0], self.first, self.last, on=True)

    def answer(
        self, edits: Sequence[BaseEdit]
    ) -> "KeepFinding | RecordingEdit | MotionEdit | None":
        """Return the last of some edits that mends it or keeps it as it is."""
        mends, keeps = self.mending(), self.keeping()
        for edit in reversed(edits):
            if edit == keeps:
                return keeps
            lifted = isinstance(edit, SetPlant) and not edit.on
            if type(edit) is type(mends) and edit.touches == mends.touches and not lifted:
                return mends
        return None

    def keeping(self) -> KeepFinding:
        """Return the edit that says it is right."""
        return KeepFinding(self.kind, self.names, self.first, self.last)


def right_samples(edits: Iterable[BaseEdit]) -> tuple[RightSamples, ...]:
    """Return what cleaning has to leave alone: findings refused, and labels exchanged by hand."""
    said = []
    for edit in edits:
        if isinstance(edit, KeepFinding) and edit.holds_samples:
            said.append(RightSamples(edit.names, edit.first, edit.last))
        elif isinstance(edit, SwapLabels):
            said.append(RightSamples((edit.a, edit.b), edit.first, edit.last))
    return tuple(said)


def suspicious_samples(recording: Recording, right: Sequence[RightSamples] = ()) -> list[Finding]:
    """Find labels that seem exchanged and samples that fly off; nothing is changed."""
    swaps = find_swaps(recording)
    spikes = find_spikes(repair_swaps(recording, swaps))
    found = [Finding("swap", swap.markers, *swap.frames) for swap in swaps]
    for markers, first, last in right:
        columns = [recording.index(name) for name in markers]
        spikes[first : last + 1, columns] = False
    return sorted([*found, *_spikes(recording.names, spikes)], key=_in_time)


def repaired_samples(edited: Recording, solved: Solved) -> list[Finding]:
    """Return what cleaning has put right between the recording as edited and the solve."""
    swaps = [event for event in solved.events if isinstance(event, Swap) and event.repaired]
    found = [Finding("swap", swap.markers, *swap.frames, mended=True) for swap in swaps]
    shared = [name for name in edited.names if name in solved.recording.names]
    before = edited.seen[:, [edited.index(name) for name in shared]]
    after = solved.recording.seen[:, [solved.recording.index(name) for name in shared]]
    gone = before & ~after
    for swap in swaps:  # what one of the two lacks, both seem to
        columns = [shared.index(name) for name in swap.markers if name in shared]
        gone[swap.frames[0] : swap.frames[1] + 1, columns] = False
    spikes = [spike._replace(mended=True) for spike in _spikes(shared, gone)]
    return sorted([*found, *spikes], key=_in_time)


def _spikes(names: Sequence[str], spikes: np.ndarray) -> list[Finding]:
    return _by_marker("spike", names, spikes)


def find_gaps(names: Sequence[str], seen: np.ndarray) -> list[Finding]:
    """Return every marker's missing samples, in order of time; not of those never seen."""
    return _by_marker("gap", names, ~seen & seen.any(axis=0))


def _by_marker(kind: FindingKind, names: Sequence[str], mask: np.ndarray) -> list[Finding]:
    """Return runs of each marker, in order of time."""
    found = [
        Finding(kind, (names[column],), *run)
        for column in np.flatnonzero(mask.any(axis=0)).tolist()
        for run in runs(mask[:, column])
    ]
    return sorted(found, key=_in_time)


def pops_and_slides(motion: Motion) -> list[Finding]:
    """Find joints that turn faster than people do, and feet that slide along the ground."""
    pops = [
        Finding("pop", (turn.body,), turn.first, turn.last, turn.angle)
        for turn in all_sudden_turns(motion)
    ]
    return sorted([*pops, *_slides(motion)], key=_in_time)


def _slides(motion: Motion) -> list[Finding]:
    """Find steps that slide; where feet stand at times, among those in which they touch ground."""
    standing = standing_of(motion)
    steps = find_stances(motion, standing) if standing.ground.solid else []
    lengths = slides_of(motion, steps, standing.ground.belt)
    found = []
    for step, length in zip(steps, lengths.tolist(), strict=True):
        body = motion.skeleton.names[step.sole.body]
        slide = Finding("slide", (body,), *step.frames, length)
        if 1e3 * length > SLIDE_MM and _touches_ground(slide, standing.contacts):
            found.append(slide)
    return found


def _touches_ground(slide: Finding, contacts: Sequence[Contact]) -> bool:
    """Whether the foot is on the ground meanwhile; a path that is far too long shows no contact."""
    return not contacts or any(
        each.body == slide.names[0]
        and each.frames[0] <= slide.last
        and slide.first <= each.frames[1]
        for each in contacts
    )


def _in_time(finding: Finding) -> tuple[int, int]:
    return finding.first, finding.last
