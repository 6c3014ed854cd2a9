"""Which nodes of a glTF scene are bodies, and in which order."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from osteon.errors import FormatError, WrongContent
from osteon.formats.glb.schema import Gltf, Node
from osteon.formats.shared.text_table import unique_labels

MAX_BODIES = 4096
"""More nodes than any skeleton has."""


class NodeTree:
    """Parents of all nodes, and the nodes in an order in which parents come first."""

    def __init__(self, path: Path, nodes: Sequence[Node]) -> None:
        self.parents = [-1] * len(nodes)
        for index, node in enumerate(nodes):
            for child in node.children:
                place = f"$.nodes[{index}].children"
                if child >= len(nodes):
                    raise FormatError(path, f"there are {len(nodes)} nodes, none {child}", place)
                if self.parents[child] >= 0:
                    raise FormatError(path, f"node {child} has two parents", place)
                self.parents[child] = index
        self.order = [index for index, parent in enumerate(self.parents) if parent < 0]
        for index in self.order:
            self.order.extend(nodes[index].children)
        if len(self.order) != len(nodes):
            raise FormatError(path, "some nodes are their own ancestors", "$.nodes")

    def between(self, chosen: Iterable[int]) -> set[int]:
        """The chosen nodes, and those that lie between two of them."""
        chosen = set(chosen)
        above, below = set(), set(chosen)
        for index in self.order:
            if self.parents[index] in chosen or self.parents[index] in above:
                above.add(index)
        for index in reversed(self.order):
            if index in below and self.parents[index] >= 0:
                below.add(self.parents[index])
        return chosen | (above & below)

    def with_ancestors(self, chosen: Iterable[int]) -> list[int]:
        """The chosen nodes and all above them, parents first."""
        used = set(chosen)
        for index in reversed(self.order):
            if index in used and self.parents[index] >= 0:
                used.add(self.parents[index])
        return [index for index in self.order if index in used]

    def under(self, chosen: Iterable[int]) -> set[int]:
        """The chosen nodes and all their descendants."""
        found = set(chosen)
        for index in self.order:
            if self.parents[index] in found:
                found.add(index)
        return found

    def parents_first(self, wanted: Iterable[int], members: set[int]) -> list[int]:
        """All members, in the order wanted as far as no child comes before its parent."""
        done: dict[int, None] = {}
        for index in [*wanted, *(i for i in self.order if i in members)]:
            path = []
            while index in members and index not in done:
                path.append(index)
                index = self.parents[index]
            done.update(dict.fromkeys(reversed(path)))
        return list(done)


def choose_bodies(path: Path, gltf: Gltf, tree: NodeTree) -> tuple[list[int], list[str]]:
    """Nodes that are bodies, parents first, and what was odd.

    The joints of the first skin; in a file without skin, the animated nodes and all below them.
    """
    problems = []
    if gltf.skins:
        wanted = [joint for joint in gltf.skins[0].joints if joint < len(gltf.nodes)]
        members = tree.between(wanted)
        sets = {frozenset(skin.joints) - members for skin in gltf.skins[1:]}
        if any(sets):
            problems.append(f"{len(gltf.skins)} skins; the first one is read")
        if len(wanted) < len(gltf.skins[0].joints):
            raise FormatError(path, f"there are {len(gltf.nodes)} nodes only", "$.skins[0].joints")
    else:
        channels = gltf.animations[0].channels if gltf.animations else ()
        targets = [channel.target.node for channel in channels]
        wanted = [node for node in targets if node is not None and node < len(gltf.nodes)]
        members = tree.under(wanted)
        problems.append("no skin; the animated nodes and all below them are the bodies")
    if not members:
        raise WrongContent(path, "holds neither a skin nor an animation, so no skeleton")
    if len(members) > MAX_BODIES:
        raise FormatError(path, f"up to {MAX_BODIES} bodies are read, here are {len(members)}")
    return tree.parents_first(wanted if gltf.skins else (), members), problems


def unique_node_names(nodes: Sequence[Node], chosen: Sequence[int]) -> tuple[list[str], list[str]]:
    """A name for each chosen node, and what was odd."""
    names, _ = unique_labels([nodes[index].name or f"node_{index}" for index in chosen])
    renamed = sum(nodes[index].name != name for index, name in zip(chosen, names, strict=True))
    problems = [f"{renamed} nodes had no name or another's; they were given one"] if renamed else []
    return list(names), problems
