"""Damaged files: whatever is done to them, only our own errors escape, soon, in little memory."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import DATA
from samples import READABLE, SEEDS, make_seed

WORKER = Path(__file__).with_name("fuzz_worker.py")
SMALL = 300_000
"""Bytes; real files up to this size are damaged too."""


def fuzz(paths: list[Path], folder: Path, count: int, seed: int = 1) -> None:
    jobs = folder / "jobs.json"
    jobs.write_text(json.dumps([str(path) for path in paths]))
    command = [sys.executable, "-W", "error", str(WORKER), str(jobs), str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    last = jobs.with_suffix(".progress").read_text()
    assert done.returncode == 0, f"died at {last}: {done.stderr[-2000:]}"
    failures = [json.loads(line) for line in done.stdout.splitlines()]
    distinct = {what[-300:]: f"{path} case {case}\n{what}" for path, case, what in failures}
    shown = "\n\n".join(list(distinct.values())[:8])
    assert not failures, f"{len(failures)} escaped, among them:\n{shown}"


def seeds(folder: Path, rng) -> list[Path]:
    """One generated file per format, each in a folder of its own with what lies beside it."""
    paths = []
    for form in (form for form in READABLE if form.write or form.name in SEEDS):
        home = folder / form.name.replace(" ", "_").replace("/", "_")
        home.mkdir()
        paths.append(make_seed(form, home, rng))
    return paths


def test_damaged_files(tmp_path, rng):
    fuzz(seeds(tmp_path, rng), tmp_path, count=60)


@pytest.mark.slow
def test_many_damaged_files(tmp_path, rng):
    fuzz(seeds(tmp_path, rng), tmp_path, count=3000, seed=2)


@pytest.mark.slow
def test_damaged_real_files(tmp_path):
    if not DATA.exists():
        pytest.skip("no real recordings here: set OSSATURE_DATA")
    found = [path for path in sorted(DATA.rglob("*")) if path.is_file()]
    paths = []
    for number, path in enumerate(path for path in found if path.stat().st_size < SMALL):
        home = tmp_path / str(number)
        shutil.copytree(
            path.parent, home, ignore=lambda _, names: [n for n in names if "." not in n]
        )
        paths.append(home / path.name)
    fuzz([path for path in paths if _readable(path)], tmp_path, count=25, seed=3)


def _readable(path: Path) -> bool:
    from ossature.errors import OssatureError
    from ossature.formats import read

    try:
        read(path)
    except OssatureError:
        return False
    return True
