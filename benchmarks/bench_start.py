"""How long ``osteon --help`` takes, beside an empty Python."""

import subprocess
import sys
import time
from pathlib import Path


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
    """Wall time, best of seven: the machine's other work only ever adds."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)
