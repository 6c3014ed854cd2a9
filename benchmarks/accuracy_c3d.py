"""C3D files through ``convert``, ``clean`` and ``angles``: what was not asked to change stays.

    python benchmarks/accuracy_c3d.py [part of a path …]

Every C3D file under OSTEON_DATA goes through the three verbs as a user would run them. Of each file
written, parameters (type, sizes, values, description, lock) and analog samples are compared with
those of the source to the last byte, by Osteon's reader and, in a process of its own, by ezc3d.
Without an argument, writes its section of docs/numbers/files.md.
"""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import ezc3d
import numpy as np
from accuracy_angles import DATA
from accuracy_page import put_section, table

import osteon as ost
from osteon import pipeline
from osteon.cli import main
from osteon.errors import OsteonError
from osteon.formats.c3d.carried import original
from osteon.formats.c3d.parameters import intel_value

PAGE = Path(__file__).parent.parent / "docs" / "numbers" / "files.md"
VERBS = ("convert", "clean", "angles")
STORED_AS = {"POINT:DATA_START", "POINT:SCALE", "ROTATION:DATA_START"}
"""Where the data begin, and that they are floats: every C3D written says so for itself."""
POINTS_ADDED = {"POINT:USED", "POINT:ANGLES"}
"""What ``clean`` and ``angles`` add to, beside labels and descriptions."""
LISTS = ("POINT:LABELS", "POINT:DESCRIPTIONS")
Parameters = Mapping[str, object]


@dataclass(frozen=True)
class Outcome:
    """What became of one file in one verb."""

    file: str
    verb: str
    refused: str = ""
    """The last sentence of the refusal; empty where a file was written."""
    ours: str = ""
    """What differs by our reader."""
    theirs: str = ""
    """What differs by ezc3d, or that it reads one of the two not."""


def by_us(path: Path) -> tuple[Parameters, np.ndarray | None]:
    take = ost.read(path)
    head = original([*take.recordings, *take.bodies])
    if head is None:
        raise OsteonError(f"{path.name}: no head is kept of it")
    found: dict[str, object] = {}
    for record in head.parameters.records:
        name = f"{record.group}:{record.name}".upper()
        while name in found:  # some files say a thing twice
            name += "'"
        value = b"" if record.is_group else intel_value(head.head, record.place, head.processor)
        found[name] = record.name, record.locked, record.is_group, value
    analog = take.recordings[0].analog if take.recordings else None
    return found, None if analog is None else analog.values


def by_ezc3d(path: Path) -> tuple[Parameters, np.ndarray]:
    file = ezc3d.c3d(str(path))
    found = {
        f"{group}:{name}".upper(): (
            each["type"],
            each["description"],
            each["is_locked"],
            np.asarray(each["value"]).tolist(),
        )
        for group, held in file["parameters"].items()
        for name, each in held.items()
        if not name.startswith("__")
    }
    return found, np.asarray(file["data"]["analogs"])


def differing(read, source: Path, copy: Path, verb: str) -> str:
    """Names of what differs in a copy, in words; empty where nothing does."""
    (before, samples), (after, samples_again) = read(source), read(copy)
    names = sorted(key for key in before if not asked(key, verb) and not same(before, after, key))
    same_samples = (samples is None) == (samples_again is None) and (
        samples is None or np.array_equal(samples, samples_again, equal_nan=True)
    )
    return ", ".join([*names, *([] if same_samples else ["analog samples"])])


def asked(key: str, verb: str) -> bool:
    """Whether a verb that writes C3D says this for itself."""
    if key in STORED_AS:
        return True
    return verb != "convert" and (key in POINTS_ADDED or key.startswith(LISTS))


def same(before: Parameters, after: Parameters, key: str) -> bool:
    # NaN equals itself here: values are compared by what they are written as
    return key in after and repr(before[key]) == repr(after[key])


def run(*words: object) -> str:
    """Run the program; the sentence with which it refused, or nothing."""
    told = io.StringIO()
    sys.argv = ["osteon", *map(str, words)]
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as stop:
            if not stop.code:
                return ""
        except Exception as error:  # a traceback is what this looks for
            return f"TRACEBACK {type(error).__name__}: {error}"
    return [line for line in told.getvalue().splitlines() if line.strip()][-1]


