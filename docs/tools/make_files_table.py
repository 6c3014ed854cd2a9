"""Writes docs/numbers/files.md: what osteon makes of every file in the folder of real recordings.

    python docs/tools/make_files_table.py

Sections that follow the table stay: other scripts write them. The folder is OSTEON_DATA, else
../shared/data beside the project.
"""

import os
import re
from collections import Counter
from pathlib import Path

from osteon.errors import OsteonError
from osteon.formats import read
from osteon.values import Take

HERE = Path(__file__).parents[1] / "numbers"
DATA = Path(os.environ.get("OSTEON_DATA", HERE.parents[1] / "shared" / "data"))
PAPERWORK = ("license", "notice", "readme")
INTRODUCTION = """\
# Every real file, and what becomes of it

Made by `docs/tools/make_files_table.py` over the folder of real recordings that the tests use
(`OSTEON_DATA`). {n_read} files are read, {n_refused} are refused; each refusal is the sentence
that `osteon inspect` prints. Licences and notes are left out.

"""


def outcome(path: Path) -> tuple[str, str, str]:
    """Read as what, how much, and what was odd; or the refusal."""
    try:
        take = read(path)
    except OsteonError as error:
        return "refused", "", str(error).removeprefix(f"{path.name}: ")
    return " and ".join(take.kinds), contents(take), "; ".join(problems(take))


def contents(take: Take) -> str:
    parts = []
    for values, noun in ((take.recordings, "markers"), (take.bodies, "bodies")):
        for value in values:
            missing = 100.0 * (1.0 - float(value.seen.mean())) if value.seen.size else 0.0
            gaps = f", {missing:.1f} % missing" if missing else ""
            count = f"{value.seen.shape[1]} {noun}{gaps}"
            parts.append(f"{value.n_frames} frames, {value.rate:g} Hz, {count}")
    for motion in take.motions:
        count = len(motion.skeleton.bodies)
        parts.append(f"{motion.n_frames} frames, {motion.rate:g} Hz, {count} bodies")
    parts += [f"{len(skeleton.bodies)} bodies" for skeleton in take.skeletons]
    counted = Counter(parts)
    return "; ".join(f"{n} × {part}" if n > 1 else part for part, n in counted.items())


def problems(take: Take) -> list[str]:
    values = (*take.recordings, *take.bodies, *take.motions)
    return list(dict.fromkeys(text for value in values for text in value.source.problems))


def main() -> None:
    paths = [path for path in sorted(DATA.rglob("*")) if path.is_file()]
    paths = [path for path in paths if not path.name.lower().startswith(PAPERWORK)]
    rows = [(path.relative_to(DATA).as_posix(), *outcome(path)) for path in paths]
    n_refused = sum(kind == "refused" for _, kind, *_ in rows)
    lines = ["| file | read as | content | remarks or reason |", "|---|---|---|---|"]
    lines += [
        " | ".join(("", *(cell.replace("|", "\\|") for cell in row), "")).strip() for row in rows
    ]
    text = INTRODUCTION.format(n_read=len(rows) - n_refused, n_refused=n_refused)
    page = HERE / "files.md"
    _, *others = re.split(r"^(?=## )", page.read_text(encoding="utf-8"), maxsplit=1, flags=re.M)
    page.write_text("\n".join([text + "\n".join(lines), "", *others]), encoding="utf-8")


if __name__ == "__main__":
    main()
