"""How long work takes, by the clock and by the processor, quiet and beside other work."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

BUSY = "while True: pass"


def best_of(
    times: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds, the best of several runs: the machine's other work only ever adds.

    ``time.process_time`` as ``clock`` counts those of the processor alone, all threads together.
    """
    seconds = []
    for _ in range(times):
        start = clock()
        work()
        seconds.append(clock() - start)
    return min(seconds)


def children_time() -> float:
    """A clock of the processor time that programs took which we started and which have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


@contextmanager
def busy_machine(n_processes: int, cores: Iterable[int] = ()) -> Iterator[None]:
    """Beside as many processes as that which do nothing, as fast as they can, on these cores.

    They are of usual priority though we may not be: else they would take a core for themselves.
    """
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(n_processes)]
    for other in others if cores else ():
        os.sched_setaffinity(other.pid, cores)
        os.sched_setscheduler(other.pid, os.SCHED_OTHER, os.sched_param(0))
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
