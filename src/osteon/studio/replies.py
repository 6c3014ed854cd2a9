"""The open take as messages."""

from collections.abc import Sequence

from osteon.delivery import motion_spans, summary_of
from osteon.edits import told
from osteon.pipeline import watch_poses
from osteon.report import Span, gap_spans, mark_spans
from osteon.studio.document import Change, OpenTake, Shown, subjects_of
from osteon.studio.messages import Changed, Compared, Figure, Opened, Solved, TakeState
from osteon.studio.rig_messages import contact_spans, figure_of, take_markers
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


def opened(take: OpenTake) -> Opened:
    solved, source = take.solved, _source(take)
    return Opened(
        path=take.name,
        subject=take.subject,
        subjects=subjects_of(take.take),
        frames=take.n_frames,
        rate=take.rate,
        kinds=("markers",) if take.recording is not None else ("motion",),
        facts=_facts(take, source),
        problems=source.problems,
        markers=take_markers(take.names, take.seen, solved, range(len(take.names))),
        spans=tuple(spans_of(take)),
        figure=take.figure,
        state=state_of(take),
        summary=take.summary,
    )


def changed(take: OpenTake, change: Change, *, undone: bool) -> Changed:
    what = told(change.edit)
    return Changed(
        state_of(take),
        f"taken back: {what}" if undone else what,
        take_markers(take.names, take.seen, take.solved, change.markers),
        change.first,
        change.last,
        tuple(spans_of(take)),
        change.moved,
    )


def solved(take: OpenTake, stage: str, found: Sequence[Span] = ()) -> Solved:
    """What there is after a stage; ``found`` goes on the timeline as well."""
    done = take.solved
    return Solved(
        stage,
        take.figure or Figure(),
        take.summary or {},
        take_markers(take.names, take.seen, done, range(len(take.names))),
        (*spans_of(take), *found),
        state_of(take),
        take.n_frames,
        () if done is None else done.warnings,
    )


def compared(shown: Shown) -> Compared:
    motion, seen = shown.solved.motion, shown.recording.seen
    return Compared(
        shown.label,
        shown.n_frames,
        motion.rate,
        figure_of(motion),
        take_markers(shown.names, seen, shown.solved, range(len(shown.names))),
        summary_of(shown.solved),
        (
            *gap_spans(shown.names, seen, MOST_GAPS),
            *motion_spans(motion, shown.solved.contacts, watch_poses(motion, [])),
        ),
    )


def spans_of(take: OpenTake) -> list[Span]:
    """The timeline: gaps and contacts as edited, and what the last solve found."""
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
