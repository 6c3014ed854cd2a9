"""Who belongs together: people, and things that hang on nobody.

Bodies that joints hold together are one subject. A tree joins them all the same, by edges that are
no joints (*free*): from the first subject's root to the others' roots, and from whoever holds a
thing to the thing. So each subject is as it would be alone, and can be written on its own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from osteon.articulation.centre import PairFits
from osteon.articulation.hierarchy import central_body, is_free, parents_from, side_of
from osteon.typing import Array
from osteon.values import Attachment, Joints

BETWEEN_WORDS = re.compile(r"[:_. |/-]")
"""What stands between a subject's name and a body's, as programs write it."""


def groups_of(fits: PairFits, edges: Sequence[int], n_bodies: int) -> list[list[int]]:
    """Bodies that joints among the edges hold together, largest group first."""
    joints = [edge for edge in edges if not is_free(float(fits.mean_square[edge]))]
    left, found = set(range(n_bodies)), []
    while left:
        side = side_of(fits.first, fits.second, joints, n_bodies, min(left))
        found.append(np.flatnonzero(side).tolist())
        left -= set(found[-1])
    return sorted(found, key=lambda group: (-len(group), group[0]))


def hang_apart(
    fits: PairFits,
    edges: Sequence[int],
    travel: Array,
    holders: Mapping[int, int],
    root: int | None = None,
) -> tuple[list[int], list[tuple[int, int, int]], int]:
    """The tree with its free edges led from root to root, and from holders to things.

    Parameters
    ----------
    travel : (n_bodies,)
        How much each body turns.
    holders
        Who holds a body that hangs on nobody, by that body.

    Returns
    -------
    edges, order as of ``parents_from``, root
    """
    n_bodies, rows = len(travel), fits.row_of()
    groups = groups_of(fits, edges, n_bodies)
    if root is not None:
        groups.sort(key=lambda group: root not in group)
    heads = [central_body(fits.first, fits.second, edges, group, travel) for group in groups]
    start = heads[0] if root is None else root
    kept = [edge for edge in edges if not is_free(float(fits.mean_square[edge]))]
    wearers = [body for group in groups if len(group) > 1 for body in group] or [start]
    for head, group in zip(heads[1:], groups[1:], strict=True):
        if len(group) > 1:
            kept.append(rows[frozenset((start, head))])
            continue
        near = [rows[frozenset((head, body))] for body in wearers if body != head]
        nearest = min(near, key=lambda row: np.nan_to_num(fits.mean_square[row], nan=np.inf))
        holder = holders.get(head)
        kept.append(nearest if holder is None else rows[frozenset((head, holder))])
    return kept, parents_from(fits.first, fits.second, tuple(kept), start), start


def subjects_of(found: Joints) -> tuple[Joints, ...]:
    """Everybody on their own, things with those who hold them; the whole where there is but one.

    What two subjects do together, as holding hands, stays with both as an event.
    """
    heads = [found.root]
    heads += [
        k.child for k in found.connections if k.kind == "free" and _has_joints(found, k.child)
    ]
    if len(heads) == 1 or not _has_joints(found, found.root):
        return (found,)
    members = {head: _below(found, head, set(heads)) for head in heads}
    names = _subject_names(list(members.values()))
    return tuple(
        _alone(found, head, members[head], name) for head, name in zip(heads, names, strict=True)
    )


def _has_joints(found: Joints, body: str) -> bool:
    links = [link for link in found.connections if link.kind != "free"]
    return any(body in (link.parent, link.child) for link in links)


def _below(found: Joints, head: str, heads: set[str]) -> list[str]:
    """A subject's bodies, from its root outwards."""
    names = [head]
    for link in found.connections:
        if link.parent in names and link.child not in heads:
            names.append(link.child)
    return names


def _alone(found: Joints, root: str, names: list[str], subject: str) -> Joints:
    inside = set(names)
    own = [k for k, link in enumerate(found.connections) if link.child in inside - {root}]
    words = [each for each in found.names if each not in inside]
    return replace(
        found,
        root=root,
        connections=tuple(found.connections[k] for k in own),
        residuals=found.residuals[:, own],
        looseness={name: found.looseness[name] for name in names if name in found.looseness},
        loops=tuple(loop for loop in found.loops if inside.issuperset(loop.bodies)),
        events=tuple(event for event in found.events if _concerns(event, inside)),
        advice=tuple(advice for advice in found.advice if advice.child in inside),
        warnings=tuple(
            text for text in found.warnings if not any(f"{word} " in f"{text} " for word in words)
        ),
        subject=subject,
        markers={name: found.markers[name] for name in names if name in found.markers},
    )


def _concerns(event: object, inside: set[str]) -> bool:
    if isinstance(event, Attachment):
        return bool(inside.intersection(event.bodies))
    return getattr(event, "body", None) is None or event.body in inside  # type: ignore[attr-defined]


def _subject_names(members: Sequence[Sequence[str]]) -> list[str]:
    """What all names of a subject begin with, as ``anna`` of ``anna:head``; else numbers."""
    words = [_first_word(names) for names in members]
    if all(words) and len(set(words)) == len(words):
        return words
    return [f"subject_{number}" for number in range(1, len(members) + 1)]


def _first_word(names: Sequence[str]) -> str:
    firsts = {BETWEEN_WORDS.split(name, maxsplit=1)[0] for name in names}
    return firsts.pop() if len(firsts) == 1 else ""
