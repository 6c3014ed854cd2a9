"""Every error osteon raises on purpose.

OsteonError
├── FormatError          a file's syntax: names file, place, what was expected
│   ├── UnknownFormat    nobody recognises it
│   └── WrongContent     read, but it does not hold what was asked for
├── ShapeError           an array of the wrong shape            (also ValueError)
├── UnknownName          no such marker, body, joint, subject   (also KeyError)
├── BadValue             an argument or a value out of range    (also ValueError)
├── NotEnoughData        the recording does not carry the answer
└── MissingExtra         an optional package is not installed   (also ImportError)

Messages are one line: lower case, no full stop, numbers with units, and what to do next. Parameters
stand in backquotes, as `template=none`; the command line turns them into its flags.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path


def counted(n: int, noun: str) -> str:
    """A number and its noun: ``1 frame``, ``2 bodies``."""
    if n == 1:
        return f"1 {noun}"
    return f"{n} {noun[:-1]}ies" if noun.endswith("y") else f"{n} {noun}s"


class OsteonError(Exception):
    """Base of all errors that osteon raises on purpose."""


class FormatError(OsteonError):
    """A file that cannot be read as what it claims to be."""

    def __init__(self, path: str | Path, problem: str, place: str = "") -> None:
        self.path, self.problem, self.place = Path(path), problem, place
        where = f"{self.path.name}, {place}" if place else self.path.name
        super().__init__(f"{where}: {problem}")


class UnknownFormat(FormatError):
    """No reader recognises the file's content."""


class WrongContent(FormatError):
    """The file is readable but does not hold what was asked for."""


class ShapeError(OsteonError, ValueError):
    """An array whose shape does not fit its meaning."""


class BadValue(OsteonError, ValueError):
    """A value outside what is meaningful."""


class NotEnoughData(OsteonError):
    """The recording does not carry the answer that was asked of it."""


def how_to_install(extra: str) -> str:
    """What to type for an optional part."""
    return f"pip install 'osteon[{extra}]'"


class MissingExtra(OsteonError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, purpose: str, extra: str) -> None:
        self.package, self.purpose, self.extra = package, purpose, extra
        super().__init__(
            f"{purpose} needs the package {package!r}; install it with: {how_to_install(extra)}"
        )


LONGEST_NAME = 100
"""Characters up to which names are compared; chosen: longer than names are, and the time it takes
grows with their square."""


def _near(name: str, available: Sequence[str]) -> list[str]:
    if len(name) > LONGEST_NAME:
        return []
    short = [other for other in available if len(other) <= LONGEST_NAME]
    return difflib.get_close_matches(name, short, n=3, cutoff=0.5)


class UnknownName(OsteonError, KeyError):
    """A marker, joint, body or subject was asked for that is not there."""

    def __init__(self, kind: str, name: str, available: Sequence[str]) -> None:
        self.kind, self.name, self.available = kind, name, tuple(available)
        near = _near(name, self.available)
        if near:
            hint = f"did you mean {' or '.join(map(repr, near))}?"
        else:
            shown = ", ".join(other[:LONGEST_NAME] for other in self.available[:8])
            shown += ", …" if len(self.available) > 8 else ""
            hint = (
                f"there are {len(self.available)}: {shown}" if self.available else "there are none"
            )
        super().__init__(f"no {kind} named {name[:LONGEST_NAME]!r}; {hint}")

    def __str__(self) -> str:  # KeyError alone would print the repr
        return str(self.args[0])
