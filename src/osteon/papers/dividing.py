"""The paper's skeleton dividing: chains solved apart, then hung together again ([004] §3.3.2)."""

from typing import NamedTuple

import numpy as np

from osteon.typing import Array, Indices


class Links(NamedTuple):
    """A tree cut into chains; where chains meet, each has the joint for itself."""

    columns: Indices
    """(n_split,) joint of the whole tree that each joint of the chains stands for."""
    parents: Indices
    """(n_split,) within the chains, −1 where one begins."""
    own: Indices
    """(n_joints,) the joint in the chain that leads to it."""


def divide(positions: Array, parents: Indices) -> Links:
    """Cut a tree into chains: five for a human, trunk with head, arms and legs.

    Where several bones leave a joint, the one that runs on straightest belongs to the chain that
    came in; each other one begins a chain, and so does every bone of the root.
    """
    straightest = _straightest(positions, parents)
    columns, split_parents, own = [], [], np.zeros(len(parents), dtype=np.int64)
    begun = set()
    for joint, parent in enumerate(parents):
        if parent < 0:
            start = -1
        elif straightest[parent] == joint or (parents[parent] < 0 and parent not in begun):
            start = own[parent]
            begun.add(parent)
        else:
            columns.append(parent)
            split_parents.append(-1)
            start = len(columns) - 1
        own[joint] = len(columns)
        columns.append(joint)
        split_parents.append(start)
    return Links(np.array(columns), np.array(split_parents, dtype=np.int64), own)


def join(apart: Array, links: Links, parents: Indices) -> tuple[Array, float]:
    """Return the chains hung together from the root, and how far they disagreed, RMS, metres."""
    whole = np.zeros((len(apart), len(parents), 3))
    for joint, parent in enumerate(parents):
        own = links.own[joint]
        if parent < 0:
            whole[:, joint] = apart[:, own]
        else:
            bone = apart[:, own] - apart[:, links.parents[own]]
            whole[:, joint] = whole[:, parent] + bone
    doubles = np.setdiff1d(np.arange(len(links.columns)), links.own)
    if not len(doubles):
        return whole, 0.0
    gap = apart[:, doubles] - apart[:, links.own[links.columns[doubles]]]
    return whole, float(np.sqrt(np.mean(np.sum(gap**2, axis=-1))))


def _straightest(positions: Array, parents: Indices) -> Indices:
    """Return (n_joints,) the child whose bone deviates least from the bone that comes in; −1:
    none."""
    best = np.full(len(parents), -1, dtype=np.int64)
    most = np.full(len(parents), -np.inf)
    bones = positions - positions[:, parents]
    for joint, parent in enumerate(parents):
        if parent < 0 or parents[parent] < 0:
            continue
        along = np.sum(bones[:, joint] * bones[:, parent], axis=-1)
        sizes = np.linalg.norm(bones[:, joint], axis=-1) * np.linalg.norm(bones[:, parent], axis=-1)
        seen = np.isfinite(along) & (sizes > 0.0)
        straight = np.mean(along[seen] / sizes[seen]) if seen.any() else -1.0
        if straight > most[parent]:
            best[parent], most[parent] = joint, straight
    return best
