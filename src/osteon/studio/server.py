"""The studio's local server: one page, arrays as bytes, files in and out, and a socket."""

import asyncio
import atexit
import contextlib
import html
import os
import secrets
import socket
import tempfile
import threading
import webbrowser
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from osteon.edits import Cut, Draft, Fill, Filter
from osteon.errors import BadValue, NotEnoughData, OsteonError
from osteon.formats import check_endings, whole_file
from osteon.posing import reach
from osteon.studio.document import OpenTake, Shown
from osteon.studio.folder import Folder
from osteon.studio.guard import Guard
from osteon.studio.jobs import NAMED_FILES
from osteon.studio.replies import Asked, answer, character_at
from osteon.studio.session import Page, Session
from osteon.studio.skins import character_skin, skin_of
from osteon.values import Body, Joint, Recording, Skeleton

LARGEST_UPLOAD = 2 * 1024**3
"""Bytes of a dropped file. Chosen: larger than takes are, smaller than a disk."""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Osteon studio</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/studio.css?token={token}">
</head>
<body>
<main></main>
<script src="/studio.js?token={token}"></script>
</body>
</html>
"""
LEADING_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Osteon studio</title>
<meta http-equiv="refresh" content="0; url={address}">
<p><a href="{address}">To the studio</a></p>
</html>
"""


class Studio:
    """A session and the application that serves it."""

    def __init__(self, folder: Path, *, output: Path | None = None) -> None:
        self.token = secrets.token_urlsafe(24)
        self.entered = threading.Event()
        """Set once somebody has the page."""
        self.session = Session(Folder(folder), output)
        routes = [
            Route("/", self._page),
            Route("/{name}", self._script),
            Route("/api/arrays/{name}", self._array),
            Route("/api/skin", self._skin),
            Route("/api/character", self._character),
            Route("/api/open", self._open, methods=["POST"]),
            Route("/api/upload", self._upload, methods=["POST"]),
            Route("/api/export/{format}", self._export),
            WebSocketRoute("/ws", self._socket),
        ]
        refusals = {OsteonError: _refuse, ClientDisconnect: _refuse_torn}
        app = Starlette(routes=routes, exception_handlers=refusals)
        self.app: ASGIApp = Guard(app, self.token)

    def open(self, name: str) -> None:
        """Open a file before anybody looks; what is wrong with it is raised here."""
        asyncio.run(self.session.open(name))

    async def _page(self, request: Request) -> Response:
        self.entered.set()
        return Response(PAGE.format(token=self.token), media_type="text/html")

    async def _script(self, request: Request) -> Response:
        kinds = {"studio.js": "text/javascript", "studio.css": "text/css"}
        name = request.path_params["name"]
        if name not in kinds:
            return PlainTextResponse(f"there is no {name}", status_code=404)
        file = resources.files("osteon.studio") / "bundle" / name
        if not file.is_file():
            saying = (
                "the front end is missing from this installation; install it from its source again"
            )
            return PlainTextResponse(saying, status_code=500)
        return Response(file.read_bytes(), media_type=kinds[name])

    async def _array(self, request: Request) -> Response:
        found = await asyncio.to_thread(answer, _asked(request), self._shown(request))
        return Response(found.body, headers=found.headers, media_type="application/octet-stream")

    async def _skin(self, request: Request) -> Response:
        if request.query_params.get("of") == "character":
            skin = await asyncio.to_thread(character_skin, self._existing(request))
        else:
            skin = await asyncio.to_thread(skin_of, self._shown(request))
        return Response(msgspec.json.encode(skin), media_type="application/json")

    async def _character(self, request: Request) -> Response:
        path = self._existing(request)
        found = await asyncio.to_thread(character_at, path, self.session.need_take())
        return Response(msgspec.json.encode(found), media_type="application/json")

    def _existing(self, request: Request) -> Path:
        return self.session.folder.existing(request.query_params.get("path", ""))

    def _shown(self, request: Request) -> OpenTake | Shown:
        compared = request.query_params.get("of") == "compared"
        shown = self.session.jobs.compared if compared else self.session.take
        if shown is None:
            raise BadValue("nothing is open, or nothing is compared")
        return shown

    async def _open(self, request: Request) -> Response:
        query = request.query_params
        await self.session.open(query.get("path", ""), query.get("subject", ""))
        return PlainTextResponse("opened")

    async def _upload(self, request: Request) -> Response:
        self.session.jobs.check_idle()
        place = self.session.folder.place_for(request.query_params.get("name", ""))
        await _store(request, place)
        await self._open_or_remove(place)
        self.session.hub.tell(self.session.welcome())
        return PlainTextResponse(self.session.folder.name_of(place))

    async def _open_or_remove(self, place: Path) -> None:
        """Open a dropped file; one that nobody can read does not stay."""
        try:
            await self.session.open(self.session.folder.name_of(place))
        except OsteonError:
            place.unlink(missing_ok=True)
            raise

    async def _export(self, request: Request) -> Response:
        wanted = request.path_params["format"]
        take, jobs = self.session.need_take(), self.session.jobs
        if wanted == "edits":
            file = take.edits_file.path
            if not file.exists():
                take.save()
            return FileResponse(file, filename=file.name)
        if wanted == "labels":
            file = jobs.labelled_file()
            if not file.exists():
                raise NotEnoughData("no labels were written yet; press Write labels on the page")
            return FileResponse(file, filename=f"{take.path.stem}-labelled.c3d")
        check_endings([wanted], besides=NAMED_FILES)
        file = jobs.output_folder() / NAMED_FILES.get(wanted, f"motion.{wanted}")
        if not jobs.is_current(file):
            await jobs.export_now(() if wanted in NAMED_FILES else (wanted,))
        if not file.exists():
            raise BadValue(f"{file.name} could not be written; look at the page for the reason")
        return FileResponse(file, filename=f"{take.path.stem}-{file.name}")

    async def _socket(self, websocket: WebSocket) -> None:
        await websocket.accept()
        page = Page()
        self.session.join(page)
        beside = (_send(websocket, page), self.session.watch(page))
        tasks = [asyncio.create_task(work) for work in beside]
        try:
            while True:
                message = await websocket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                text = message.get("text")
                await self.session.receive(page, text if text is not None else "")
        except (WebSocketDisconnect, RuntimeError):
            pass  # gone
        finally:
            self.session.hub.leave(page)
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task


