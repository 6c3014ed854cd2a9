"""Compact motion as a table: a row per frame, the root's path and the angles about movement axes.

    # osteon compact motion
    # rate=120
    frame,root_x,root_y,root_z,root_qw,root_qx,root_qy,root_qz,left_thigh.bend,left_thigh.twist,…
    0,0.1,0.2,0.95,1,0,0,0,0.31,…

Metres and radians. What the angles mean (axes, rest position) stands in the ``skeleton.json``
beside the CSV. Parquet, for statistics, has the same columns; the skeleton stands in its metadata
under ``osteon.skeleton``, the rate under ``osteon.rate``, and osteon itself does not read it.
"""

from pathlib import Path

import numpy as np

from osteon.errors import FormatError, MissingExtra
from osteon.formats.own.skeleton_json import read_skeleton_json, skeleton_text
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import number_rows, perhaps_cut, positive_number, read_lines
from osteon.formats.shared.whole_files import whole_file
from osteon.values import CompactMotion, Source, Take, movement_parameters

FIRST_LINE = "# osteon compact motion"
SKELETON = "skeleton.json"
PATH_COLUMNS = ("root_x", "root_y", "root_z", "root_qw", "root_qx", "root_qy", "root_qz")


def sniff(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").startswith(FIRST_LINE.encode())


def columns(compact: CompactMotion) -> tuple[str, ...]:
    return (*PATH_COLUMNS, *compact.names)


def table(compact: CompactMotion) -> np.ndarray:
    """Return (n_frames, n_columns) in the order of ``columns``."""
    return np.concatenate([compact.root, compact.turn, compact.angles], axis=-1)


def write_compact_csv(path: Path, compact: CompactMotion) -> None:
    """Write nine digits: nanometres and a ten-thousandth of an arc second."""
    rows = [
        f"{frame},{','.join(f'{value:.9g}' for value in row)}"
        for frame, row in enumerate(table(compact).tolist())
    ]
    head = [FIRST_LINE, f"# rate={compact.rate!r}", ",".join(("frame", *columns(compact)))]
    with whole_file(path) as partial:
        partial.write_text("\n".join([*head, *rows, ""]), encoding="utf-8")


def read_compact_csv(path: Path) -> Take:
    lines = read_lines(path)
    entry = lines[1].replace(" ", "") if len(lines) > 2 else ""
    if not entry.startswith("#rate="):
        raise FormatError(path, "expected '# rate=' and frames per second", "line 2")
    rate = positive_number(path, entry.removeprefix("#rate="), "rate")
    names = [word.strip() for word in lines[2].split(",")]
    values = number_rows(path, lines, 3, ",", len(names))
    source = Source(path.name, "compact CSV", up_known=True, problems=perhaps_cut(lines))
    return Take(compacts=(_from_table(path, names[1:], values[:, 1:], rate, source),))


def _from_table(
    path: Path, names: list[str], values: np.ndarray, rate: float, source: Source
) -> CompactMotion:
    """Return values under their column names, with the skeleton that stands beside the file."""
    beside = path.with_name(SKELETON)
    if not beside.exists():
        raise FormatError(path, f"needs the {SKELETON} it was written with beside it")
    skeleton = read_skeleton_json(beside).skeleton()
    wanted = (*PATH_COLUMNS, *movement_parameters(skeleton))
    places = {name: place for place, name in enumerate(names)}
    lacking = [name for name in wanted if name not in places]
    if lacking:
        raise FormatError(path, f"has no column {', '.join(lacking[:4])}, which {SKELETON} names")
    values = values[:, [places[name] for name in wanted]]
    root, turn, angles = values[:, :3], values[:, 3:7], values[:, 7:]
    return CompactMotion(skeleton, root, turn, angles, rate, source=source)


COMPACT_CSV = Format(
    name="compact CSV",
    suffixes=(".csv",),
    sniff=sniff,
    read=read_compact_csv,
    holds=frozenset({"compact"}),
)


def write_compact_parquet(path: Path, compact: CompactMotion) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "writing Parquet", "parquet") from None
    data = dict(zip(columns(compact), table(compact).T, strict=True))
    about = {
        b"osteon.skeleton": skeleton_text(compact.skeleton),
        b"osteon.rate": repr(compact.rate).encode(),
    }
    with whole_file(path) as partial:
        parquet.write_table(pyarrow.table(data).replace_schema_metadata(about), partial)
