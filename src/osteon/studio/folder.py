"""The folder that a studio works in: nothing outside it is read or written."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from osteon.edits import SUFFIX
from osteon.errors import BadValue, OsteonError
from osteon.formats import FORMATS, held_by

MOST_FILES = 2000
"""Files that are looked at for the lists."""
TAKES = frozenset({"markers", "motion", "compact"})
CHARACTERS = frozenset({"skeleton", "motion"})
DEEPEST = 3
"""Folders below the opened one that are looked into."""
LONGEST_NAME = 200
"""Bytes of a dropped file's name: disks hold 255, and names of edits and exports are longer."""


class OutOfBounds(OsteonError):
    """A path that leads out of the opened folder."""


class Folder:
    """A folder and the files in it that could be opened."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def inside(self, name: str) -> Path:
        """The file of that name; refuses what leads out of the folder, links too."""
        if not name or "\0" in name:
            raise BadValue("a file name is needed")
        try:
            path = (self.path / name).resolve()
            path.exists()  # a name that the disk cannot hold is found here
        except (OSError, RuntimeError):  # RuntimeError: links that lead round in a circle
            raise BadValue(f"{name[:60]!r} is no name for a file") from None
        if not path.is_relative_to(self.path):
            raise OutOfBounds(f"{name!r} is outside the opened folder {self.path.name!r}")
        return path

    def existing(self, name: str) -> Path:
        """As :meth:`inside`, of a file that is there."""
        path = self.inside(name)
        if not path.exists():
            raise BadValue(f"there is no file {name!r} in the folder")
        return path

    def name_of(self, path: Path) -> str:
        return path.resolve().relative_to(self.path).as_posix()

    def files(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of takes that can be opened, and of characters that can be moved."""
        held = {name: self._held(name) for name in islice(self._names(), MOST_FILES)}
        takes = tuple(name for name, kinds in held.items() if kinds & TAKES)
        return takes, tuple(name for name, kinds in held.items() if kinds & CHARACTERS)

    def _held(self, name: str) -> frozenset[str]:
        try:
            return held_by(self.inside(name))
        except OsteonError:  # a link that leads out
            return frozenset()

    def _names(self) -> Iterator[str]:
        """Files whose ending a reader knows, the folder's own first."""
        endings = {suffix for form in FORMATS if form.read is not None for suffix in form.suffixes}
        for here, folders, files in os.walk(self.path):
            depth = len(Path(here).relative_to(self.path).parts)
            folders[:] = sorted(f for f in folders if depth < DEEPEST and not f.startswith("."))
            for file in sorted(files):
                if Path(file).suffix.lower() in endings and not file.endswith(SUFFIX):
                    yield (Path(here) / file).relative_to(self.path).as_posix()

    def place_for(self, name: str) -> Path:
        """Where a dropped file goes: under its own name, numbered where that is taken."""
        plain = Path(name.replace("\\", "/")).name
        if not plain or plain.startswith(".") or "\0" in plain:
            raise BadValue(f"{name[:60]!r} is no name for a file")
        if len(os.fsencode(plain)) > LONGEST_NAME:
            raise BadValue(
                f"{plain[:40]!r}… is too long a name: at most {LONGEST_NAME} bytes; rename it first"
            )
        place, number = self.inside(plain), 1
        while place.exists():
            number += 1
            place = self.inside(f"{Path(plain).stem}-{number}{Path(plain).suffix}")
        return place
