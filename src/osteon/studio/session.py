"""The session behind all pages: takes their messages, changes the take, tells everybody."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import osteon
from osteon.edits import SetPose, compact_of, pose_at
from osteon.errors import BadValue, NotEnoughData, OsteonError
from osteon.formats import motion_endings
from osteon.human import known_names, known_sets
from osteon.studio.document import OpenTake, Revisions, knows_axes
from osteon.studio.folder import ChangedElsewhere, Folder
from osteon.studio.jobs import WENT_WRONG, Jobs
from osteon.studio.messages import (
    Cancel,
    Changed,
    Compare,
    Drag,
    Export,
    FromPage,
    Live,
    MakeEdit,
    Open,
    Pose,
    Problem,
    Redo,
    Run,
    Slide,
    ToPage,
    Undo,
    Welcome,
)
from osteon.studio.replies import say_changed, say_opened

LONGEST_MESSAGE = 256 * 1024
"""Characters of a message. Chosen: an edit is short, and what is longer is none."""
LOOK_SECONDS = 2.0
"""Seconds between two looks at the file of edits. Chosen: soon enough to see others work."""
MOST_MESSAGES = 2000
"""Count of messages that may wait for a page that does not listen. Chosen: one that is only slow
stays."""
MOST_ANSWERS = 2000
"""Count of answers kept for pages that ask again after a break. Chosen: a page repeats only its
last messages."""

log = logging.getLogger("osteon.studio")
T = TypeVar("T")
_decoder = msgspec.json.Decoder(FromPage)


class Page:
    """One socket; messages wait in a queue, so that a slow page holds up nobody."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[str | None] = asyncio.Queue(MOST_MESSAGES)
        self.pulled: Any = None
        """The newest drag or slide that is not answered yet."""
        self.pulling: asyncio.Task[None] | None = None

    def tell(self, message: ToPage) -> None:
        self.put(msgspec.json.encode(message).decode())

    def close(self) -> None:
        """End the page's sending once all before is sent."""
        self.put(None)

    def put(self, text: str | None) -> None:
        """Send a message that is text already, or None for the end."""
        if self.waiting.full():  # nobody listens: start afresh and end
            while not self.waiting.empty():
                self.waiting.get_nowait()
            text = None
        self.waiting.put_nowait(text)


class Hub:
    """Tells all pages at once, from any thread."""

    def __init__(self) -> None:
        self.pages: set[Page] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._live: Live | None = None

    def join(self, page: Page) -> None:
        self._loop = asyncio.get_running_loop()
        self.pages.add(page)
        if self._live is not None:
            page.tell(self._live)

    def leave(self, page: Page) -> None:
        self.pages.discard(page)

    def tell(self, message: ToPage) -> None:
        """Send to every page; may be called from any thread, also before there is a page.

        ``live`` sends its ``Live`` and ``Pose`` this way; a page that comes later is told of the
        stream when it joins.
        """
        if isinstance(message, Live):
            self._live = message
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell, message)

    def _tell(self, message: ToPage) -> None:
        text = msgspec.json.encode(message).decode()
        for page in self.pages:
            page.put(text)


