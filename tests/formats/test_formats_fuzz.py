"""Damaged files: whatever is done to them, only our own errors escape, soon, in little memory."""

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conftest import DATA
from osteon.errors import OsteonError
from osteon.formats import read, write
from osteon.values import Recording
from samples import READABLE, SEEDS, make_seed

WORKER = Path(__file__).parents[1] / "support" / "fuzz_worker.py"
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
        pytest.skip("no real recordings here: set OSTEON_DATA")
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
    try:
        read(path)
    except OsteonError:
        return False
    return True


CELLS = st.one_of(
    st.sampled_from(["", " ", "nan", "NaN", "inf", "-", "0", "1e400", "Frame", "X1", '"', "#"]),
    st.integers().map(str),
    st.floats().map(repr),
    st.text(max_size=5),
)
LINES = st.lists(st.lists(CELLS, max_size=12), max_size=12)


@pytest.mark.parametrize("form", READABLE, ids=lambda form: form.name)
@settings(max_examples=15, deadline=None)
@given(keep=st.floats(0.0, 1.0), lines=LINES, delimiter=st.sampled_from("\t, "), tail=st.binary())
def test_files_that_go_on_with_anything(form, keep, lines, delimiter, tail, tmp_path_factory):
    """The first part of a good file, then whatever comes."""
    folder = tmp_path_factory.mktemp("any")
    path = make_seed(form, folder, np.random.default_rng(5))
    data = path.read_bytes()
    rest = "\n".join(delimiter.join(cells) for cells in lines).encode("utf-8", "replace")
    path.write_bytes(data[: int(keep * len(data))] + rest + tail)
    with contextlib.suppress(OsteonError):
        read(path)


COORDINATES = st.one_of(st.just(np.nan), st.floats(-1e4, 1e4))
NAMES = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=3, unique=True)


@pytest.mark.parametrize("suffix", [".csv", ".trc"])
@settings(max_examples=40, deadline=None)
@given(names=NAMES, data=st.data(), rate=st.floats(1.0, 1e4))
def test_any_recording_survives_or_is_refused(suffix, names, data, rate, tmp_path_factory):
    size = 2 * len(names) * 3
    numbers = data.draw(st.lists(COORDINATES, min_size=size, max_size=size))
    # away from the origin, where an exact zero may stand for a gap
    positions = np.reshape(numbers, (2, len(names), 3)) + (0.0, 0.0, 2e4)
    recording = Recording(positions, tuple(names), rate)
    path = tmp_path_factory.mktemp("any") / f"a{suffix}"
    try:
        write(recording, path)
    except OsteonError:
        assert not path.exists()
        return
    found = read(path).recording()
    assert found.rate == pytest.approx(rate, rel=1e-9)
    kept = [name for name, seen in zip(names, recording.seen.T, strict=True) if seen.any()]
    if suffix == ".trc":
        kept = list(names)
    stripped = {name.strip() for name in kept}
    assert set(found.names) == stripped
    if list(found.names) == list(names):
        np.testing.assert_allclose(found.positions, recording.positions, rtol=1e-12, atol=1e-9)
