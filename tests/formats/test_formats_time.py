"""Hostile text: whatever is repeated, and however often, a file's cost grows with its length."""

import contextlib
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from osteon.errors import OsteonError
from osteon.formats import FORMATS, read
from osteon.formats.refused import REFUSED
from osteon.formats.registry import HEAD_BYTES
from samples import READABLE, make_seed

PIECES = (
    *("<??>", "<!---->", "<?", "<!--", "<a>", "</a>", "<a b='c'/>", "<![CDATA["),
    *(" ", "\t", "\n", " \n", "\r", "\x00", "\x0b", "\u3000"),
    *("1", "0", "1 ", "1\t", "1,", "-", ".", "1.", "e", "1e1", "0 0 0 1\n", "1 0 0 0\n"),
    *("#", "# ", "# a", "# a=", "# output=\t", "a=", ":", "a:", "_", "a", "a_", '"', '""', '","'),
    *("{", "}", "[", '{"a":', '"format":', '"format" ', "\\", "{ ", "} ", "( ", "),"),
    *("MOTION", "MOTION ", "Frames:", "Frame Time:", "JOINT a {", "X", "X1 ", "é", "\ufeff"),
)
TEXT = [form for form in READABLE if form.name not in ("C3D", "Osteon store", "QTM MAT")]
LENGTH = 1 << 15
"""Bytes; a pattern that grows with their square takes a second or more."""
SOON = 0.15
"""Seconds of processor time within which no more is asked; usual are a hundredth of it."""
LINEAR = 8.0
"""Most that four times the bytes may cost: 4 where the cost grows with the length, 16 where it
grows with its square; between them lies what a busy machine adds."""
LATE = 3.0


class TooLong(BaseException):
    """Not an Exception: no reader may take it for its own."""


def too_long(*_) -> None:
    raise TooLong


