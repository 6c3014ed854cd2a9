"""How long ``osteon --help`` takes, beside an empty Python."""

import subprocess
import sys
from pathlib import Path

from timing import best_of


def run() -> list[dict]:
    ours = seconds([str(Path(sys.executable).with_name("osteon")), "--help"])
    empty = seconds([sys.executable, "-c", "pass"])
    return [
        {
            "name": "`osteon --help` against an empty Python",
            "ours": ours,
            "peer": empty,
            "ratio": empty / ours,
            "unit": "s",
        }
    ]


def seconds(command: list[str]) -> float:
    """Wall time, best of seven."""
    return best_of(7, lambda: subprocess.run(command, check=True, capture_output=True))
