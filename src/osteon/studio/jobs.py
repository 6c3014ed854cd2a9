"""Stages at work beside the pages: one at a time, in a thread, with progress and a way to stop.

Each works on a snapshot of the take, so that pages may go on editing meanwhile.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec

from osteon.articulation import limb_table
from osteon.delivery import (
    deliver,
    joints_summary,
    show_joints,
    write_cleaned,
    write_joints,
    write_labelled,
)
from osteon.edits import (
    Edit,
    Edits,
    RecordingId,
    Settings,
    as_solved,
    by_stage,
    describe_motion,
    describe_rig,
    edit_motion,
    edits_path,
    find_sensor_joints,
    give_labels,
    glue_markers,
    options_of,
    pose_rig,
    read_edits,
    right_samples,
    said_labels,
    solve_edited,
    solve_sensors,
    suspicious_samples,
    turn_upright,
    wants_labels,
)
from osteon.errors import BadValue, NotEnoughData, OsteonError
from osteon.formats import check_endings, read
from osteon.human import load_names
from osteon.labelling import Labelled
from osteon.pipeline import (
    MapOptions,
    Solved,
    analyse,
    angles,
    clean_take,
    label_tracks,
    map_to,
    write_passports,
)
from osteon.studio.document import OpenTake, Shown
from osteon.studio.messages import (
    Cancelled,
    Compare,
    Export,
    Exported,
    ExportedFile,
    Problem,
    Progress as ProgressMessage,
    Run,
    Stage,
    ToPage,
)
from osteon.studio.replies import say_compared, say_done
from osteon.typing import Progress, Step
from osteon.values import Bodies, Motion, Recording, Take

if TYPE_CHECKING:
    from osteon.studio.session import Session

STEP_SHARES = {
    "read": 0.0,
    "set": 0.05,
    "join": 0.05,
    "follow": 0.1,
    "review": 0.15,
    "clean": 0.05,
    "calibrate": 0.15,
    "solve": 0.6,
    "contacts": 0.8,
    "limits": 0.85,
    "axes": 0.85,
}
"""Share of a run that lies behind when a step begins, by its id; chosen: about what solves take."""
NAMED_FILES = {
    "skeleton": "skeleton.json",
    "summary": "summary.json",
    "report": "report.html",
    "passport": "passport.json",
}
"""Files of an export that are asked for by a name of their own; others by their ending."""
CLEANED_FILE = "markers.c3d"
"""The cleaned markers of an export."""
MOST_JOBS = 8
"""Count of jobs that may wait for their turn. Chosen: nobody means to start more."""

LABELS_URL = "/api/export/labels"
WENT_WRONG = "something went wrong inside; the edits made so far are safe"

log = logging.getLogger("osteon.studio")


class Stopped(OsteonError):
    """Somebody asked to stop."""


class StudioJob:
    """Something at work, or waiting for its turn."""

    def __init__(self, stage: str, tell: Callable[[ToPage], None]) -> None:
        self.stage, self._tell = stage, tell
        self._stop = threading.Event()
        self.done: asyncio.Task[None] | None = None

    def stop(self) -> None:
        self._stop.set()

    def say(self, step: Step) -> None:
        """Tell a step, in the thread that works; end it where somebody asked to stop."""
        if self._stop.is_set():
            raise Stopped(self.stage)
        self._tell(ProgressMessage(self.stage, str(step), STEP_SHARES.get(step.id)))


class Jobs:
    """What takes longer than an answer may, run one after the other."""

    def __init__(self, session: "Session") -> None:
        self.session = session
        self.compared: Shown | None = None
        self._jobs: list[StudioJob] = []
        """At work first, then those that wait."""
        self._at_work = asyncio.Lock()
        self._exported: object = None

    def check_idle(self) -> None:
        if self._jobs:
            stage = self._jobs[0].stage
            raise BadValue(f"the stage {stage} is at work; wait for it, or cancel it first")

    def cancel(self) -> None:
        """Stop at the next step, and forget what waits."""
        for job in self._jobs:
            job.stop()

    def run(self, message: Run) -> None:
        """Run a stage; an older one still at work would be out of date and gives way."""
        for job in self._jobs:
            if job.stage in get_args(Stage):
                job.stop()
        self._start(message.stage, lambda job: self._run(job, message))

    def export(self, message: Export) -> StudioJob:
        check_endings(message.formats)
        if message.labels:
            return self._start("label", self._export_labels)
        if message.names:
            load_names(message.names)  # refuses one that nobody knows
        return self._start("export", lambda job: self._export(job, message))

    def compare(self, message: Compare) -> None:
        self._start("compare", lambda job: self._compare(job, message))

    async def export_now(self, formats: tuple[str, ...]) -> None:
        """Export, and wait until the files are there."""
        job = self.export(Export(formats))
        assert job.done is not None
        await job.done

    def is_current(self, file: Path) -> bool:
        """Return whether a file of the last export tells the take as it stands."""
        take = self.session.take
        return take is not None and self._exported == _export_key(take) and file.exists()

    def output_folder(self) -> Path:
        """Return where exports go: as the user said, else beside the take."""
        if self.session.output is not None:
            return self.session.output
        if (take := self.session.take) is None:
            return self.session.folder.path
        return take.path.with_name(f"{take.path.stem}-rig")

    def labelled_file(self) -> Path:
        """Return where the markers with their labels go: beside the folder of exports."""
        take = self.session.need_take()
        folder = self.output_folder().with_name(f"{take.path.stem}-labelled")
        return folder / f"{take.path.stem}.c3d"

    def _start(self, stage: str, work: Callable[[StudioJob], Awaitable[None]]) -> StudioJob:
        self.session.need_take()
        if len(self._jobs) >= MOST_JOBS:
            raise BadValue("too much is waiting already; cancel it first")
        job = StudioJob(stage, self.session.hub.tell)
        self._jobs.append(job)
        job.done = asyncio.create_task(self._in_turn(job, work))
        return job

    async def _in_turn(self, job: StudioJob, work: Callable[[StudioJob], Awaitable[None]]) -> None:
        tell = self.session.hub.tell
        async with self._at_work:
            try:
                job.say(Step("start", "starting"))
                await work(job)
            except Stopped:
                tell(Cancelled(job.stage))
            except OsteonError as error:
                tell(Problem(str(error), job.stage))
            except MemoryError:
                tell(Problem("not enough memory for this take", job.stage))
            except Exception:  # whatever happens inside a stage, the session lives on
                log.exception("in the stage %s", job.stage)
                tell(Problem(WENT_WRONG, job.stage))
            finally:
                self._jobs.remove(job)

    async def _run(self, job: StudioJob, message: Run) -> None:
        take = self.session.need_take()
        if message.stage == "swaps":
            await self._look(job, take)
            return
        if message.stage == "label":
            asked = msgspec.structs.replace(message.settings or take.settings, label=True)
            async with self.session.turn:
                await self.session.write(take, lambda: take.set_settings(asked))
            await self._label(job, take)
            self.session.hub.tell(say_done(take, "label"))
            return
        async with self.session.turn:
            mapped = message.stage == "map"
            take.character = self.session.folder.existing(message.character) if mapped else None
            asked = _settings(message, take.settings)
            await self.session.write(take, lambda: take.set_settings(asked))
        await self._solve(job, take, message.stage)

    async def _solve(self, job: StudioJob, take: OpenTake, stage: str) -> None:
        async with self.session.turn:
            shot = await asyncio.to_thread(take_snapshot, take)
        found, posed = await asyncio.to_thread(solve_snapshot, shot, job.say)
        async with self.session.turn:
            if self.session.take is not take:
                return
            take.posed = posed
            await asyncio.to_thread(take.install, found, shot.key)
            self.session.hub.tell(say_done(take, stage))

    async def _look(self, job: StudioJob, take: OpenTake) -> None:
        """Look for suspicions for the timeline; nothing is changed."""
        async with self.session.turn:
            recording = await asyncio.to_thread(take.edited_recording)
        job.say(Step("clean", "looking for swapped labels and spikes"))
        found = await asyncio.to_thread(suspicious_samples, recording, right_samples(take.edits))
        async with self.session.turn:
            take.findings.find_samples(found, take.edits)
            self.session.hub.tell(say_done(take, "swaps"))

    async def _label(self, job: StudioJob, take: OpenTake) -> Labelled:
        """Find labels, unless they are known; return them with what is said by hand."""
        async with self.session.turn:
            shot = await asyncio.to_thread(take_snapshot, take)
        labelled = await asyncio.to_thread(label_snapshot, shot, job.say)
        async with self.session.turn:
            take.labelled = labelled
            said = by_stage(shot.edits).labels
            assert shot.recording is not None
            return said_labels(labelled[1], shot.recording, said)

    async def _export_labels(self, job: StudioJob) -> None:
        """Write the markers with their labels; nothing is solved."""
        take = self.session.need_take()
        found = await self._label(job, take)
        markers = self.labelled_file()
        job.say(Step("write", "writing"))
        markers.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(write_labelled, [found], [take.path], markers.parent)
        files = [
            ExportedFile(file.name, LABELS_URL if file == markers else "", file.stat().st_size)
            for file in sorted(markers.parent.iterdir())
            if file.is_file()
        ]
        self.session.hub.tell(Exported(str(markers.parent), tuple(files)))

    async def _export(self, job: StudioJob, message: Export) -> None:
        take = self.session.need_take()
        if take.solved is None or take.stale:
            await self._solve(job, take, "solve")
        async with self.session.turn:
            assert take.solved is not None
            found, shot = take.solved, await asyncio.to_thread(take_snapshot, take)
            key = _export_key(take)
        folder = self.output_folder()
        job.say(Step("write", "writing"))
        await asyncio.to_thread(write_snapshot, found, shot, take.path, folder, message)
        self._exported = key
        files = tuple(
            ExportedFile(file.name, _url_of(file), file.stat().st_size)
            for file in sorted(folder.iterdir())
            if file.is_file()
        )
        self.session.hub.tell(Exported(str(folder), files))

    async def _compare(self, job: StudioJob, message: Compare) -> None:
        take = self.session.need_take()
        settings = message.settings
        if message.path:
            path = self.session.folder.existing(message.path)
            edits = edits_beside(path)
        else:
            path, edits = take.path, take.as_edits()
        kept = edits.edits if message.edits else ()
        edits = Edits(edits.recording, kept, (), settings or edits.settings)
        label = message.path or ("other settings" if settings else "without edits")
        self.compared = await asyncio.to_thread(solve_compared, path, label, edits, job.say)
        self.session.hub.tell(await asyncio.to_thread(say_compared, self.compared))


def _export_key(take: OpenTake) -> object:
    return take.path, take.key(), tuple(take.edits)


def _settings(message: Run, now: Settings) -> Settings:
    """Return what is asked for: a stage of its own stays asked for in later solves."""
    settings = message.settings or now
    if message.stage in ("limits", "axes"):
        return msgspec.structs.replace(settings, **{message.stage: True})
    return settings


def _url_of(file: Path) -> str:
    """Return where a page gets a file of an export; empty where it lies in the folder only."""
    if file.name in NAMED_FILES.values():
        return f"/api/export/{file.stem}"
    return f"/api/export/{file.suffix.lstrip('.')}" if file.stem == "motion" else ""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a solve needs, unmoved by edits that come while it runs."""

    key: object
    recording: Recording | None
    motion: Motion | None
    edits: tuple[Edit, ...]
    settings: Settings
    character: Path | None
    posed: tuple[object, Solved] | None
    """A solve before kinds, limits and axes, and what it was made from."""
    labels_key: object = None
    labelled: tuple[object, Labelled] | None = None
    """Labels as they were found last, and what they were made from."""
    sensors: Bodies | None = None
    """As recorded, where the take is one of sensors."""


