"""Who does the jobs, and how far they are: processes of this machine, or of a dask scheduler."""

import gc
import heapq
import os
import signal
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any, Generic, TypeVar

from osteon.errors import BadValue, MissingExtra, OsteonError
from osteon.threads import one_thread
from osteon.typing import Progress, Step

J = TypeVar("J", bound=Hashable)
T = TypeVar("T")
MOST_DEATHS = 2
"""Count of times a worker may die on a job, the last of them with no other job at work. Chosen: the
first may be another job's fault."""
ANSWER_SECONDS = 10.0
"""Seconds that a scheduler may take to answer. Chosen: a user waits this long before being told
that the address is wrong."""
LOOK_SECONDS = 5.0
"""Seconds after which it is looked again how many jobs there is room for. Chosen: soon enough for
workers that join."""


@dataclass(frozen=True)
class Timed(Generic[T]):
    """A job's result, and what it cost where."""

    result: T
    seconds: float
    ended: float
    """Seconds since 1970."""
    worker: str


def timed(work: Callable[[J], T], job: J) -> Timed[T]:
    start = time.perf_counter()
    with one_thread():
        result = work(job)
    seconds = time.perf_counter() - start
    return Timed(result, seconds, time.time(), f"{socket.gethostname()}:{os.getpid()}")


@dataclass(frozen=True)
class Lost:
    """A job that took its worker down with it."""

    reason: str


class Queue(Generic[J]):
    """Jobs that wait, the most urgent first; more may come while others are done."""

    def __init__(self) -> None:
        self._waiting: list[tuple[tuple, J]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, job: J, urgency: tuple) -> None:
        """Add a job; the least ``urgency``, which no other job may have, is first."""
        heapq.heappush(self._waiting, (urgency, job))

    @property
    def first(self) -> J:
        return self._waiting[0][1]

    def take(self) -> J:
        """Return the first job, which then waits no longer."""
        return heapq.heappop(self._waiting)[1]


class Workers:
    """Runs jobs and survives the death of those who do them."""

    def __init__(self, start: Callable[[], Executor], room: Callable[[], int]) -> None:
        self._start, self._room = start, room
        self._executor = start()

    def each(
        self, work: Callable[[J], T], waiting: Queue[J]
    ) -> Iterator[tuple[J, Timed[T] | Lost]]:
        """Yield every job with its result, in the order they are done.

        When a process dies the whole pool is lost, and with it every job at work. These are tried
        again one by one, so that a deadly job is told from its neighbours.
        """
        suspects = deque[J]()
        flying: dict[Future[Timed[T]], J] = {}
        deaths: Counter[J] = Counter()
        while waiting or suspects or flying:
            broken = False
            while not broken and len(flying) < (1 if suspects else self._room()):
                if not (suspects or waiting):
                    break
                job = suspects[0] if suspects else waiting.first
                try:
                    flying[self._executor.submit(timed, work, job)] = job
                except BrokenExecutor:  # a worker died since the last job was done
                    broken = True
                    continue
                suspects.popleft() if suspects else waiting.take()
            for future in wait(flying, LOOK_SECONDS, return_when=FIRST_COMPLETED).done:
                job = flying.pop(future)
                outcome = _outcome(future)
                if outcome is None:
                    broken = True
                    deaths[job] += 1
                    if deaths[job] < MOST_DEATHS:
                        suspects.append(job)
                        continue
                    outcome = Lost("the worker died on it twice: killed, or out of memory")
                yield job, outcome
            if broken and not flying:
                self.close()
                self._executor = self._start()

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def _outcome(future: "Future[Timed[T]]") -> Timed[T] | Lost | None:
    """None: the pool broke under the job."""
    try:
        return future.result()
    except BrokenExecutor:
        return None
    except CancelledError:
        raise OsteonError(
            "the scheduler went away; what is done is kept: start it and the batch again"
        ) from None
    except Exception as error:  # dask gives up on a job that killed several workers
        return Lost(f"the worker was lost: {' '.join(str(error).split())}")


@contextmanager
def pool(n: int | None) -> Iterator[Workers]:
    """Processes of this machine, by default one per core."""
    n = n or os.cpu_count() or 1
    if n < 1:
        raise BadValue(f"workers must be 1 or more, got {n}")
    workers = Workers(
        lambda: ProcessPoolExecutor(n, get_context("spawn"), initializer=prepare_worker),
        lambda: n + 1,
    )
    try:
        yield workers
    finally:
        workers.close()


def prepare_worker() -> None:
    """Leave Ctrl-C to the coordinator, and end with it: nobody waits for a worker without one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def cluster(address: str, progress: Progress) -> Iterator[Workers]:
    """Give the workers of a dask scheduler; they must see the same folders under the same paths.

    While there is none ``progress`` is told so.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("distributed", "`scheduler`", "cluster") from None
    client = _connect(Client, address)

    def room() -> int:
        threads: Any = client.nthreads()
        n = sum(threads.values())
        if n == 0:
            told = f"{address} has no workers; waiting for some (start one: dask worker {address})"
            progress(Step("wait", told))
        # twice as many jobs as threads: none waits for the next to arrive
        return 2 * max(1, n)

    with client:
        yield Workers(client.get_executor, room)


def _connect(client: Any, address: str) -> Any:
    """Return a client of dask, or say why there is none."""
    try:
        return client(address, timeout=ANSWER_SECONDS)
    except (OSError, ValueError) as error:
        told = f"no dask scheduler answers at {address} ({error}); start one with: dask scheduler"
    except TypeError as error:  # an encrypted address and no certificates
        told = (
            f"cannot talk to {address} ({error}); name the certificates in dask's configuration, "
            "under distributed.comm.tls"
        )
    # a client that failed half-way ends when it is collected; in the midst of the next one's
    # start that waits for itself, for ever
    gc.collect()
    raise OsteonError(told)


class Meter:
    """Counts jobs of one kind and tells the time that is left."""

    def __init__(
        self, verb: str, total: int, progress: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._verb, self._progress, self._clock = verb, progress, clock
        self._done, self._start = 0, clock()
        progress(Step(verb, f"{verb} {total}"))

    def step(self, left: int) -> None:
        """Count one more as done, after which so many are left."""
        self._done += 1
        total = self._done + left
        seconds = (self._clock() - self._start) * left / self._done
        told = f"{self._verb} {self._done} of {total}"
        told += f", about {duration(seconds)} left" if left else ""
        self._progress(Step(self._verb, told, self._done / total))


def duration(seconds: float) -> str:
    """Return a time as a person says it."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