def solve_once() -> None:
    """Let ``clean`` and ``angles``, which solve a file alike, share what the first one found."""
    solve, found = pipeline.solve, {}

    def once(*sources: Path, **asked: object) -> object:
        key = sources, repr(asked["options"])
        if key not in found:
            found.clear()
            try:
                found[key] = solve(*sources, **asked)
            except Exception as error:
                found[key] = error
        if isinstance(found[key], Exception):
            raise found[key]
        return found[key]

    pipeline.solve = once


def through(verb: str, source: Path, folder: Path) -> Outcome:
    name = source.relative_to(DATA).as_posix()
    copy = folder / "copy.c3d"
    target = folder / "told" if verb == "angles" else copy
    words = (source, copy) if verb == "convert" else (source, "-o", target)
    refused = run(verb, *words)
    if refused:
        return Outcome(name, verb, refused)
    written = sorted(target.rglob("angles.c3d")) if verb == "angles" else [copy]
    ours = {differing(by_us, source, each, verb) for each in written}
    theirs = {beside(source, each, verb) for each in written}
    return Outcome(name, verb, "", *("; ".join(sorted(each - {""})) for each in (ours, theirs)))


def beside(source: Path, copy: Path, verb: str) -> str:
    """What differs by ezc3d, which some files bring down."""
    ran = subprocess.run(
        [sys.executable, __file__, "--compare", source, copy, verb], capture_output=True, text=True
    )
    return json.loads(ran.stdout) if ran.returncode == 0 else "not read"


def told_by_ezc3d(source: Path, copy: Path, verb: str) -> str:
    for path, which in ((source, "source not read"), (copy, "COPY NOT READ")):
        try:
            by_ezc3d(path)
        except Exception:  # whatever it raises: it has no answer
            return which
    return differing(by_ezc3d, source, copy, verb)


def pages(found: list[Outcome]) -> str:
    rows = []
    for verb in VERBS:
        own = [each for each in found if each.verb == verb]
        written = [each for each in own if not each.refused]
        read = [each for each in written if "not read" not in each.theirs]
        cells = (
            *(len(own), len(written), sum(not each.ours for each in written)),
            *(f"{sum(not each.theirs for each in read)} of {len(read)}", len(own) - len(written)),
        )
        rows.append([verb, *cells])
    head = ["verb", "files", "written", "all kept, by us", "all kept, by ezc3d", "refused"]
    return table(head, rows)


def exceptions(found: list[Outcome]) -> str:
    rows = [
        [each.file, each.verb, each.ours or "none", each.theirs or "none"]
        for each in found
        if not each.refused and (each.ours or each.theirs not in ("", "source not read"))
    ]
    return table(["file", "verb", "differs, by us", "differs, by ezc3d"], rows)


def refusals(found: list[Outcome]) -> str:
    counts = Counter((each.verb, reason(each)) for each in found if each.refused)
    rows = [[verb, n, sentence] for (verb, sentence), n in sorted(counts.items())]
    return table(["verb", "files", "why"], rows)


def reason(outcome: Outcome) -> str:
    """The first sentence, without the file's name."""
    told = outcome.refused.removeprefix("osteon: ").replace(f"{Path(outcome.file).name}: ", "")
    return told.split(". ")[0]


def all_files(wanted: list[str]) -> list[Path]:
    files = (path for path in sorted(DATA.rglob("*")) if path.suffix.lower() == ".c3d")
    return [each for each in files if not wanted or any(part in str(each) for part in wanted)]


def go(wanted: list[str]) -> None:
    solve_once()
    found = []
    for source in all_files(wanted):
        for verb in VERBS:
            with tempfile.TemporaryDirectory() as folder:
                found.append(through(verb, source, Path(folder)))
            print(found[-1], flush=True)
    told = f"{pages(found)}\n\n{exceptions(found)}\n\n{refusals(found)}"
    print(told)
    if not wanted:
        put_section("C3D through the verbs that write it", told, PAGE)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compare"]:
        print(json.dumps(told_by_ezc3d(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])))
    else:
        go(sys.argv[1:])