def take_snapshot(take: OpenTake) -> Snapshot:
    recording = None if take.recording is None else take.edited_recording()
    return Snapshot(
        take.key(),
        recording,
        take.motion,
        tuple(take.edits),
        take.settings,
        take.character,
        take.posed,
        take.labels_key(),
        take.labelled,
        take.sensors,
    )


def label_snapshot(shot: Snapshot, progress: Progress) -> tuple[object, Labelled]:
    """Return labels for all tracks, and what they were made from; those known already stay."""
    if shot.recording is None:
        raise NotEnoughData("the file holds a motion and no markers: there is nothing to label")
    if shot.sensors is not None:
        raise NotEnoughData("the file holds sensors, which are who they are: nothing to label")
    if shot.labelled is not None and shot.labelled[0] == shot.labels_key:
        return shot.labelled
    found = label_tracks(shot.recording, options_of(shot.settings), progress=progress)
    return shot.labels_key, found


def solve_snapshot(
    shot: Snapshot, progress: Progress
) -> tuple[Solved, tuple[object, Solved] | None]:
    """Solve the rig up to plants and poses; also return what to keep for the next time."""
    if shot.recording is None:
        assert shot.motion is not None
        progress(Step("clean", "looking at the motion"))
        return describe_motion(shot.motion, shot.edits, shot.settings), None
    if shot.sensors is not None:
        if shot.character is not None:
            raise NotEnoughData("a character is moved by markers or by a motion, not by sensors")
        return solve_sensors(shot.sensors, shot.edits, shot.settings, progress), None
    if shot.character is not None:
        return _map_character(shot, progress), shot.posed
    options = options_of(shot.settings)
    chosen = by_stage(shot.edits)
    right = right_samples(shot.edits)
    key = chosen.recording, right, chosen.labels, chosen.rig, options, shot.settings.label
    if shot.posed is not None and shot.posed[0] == key:
        posed = shot.posed[1]
    else:
        recording = shot.recording
        if wants_labels(shot.edits, shot.settings):
            _, found = label_snapshot(shot, progress)
            recording = give_labels(recording, found, shot.edits)
        posed = pose_rig(recording, shot.edits, options, progress)
    return describe_rig(posed, shot.edits, shot.settings, options, progress), (key, posed)


