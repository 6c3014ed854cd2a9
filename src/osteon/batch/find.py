"""Files that may hold takes, and whose they are."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from osteon.errors import BadValue

NUMBERED = re.compile(r"^(?P<subject>.*?)[ _.-]*\d+$")


def find_files(folder: Path, output: Path) -> Iterator[str]:
    """Paths below ``folder``, sorted; hidden ones and all that the batch wrote are left out."""
    if not folder.is_dir():
        raise BadValue(f"{folder} is no folder; give the one that holds the takes")
    if folder.resolve() == output.resolve():
        raise BadValue(
            f"the results cannot go to {output}: it holds the takes; give another folder"
        )
    for path in _walk(folder, {output.resolve()}):
        yield path.relative_to(folder).as_posix()


def _walk(folder: Path, done: set[Path]) -> Iterator[Path]:
    """Files below a folder; one in ``done`` is not entered, so links cannot lead in circles."""
    done.add(folder.resolve())
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and path.suffix != ".osteon":  # such a folder is one take
            if path.resolve() not in done:
                yield from _walk(path, done)
        elif path.exists():
            yield path


def subject_of(take: str, in_file: str, pattern: str | None) -> str:
    """Whose take it is.

    By the pattern where one is given and fits; else by what the file says; else by the folder;
    else by the name up to the take's number: ``02_01.c3d`` is of ``02``.
    """
    if pattern is not None and (match := re.search(pattern, take)) and match[1]:
        # several people in one file stay apart whatever the path says
        return match[1]
    if in_file:
        return in_file
    path = Path(take)
    if len(path.parts) > 1:
        return "/".join(path.parts[:-1])
    match = NUMBERED.match(path.stem)
    return match["subject"] if match and match["subject"] else path.stem


def subjects_of(take: str, in_file: Iterable[str], pattern: str | None) -> tuple[str, ...]:
    """A name for each person of a file; several people keep their own names behind the path's."""
    people = list(in_file)
    names = [subject_of(take, person, pattern) for person in people]
    if len(set(names)) < len(names):
        names = [
            f"{name} {person or i}"
            for i, (name, person) in enumerate(zip(names, people, strict=True), 1)
        ]
    return tuple(names)
