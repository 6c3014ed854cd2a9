"""How long work takes."""

import time
from collections.abc import Callable


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
