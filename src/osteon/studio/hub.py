"""All pages that look at the session, and what they are told."""

import asyncio
from typing import Any

import msgspec

from osteon.studio.messages import Live, ToPage

MOST_MESSAGES = 2000
"""Count of messages that may wait for a page that does not listen. Chosen: one that is only slow
stays."""


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
