"""A Chromium and a running studio, for tests, benchmarks and the pictures of the docs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def studio(take: Path) -> Iterator[str]:
    """``ossature studio`` as a user starts it; the address it prints."""
    program = [sys.executable, "-c", "from ossature.cli import main; main()"]
    command = [*program, "studio", str(take), "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        try:
            assert running.stdout is not None
            yield running.stdout.readline().strip()
        finally:
            running.terminate()
