"""Stages at work beside the pages: one at a time, in a thread, with progress and a way to stop."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec

from osteon.delivery import deliver
from osteon.edits import Edits, Settings
from osteon.errors import BadValue, OsteonError
from osteon.formats import check_endings
from osteon.pipeline import analyse, write_passports
from osteon.studio import replies, tasks
from osteon.studio.document import OpenTake, Shown
from osteon.studio.hub import Hub
from osteon.studio.messages import (
    Cancelled,
    Compare,
    Export,
    Exported,
    ExportedFile,
    Problem,
    Progress,
    Run,
    Stage,
)
from osteon.typing import Step

if TYPE_CHECKING:
    from osteon.studio.session import Session

SHARES = {
    "read": 0.0,
    "clean": 0.05,
    "calibrate": 0.15,
    "solve": 0.6,
    "contacts": 0.8,
    "limits": 0.85,
    "axes": 0.85,
}
"""How much of a run lies behind when a step begins, by its id; chosen: about what solves take."""

NAMED_FILES = {
    "skeleton": "skeleton.json",
    "summary": "summary.json",
    "report": "report.html",
    "passport": "passport.json",
}
"""Files of an export that are asked for by a name of their own; others by their ending."""
MOST_JOBS = 8
"""Count of jobs that may wait for their turn. Chosen: nobody means to start more."""

log = logging.getLogger("osteon.studio")


class Stopped(OsteonError):
    """Somebody asked to stop."""


class StudioJob:
    """Something at work, or waiting for its turn."""

    def __init__(self, stage: str, hub: Hub) -> None:
        self.stage, self._hub = stage, hub
        self._stop = threading.Event()
        self.done: asyncio.Task[None] | None = None

    def stop(self) -> None:
        self._stop.set()

    def say(self, step: Step) -> None:
        """Tell a step, in the thread that works; end it where somebody asked to stop."""
        if self._stop.is_set():
            raise Stopped(self.stage)
        self._hub.tell(Progress(self.stage, str(step), SHARES.get(step.id)))


class Jobs:
    """What takes longer than an answer may, run one after the other."""

    def __init__(self, session: "Session") -> None:
        self.session = session
        self.compared: Shown | None = None
        self._jobs: list[StudioJob] = []
        """At work first, then those that wait."""
        self._exported: object = None

    def check_idle(self) -> None:
        if self._jobs:
            stage = self._jobs[0].stage
            raise BadValue(f"the stage {stage} is at work; wait for it, or cancel it first")

    def cancel(self) -> None:
        """Stop at the next step, and forget what waits."""
        for job in self._jobs:
            job.stop()

    def forget(self) -> None:
        """Another take is open."""
        self.compared = None

    def run(self, message: Run) -> None:
        """Run a stage; an older one still at work would be out of date and gives way."""
        for job in self._jobs:
            if job.stage in get_args(Stage):
                job.stop()
        self._start(message.stage, lambda job: self._run(job, message))

    def export(self, message: Export) -> StudioJob:
        check_endings(message.formats)
        return self._start("export", lambda job: self._export(job, message.formats))

    def compare(self, message: Compare) -> None:
        self._start("compare", lambda job: self._compare(job, message))

    async def export_now(self, formats: tuple[str, ...]) -> Path:
        """Export now, and return the folder that the files are in."""
        job = self.export(Export(formats))
        assert job.done is not None
        await job.done
        return self.output_folder()

    def is_current(self, file: Path) -> bool:
        """Return whether a file of the last export tells the take as it stands."""
        take = self.session.take
        return take is not None and self._exported == _export_key(take) and file.exists()

    def output_folder(self) -> Path:
        """Return where exports go: as the user said, else beside the take."""
        if self.session.output is not None:
            return self.session.output
        take = self.session.take
        return (
            self.session.folder.path
            if take is None
            else take.path.with_name(f"{take.path.stem}-rig")
        )

    def _start(self, stage: str, work: Callable[[StudioJob], Awaitable[None]]) -> StudioJob:
        self.session.need_take()
        if len(self._jobs) >= MOST_JOBS:
            raise BadValue("too much is waiting already; cancel it first")
        job = StudioJob(stage, self.session.hub)
        before = [other.done for other in self._jobs if other.done is not None]
        self._jobs.append(job)
        job.done = asyncio.create_task(self._in_turn(job, before, work))
        return job

    async def _in_turn(
        self,
        job: StudioJob,
        before: list[asyncio.Task[None]],
        work: Callable[[StudioJob], Awaitable[None]],
    ) -> None:
        for other in before:
            await other
        hub = self.session.hub
        try:
            job.say(Step("start", "starting"))
            await work(job)
        except Stopped:
            hub.tell(Cancelled(job.stage))
        except OsteonError as error:
            hub.tell(Problem(str(error), job.stage))
        except MemoryError:
            hub.tell(Problem("not enough memory for this take", job.stage))
        except Exception:  # whatever happens inside a stage, the session lives on
            log.exception("in the stage %s", job.stage)
            saying = "something went wrong inside; the edits made so far are safe"
            hub.tell(Problem(saying, job.stage))
        finally:
            self._jobs.remove(job)

    async def _run(self, job: StudioJob, message: Run) -> None:
        take = self.session.need_take()
        if message.stage == "swaps":
            await self._look(job, take)
            return
        async with self.session.turn:
            take.character = self._character(message)
            asked = _settings(message, take.settings)
            await self.session.write(take, lambda: take.set_settings(asked))
        await self._solve(job, take, message.stage)

    def _character(self, message: Run) -> Path | None:
        return self.session.folder.existing(message.character) if message.stage == "map" else None

    async def _solve(self, job: StudioJob, take: OpenTake, stage: str) -> None:
        async with self.session.turn:
            shot = await asyncio.to_thread(tasks.snapshot, take)
        found, posed = await asyncio.to_thread(tasks.solve_snapshot, shot, job.say)
        async with self.session.turn:
            if self.session.take is not take:
                return
            take.posed = posed
            await asyncio.to_thread(take.install, found, shot.key)
            self.session.hub.tell(replies.say_done(take, stage))

    async def _look(self, job: StudioJob, take: OpenTake) -> None:
        """Look for suspicions for the timeline; nothing is changed."""
        async with self.session.turn:
            recording = await asyncio.to_thread(take.edited_recording)
        found = await asyncio.to_thread(tasks.find_suspicions, recording, job.say)
        self.session.hub.tell(replies.say_done(take, "swaps", found))

    async def _export(self, job: StudioJob, formats: tuple[str, ...]) -> None:
        take = self.session.need_take()
        if take.solved is None or take.stale:
            await self._solve(job, take, "solve")
        async with self.session.turn:
            assert take.solved is not None
            found, shot = take.solved, await asyncio.to_thread(tasks.snapshot, take)
            key = _export_key(take)
        folder = self.output_folder()
        job.say(Step("write", "writing"))
        done = await asyncio.to_thread(tasks.add_motion_edits, found, shot)
        shown = await asyncio.to_thread(analyse, done.motion)
        await asyncio.to_thread(deliver, done, folder, formats=formats, analyses=shown)
        if shot.recording is not None and shot.character is None:
            whose = [replace(done, path=take.path)]
            await asyncio.to_thread(write_passports, whose, folder, [shown])
        self._exported = key
        files = tuple(
            ExportedFile(file.name, f"/api/export/{_url_name(file)}", file.stat().st_size)
            for file in sorted(folder.iterdir())
            if file.is_file()
        )
        self.session.hub.tell(Exported(str(folder), files))

    async def _compare(self, job: StudioJob, message: Compare) -> None:
        take = self.session.need_take()
        settings = message.settings
        if message.path:
            path = self.session.folder.existing(message.path)
            edits = tasks.edits_beside(path)
        else:
            path, edits = take.path, take.as_edits()
        kept = edits.edits if message.edits else ()
        edits = Edits(edits.recording, kept, (), settings or edits.settings)
        label = message.path or ("other settings" if settings else "without edits")
        self.compared = await asyncio.to_thread(tasks.solve_compared, path, label, edits, job.say)
        self.session.hub.tell(await asyncio.to_thread(replies.say_compared, self.compared))


def _export_key(take: OpenTake) -> object:
    return take.path, take.key(), tuple(take.edits)


def _settings(message: Run, now: Settings) -> Settings:
    """Return what is asked for: a stage of its own stays asked for in later solves."""
    settings = message.settings or now
    if message.stage == "limits":
        return msgspec.structs.replace(settings, limits=True)
    if message.stage == "axes":
        return msgspec.structs.replace(settings, axes=True)
    return settings


def _url_name(file: Path) -> str:
    return file.stem if file.name in NAMED_FILES.values() else file.suffix.lstrip(".")
