"""Run every benchmark in this folder, print the ratios, write them to docs/numbers/benchmarks.md.

    python benchmarks/run.py [name …]

Each ``bench_*.py`` has ``run() -> list[dict]`` with the keys name, ours, peer, ratio, unit, and
processor where ours was measured by the processor too. A ratio above 1 means ours is better. With
names, only those are run and nothing is written. Beside each, what it took as a whole.
"""

import importlib
import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from timing import children_time

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "numbers" / "benchmarks.md"
PACKAGES = ("osteon", "numpy", "scipy", "numba", "ezc3d", "mujoco-core")
"""Versions to name; peers that live in environments of their own tell theirs in their rows."""


LOAD = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
"""Processes that waited for a processor in the last minute."""


def main(wanted: list[str]) -> None:
    sys.path.insert(0, str(HERE))
    names = sorted(path.stem for path in HERE.glob("bench_*.py"))
    chosen = [name for name in names if not wanted or name.removeprefix("bench_") in wanted]
    rows: list[dict] = []
    for name in chosen:
        wall, processor = time.perf_counter(), _processor_time()
        for row in importlib.import_module(name).run():
            print(line(row), flush=True)
            rows.append(row)
        wall, processor = time.perf_counter() - wall, _processor_time() - processor
        print(f"{name}: {wall:.0f} s, {processor:.0f} s of processor", flush=True)
    if not wanted:
        PAGE.write_text(page(rows), encoding="utf-8")
        print(f"written to {PAGE.relative_to(HERE.parent)}")


def line(row: dict) -> str:
    keys = ("ours", "processor", "peer")
    ours, processor, peer = (number(row.get(key), row["unit"]) for key in keys)
    return f"| {row['name']} | {ours} | {processor} | {peer} | {number(row['ratio'])} |"


def _processor_time() -> float:
    """Of this process and of those that it started."""
    return time.process_time() + children_time()


def number(value: float | None, unit: str = "") -> str:
    """Three digits, or a dash where there is nothing to compare with."""
    if value is None or value != value:
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def page(rows: list[dict]) -> str:
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `python benchmarks/run.py`: all of it was measured in one run on one",
            "machine, so the ratios mean more than the figures. A ratio above 1: ours is better.",
            "",
            f"- date: {datetime.now(UTC):%Y-%m-%d}",
            f"- machine: {processor()}, {os.cpu_count()} cores, {platform.system()}",
            f"- versions: Python {platform.python_version()}, {versions}",
            f"- load before it began: {LOAD:.1f}",
            "",
            "| what | ours | … by the processor | peer | ratio |",
            "|---|--:|--:|--:|--:|",
            *map(line, rows),
            "",
        ]
    )


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for entry in cpuinfo.read_text(encoding="utf-8").splitlines():
            if entry.startswith("model name"):
                return entry.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    main(sys.argv[1:])
