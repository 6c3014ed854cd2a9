"""GLB, the binary form of glTF 2.0: y up, metres, seconds, quaternions x y z w, float32.

Written files hold one skinned mesh, of bones or a skin, and one animation. Every body is a node
of its own name that sits at the body's joint and points along its bone; the turn from our world
(z up) to glTF's is the rotation of a node above the root. What glTF has no word for (kinds of
joints, limits, markers, rate, the bodies' own frames) is in ``extras``.
"""

from osteon.formats.glb.read import read_glb
from osteon.formats.glb.schema import sniff
from osteon.formats.glb.write import write_glb
from osteon.formats.registry import Format

GLB = Format(
    name="GLB",
    suffixes=(".glb",),
    sniff=sniff,
    read=read_glb,
    write=write_glb,
    holds=frozenset({"motion", "skeleton"}),
    along=frozenset({"events"}),
)