def _map_character(shot: Snapshot, progress: Progress) -> Solved:
    """Move a character by the recording, with the markers that were glued on by hand."""
    assert shot.character is not None and shot.recording is not None
    return map_to(
        Take(recordings=(shot.recording,)),
        shot.character,
        options=MapOptions(corrections=glue_markers(shot.edits, shot.character.name)),
        solving=replace(options_of(shot.settings), right=right_samples(shot.edits)),
        progress=progress,
    )


def write_snapshot(solved: Solved, shot: Snapshot, path: Path, folder: Path, asked: Export) -> None:
    """Write what was solved of a snapshot, plants and poses added."""
    if shot.sensors is not None:
        _write_sensors(edit_motion(solved, shot.edits), shot.sensors, shot, folder, asked)
        return
    if shot.character is None:
        solved = edit_motion(solved, shot.edits)
        solved = solved if shot.recording is not None else as_solved(solved.motion)
    shown = analyse(solved.motion)
    deliver(
        solved,
        folder,
        formats=asked.formats,
        unit=asked.unit or None,
        up=asked.up or None,
        analyses=shown,
        angles=angles(solved, asked.angles) if asked.angles else None,
        character=shot.character or (path if shot.recording is None else None),
        names=asked.names or None,
    )
    if shot.recording is None or shot.character is not None:
        return
    if asked.markers:
        write_cleaned([clean_take(solved)], path, folder / CLEANED_FILE)
    write_passports([replace(solved, path=path)], folder, [shown])


def _write_sensors(
    solved: Solved, sensors: Bodies, shot: Snapshot, folder: Path, asked: Export
) -> None:
    """Write what ``osteon joints`` writes, with the motion as edited."""
    edited, found = find_sensor_joints(sensors, shot.edits)
    summary = joints_summary(edited, found, limb_table(found))
    formats = dict.fromkeys(("glb", *asked.formats))
    write_joints(solved.motion, found, summary, folder, tuple(formats), asked.names or None)
    show_joints(edited, solved.motion, found, folder)


def solve_compared(path: Path, label: str, edits: Edits, progress: Progress) -> Shown:
    """Solve a take to stand beside the open one."""
    take = read(path)
    if not take.recordings:
        solved = as_solved(take.motion())
        return Shown(label, solved.recording, solved)
    solved = solve_edited(take, edits, progress=progress)
    recording = take.recording(edits.recording.subject or None).markers()
    return Shown(label, turn_upright(recording, options_of(edits.settings)), solved)


def edits_beside(path: Path) -> Edits:
    """Read what was edited of a take before; nothing where there is no file of edits."""
    beside = edits_path(path)
    return read_edits(beside, path) if beside.exists() else Edits(RecordingId(path.name, ""))
