"""The take that is open: its recording, edits and what was solved of it, and which pages' changes
may go on top of which."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from osteon.delivery import motion_spans, summary_of
from osteon.edits import (
    Draft,
    Edit,
    Edits,
    Finding,
    KeepFinding,
    MotionDraft,
    MotionEdit,
    Patch,
    RecordingEdit,
    RecordingId,
    SetPlant,
    SetPose,
    Settings,
    by_stage,
    check_sensor_edit,
    compact_of,
    describe_motion,
    edits_path,
    find_gaps,
    options_of,
    pops_and_slides,
    repaired_samples,
    said_labels,
    sensor_points,
    turn_upright,
)
from osteon.errors import BadValue, NotEnoughData, OsteonError, UnknownName
from osteon.formats import content_hash, file_name, read
from osteon.labelling import Labelled
from osteon.pipeline import Solved, watch_poses
from osteon.report import Span, body_rows
from osteon.studio.findings_list import Findings
from osteon.studio.folder import EditsFile
from osteon.studio.messages import FindingTable, RigRow, SliderRow
from osteon.typing import Array
from osteon.values import Bodies, Motion, Recording, Skeleton, Take

SLIDER_MARGIN = 0.35
"""Radians that a slider goes beyond what the take shows. Chosen: 20 degrees."""


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


@dataclass(frozen=True)
class Change:
    """What an edit, or its undoing, changed."""

    edit: Edit
    markers: tuple[int, ...] = ()
    first: int = 0
    last: int = -1
    moved: bool = False


class Shown:
    """A solved take to look at: the other side of a comparison."""

    def __init__(self, label: str, recording: Recording, solved: Solved) -> None:
        self.label, self.recording, self.solved = label, recording, solved
        self.names = recording.names
        self.before = self.after = recording.positions
        self.seen, self.measured = recording.seen, recording.measured
        self._motion = _draft_of(solved)

    @property
    def n_frames(self) -> int:
        return self.solved.motion.n_frames

    def residuals(self) -> Array:
        return order_residuals(self.names, self.solved)

    def motion_draft(self) -> MotionDraft:
        return self._motion


class OpenTake:
    """One subject of one file. Edits are written down as they are made, then count."""

    def __init__(self, path: Path, name: str, subject: str, revisions: Revisions) -> None:
        self.path, self.name, self.revisions = path, name, revisions
        self.take = read(path)
        self.recording, self.motion, self.sensors = _subject(self.take, subject)
        self.subject = subject or _subject_of(self.timed)
        self._take_up(self._read_edits())
        self.solved: Solved | None = None
        self.posed: tuple[object, Solved] | None = None
        """The last solve before kinds, limits and axes, and what it was made from."""
        self.labelled: tuple[object, Labelled] | None = None
        """Labels as they were found last, before any said by hand, and what they were made from."""
        self.character: Path | None = None
        """File of the character that is moved instead of the performer's own rig."""
        self.found: list[Span] = []
        """What the last solve found for the timeline."""
        self.findings = Findings()
        self.rig: RigRow | None = None
        self.summary: dict[str, Any] | None = None
        self._solved_from: object = None
        self._draft: Draft | None = None
        self._gaps: list[list[Finding]] = []
        """Of each marker, as edited."""
        self._motion: MotionDraft | None = None
        if self.recording is not None:
            if self.sensors is None:
                self.recording = turn_upright(self.recording, options_of(self.settings))
            self._begin_draft(self.recording)
        elif self.motion is not None:
            self.seen = self.measured = np.zeros((self.motion.n_frames, 0), dtype=bool)
            self.install(describe_motion(self.motion, self.edits, self.settings), self.key())

    def _read_edits(self) -> Edits:
        self.edits_file = EditsFile(edits_path(self.path), self.path)
        said = self.edits_file.read()
        if said is not None and said.recording.subject not in ("", self.subject):
            own = self.path.with_stem(f"{self.path.stem}.{file_name(self.subject)}")
            self.edits_file = EditsFile(edits_path(own), self.path)
            said = self.edits_file.read()
        several = len(subjects_of(self.take)) > 1
        owner = self.subject if several else ""
        return said or Edits(RecordingId(self.path.name, content_hash(self.path), owner))

    def _take_up(self, said: Edits) -> None:
        self.edits, self.undone = list(said.edits), list(said.undone)
        self.settings, self.id = said.settings, said.recording

    def _begin_draft(self, recording: Recording) -> None:
        self._draft = Draft(recording, by_stage(self.edits).recording)
        self.seen = np.isfinite(self._draft.positions[..., 0])
        self.measured = np.array(self._draft.recording().measured)
        self._gaps = [self._gaps_of(column) for column in range(len(self.names))]

    def read_again(self) -> None:
        """Take up the edits that another studio has written, and lay them on what is solved."""
        self._take_up(self._read_edits())
        self.revisions.forget()
        if self.recording is not None:
            self._begin_draft(self.recording)
        if self.solved is not None:
            try:
                self.install(self.solved, self._solved_from)
            except OsteonError:  # a pose of bodies that only their rig has
                self.solved = self._motion = self.rig = self.summary = None

    @property
    def names(self) -> tuple[str, ...]:
        return () if self.recording is None else self.recording.names

    @property
    def timed(self) -> Recording | Motion:
        """The markers, or the motion of a file without any."""
        timed = self.recording if self.recording is not None else self.motion
        assert timed is not None
        return timed

    @property
    def n_frames(self) -> int:
        return self.timed.n_frames

    @property
    def before(self) -> Array | None:
        return None if self.recording is None else self.recording.positions

    @property
    def after(self) -> Array | None:
        return None if self._draft is None else self._draft.positions

    def residuals(self) -> Array:
        if self.solved is None:
            raise NotEnoughData("the take is not solved yet")
        return order_residuals(self.names, self.solved)

    def motion_draft(self) -> MotionDraft:
        if self._motion is None:
            raise NotEnoughData("there is no motion yet; run the stage solve first")
        return self._motion

    def edited_recording(self) -> Recording:
        """Return the recording as it is to be solved."""
        if self._draft is None:
            raise NotEnoughData("the file holds a motion and no markers: there is nothing to solve")
        return self._draft.recording()

    def as_edits(self) -> Edits:
        return Edits(self.id, tuple(self.edits), tuple(self.undone), self.settings)

    def key(self) -> object:
        """Return what a solve depends on; poses and plants come after it."""
        kept = tuple(edit for edit in self.edits if _changes_solve(edit))
        return kept, self.settings, self.character

    def labels_key(self) -> object:
        """Return what labels that are found depend on."""
        return tuple(by_stage(self.edits).recording), self.settings.template

    def labels(self) -> Labelled | None:
        """Return the labels with those said by hand; None where none were looked for."""
        if self.labelled is None or self.labelled[0] != self.labels_key():
            return None
        said = by_stage(self.edits).labels
        return said_labels(self.labelled[1], self.edited_recording(), said)

    @property
    def stale(self) -> bool:
        """Whether edits were made since the motion was solved."""
        return self.solved is not None and self._solved_from != self.key()

    def install(self, solved: Solved, key: object) -> None:
        """Take a solve up: plants and poses made by hand go on top of it."""
        draft = _draft_of(solved)
        if self.character is None:
            for edit in by_stage(self.edits).motion:
                draft.apply(edit)
        self.solved, self._motion, self._solved_from = solved, draft, key
        # slow for long takes, so once for all pages; no edit by hand changes what was found
        self.found = motion_spans(solved.motion, (), watch_poses(solved.motion, []))
        self.rig, self.summary = rig_row(solved.motion), summary_of(solved)
        # what is wrong with a character's motion is mended on the performer's own
        own = pops_and_slides(solved.motion) if self.character is None else []
        self.findings.find_motion(own, self.edits)
        if self.recording is not None and self.character is None and self.settings.clean:
            repaired = repaired_samples(self.edited_recording(), solved)
            self.findings.find_samples(repaired, self.edits)

    def finding_table(self) -> FindingTable:
        """Return what somebody should look at, and what was answered."""
        return self.findings.table([gap for gaps in self._gaps for gap in gaps], self.edits)

    def _gaps_of(self, column: int) -> list[Finding]:
        """Find one marker's gaps: long takes have many, and an edit is about a few markers."""
        return find_gaps((self.names[column],), self.seen[:, [column]])

    def make(self, edit: Edit, seen: int) -> Change:
        """Make an edit that a page asks for, having seen revision ``seen``."""
        self.revisions.check(seen, edit)
        if isinstance(edit, SetPlant | SetPose) and self.solved is not None:
            edit = structs.replace(edit, found=self.solved.by_hand is not None)
        return self._make(edit, [])

    def undo(self, seen: int) -> Change:
        """Take back the last edit."""
        self.revisions.check_newest(seen)
        if not self.edits:
            raise NotEnoughData("there is nothing to take back")
        *kept, edit = self.edits
        self._write(kept, [*self.undone, edit])
        self.revisions.add(edit)
        return self._revert(edit)

    def redo(self, seen: int) -> Change:
        """Make the edit again that was taken back last."""
        self.revisions.check_newest(seen)
        if not self.undone:
            raise NotEnoughData("there is nothing to make again")
        *undone, edit = self.undone
        return self._make(edit, undone)

    def _make(self, edit: Edit, undone: list[Edit]) -> Change:
        change = self._apply(edit)
        try:
            self._write([*self.edits, edit], undone)
        except Exception:
            self._revert(edit)
            raise
        self.revisions.add(edit)
        return change

    def set_settings(self, settings: Settings) -> None:
        """Kept in the file of edits, so that the command line solves the same way."""
        if settings != self.settings:
            self.edits_file.write(structs.replace(self.as_edits(), settings=settings))
            self.settings = settings

    def save(self) -> None:
        self._write(self.edits, self.undone)

    def _write(self, edits: list[Edit], undone: list[Edit]) -> None:
        """Write edits down; only what is written counts."""
        self.edits_file.write(Edits(self.id, tuple(edits), tuple(undone), self.settings))
        self.edits, self.undone = edits, undone

    def _apply(self, edit: Edit) -> Change:
        if self.sensors is not None:
            check_sensor_edit(edit)
        if isinstance(edit, RecordingEdit):
            if self._draft is None:
                raise NotEnoughData("the file holds a motion and no markers to edit")
            return self._note_samples(edit, self._draft.apply(edit))
        if isinstance(edit, MotionEdit):
            if self.character is not None:
                raise BadValue("poses and plants belong to the performer's own rig; solve it first")
            patch = self.motion_draft().apply(edit)
            return Change(edit, (), patch.first, patch.last, moved=True)
        self._check_names(edit)
        return Change(edit)

    def _revert(self, edit: Edit) -> Change:
        if edit.stage == "recording" and self._draft is not None:
            return self._note_samples(edit, self._draft.undo())
        if edit.stage == "motion" and self._motion is not None and self._motion.patches:
            patch = self._motion.undo()
            return Change(edit, (), patch.first, patch.last, moved=True)
        return Change(edit)

    def _note_samples(self, edit: Edit, patch: Patch) -> Change:
        assert self._draft is not None
        frames = slice(patch.first, patch.last + 1)
        for column in patch.markers:
            self.seen[frames, column] = np.isfinite(self._draft.positions[frames, column, 0])
            evidence = self._draft.residuals[frames, column] != 0.0
            self.measured[frames, column] = self.seen[frames, column] & evidence
            self._gaps[column] = self._gaps_of(column)
        return Change(edit, patch.markers, patch.first, patch.last)

    def _check_names(self, edit: Edit) -> None:
        """Refuse markers and bodies that are not there, as far as is known before a solve."""
        for name in edit.carried:
            if name not in self.names:
                raise UnknownName("marker", name, self.names)
        if self.solved is None:
            return
        skeleton = self.solved.skeleton
        for name in edit.bodies_on("" if self.character is None else self.character.name):
            if name not in skeleton.names:
                raise UnknownName("body", name, skeleton.names)
        if not self.stale:
            edit.check(skeleton)


