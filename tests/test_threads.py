"""Linear algebra has one thread inside everything we do, and the user's number after it."""

import inspect
import os
import subprocess
import sys
import threading

import pytest
import scipy.linalg  # noqa: F401 (brings a library of its own beside numpy's)

import osteon as ost
from osteon.batch.workers import Lost, Queue, pool, timed
from osteon.live.run_stream import run_live
from osteon.threads import loaded, one_thread

VERBS = [n for n in ost.__all__ if inspect.isfunction(getattr(ost, n))]


def numbers(_job: str = "") -> set[int]:
    """Threads of each library of linear algebra that this process has loaded."""
    return {get() for get, _ in loaded()}


class Spy:
    """An argument that notes the numbers whenever it is looked at."""

    def __init__(self) -> None:
        self.noted: list[set[int]] = []

    def __getattribute__(self, name: str):
        if name != "noted":
            object.__getattribute__(self, "noted").append(numbers())
        return object.__getattribute__(self, name)

    def __fspath__(self) -> str:  # this and the next are looked up on the class
        self.looked_at()
        raise TypeError

    def __iter__(self):
        self.looked_at()
        raise TypeError

    def looked_at(self) -> None:
        """Nothing more: asking for it has been noted."""


@pytest.fixture(autouse=True)
def two_threads():
    before = [(limit, get()) for get, limit in loaded()]
    assert before, "no library of linear algebra was found in numpy or scipy"
    for limit, _ in before:
        limit(2)
    if numbers() != {2}:
        pytest.skip("the linear algebra here cannot have two threads")
    yield
    assert numbers() == {2}
    for limit, number in before:
        limit(number)


@pytest.mark.parametrize("verb", [*(getattr(ost, name) for name in VERBS), run_live])
def test_every_verb_of_the_library(verb):
    spy = Spy()
    needed = [
        p
        for p in inspect.signature(verb).parameters.values()
        if p.default is p.empty and p.kind is not p.KEYWORD_ONLY
    ]
    with pytest.raises(Exception):  # noqa: B017 (each refuses it in its own way)
        verb(*[spy] * len(needed))
    assert spy.noted and all(noted == {1} for noted in spy.noted)


def test_every_verb_of_the_command_line(tmp_path):
    """All go through ``main``; whatever a verb loads afterwards has one thread."""
    file = tmp_path / "points.csv"
    file.write_text("nothing", encoding="utf-8")
    code = (
        "import atexit, sys\n"
        "from osteon.cli import main\n"
        "assert 'numpy' not in sys.modules\n"
        "def told():\n"
        "    import scipy.linalg; from osteon.threads import loaded\n"
        "    print({get() for get, _ in loaded()})\n"
        "atexit.register(told)\n"
        "main()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "inspect", str(file)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
        timeout=60,
    )
    assert run.stdout.strip() == "{1}", run.stderr


def test_workers_of_the_machine():
    with pool(1) as workers:
        waiting = Queue[str]()
        waiting.put("", ())
        [(_, done)] = workers.each(numbers, waiting)
    assert not isinstance(done, Lost) and done.result == {1}


def test_workers_of_a_cluster():
    """They get ``timed``, whatever started them."""
    assert timed(numbers, "").result == {1}


def test_the_last_of_several_calls_puts_the_number_back():
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_thread(), one_thread():
        thread.start()
        inside.wait(10)
    assert numbers() == {1}
    leave.set()
    thread.join()
    assert numbers() == {2}


def test_an_error_puts_the_number_back():
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert numbers() == {2}
