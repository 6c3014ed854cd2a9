"""All takes of a batch in one table, worst first: a page to look through, a CSV, a Parquet file."""

import csv
import html
import io
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec

from osteon.batch.places import Quality, Survey, TakeRecord
from osteon.formats import whole_file

MOST_ROWS = 5000
"""Takes that the page shows; the tables hold all. Chosen: a page that opens and sorts at once."""


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
    return PAGE.format(
        told="; ".join(told),
        rows="\n".join(map(_line, rows[:MOST_ROWS])),
        skipped=_skipped(skipped),
    )


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


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Takes, worst first</title>
<style>
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 2rem; color: #1c2126; background: #fff; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: .3rem .7rem; border-bottom: 1px solid #dfe3e7;
  vertical-align: top; }}
th {{ cursor: pointer; position: sticky; top: 0; background: #f4f6f8; user-select: none; }}
.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
.bad {{ color: #a4262c; }}
details {{ margin-top: 2rem; }}
@media (prefers-color-scheme: dark) {{
  body {{ color: #e4e8ec; background: #14181c; }} th {{ background: #20262c; }}
  th, td {{ border-color: #333b43; }} a {{ color: #7db7ff; }} .bad {{ color: #ff8a8f; }} }}
</style>
</head>
<body>
<h1>Takes, worst first</h1>
<p>{told}</p>
<table id="takes">
<thead><tr><th>take</th><th>subject</th><th class="n">rms mm</th><th class="n">max mm</th>
<th>worst marker</th><th class="n">frames</th><th class="n">per second</th>
<th class="n">missing</th><th class="n">held</th><th>notes</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
{skipped}
<script>
const body = document.querySelector("#takes tbody");
const value = (row, i) => {{
  const cell = row.cells[i];
  if (!cell) return "";
  return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
}};
document.querySelectorAll("#takes th").forEach((head, i) => {{
  let turn = -1;
  head.addEventListener("click", () => {{
    turn = -turn;
    const rows = [...body.rows].sort((a, b) => {{
      const x = value(a, i), y = value(b, i);
      return turn * (x < y ? -1 : x > y ? 1 : 0);
    }});
    body.append(...rows);
  }});
}});
</script>
</body>
</html>
"""