async def _refuse(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), status_code=400)


async def _refuse_torn(request: Request, error: Exception) -> Response:
    return PlainTextResponse("the file did not arrive whole", status_code=400)


async def _send(websocket: WebSocket, page: Page) -> None:
    """Send all that waits for a page, one after the other."""
    try:
        while (text := await page.waiting.get()) is not None:
            await websocket.send_text(text)
        await websocket.close()
    except (WebSocketDisconnect, RuntimeError):
        pass  # gone


async def _store(request: Request, place: Path) -> None:
    """Store a dropped file, piece by piece; it appears whole or not at all."""
    size = 0
    with whole_file(place) as partial:
        with partial.open("wb") as file:
            async for piece in request.stream():
                size += len(piece)
                if size > LARGEST_UPLOAD:
                    raise BadValue(f"the file is larger than {LARGEST_UPLOAD // 1024**3} GB")
                file.write(piece)
        if not size:
            raise BadValue("the dropped file is empty")


def _asked(request: Request) -> Asked:
    query: dict[str, Any] = dict(request.query_params)
    if "only" in query:
        query["only"] = query["only"].split(",")
    try:
        return msgspec.convert({**query, **request.path_params}, Asked, strict=False)
    except msgspec.ValidationError as error:
        raise BadValue(f"this query is not understood: {error}") from None


def serve(studio: Studio, bound: socket.socket) -> None:
    """Answer until interrupted."""
    import uvicorn

    config = uvicorn.Config(
        studio.app,
        log_level="warning",
        access_log=False,
        ws_max_size=4 * 1024 * 1024,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    threading.Thread(target=warm, daemon=True).start()  # the first page is not kept waiting
    uvicorn.Server(config).run(sockets=[bound])


def bind(port: int) -> socket.socket:
    """Bind a socket of this machine alone; port 0 takes any that is free."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(("127.0.0.1", port))
        bound.listen()  # a browser that is faster than the server waits
    except OSError as error:
        bound.close()
        raise BadValue(f"port {port} cannot be used: {error.strerror}; choose another") from None
    return bound


def address(studio: Studio, bound: socket.socket) -> str:
    """Return what to open in a browser."""
    return f"http://127.0.0.1:{bound.getsockname()[1]}/?token={studio.token}"


def open_in_browser(address: str, entered: threading.Event) -> None:
    """Show the page of an address; ``entered`` is set when it has been served.

    What a browser is started with is there for every user of the machine to read (``ps``). So it is
    sent to a file that nobody else may read, which leads on to the page and is gone once that is
    there: the token stands in no command line.
    """
    handle, name = tempfile.mkstemp(prefix="osteon-studio-", suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(LEADING_PAGE.format(address=html.escape(address)))
    page = Path(name)
    atexit.register(page.unlink, missing_ok=True)
    threading.Thread(target=_remove, args=(page, entered), daemon=True).start()
    webbrowser.open(page.as_uri())


def _remove(page: Path, entered: threading.Event) -> None:
    entered.wait()
    page.unlink(missing_ok=True)


def warm() -> None:
    """Load the libraries and compiled kernels that edits and drags need, so that none waits."""
    place = np.random.default_rng(1).normal(size=(6, 3))
    path = np.sin(np.linspace(0.0, 3.0, 240))[:, None, None] + place
    draft = Draft(Recording(path, tuple("abcdef"), 120.0))
    for method in ("lowrank", "spline"):
        draft.apply(Cut(("a",), 100, 130))
        draft.apply(Fill(("a",), 100, 130, method))
    draft.apply(Filter(("a",), 0, 239))
    bone = Body("bone", "root", Joint("ball", in_parent=np.array([0.0, 0.0, 1.0])))
    reach(Skeleton((Body("root", None, Joint("free")), bone)), {"bone": (0.0, 0.0, 1.0)})
