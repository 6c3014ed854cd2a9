"""C3D, the biomechanics laboratory's format: binary, from 1987, with many dialects."""

from ossature.formats.c3d.reader import read_c3d, sniff
from ossature.formats.c3d.writer import write_c3d
from ossature.formats.registry import Format

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
