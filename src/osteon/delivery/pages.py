"""Any file → the pages that show it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from osteon.anatomy import AnomalyFindings
from osteon.delivery.report_of_solve import (
    BODY_NUMBERS,
    MARKER_NUMBERS,
    ground_of,
    history_of,
    improbable_spans,
    motion_spans,
    thinned,
    title_of,
)
from osteon.errors import NotEnoughData
from osteon.formats import FOLDER_INDEX, VERBS_FILES, file_name, read
from osteon.maths import quat
from osteon.pipeline import Analyses, analyse
from osteon.posing import contacts_of
from osteon.report import (
    PLACE_STEP,
    TURN_STEP,
    BodyRow,
    MarkerRow,
    Poses,
    ReportData,
    body_rows,
    distances,
    gap_spans,
    mark_spans,
    marker_rows,
    pack,
    poses_of,
    skin_row,
    stride_for,
    write_report,
)
from osteon.values import Bodies, Joints, Motion, Recording, Skeleton, Take

REPORT_FILES = ("report.html", "index.html")
DEEPEST_FOLDER = 3
"""Folders below one that are looked into for reports."""


def view(source: str | Path | Take, folder: Path) -> tuple[Path, ...]:
    """Write the report of any file, one page per subject, and say where.

    Parameters
    ----------
    source
        A file in any format, or a folder that a verb has written; its own report, or those of
        the several subjects or takes in it, stay in place.
    folder
        Where the pages go.
    """
    name = ""
    if not isinstance(source, Take):
        path = Path(source)
        if path.is_dir() and not (path / FOLDER_INDEX).exists():
            if has_pages(path):
                return _reports_in(path)
            path = _best_of(path)
        source, name = read(path), path.name
    pages = list(pages_of(source, name))
    if not pages:
        raise NotEnoughData(f"{name or 'the take'} holds nothing that can be shown")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page, own in zip(pages, _page_names([page.subject for page in pages]), strict=True):
        written.append(folder / f"{own}.html")
        write_report(written[-1], page)
    return tuple(written)


def has_pages(source: Path) -> bool:
    """Whether this is a folder that a verb has written reports to."""
    return source.is_dir() and not (source / FOLDER_INDEX).exists() and bool(_reports_in(source))


def show(motion: Motion, folder: Path, findings: AnomalyFindings | None = None) -> None:
    """Write report.html of a motion beside a verb's other files.

    ``findings`` are improbable poses by what other takes have taught.
    """
    page = _page(motion.source.file, None, motion, analyse(motion, advise=False))
    if findings is not None:
        spans = [span for span in page.spans if span.kind != "improbable"]
        spans += improbable_spans(findings, motion.skeleton.names)
        page = structs.replace(page, spans=spans)
    write_report(folder / "report.html", page)


def show_joints(
    bodies: Bodies,
    motion: Motion,
    found: Joints,
    folder: Path,
    measured: Mapping[str, float] | None = None,
) -> None:
    """Write report.html of what the joint stage found: margins, residuals, loops, advice.

    The bodies' origins, where sensors sit, stand for markers.
    """
    analyses = analyse(motion, advise=False)
    page = _page(bodies.source.file, None, motion, analyses)
    joints = [connection.child for connection in found.connections]
    rows = body_rows(
        motion.skeleton, seen=analyses.seen, measured=measured, connections=found.connections
    )
    page = structs.replace(
        page,
        bodies=rows,
        markers=[_sensor_row(motion.skeleton, name) for name in bodies.names],
        points=pack(bodies.positions[:: page.stride], PLACE_STEP),
        cloud="sensors",
        residuals=[
            distances("both bodies' ideas of a joint", joints, found.residuals, page.stride)
        ],
        facts=[*_joint_facts(found), *page.facts],
        advice=[advice.text for advice in found.advice],
        history=history_of(bodies.history, motion.history),
        warnings=[
            *page.warnings,
            *bodies.source.problems,
            *found.warnings,
            *(loop.sentence for loop in found.loops),
        ],
    )
    write_report(folder / "report.html", page)


def _sensor_row(skeleton: Skeleton, name: str) -> MarkerRow:
    """Return a sensor, which sits in the origin of its body's frame."""
    x, y, z = (-skeleton.body(name).joint.in_body).tolist()
    return MarkerRow(name, skeleton.index(name), place=(x, y, z))


def _joint_facts(found: Joints) -> list[tuple[str, str]]:
    unsettled = sum(connection.ambiguous for connection in found.connections)
    worst = max(found.connections, key=lambda connection: connection.rms, default=None)
    return [
        ("joints", f"{len(found.connections)}, {unsettled or 'none'} in doubt"),
        ("worst joint", f"{worst.child}, {1e3 * worst.rms:.1f} mm rms" if worst else "–"),
        ("root", found.root),
    ]


def _reports_in(folder: Path) -> tuple[Path, ...]:
    """The report of a folder, the index of a batch, or else the reports of each take or subject."""
    for name in REPORT_FILES:
        if (folder / name).exists():
            return (folder / name,)
    if any((folder / name).exists() for name in VERBS_FILES):
        return ()
    depths = (
        sorted(folder.glob(f"{'*/' * depth}{REPORT_FILES[0]}"))
        for depth in range(1, DEEPEST_FOLDER + 1)
    )
    return tuple(next(filter(None, depths), ()))


def _best_of(folder: Path) -> Path:
    for name in VERBS_FILES:
        if (folder / name).exists():
            return folder / name
    raise NotEnoughData(
        f"{folder} holds no report and none of {', '.join(VERBS_FILES)}; give a file or a folder "
        "that osteon has written"
    )


