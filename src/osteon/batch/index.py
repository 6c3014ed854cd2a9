"""All takes of a batch in one table, worst first: a page to look through, a CSV, a Parquet file."""

import csv
import html
import io
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import msgspec

from osteon.batch.places import Quality, Survey, TakeRecord
from osteon.formats import whole_file

MOST_ROWS = 5000
"""Count of takes that the page shows; the tables hold all. Chosen: a page opens and sorts them at
once."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One subject of one take."""

    take: str
    subject: str = ""
    frames: int | None = None
    """As all numbers, None where the take could not be solved."""
    rate: float | None = None
    markers: int | None = None
    missing: float | None = None
    marker_rms_mm: float | None = None
    marker_max_mm: float | None = None
    worst_marker: str = ""
    held_frames: int | None = None
    warnings: str = ""
    changed: str = ""
    problem: str = ""
    report: str = ""
    """Path of its page from the index."""


COLUMNS = Row.__struct_fields__


def rows_of(surveys: Sequence[Survey], takes: Sequence[TakeRecord]) -> tuple[Row, ...]:
    """Failed takes first, then those that the model explains worst."""
    unread = [Row(take=each.take, problem=each.problem) for each in surveys if each.problem]
    rows = unread + [row for record in takes for row in _of_take(record)]
    return tuple(
        sorted(
            rows,
            key=lambda row: (not row.problem, -(row.marker_rms_mm or 0.0), row.take, row.subject),
        )
    )


def _of_take(record: TakeRecord) -> list[Row]:
    if record.problem:
        return [Row(take=record.take, subject=", ".join(record.subjects), problem=record.problem)]
    return [_of_person(record.take, person) for person in record.people]


def _of_person(take: str, person: Quality) -> Row:
    parts = ["takes", take, *([person.folder] if person.folder else []), person.report]
    return Row(
        take=take,
        subject=person.subject,
        frames=person.frames,
        rate=person.rate,
        markers=person.markers,
        missing=person.missing,
        marker_rms_mm=person.rms_mm,
        marker_max_mm=person.max_mm,
        worst_marker=person.worst,
        held_frames=person.held,
        warnings="; ".join(person.warnings),
        changed="; ".join(person.changed),
        report="/".join(parts),
    )


def write_index(folder: Path, rows: Sequence[Row], skipped: Sequence[Survey]) -> None:
    """index.html and index.csv, index.parquet where pyarrow is there, skipped.csv."""
    values = [[getattr(row, name) for name in COLUMNS] for row in rows]
    _write_csv(folder / "index.csv", COLUMNS, values)
    left_out = [(each.take, each.skipped) for each in skipped]
    _write_csv(folder / "skipped.csv", ("file", "reason"), left_out)
    _write_parquet(folder / "index.parquet", rows)
    with whole_file(folder / "index.html") as partial:
        partial.write_text(page(rows, left_out), encoding="utf-8")


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    with whole_file(path) as partial:
        partial.write_text(text.getvalue(), encoding="utf-8")


def _write_parquet(path: Path, rows: Sequence[Row]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:  # the CSV says the same
        return
    kinds = {int | None: pyarrow.int64(), float | None: pyarrow.float64(), str: pyarrow.string()}
    schema = pyarrow.schema([(name, kinds[Row.__annotations__[name]]) for name in COLUMNS])
    table = pyarrow.Table.from_pylist([msgspec.structs.asdict(row) for row in rows], schema)
    with whole_file(path) as partial:
        parquet.write_table(table, partial)


def page(rows: Sequence[Row], skipped: Sequence[tuple[str, str]]) -> str:
    """Return the index as one page that needs nothing else; a click on a heading sorts."""
    failed = sum(bool(row.problem) for row in rows)
    takes, subjects = {row.take for row in rows}, {row.subject for row in rows if row.subject}
    frames = sum(row.frames or 0 for row in rows)
    told = [f"{len(takes)} takes, {frames} frames, {len(subjects)} subjects"]
    if failed:
        told.append(f"{failed} could not be solved")
    if len(rows) > MOST_ROWS:
        told.append(f"the {MOST_ROWS} worst are shown, index.csv holds all")
    parts = {
        "told": "; ".join(told),
        "rows": "\n".join(map(_line, rows[:MOST_ROWS])),
        "skipped": _skipped(skipped),
    }
    blank = resources.files("osteon.batch").joinpath("index_page.html").read_text(encoding="utf-8")
    return re.sub("<!--(told|rows|skipped)-->", lambda found: parts[found[1]], blank)


def _line(row: Row) -> str:
    name = html.escape(row.take)
    if row.report:
        name = f'<a href="{quote(row.report)}">{name}</a>'
    if row.problem:
        said = f'<td colspan="8" class="bad">{html.escape(row.problem)}</td>'
        return f"<tr><td>{name}</td><td>{html.escape(row.subject)}</td>{said}</tr>"
    cells = [
        _number(row.marker_rms_mm, "{:.2f}"),
        _number(row.marker_max_mm, "{:.0f}"),
        f"<td>{html.escape(row.worst_marker)}</td>",
        _number(row.frames, "{:d}"),
        _number(row.rate, "{:g}"),
        _number(None if row.missing is None else 100.0 * row.missing, "{:.1f} %"),
        _number(row.held_frames, "{:d}"),
        f"<td>{html.escape('; '.join(filter(None, [row.changed, row.warnings])))}</td>",
    ]
    return f"<tr><td>{name}</td><td>{html.escape(row.subject)}</td>{''.join(cells)}</tr>"


def _number(value: float | None, shown: str) -> str:
    assert value is not None  # the take was solved
    return f'<td class="n" data-v="{value:g}">{shown.format(value)}</td>'


def _skipped(skipped: Sequence[tuple[str, str]]) -> str:
    if not skipped:
        return ""
    lines = [
        f"<tr><td>{html.escape(file)}</td><td>{html.escape(reason)}</td></tr>"
        for file, reason in skipped[:MOST_ROWS]
    ]
    heading = f"<summary>{len(skipped)} files are no takes</summary>"
    return f"<details>{heading}<table>{''.join(lines)}</table></details>"
