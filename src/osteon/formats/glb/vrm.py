"""What a VRM says of a GLB's nodes: which of them are which bones of a human, whatever they are
called."""

from collections.abc import Iterator, Mapping
from typing import Any

OLD_THUMBS = {"ThumbIntermediate": "ThumbProximal", "ThumbProximal": "ThumbMetacarpal"}
"""What VRM 0 calls bones of the thumb, and VRM 1."""


def human_bones(extensions: Any) -> dict[int, str]:
    """Return node → the name that VRM 1 has for it; none where the file is no VRM."""
    found: dict[int, str] = {}
    for bone, node in _told(extensions):
        if isinstance(bone, str) and isinstance(node, int) and node not in found:
            found[node] = bone
    return found


def _told(extensions: Any) -> Iterator[tuple[Any, Any]]:
    new = _inside(extensions, "VRMC_vrm", "humanoid", "humanBones")
    for bone, told in new.items() if isinstance(new, Mapping) else ():
        yield bone, _inside(told, "node")
    old = _inside(extensions, "VRM", "humanoid", "humanBones")
    for told in old if isinstance(old, list) else ():
        name = str(_inside(told, "bone"))
        side = next((side for side in ("left", "right") if name.startswith(side)), "")
        bone = name.removeprefix(side)
        yield side + OLD_THUMBS.get(bone, bone), _inside(told, "node")


def _inside(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
