"""One thread for products of matrices.

Ours are small: a second thread has nothing to do but wait for the first, and it waits busily. On a
quiet machine that wastes a core; on a busy one the first then waits for the second's turn.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

READ_WHEN_LOADED = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables by which libraries of linear algebra choose their threads."""
LINKED = ("numpy.linalg._umath_linalg", "scipy.linalg._fblas")
"""Modules through which such libraries come in: numpy and scipy each may bring its own."""
SPELLINGS = (
    *(
        (f"{before}openblas_get_num_threads{after}", f"{before}openblas_set_num_threads{after}")
        for before in ("", "scipy_")
        for after in ("", "64_", "_64")
    ),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)

Count = tuple[Callable[[], int], Callable[[int], object]]
"""Tells how many threads a library works with, and sets it."""

_lock = Lock()
_calls = 0
_before: list[tuple[Count, int]] = []


def one_thread_for_this_process() -> None:
    """For programs of our own, before anything is loaded; processes they start do the same."""
    os.environ.update(dict.fromkeys(READ_WHEN_LOADED, "1"))


@contextmanager
def one_thread() -> Iterator[None]:
    """Libraries that are loaded work with one thread inside, and then as before.

    ``@one_thread()`` does so for every call of a function. The number belongs to the process: the
    first call under way sets it, the last one to end puts it back, in whatever thread.
    """
    global _calls
    with _lock:
        if _calls == 0:
            _before[:] = [(library, library[0]()) for library in loaded()]
            for (_, limit), _ in _before:
                limit(1)
        _calls += 1
    try:
        yield
    finally:
        with _lock:
            _calls -= 1
            if _calls == 0:
                for (_, limit), number in _before:
                    limit(number)


def loaded() -> list[Count]:
    """The libraries of linear algebra that this process has loaded and we know to ask."""
    files = [sys.modules[name].__file__ for name in LINKED if name in sys.modules]
    return [library for file in files if file and (library := _library(file)) is not None]


@cache
def _library(file: str) -> Count | None:
    """What a module is linked with; Windows does not tell, there only programs are limited."""
    linked = ctypes.CDLL(file)
    for get, limit in SPELLINGS:
        if hasattr(linked, get) and hasattr(linked, limit):
            return getattr(linked, get), getattr(linked, limit)
    return None
