"""Stages at work beside the pages: one at a time, in a thread, with progress and a way to stop."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ossature.errors import BadValue, OssatureError
from ossature.pipeline import Solved, deliver
from ossature.studio import stages, telling
from ossature.studio.messages import (
    Cancelled,
    Compare,
    Export,
    Exported,
    ExportedFile,
    Problem,
    Progress,
    Run,
)
from ossature.studio.take import OpenTake, Shown
from ossature.values.edits import Edits, Settings

if TYPE_CHECKING:
    from ossature.studio.desk import Desk

SHARES = {"reading": 0.0, "looking": 0.05, "calibrating": 0.15, "solving": 0.6, "finding": 0.85}
"""How much of a run lies behind when a step begins that starts with this word."""

log = logging.getLogger("ossature.studio")


class Stopped(OssatureError):
    """Somebody asked to stop."""


class Background:
    """Runs what takes longer than an answer may."""

    def __init__(self, desk: "Desk") -> None:
        self.desk = desk
        self.compared: Shown | None = None
        self._task: asyncio.Task[None] | None = None
        self._stage = ""
        self._exported: object = None
        self._stop = threading.Event()

    def check_idle(self) -> None:
        if self._task is not None and not self._task.done():
            raise BadValue(f"the stage {self._stage} is at work; wait for it, or cancel it first")

    def cancel(self) -> None:
        """Stop at the next step."""
        self._stop.set()

    def forget(self) -> None:
        """Another take is open."""
        self.compared = None

    def run(self, message: Run) -> None:
        self._start(message.stage, lambda: self._run(message))

    def export(self, message: Export) -> None:
        self._start("export", lambda: self._export(message.formats))

    def compare(self, message: Compare) -> None:
        self._start("compare", lambda: self._compare(message))

    async def exported(self, formats: tuple[str, ...]) -> Path:
        """Export now, and the folder that the files are in."""
        self.export(Export(formats))
        assert self._task is not None
        await self._task
        return self.output_folder()

    def is_current(self, file: Path) -> bool:
        """Whether a file of the last export tells the take as it stands."""
        take = self.desk.take
        return take is not None and self._exported == _export_key(take) and file.exists()

    def output_folder(self) -> Path:
        """Where exports go: as the user said, else beside the take."""
        if self.desk.output is not None:
            return self.desk.output
        take = self.desk.take
        return (
            self.desk.folder.path if take is None else take.path.with_name(f"{take.path.stem}-rig")
        )

    def _start(self, stage: str, work: Callable[[], Awaitable[None]]) -> None:
        self.desk.need_take()
        self.check_idle()
        self._stop.clear()
        self._stage = stage
        self._task = asyncio.create_task(self._guarded(stage, work))

    async def _guarded(self, stage: str, work: Callable[[], Awaitable[None]]) -> None:
        hub = self.desk.hub
        try:
            await work()
        except Stopped:
            hub.tell(Cancelled(stage))
        except OssatureError as error:
            hub.tell(Problem(str(error), stage))
        except MemoryError:
            hub.tell(Problem("not enough memory for this take", stage))
        except Exception:  # whatever happens inside a stage, the session lives on
            log.exception("in the stage %s", stage)
            hub.tell(Problem("something went wrong inside; the edits made so far are safe", stage))

    def _progress(self, saying: str) -> None:
        if self._stop.is_set():
            raise Stopped(self._stage)
        share = SHARES.get(saying.partition(" ")[0])
        self.desk.hub.tell(Progress(self._stage, saying, share))

    async def _run(self, message: Run) -> None:
        take = self.desk.need_take()
        if message.stage == "swaps":
            await self._look(take)
            return
        async with self.desk.turn:
            take.character = self._character(message)
            take.set_settings(_settings(message, take.settings))
        await self._solve(take, message.stage)

    def _character(self, message: Run) -> Path | None:
        if message.stage != "map":
            return None
        path = self.desk.folder.inside(message.character)
        if not path.exists():
            raise BadValue(f"there is no file {message.character!r} in the folder")
        return path

    async def _solve(self, take: OpenTake, stage: str) -> None:
        async with self.desk.turn:
            shot = await asyncio.to_thread(stages.snapshot, take)
        found, posed = await asyncio.to_thread(stages.solve_snapshot, shot, self._progress)
        async with self.desk.turn:
            if self.desk.take is not take:
                return
            take.posed = posed
            await asyncio.to_thread(take.install, found, shot.key)
            self.desk.hub.tell(telling.solved(take, stage))

    async def _look(self, take: OpenTake) -> None:
        """Suspicions for the timeline; nothing is changed."""
        async with self.desk.turn:
            recording = await asyncio.to_thread(take.edited_recording)
        found = await asyncio.to_thread(stages.suspicions, recording, self._progress)
        self.desk.hub.tell(telling.solved(take, "swaps", found))

    async def _export(self, formats: tuple[str, ...]) -> None:
        take = self.desk.need_take()
        if take.solved is None or take.stale:
            await self._solve(take, "solve")
        async with self.desk.turn:
            assert take.solved is not None
            found, shot = take.solved, await asyncio.to_thread(stages.snapshot, take)
            key = _export_key(take)
        folder = self.output_folder()
        await asyncio.to_thread(self._write, found, shot, folder, formats)
        self._exported = key
        files = tuple(
            ExportedFile(file.name, f"/api/export/{_url_name(file)}", file.stat().st_size)
            for file in sorted(folder.iterdir())
            if file.is_file()
        )
        self.desk.hub.tell(Exported(str(folder), files))

    def _write(
        self, found: Solved, shot: stages.Snapshot, folder: Path, formats: tuple[str, ...]
    ) -> None:
        self._progress("writing")
        deliver(stages.finished(found, shot), folder, formats=formats)

    async def _compare(self, message: Compare) -> None:
        take = self.desk.need_take()
        settings = message.settings
        if message.path:
            path = self.desk.folder.inside(message.path)
            edits = stages.edits_beside(path)
        else:
            path, edits = take.path, take.as_edits()
        kept = edits.edits if message.edits else ()
        edits = Edits(edits.recording, kept, (), settings or edits.settings)
        label = message.path or ("other settings" if settings else "without edits")
        self.compared = await asyncio.to_thread(stages.compared, path, label, edits, self._progress)
        self.desk.hub.tell(await asyncio.to_thread(telling.compared, self.compared))


def _export_key(take: OpenTake) -> object:
    return take.path, take.key(), tuple(take.edits)


def _settings(message: Run, now: Settings) -> Settings:
    """What is asked for: a stage of its own stays asked for in later solves."""
    settings = message.settings or now
    if message.stage == "limits":
        return msgspec.structs.replace(settings, limits=True)
    if message.stage == "axes":
        return msgspec.structs.replace(settings, axes=True)
    return settings


def _url_name(file: Path) -> str:
    return file.stem if file.stem in ("skeleton", "summary", "report") else file.suffix.lstrip(".")
