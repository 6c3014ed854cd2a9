"""The open take as messages."""

from collections.abc import Sequence

from osteon.delivery import motion_spans, summary_of
from osteon.pipeline import watch_poses
from osteon.report import MarkerRow, Span, gap_spans, mark_spans, marker_rows
from osteon.studio.document import Change, OpenTake, Shown, subjects_of
from osteon.studio.messages import Changed, Compared, Opened, RigRow, StageDone, TakeState
from osteon.studio.rig_messages import contact_spans, rig_row
from osteon.values import Source

MOST_GAPS = 1000
"""Gaps drawn apart on the timeline; where there are more, neighbours are drawn as one."""


def state_of(take: OpenTake) -> TakeState:
    return TakeState(
        take.revisions.current,
        tuple(take.edits),
        len(take.undone),
        take.settings,
        solved=take.solved is not None,
        stale=take.stale,
    )


def say_opened(take: OpenTake) -> Opened:
    source = _source(take)
    return Opened(
        path=take.name,
        subject=take.subject,
        subjects=subjects_of(take.take),
        frames=take.n_frames,
        rate=take.rate,
        kinds=("markers",) if take.recording is not None else ("motion",),
        facts=_facts(take, source),
        problems=source.problems,
        markers=markers_of(take),
        spans=tuple(spans_of(take)),
        rig=take.rig,
        state=state_of(take),
        summary=take.summary,
    )


def say_changed(take: OpenTake, change: Change, *, undone: bool) -> Changed:
    what = change.edit.sentence
    return Changed(
        state_of(take),
        f"taken back: {what}" if undone else what,
        markers_of(take, change.markers),
        change.first,
        change.last,
        tuple(spans_of(take)),
        change.moved,
    )


def say_done(take: OpenTake, stage: str, found: Sequence[Span] = ()) -> StageDone:
    """Return what there is after a stage; ``found`` goes on the timeline as well."""
    done = take.solved
    return StageDone(
        stage,
        take.rig or RigRow(),
        take.summary or {},
        markers_of(take),
        (*spans_of(take), *found),
        state_of(take),
        take.n_frames,
        () if done is None else done.warnings,
    )


def say_compared(shown: Shown) -> Compared:
    motion, seen = shown.solved.motion, shown.recording.seen
    return Compared(
        shown.label,
        shown.n_frames,
        motion.rate,
        rig_row(motion),
        marker_rows(shown.names, seen, motion.skeleton),
        summary_of(shown.solved),
        (
            *gap_spans(shown.names, seen, MOST_GAPS),
            *motion_spans(motion, shown.solved.contacts, watch_poses(motion, [])),
        ),
    )


def markers_of(take: OpenTake, columns: Sequence[int] | None = None) -> list[MarkerRow]:
    """Return the take's markers as edited, or some of them by column."""
    chosen = list(range(len(take.names)) if columns is None else columns)
    names = [take.names[column] for column in chosen]
    skeleton = None if take.solved is None else take.solved.skeleton
    return marker_rows(names, take.seen[:, chosen], skeleton)


def spans_of(take: OpenTake) -> list[Span]:
    """Return the timeline: gaps and contacts as edited, and what the last solve found."""
    spans = gap_spans(take.names, take.seen, MOST_GAPS) if take.names else []
    if take.solved is None:
        marks = take.recording.marks if take.recording is not None else ()
        return [*spans, *mark_spans(marks, take.rate, take.n_frames)]
    contacts = take.motion_draft().contacts
    return [*spans, *take.found, *contact_spans(contacts, take.solved.skeleton)]


def _source(take: OpenTake) -> Source:
    timed = take.recording if take.recording is not None else take.motion
    return Source() if timed is None else timed.source


def _facts(take: OpenTake, source: Source) -> tuple[tuple[str, str], ...]:
    rows = [
        ("file", source.file or take.path.name),
        ("format", " ".join(filter(None, (source.format, source.detail)))),
        ("frames", f"{take.n_frames} at {take.rate:g} per second"),
    ]
    if take.recording is not None:
        missing = 1.0 - float(take.seen.mean()) if take.seen.size else 0.0
        rows.append(("markers", f"{len(take.names)}, {100.0 * missing:.1f} % of samples missing"))
    if source.software:
        rows.append(("written by", source.software))
    return tuple(rows)
