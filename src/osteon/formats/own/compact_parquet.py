"""Compact motion as Parquet, for tables and statistics: the columns of the compact CSV.

The skeleton stands in the file's metadata under ``osteon.skeleton``, the rate under
``osteon.rate``. Written only: osteon itself reads the CSV and ``.osteon``.
"""

from pathlib import Path

from osteon.errors import MissingExtra
from osteon.formats.own.compact_csv import columns, table
from osteon.formats.own.skeleton_json import skeleton_text
from osteon.formats.registry import whole_file
from osteon.values import CompactMotion


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