class Session:
    """One session: a folder, the take that is open, and the pages that look at it."""

    def __init__(self, folder: Folder, output: Path | None = None) -> None:
        self.folder, self.output, self.hub = folder, output, Hub()
        self.revisions = Revisions()
        self.take: OpenTake | None = None
        self.turn = asyncio.Lock()
        """Who holds it may change the take."""
        self.jobs = Jobs(self)
        self._answers: dict[str, ToPage] = {}

    def join(self, page: Page) -> None:
        """Let a page in and tell it where things stand."""
        page.tell(self.welcome())
        self.hub.join(page)
        if self.take is not None:
            page.tell(say_opened(self.take))

    async def receive(self, page: Page, text: str) -> None:
        """Do what a page asks; whatever is wrong with it becomes a sentence."""
        with self._refusing(page, None):
            message = _decode(text)
            with self._refusing(page, message):
                await self._answer(page, message)

    @contextmanager
    def _refusing(self, page: Page, message: FromPage | None) -> Iterator[None]:
        """Tell a page what goes wrong with its message, which must never end the session."""
        try:
            yield
        except OsteonError as error:
            self._refuse(page, message, str(error))
        except Exception:
            log.exception("while answering %r", type(message).__name__)
            self._refuse(page, message, WENT_WRONG)

    def _refuse(self, page: Page, message: Any, saying: str) -> None:
        about = "" if message is None else message.__struct_config__.tag
        id_, serial = getattr(message, "id", ""), getattr(message, "serial", 0)
        problem = Problem(saying, about, serial, id_)
        self._remember(id_, problem)
        page.tell(problem)

    async def _answer(self, page: Page, message: FromPage) -> None:
        match message:
            case Open():
                await self.open(message.path, message.subject)
            case MakeEdit() | Undo() | Redo():
                await self._change(page, message)
            case Drag() | Slide():
                self._pull(page, message)
            case Cancel():
                self.jobs.cancel()
            case Run():
                self.jobs.run(message)
            case Export():
                self.jobs.export(message)
            case Compare():
                self.jobs.compare(message)

    async def open(self, name: str, subject: str = "") -> None:
        """Open a file of the folder for all pages."""
        path = self.folder.existing(name)
        self.jobs.check_idle()
        async with self.turn:
            shown = self.folder.name_of(path)
            self.take = await asyncio.to_thread(OpenTake, path, shown, subject, self.revisions)
            self.revisions.forget()
            self.jobs.compared = None  # with another take
            self.hub.tell(say_opened(self.take))

    async def _change(self, page: Page, message: MakeEdit | Undo | Redo) -> None:
        if message.id and message.id in self._answers:
            page.tell(self._answers[message.id])
            return
        async with self.turn:
            take = self.need_take()
            told = await self.write(take, lambda: _change_take(take, message))
            answer = msgspec.structs.replace(told, id=message.id)
            self._remember(message.id, answer)
            page.tell(answer)
            for other in self.hub.pages - {page}:
                other.tell(told)

    async def write(self, take: OpenTake, work: Callable[[], T]) -> T:
        """Do work that writes edits; what another studio has written meanwhile is shown first."""
        try:
            return await asyncio.to_thread(work)
        except ChangedElsewhere:
            await self._read_again(take)
            raise

    async def watch(self, page: Page) -> None:
        """Show a page, as long as it looks on, what another studio writes."""
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                async with self.turn:
                    take = self.take
                    if take is not None and await asyncio.to_thread(take.edits_file.changed):
                        await self._read_again(take)
                        saying = f"another studio edits {take.path.name} too; its edits are shown"
                        self.hub.tell(Problem(saying, about="edits"))
        except OsteonError as error:
            page.tell(Problem(str(error), about="edits"))

    async def _read_again(self, take: OpenTake) -> None:
        await asyncio.to_thread(take.read_again)
        told = say_opened(take)
        for page in self.hub.pages:  # at once: a refusal that follows is about what is shown now
            page.tell(told)

    def _remember(self, id_: str, answer: ToPage) -> None:
        if id_:
            self._answers[id_] = answer
            if len(self._answers) > MOST_ANSWERS:
                del self._answers[next(iter(self._answers))]

    def _pull(self, page: Page, message: Drag | Slide) -> None:
        """Answer the newest of drags that pile up."""
        page.pulled = message
        if page.pulling is None or page.pulling.done():
            page.pulling = asyncio.create_task(self._pulling(page))

    async def _pulling(self, page: Page) -> None:
        while (message := page.pulled) is not None:
            page.pulled = None
            with self._refusing(page, message):
                page.tell(await asyncio.to_thread(_pose_frame, self.need_take(), message))

    def need_take(self) -> OpenTake:
        if self.take is None:
            raise NotEnoughData("no file is open yet")
        return self.take

    def welcome(self) -> Welcome:
        takes, characters = self.folder.files()
        return Welcome(
            self.folder.path.name,
            takes,
            characters,
            osteon.__version__,
            motion_endings(usual=True),
            tuple(each.name for each in known_sets()),
            str(self.jobs.output_folder()),
            known_names(),
        )


def _decode(text: str) -> FromPage:
    if len(text) > LONGEST_MESSAGE:
        raise BadValue(f"a message of {len(text)} characters; {LONGEST_MESSAGE} are allowed")
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadValue(f"this message is not understood: {error}") from None


def _change_take(take: OpenTake, message: MakeEdit | Undo | Redo) -> Changed:
    match message:
        case MakeEdit():
            change = take.make(message.edit, message.revision)
        case Undo():
            change = take.undo(message.revision)
        case Redo():
            change = take.redo(message.revision)
    return say_changed(take, change, undone=isinstance(message, Undo))


def _pose_frame(take: OpenTake, message: Drag | Slide) -> Pose:
    """Pose one frame as the page pulls at it; the same as the edit that it may become."""
    draft = take.motion_draft()
    if not 0 <= message.frame < draft.n_frames:
        raise BadValue(f"frame must lie in 0…{draft.n_frames - 1}, got {message.frame}")
    asked: dict[str, Any] = (
        {"targets": message.targets, "limb": message.limb, "pins": message.pins}
        if isinstance(message, Drag)
        else {"parameters": {message.parameter: message.value}, "pins": message.pins}
    )
    edit = SetPose(message.frame, **asked, limits=message.limits)
    motion, error = pose_at(draft.window(message.frame, message.frame), edit)
    turned, joints = motion.world()
    known = knows_axes(motion.skeleton)
    angles = tuple(compact_of(motion).angles[0].tolist()) if known else ()
    return Pose(
        message.frame,
        tuple(map(tuple, joints[0].tolist())),
        tuple(map(tuple, turned[0].tolist())),
        angles,
        error,
        message.serial,
    )
