"""Batches that are killed, and batches on a cluster: the same files in the end."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from archives import files_of, write_markers, write_sensors
from osteon.batch import batch
from osteon.batch.workers import cluster
from osteon.errors import OsteonError
from osteon.typing import Step

PATIENCE = 1800.0
"""Seconds until a test gives up on other processes; a loaded machine is slow."""


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen]:
    """A process of its own group, ended with the test."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        [sys.executable, *words],
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_batch(archive: Path, output: Path, *words: str):
    command = "from osteon.cli import main; main()"
    return running("-c", command, "batch", str(archive), "-o", str(output), *words)


def wait_until(ready: Callable[[], bool], process: subprocess.Popen | None = None) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, "nothing happens any more"
        assert process is None or process.poll() is None, "it ended by itself"
        time.sleep(0.002)


def finished(output: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of every finished take's record."""
    found = {}
    for record in (output / "takes").rglob("record.json"):
        status = record.stat()
        found[record.parent.relative_to(output / "takes").as_posix()] = (
            status.st_ino,
            status.st_mtime_ns,
        )
    return found


def children_of(process: int) -> list[int]:
    """Workers of a coordinator: those of its children that spawn started for jobs."""
    psutil = pytest.importorskip("psutil")
    return [
        child.pid
        for child in psutil.Process(process).children()
        if any("spawn_main" in word for word in child.cmdline())
    ]


def assert_whole(output: Path) -> None:
    """No folder is torn: every take's files are those its record promises."""
    for record in (output / "takes").rglob("record.json"):
        told = msgspec.json.decode(record.read_bytes())
        assert not told["problem"], told
        for person in told["people"]:
            folder = record.parent / person["folder"]
            assert (folder / person["report"]).stat().st_size > 100
            assert msgspec.json.decode((folder / "summary.json").read_bytes())["frames"] > 0
    assert not list((output / ".batch" / "unfinished").iterdir())


def check_kills(archive: Path, output: Path, undisturbed: Path, n_takes: int) -> None:
    """One worker is killed early, the coordinator later; a second batch ends it all."""
    with run_batch(archive, output, "--workers", "2") as coordinator:
        wait_until(lambda: len(finished(output)) >= 1, coordinator)
        workers = children_of(coordinator.pid)
        assert workers
        os.kill(workers[0], signal.SIGKILL)
        there = len(finished(output))
        wait_until(lambda: len(finished(output)) > there + 1, coordinator)
        coordinator.kill()
        coordinator.wait()
        # workers see that their coordinator is gone and end
        wait_until(lambda: not any(map(_alive, workers)))
    kept = finished(output)
    assert 0 < len(kept) < n_takes
    done = batch(archive, output, workers=2)
    assert done.solved == n_takes - len(kept)
    after = finished(output)
    assert len(after) == n_takes
    assert {take: after[take] for take in kept} == kept, "a finished take was solved again"
    assert_whole(output)
    assert files_of(output) == files_of(undisturbed)


def _alive(process: int) -> bool:
    psutil = pytest.importorskip("psutil")
    return psutil.pid_exists(process) and psutil.Process(process).status() != "zombie"


@contextmanager
def dask() -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """A real scheduler and two worker processes; address and workers."""
    pytest.importorskip("distributed")
    address = f"tcp://127.0.0.1:{free_port()}"
    port, plain = address.rpartition(":")[2], ("--no-dashboard",)
    scheduler = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port)
    worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny")
    with (
        running("-m", *scheduler, *plain),
        running("-m", *worker, *plain) as first,
        running("-m", *worker, *plain) as second,
    ):
        yield address, [first, second]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve takes that last long enough to be interrupted, and one of markers."""
    folder = tmp_path_factory.mktemp("archive")
    write_sensors(folder, subjects=3, takes=4, frames=600)
    write_markers(folder, subjects=1, takes=1, seconds=1.0)
    return folder


@pytest.fixture(scope="module")
def undisturbed(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("undisturbed")
    assert batch(archive, output, workers=2).solved == 13
    return output


def test_killed_worker_and_killed_coordinator_cost_no_take(
    archive: Path, undisturbed: Path, tmp_path: Path
) -> None:
    check_kills(archive, tmp_path, undisturbed, 13)


def test_cluster_writes_the_same_bytes_though_a_worker_dies(
    archive: Path, undisturbed: Path, tmp_path: Path
) -> None:
    with (
        dask() as (address, workers),
        run_batch(archive, tmp_path, "--scheduler", address) as coordinator,
    ):
        wait_until(lambda: len(finished(tmp_path)) >= 1, coordinator)
        os.killpg(workers[0].pid, signal.SIGKILL)
        coordinator.wait(PATIENCE)
        assert coordinator.returncode == 0
    assert len(finished(tmp_path)) == 13
    assert_whole(tmp_path)
    assert files_of(tmp_path) == files_of(undisturbed)


def test_no_scheduler_is_one_clear_line(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("osteon.batch.workers.ANSWER_SECONDS", 0.3)
    with pytest.raises(OsteonError, match=r"no dask scheduler answers at .* start one with"):
        batch(archive, tmp_path, scheduler=f"tcp://127.0.0.1:{free_port()}")


def test_encrypted_scheduler_without_certificates_is_one_clear_line(
    archive: Path, tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(OsteonError, match=r"tls://.*certificates"):
        batch(archive, tmp_path, scheduler=f"tls://127.0.0.1:{free_port()}")


def test_waiting_for_workers_is_told() -> None:
    """One job that waits in vain is enough: a scheduler alone has nobody to do it."""
    pytest.importorskip("distributed")
    said: list[Step] = []
    port = str(free_port())
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port)
    with running("-m", *scheduler, "--no-dashboard"), cluster(address, said.append) as workers:
        workers._room()
    assert f"{address} has no workers; waiting" in str(said[0])


@pytest.mark.slow
def test_two_hundred_takes_by_pool_and_cluster_with_kills(tmp_path: Path) -> None:
    """10 subjects, 20 takes each: pool undisturbed, pool with kills, cluster with kills."""
    archive, pool, output = (tmp_path / name for name in ("archive", "pool", "cluster"))
    write_markers(archive, subjects=4, takes=20, seconds=0.6)
    write_sensors(archive, subjects=6, takes=20, frames=240)
    assert batch(archive, pool).solved == 200
    assert_whole(pool)
    check_kills(archive, tmp_path / "killed", pool, 200)
    with dask() as (address, workers):
        with run_batch(archive, output, "--scheduler", address) as coordinator:
            wait_until(lambda: len(finished(output)) >= 20, coordinator)
            os.killpg(workers[0].pid, signal.SIGKILL)
            wait_until(lambda: len(finished(output)) >= 40, coordinator)
            coordinator.kill()
            coordinator.wait()
        kept = finished(output)
        batch(archive, output, scheduler=address)
        after = finished(output)
    assert len(after) == 200 and {take: after[take] for take in kept} == kept
    assert_whole(output)
    assert files_of(output) == files_of(pool)
