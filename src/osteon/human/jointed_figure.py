"""The template with bones that turn, lengthen and shift together towards points."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from osteon.human.template import human
from osteon.maths import quat
from osteon.typing import Array

TURN_SIGMAS = {
    "pelvis": 0.3,
    "spine": 0.15,
    "chest": 0.15,
    "neck": 0.15,
    "head": 0.3,
    "clavicle": 0.15,
    "upper_arm": 0.6,
    "forearm": 0.6,
    "hand": 0.4,
    "thigh": 0.5,
    "shin": 0.4,
    "foot": 0.5,
}
"""Radians by which bodies turn from where the first search has them; chosen: half of what lies
between its ways, and twists that it does not try."""
SHIFT_SIGMA = 0.3
"""Metres that the whole figure shifts; chosen: free."""
SIZE_SIGMA, LENGTH_SIGMA = 0.1, 0.05
"""Ratios by which the whole and each kind of bone is longer; chosen: as the sizes tried are apart,
and as people's proportions scatter."""
LENGTHENED = ("thigh", "shin", "foot", "upper_arm", "forearm", "hand", "head")
"""Parts that have a length of their own; both sides share it."""
NUDGE_STEP = 1e-4
"""Radians, metres or ratio by which derivatives are taken; chosen: small, far above rounding."""


class Tree(NamedTuple):
    """The template's bodies that markers may be on, parents first."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    at: Array
    """(n_bodies, 3) their joints in the rest pose."""
    lengths: tuple[int, ...]
    """The length of its own that a body has; -1: the whole's."""
    sigmas: Array
    """(n_values,) of the figure's values."""


@cache
def tree() -> Tree:
    """Return the bodies and how far their values go."""
    bodies = {name: body for name, body in human().bodies.items() if not name.endswith("toes")}
    names = tuple(bodies)
    parts = [_part(name) for name in names]
    turns = np.repeat([TURN_SIGMAS[part] for part in parts], 3)
    return Tree(
        names,
        tuple(-1 if body.parent is None else names.index(body.parent) for body in bodies.values()),
        np.array([body.at for body in bodies.values()]),
        tuple(LENGTHENED.index(part) if part in LENGTHENED else -1 for part in parts),
        np.concatenate([3 * [SHIFT_SIGMA], turns, [SIZE_SIGMA], len(LENGTHENED) * [LENGTH_SIGMA]]),
    )


def _part(name: str) -> str:
    return name.removeprefix("left_").removeprefix("right_")


@dataclass(frozen=True)
class Figure:
    """The template as it stands."""

    start: Array
    """(n_bodies, 3, 3) turns from the parents at which all values are 0."""
    values: Array
    """(n_values,) shift, turns (rotation vectors), and logarithms of size and lengths."""

    @property
    def misfit(self) -> float:
        """How improbable the values are, a logarithm of odds."""
        return float(0.5 * np.sum((self.values / tree().sigmas) ** 2))

    def stands(self, values: Array | None = None) -> tuple[Array, Array]:
        """Return (..., n_bodies, 3, 3) and (..., n_bodies, 3): what leads from places of the rest
        pose to the figure's, for its own values or for several."""
        values = self.values if values is None else values
        known = tree()
        n = len(known.names)
        shift, turns, rest = np.split(values, [3, 3 + 3 * n], axis=-1)
        size, lengths = rest[..., :1], rest[..., 1:]
        turned = self.start @ quat.to_matrix(quat.exp(turns.reshape(*turns.shape[:-1], n, 3)))
        linear, joints = np.empty_like(turned), np.empty(turned.shape[:-1])
        for body, (parent, own) in enumerate(zip(known.parents, known.lengths, strict=True)):
            joints[..., body, :] = known.at[body] + shift
            if parent >= 0:
                turned[..., body, :, :] = turned[..., parent, :, :] @ turned[..., body, :, :]
                bone = linear[..., parent, :, :] @ (known.at[body] - known.at[parent])
                joints[..., body, :] = joints[..., parent, :] + bone
            longer = size if own < 0 else size + lengths[..., own, None]
            linear[..., body, :, :] = np.exp(longer)[..., None] * turned[..., body, :, :]
        return linear, joints - np.einsum("...bij,bj->...bi", linear, known.at)

    def drawn(self, points: Array, bodies: np.ndarray, places: Array, weights: Array) -> "Figure":
        """Return the figure a step nearer to having ``places`` of the rest pose, on ``bodies``, at
        ``points``; ``weights`` (n,) are 1 / metres."""
        nudged = np.concatenate(
            [np.zeros((1, len(self.values))), NUDGE_STEP * np.eye(len(self.values))]
        )
        linear, shifts = self.stands(self.values + nudged)
        reached = np.einsum("wmij,mj->wmi", linear[:, bodies], places) + shifts[:, bodies]
        off = (weights[:, None] * (points - reached)).reshape(len(nudged), -1)
        slopes = (off[1:] - off[0]).T / NUDGE_STEP
        prior = tree().sigmas ** -2
        step = np.linalg.solve(
            slopes.T @ slopes + np.diag(prior), slopes.T @ off[0] + prior * self.values
        )
        return replace(self, values=self.values - step)


def figure_from(turns: Mapping[str, Array]) -> Figure:
    """Return the template whose bodies are turned so in space; others are as at rest."""
    known = tree()
    space = [turns.get(name, np.eye(3)) for name in known.names]
    start = [
        turn if parent < 0 else space[parent].T @ turn
        for turn, parent in zip(space, known.parents, strict=True)
    ]
    return Figure(np.array(start), np.zeros(len(known.sigmas)))