def _page_names(subjects: Sequence[str]) -> list[str]:
    """A file for each page, with a number where a subject has several."""
    if len(subjects) == 1:
        return ["report"]
    names = [file_name(subject) if subject else "report" for subject in subjects]
    return [
        name if names.count(name) == 1 else f"{name} {1 + names[:index].count(name)}"
        for index, name in enumerate(names)
    ]


def pages_of(take: Take, name: str = "") -> Iterator[ReportData]:
    """Make a page for everything in a take: markers and motion of one subject share theirs."""
    motions = [*take.motions, *(compact.motion() for compact in take.compacts)]
    if not motions:
        motions = [Motion.at_rest(skeleton) for skeleton in take.skeletons]
    for recording in (recording.markers() for recording in take.recordings):
        own = next((motion for motion in motions if _together(recording, motion)), None)
        motions = [motion for motion in motions if motion is not own]
        yield _page(name, recording, own, own and analyse(own, advise=False))
    for motion in motions:
        yield _page(name, None, motion, analyse(motion, advise=False))
    if not take.recordings:
        for bodies in take.bodies:
            yield _page_of_bodies(name, bodies)


def _together(recording: Recording, motion: Motion) -> bool:
    """Whether markers and motion are of one subject and time."""
    same = motion.skeleton.subject in ("", recording.subject)
    return same and motion.n_frames == recording.n_frames


def _page(
    name: str,
    recording: Recording | None,
    motion: Motion | None = None,
    analyses: Analyses | None = None,
) -> ReportData:
    shown = recording or motion
    assert shown is not None
    n_markers = recording.n_markers if recording else 0
    n_bodies = len(motion.skeleton.bodies) if motion else 0
    stride = stride_for(shown.n_frames, MARKER_NUMBERS * n_markers + BODY_NUMBERS * n_bodies)
    subject = recording.subject if recording else motion.skeleton.subject if motion else ""
    page = ReportData(
        title=title_of(" · ".join(filter(None, (name, subject))), shown.n_frames),
        subject=subject,
        rate=shown.rate,
        frames=shown.n_frames,
        stride=stride,
        facts=_time_facts(shown),
        warnings=[*shown.source.problems, *thinned(stride)],
    )
    if recording:
        page = _with_markers(page, recording, motion)
    return _with_motion(page, motion, analyses) if motion and analyses else page


def _with_markers(page: ReportData, recording: Recording, motion: Motion | None) -> ReportData:
    missing = 1.0 - recording.seen.mean() if recording.seen.size else 0.0
    marks = mark_spans(recording.marks, recording.rate, recording.n_frames)
    return structs.replace(
        page,
        markers=marker_rows(
            recording.names,
            recording.seen,
            recording.measured,
            motion.skeleton if motion else None,
        ),
        points=pack(recording.positions[:: page.stride], PLACE_STEP),
        spans=[*page.spans, *marks, *gap_spans(recording.names, recording.seen)],
        facts=[
            *page.facts,
            ("markers", f"{recording.n_markers}, {100 * missing:.1f} % of samples missing"),
        ],
        history=[*page.history, *recording.history],
    )


def _with_motion(page: ReportData, motion: Motion, analyses: Analyses) -> ReportData:
    contacts = contacts_of(motion)
    # a skeleton that only stands there has no limits to show, as everybody knows
    problems = analyses.problems if motion.n_frames > 1 else ()
    bones = "lengths change" if motion.offsets is not None else "lengths fixed"
    return structs.replace(
        page,
        bodies=body_rows(motion.skeleton, seen=analyses.seen),
        poses=poses_of(motion, page.stride),
        skin=skin_row(motion, analyses.skin) if analyses.skin else None,
        ground=ground_of(motion, contacts),
        spans=[*page.spans, *motion_spans(motion, contacts, analyses.improbable)],
        facts=[*page.facts, ("bodies", f"{len(motion.skeleton.bodies)}, {bones}")],
        history=history_of(page.history, motion.history),
        warnings=[*page.warnings, *problems],
    )


def _page_of_bodies(name: str, bodies: Bodies) -> ReportData:
    """Rigid bodies on their own: nothing joins them yet."""
    stride = stride_for(bodies.n_frames, 2 * BODY_NUMBERS * bodies.n_bodies)
    turns, places = bodies.rotations[::stride], bodies.positions[::stride]
    missing = 1.0 - bodies.seen.mean() if bodies.seen.size else 0.0
    return ReportData(
        title=title_of(" · ".join(filter(None, (name, bodies.subject))), bodies.n_frames),
        subject=bodies.subject,
        rate=bodies.rate,
        frames=bodies.n_frames,
        stride=stride,
        bodies=[BodyRow(name=n, parent=-1, kind="free", offset=(0, 0, 0)) for n in bodies.names],
        poses=Poses(
            pack(quat.log(turns), TURN_STEP),
            pack(places[:, 0], PLACE_STEP),
            pack(places, PLACE_STEP),
        ),
        spans=mark_spans(bodies.marks, bodies.rate, bodies.n_frames),
        facts=[
            *_time_facts(bodies),
            ("rigid bodies", f"{bodies.n_bodies}, {100 * missing:.1f} % of samples missing"),
        ],
        history=list(bodies.history),
        warnings=[*bodies.source.problems, *thinned(stride)],
    )


def _time_facts(shown: Recording | Motion | Bodies) -> list[tuple[str, str]]:
    source = shown.source
    facts = [
        ("frames", f"{shown.n_frames} at {shown.rate:g} per second"),
        ("duration", f"{shown.n_frames / shown.rate:.2f} s"),
    ]
    if source.format:
        facts.append(("format", " ".join(filter(None, (source.format, source.detail)))))
        facts.append(("in the file", f"{source.unit}, {source.up} up"))
    return facts