def subjects_of(take: Take) -> tuple[str, ...]:
    """Whose markers, or whose motion, a take holds."""
    return tuple(map(_subject_of, take.recordings or take.bodies or _motions(take)))


def _motions(take: Take) -> tuple[Motion, ...]:
    return take.motions or tuple(compact.motion() for compact in take.compacts)


def _subject_of(timed: Recording | Bodies | Motion) -> str:
    return timed.skeleton.subject if isinstance(timed, Motion) else timed.subject


def _changes_solve(edit: Edit) -> bool:
    """Whether another solve comes of it: poses and plants come after, and a word on what was found
    counts where cleaning would have repaired it."""
    return edit.holds_samples if isinstance(edit, KeepFinding) else edit.stage != "motion"


def _draft_of(solved: Solved) -> MotionDraft:
    return MotionDraft(solved.motion, solved.contacts, solved.by_hand)


def order_residuals(names: Sequence[str], solved: Solved) -> Array:
    """Return (n_frames, n_markers) distances in the order of ``names``; NaN where there is none."""
    columns = {name: column for column, name in enumerate(solved.recording.names)}
    errors = np.full((len(solved.marker_error), len(names)), np.nan)
    for place, name in enumerate(names):
        if name in columns:
            errors[:, place] = solved.marker_error[:, columns[name]]
    return errors


