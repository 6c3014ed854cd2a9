"""A real browser for tests of the pages: ``pytest_plugins = ["browser"]`` in a test file.

Where the machine has no Chromium these tests skip. ``visit`` opens an address and keeps what the
page complained about and asked for.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import chrome

AXE = Path(__file__).parents[1] / "node" / "node_modules" / "axe-core" / "axe.min.js"
LOCAL = ("file:", "data:", "blob:", "about:", "http://127.0.0.1", "ws://127.0.0.1")


@dataclass
class Visit:
    """A page, and what it did on its own."""

    page: Any
    errors: list[str] = field(default_factory=list)
    """Errors on the console and exceptions nobody caught."""
    requests: list[str] = field(default_factory=list)

    @property
    def strangers(self) -> list[str]:
        """Requests that left the machine."""
        return [url for url in self.requests if not url.startswith(LOCAL)]

    def faults(self) -> list[str]:
        """Serious and critical faults that axe-core finds, one line each."""
        if not AXE.exists():
            pytest.skip("axe-core is not here: run make test, which fetches it where npm is")
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{fault['id']}: {fault['help']} ({json.dumps(node['target'])})"
            for fault in found["violations"]
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"][:3]
        ]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The machine's Chromium, or the one that playwright fetched.

    One per test file: playwright keeps an event loop running, which other tests need for theirs.
    """
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        if not chrome.installed() and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("no Chromium is here")
        try:
            browser = chrome.launch(playwright)
        except sync_api.Error as error:
            if chrome.installed():
                raise
            pytest.skip(f"playwright's Chromium does not start: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@contextmanager
def _opened(
    chromium: Any,
    address: str | Path,
    *,
    width: int = 1280,
    height: int = 800,
    scheme: str = "light",
    **more: Any,
) -> Iterator[Visit]:
    """An address in a window of its own; ``more`` goes to the browser's context."""
    size = {"width": width, "height": height}
    context = chromium.new_context(viewport=size, color_scheme=scheme, **more)
    page = context.new_page()
    seen = Visit(page)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda said: said.type == "error" and seen.errors.append(said.text))
    page.goto(address.resolve().as_uri() if isinstance(address, Path) else address)
    yield seen
    context.close()


def _windows(chromium: Any) -> Iterator[Callable[..., Visit]]:
    with ExitStack() as windows:
        yield lambda address, **options: windows.enter_context(
            _opened(chromium, address, **options)
        )


@pytest.fixture
def visit(chromium) -> Iterator[Callable[..., Visit]]:
    """``visit(address, width=1280, height=800, scheme="light")`` → ``Visit``, for one test."""
    yield from _windows(chromium)


@pytest.fixture(scope="module")
def stay(chromium) -> Iterator[Callable[..., Visit]]:
    """As ``visit``, for all tests of a file."""
    yield from _windows(chromium)
