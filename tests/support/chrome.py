"""A Chromium and a running studio, for tests, benchmarks and the pictures of the docs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--enable-unsafe-swiftshader", "--no-sandbox")
"""WebGL without a graphics card, as Chromium does it by itself on such a machine."""


def installed() -> str | None:
    """The machine's own Chromium."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch(playwright: Any) -> Any:
    """The machine's Chromium, else the one that playwright fetched."""
    return playwright.chromium.launch(executable_path=installed(), args=list(FLAGS))


def studio(take: Path) -> AbstractContextManager[str]:
    """``osteon studio`` as a user starts it; the address it prints."""
    return serving("studio", take)


@contextmanager
def serving(*command: str | Path) -> Iterator[str]:
    """A verb that opens a page; the address it prints."""
    program = [sys.executable, "-c", "from osteon.cli import main; main()"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*program, *map(str, command), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    ) as running:
        try:
            assert running.stdout is not None
            yield next(line.strip() for line in running.stdout if line.startswith("http"))
        finally:
            running.terminate()
