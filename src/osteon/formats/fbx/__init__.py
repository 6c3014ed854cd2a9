"""FBX, binary: y up and centimetres unless asked otherwise; angles in degrees, keys in single
precision, times in whole ticks of 1/46 186 158 000 s."""

from osteon.formats.fbx.nodes import MAGIC
from osteon.formats.fbx.read import read_fbx
from osteon.formats.fbx.write import write_fbx
from osteon.formats.registry import Format


def sniff(head: bytes) -> bool:
    return head.startswith(MAGIC[:20])


FBX = Format(
    name="FBX",
    suffixes=(".fbx",),
    sniff=sniff,
    read=read_fbx,
    write=write_fbx,
    holds=frozenset({"motion", "skeleton"}),
)
