"""C3D, the biomechanics laboratory's format: binary, from 1987, with many dialects."""

from osteon.formats.c3d.reader import read_c3d, sniff
from osteon.formats.c3d.writer import write_c3d
from osteon.formats.registry import Format

C3D = Format(
    name="C3D",
    suffixes=(".c3d",),
    sniff=sniff,
    read=read_c3d,
    write=write_c3d,
    holds=frozenset({"markers", "bodies"}),
    along=frozenset({"outputs", "events", "analog", "head"}),
)

__all__ = ["C3D"]