def _subject(take: Take, subject: str) -> tuple[Recording | None, Motion | None, Bodies | None]:
    """Return one subject's points and what else is known of it: a motion alone, or sensors whose
    places the points are."""
    names = subjects_of(take)
    if not names:
        held = " and ".join(take.kinds) or "nothing"
        raise NotEnoughData(f"the studio edits markers, sensors and motion; the file holds {held}")
    if subject and subject not in names:
        raise UnknownName("subject", subject, names)
    chosen = names.index(subject) if subject else 0
    if take.recordings:
        return take.recordings[chosen].markers(), None, None
    if take.bodies:
        return sensor_points(take.bodies[chosen]), None, take.bodies[chosen]
    return None, _motions(take)[chosen], None


def rig_row(motion: Motion) -> RigRow:
    """Return the rig of a motion; sliders where its movement axes are known."""
    skeleton = motion.skeleton
    return RigRow(body_rows(skeleton), slider_rows(motion), skeleton.subject)


def slider_rows(motion: Motion) -> tuple[SliderRow, ...]:
    if not knows_axes(motion.skeleton) or not motion.n_frames:
        return ()
    compact = compact_of(motion)
    lows, highs = np.nanmin(compact.angles, axis=0), np.nanmax(compact.angles, axis=0)
    rows = zip(compact.names, lows.tolist(), highs.tolist(), strict=True)
    return tuple(
        SliderRow(name, low - SLIDER_MARGIN, high + SLIDER_MARGIN) for name, low, high in rows
    )


def knows_axes(skeleton: Skeleton) -> bool:
    """Return whether every limb's movement axes have been found."""
    return len(skeleton.bodies) > 1 and all(b.movement is not None for b in skeleton.bodies[1:])