def cost(work: Callable[[], object]) -> float:
    """Seconds of processor time, given up after ``LATE``."""
    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, LATE)
    start = time.process_time()
    try:
        with contextlib.suppress(OsteonError):
            work()
        return time.process_time() - start
    except TooLong:
        return LATE
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def grows_with_length(work: Callable[[int], object], length: int) -> bool:
    """Whether ``work`` of so many bytes is soon done, or costs about four times that of a quarter.

    Measured again where it looks bad: other programs disturb even processor time.
    """
    for _ in range(3):
        long = cost(lambda: work(length))
        if long < SOON or (long < LATE and long < LINEAR * cost(lambda: work(length // 4))):
            return True
        if long >= LATE:
            break
    return False


def filled(piece: bytes, length: int) -> bytes:
    return (piece * (length // len(piece) + 1))[:length]


@pytest.mark.parametrize("kind", [*FORMATS, *REFUSED], ids=lambda kind: kind.name)
def test_no_head_is_long_to_recognise(kind):
    for piece in (text.encode() for text in PIECES):
        for start in (b"", b"<mujoco", b"Frame,Time\n", b"{"):
            # exponential patterns show in a few dozen bytes, others in a whole head
            for length in (64, 256, HEAD_BYTES):
                head = (start + filled(piece, length) + b"!")[:HEAD_BYTES]
                taken = cost(lambda head=head: kind.sniff(head))
                assert taken < SOON, f"{length} bytes of {piece!r} after {start!r}: {taken:.2f} s"


def places(data: bytes) -> list[int]:
    """The front, within the first words, behind the first lines, the middle and the end."""
    lines = [i + 1 for i, byte in enumerate(data) if byte == 10]
    return [0, 12, *lines[:3], len(data) // 2, len(data)]


@pytest.mark.parametrize("form", TEXT, ids=lambda form: form.name)
def test_no_text_is_long_to_read(form, tmp_path):
    path = make_seed(form, tmp_path, np.random.default_rng(3))
    data = path.read_bytes()
    read(path)  # what is loaded or compiled on first use does not count
    for at in places(data):
        own = [line + b"\n" for line in data[at:].split(b"\n")[:2] if line]
        for piece in [*(text.encode() for text in PIECES), *own]:

            def work(length: int, at: int = at, piece: bytes = piece) -> None:
                _read_with(path, data, at, filled(piece, length))

            assert grows_with_length(work, LENGTH), f"{piece!r} repeated at byte {at}"


def models(inner: str) -> str:
    return f"<mujoco><worldbody>{inner}</worldbody></mujoco>"


def nested_defaults(n: int) -> str:
    many = " ".join(f'a{i}="1"' for i in range(n))
    classes = "".join(f'<default class="c{i}"><geom b="{i}"/>' for i in range(n))
    return (
        f"<mujoco><default><geom {many}/>{classes}{'</default>' * (n + 1)}"
        f"<worldbody><body/></worldbody></mujoco>"
    )


def blank_default(n: int) -> str:
    site = f"<site pos='0 0 0{' ' * 100 * n}'/>"
    return f"<mujoco><default>{site}</default><worldbody>{'<site/>' * n}</worldbody></mujoco>"


def markers(names: list[str]) -> str:
    rows = "".join(f"0,{name},1,2,3\n" for name in names)
    return f"# rate=100\nframe,marker,x,y,z\n{rows}"


def nodes(n: int) -> str:
    named = [{"name": "a", "children": [*range(1, n)]}, *[{"name": "a"}] * (n - 1)]
    skins = [{"joints": [*range(n)]}]
    return json.dumps({"asset": {"version": "2.0"}, "nodes": named, "skins": skins})


def time_codes(n: int) -> str:
    columns = [f",{word}" * n for word in ("Marker", "a", "a", "Position", "timecode")]
    lead = (",Type", ",Name", ",ID", ",", "Frame,Time")
    head = [left + right for left, right in zip(lead, columns, strict=True)]
    rows = ["Format Version,1.23,Export Frame Rate,60,Length Units,Meters", "", *head]
    return "\n".join([*rows, *["0"] * 10 * n])


def strangers(n: int) -> str:
    """Names of few equal letters in a row, which are slow to compare."""
    letters = [*map(chr, range(0x4E00, 0x4E00 + 300))]
    name, other = ("".join(np.random.default_rng(seed).choice(letters, 3 * n)) for seed in (1, 2))
    joint = {"type": "ball", "in_parent": [0, 0, 0], "in_body": [0, 0, 0]}
    bodies = [
        {"name": name, "parent": None, "joint": joint},
        {"name": "a", "parent": other, "joint": joint},
    ]
    return json.dumps({"format": "osteon.skeleton", "version": 1, "bodies": bodies})


MANY: dict[str, Callable[[int], str]] = {
    "equal bodies": lambda n: models('<body name="a"/>' * n),
    "equal sites": lambda n: models("<body>" + '<site name="a"/>' * n + "</body>"),
    "deep bodies": lambda n: models('<body name="a">' * n + "</body>" * n),
    "nested defaults": nested_defaults,
    "blanks in a default": blank_default,
    "subjects": lambda n: markers([f"s{i}:a" for i in range(n)]),
    "blank remark": lambda n: markers(["a"]).replace(
        "marker,x,y,z", f"marker,x,y,z\n# output={' ' * 10 * n}"
    ),
    "equal nodes": nodes,
    "time codes": time_codes,
    "long names": strangers,
}


@pytest.mark.parametrize("make", MANY.values(), ids=MANY)
def test_many_of_one_thing_cost_no_more_than_each(make, tmp_path):
    def work(n: int) -> None:
        (tmp_path / "many").write_text(make(n))
        read(tmp_path / "many")

    assert grows_with_length(work, 4000)


def _read_with(path: Path, data: bytes, at: int, more: bytes) -> None:
    path.write_bytes(data[:at] + more + data[at:])
    read(path)
