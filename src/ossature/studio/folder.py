"""The folder that a studio works in: nothing outside it is read or written."""

import os
from pathlib import Path

from ossature.errors import BadValue, OssatureError
from ossature.formats import FORMATS
from ossature.formats.edits_json import SUFFIX

MOST_FILES = 500
"""Files that are listed."""
DEEPEST = 3
"""Folders below the opened one that are looked into."""
LONGEST_NAME = 200
"""Bytes of a dropped file's name: disks hold 255, and names of edits and exports are longer."""


class OutOfBounds(OssatureError):
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

    def files(self) -> tuple[str, ...]:
        """Names of files whose ending a reader knows, sorted."""
        endings = {suffix for form in FORMATS if form.read is not None for suffix in form.suffixes}
        found: list[str] = []
        for here, folders, files in os.walk(self.path):
            depth = len(Path(here).relative_to(self.path).parts)
            folders[:] = sorted(f for f in folders if depth < DEEPEST and not f.startswith("."))
            for file in sorted(files):
                if Path(file).suffix.lower() in endings and not file.endswith(SUFFIX):
                    found.append((Path(here) / file).relative_to(self.path).as_posix())
            if len(found) >= MOST_FILES:
                break
        return tuple(found[:MOST_FILES])

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
