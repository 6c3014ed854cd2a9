"""Compact motion as Parquet, for tables and statistics: the columns of the compact CSV.

The skeleton stands in the file's metadata under ``ossature.skeleton``, the rate under
``ossature.rate``. Written only: ossature itself reads the CSV and ``.oss``.
"""

from pathlib import Path

from ossature.errors import MissingExtra
from ossature.formats.compact_csv import columns, table
from ossature.formats.registry import whole_file
from ossature.formats.skeleton_json import skeleton_text
from ossature.values import CompactMotion


def write_compact_parquet(path: Path, compact: CompactMotion) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "writing Parquet", "parquet") from None
    data = dict(zip(columns(compact), table(compact).T, strict=True))
    about = {
        b"ossature.skeleton": skeleton_text(compact.skeleton),
        b"ossature.rate": repr(compact.rate).encode(),
    }
    with whole_file(path) as partial:
        parquet.write_table(pyarrow.table(data).replace_schema_metadata(about), partial)
