"""Loops closed in a motion: clasped hands meet while they hold one another, and part after.

Every end of a loop is led to the point where both meet, by the smallest turns of the joints
between it and the trunk; a thing that hangs on nobody is moved there itself. Outside of the frames
in which a loop holds, the turns fade away.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import UnknownName
from osteon.maths import chain, quat
from osteon.typing import Array
from osteon.values import Loop, Motion, Skeleton

CLOSED_GAP = 1e-5
"""Metres between the ends of a loop that is closed. Chosen: below the last digit of a file."""
MOST_ROUNDS = 40
"""Count of rounds over all loops. Chosen: one loop takes four."""
LARGEST_TURN = 0.2
"""Radians by which a joint turns in one round at most. Chosen: small turns add."""
FADE_SECONDS = 0.2
"""Seconds in which the turns fade before and after a loop. Chosen: a correction of millimetres is
not seen to come or go."""


@dataclass(slots=True, eq=False)
class _Figure:
    """One motion while its loops are being closed; arrays are changed in place."""

    skeleton: Skeleton
    rotations: Array
    places: Array
    """(n_frames, n_bodies, 3) joints in their parents' frames."""
    held: np.ndarray
    """(n_frames, n_bodies) whether a loop decides over the joint."""

    @classmethod
    def of(cls, motion: Motion) -> "_Figure":
        shape = motion.rotations.shape[:2]
        own = motion.rotations.copy(), motion.in_parents()
        return cls(motion.skeleton, *own, np.zeros(shape, dtype=bool))

    def is_loose(self, body: int) -> bool:
        """Whether a body hangs on nothing: a root, or a thing that goes its own ways."""
        return self.skeleton.parents[body] < 0 or self.skeleton.bodies[body].joint.kind == "free"

    def above(self, body: int) -> list[int]:
        """The bodies from this one up to one that hangs on nothing."""
        found = [body]
        while not self.is_loose(found[-1]):
            found.append(self.skeleton.parents[found[-1]])
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _End:
    """One end of a loop, and what can be moved to lead it somewhere."""

    figure: _Figure
    body: int
    point: Array
    """(3,) from the body's joint, in its frame."""
    joints: list[int]
    """Bodies that may turn about their joints."""
    frames: slice

    @property
    def is_thing(self) -> bool:
        figure, body = self.figure, self.body
        return figure.skeleton.parents[body] >= 0 and figure.is_loose(body)

    def where(self) -> Array:
        """(n_frames, 3) in the world."""
        q_world, p_world = self._world()
        return p_world[:, self.body] + quat.rotate(q_world[:, self.body], self.point)

    def lead(self, target: Array) -> None:
        """One step towards the target (n_frames, 3)."""
        figure, part = self.figure, self.frames
        parents = figure.skeleton.parents
        q_world, p_world = self._world()
        here = p_world[:, self.body] + quat.rotate(q_world[:, self.body], self.point)
        if self.is_thing:
            above = quat.inverse(q_world[:, parents[self.body]])
            figure.places[part, self.body] += quat.rotate(above, target - here)
            figure.held[part, self.body] = True
            return
        levers = here[:, None] - p_world[:, self.joints]
        square = np.sum(levers**2, axis=(1, 2))[:, None, None] * np.eye(3)
        bend = square - np.einsum("fji,fjk->fik", levers, levers)
        bend = bend + 1e-9 * np.eye(3)  # a stretched limb cannot follow along itself
        pull = np.linalg.solve(bend, (target - here)[..., None])[..., 0]
        turns = np.cross(levers, pull[:, None])
        sizes = np.linalg.norm(turns, axis=-1, keepdims=True).max(axis=1, keepdims=True)
        turns = turns * np.minimum(1.0, LARGEST_TURN / np.maximum(sizes, 1e-12))
        for k, joint in enumerate(self.joints):
            in_parent = quat.rotate(quat.inverse(q_world[:, parents[joint]]), turns[:, k])
            turned = quat.multiply(quat.exp(in_parent), figure.rotations[part, joint])
            figure.rotations[part, joint] = turned
            figure.held[part, joint] = True

    def _world(self) -> tuple[Array, Array]:
        figure, part = self.figure, self.frames
        parents = figure.skeleton.parents
        return chain.forward_kinematics(figure.rotations[part], figure.places[part], parents)


def close_loops(motions: Sequence[Motion], loops: Sequence[Loop]) -> list[Motion]:
    """The motions with every loop closed while it holds; its ends may belong to two of them."""
    if not loops:
        return list(motions)
    figures = [_Figure.of(motion) for motion in motions]
    pairs = [_ends(figures, loop) for loop in loops]
    _meet(pairs)
    for figure, motion in zip(figures, motions, strict=True):
        _fade(figure, motion, max(round(FADE_SECONDS * motion.rate), 1))
    _meet(pairs)
    return [_closed(figure, motion) for figure, motion in zip(figures, motions, strict=True)]


def _ends(figures: Sequence[_Figure], loop: Loop) -> tuple[_End, _End]:
    n_frames = len(figures[0].rotations)
    first, last = loop.frames or (0, n_frames - 1)
    one, other = (_wearer(figures, name) for name in loop.bodies)
    chains = [figure.above(body) for figure, body in (one, other)]
    if one[0] is other[0]:
        shared = set(chains[0]) & set(chains[1])
        chains = [[body for body in way if body not in shared] for way in chains]
    found = []
    for (figure, body), way, point in zip(
        (one, other), chains, (loop.in_first, loop.in_second), strict=True
    ):
        joints = [each for each in way if not figure.is_loose(each)]
        from_joint = point - figure.skeleton.joints_in_bodies[body]
        found.append(_End(figure, body, from_joint, joints, slice(first, last + 1)))
    return found[0], found[1]


def _wearer(figures: Sequence[_Figure], name: str) -> tuple[_Figure, int]:
    for figure in figures:
        if name in figure.skeleton.names:
            return figure, figure.skeleton.index(name)
    raise UnknownName("body", name, [n for figure in figures for n in figure.skeleton.names])


def _meet(pairs: Sequence[tuple[_End, _End]]) -> None:
    """Lead all ends to where each two meet, in turns, until all do."""
    for _ in range(MOST_ROUNDS):
        widest = 0.0
        for pair in pairs:
            places = [end.where() for end in pair]
            widest = max(widest, float(np.abs(places[0] - places[1]).max()))
            things = [end.is_thing for end in pair]
            movers = things if any(things) else [bool(end.joints) for end in pair]
            still = [place for place, moves in zip(places, movers, strict=True) if not moves]
            target = still[0] if still else np.mean(places, axis=0)
            for end, moves in zip(pair, movers, strict=True):
                if moves:
                    end.lead(target)
        if widest < CLOSED_GAP:
            return


def _fade(figure: _Figure, motion: Motion, reach: int) -> None:
    """What the loops did at their first and last frames fades before and after."""
    for body in np.flatnonzero(figure.held.any(axis=0)).tolist():
        held, before = figure.held[:, body], motion.rotations[:, body]
        turned = quat.log(quat.between(before, figure.rotations[:, body]))
        faded = quat.multiply(before, quat.exp(_faded(turned, held, reach)))
        figure.rotations[:, body] = np.where(held[:, None], figure.rotations[:, body], faded)
        own = motion.in_parents()[:, body]
        figure.places[:, body] = own + _faded(figure.places[:, body] - own, held, reach)


def _faded(values: Array, held: np.ndarray, reach: int) -> Array:
    """Values (n_frames, 3) where held; elsewhere those of the nearest such frames, fading."""
    index = np.arange(len(values))
    last = np.maximum.accumulate(np.where(held, index, -len(index)))
    following = np.minimum.accumulate(np.where(held, index, 2 * len(index))[::-1])[::-1]
    away = np.stack([index - last, following - index]) / reach
    share = np.clip(1.0 - away, 0.0, 1.0)
    share = share**2 * (3.0 - 2.0 * share)
    share = share / np.maximum(share.sum(axis=0), 1.0)
    ends = np.stack([values[np.clip(side, 0, len(index) - 1)] for side in (last, following)])
    return np.where(held[:, None], values, np.sum(share[..., None] * ends, axis=0))


def _closed(figure: _Figure, motion: Motion) -> Motion:
    if not figure.held.any():
        return motion
    moved = any(figure.held[:, k].any() and figure.is_loose(k) for k in range(len(figure.held[0])))
    return replace(
        motion,
        rotations=figure.rotations,
        offsets=figure.places if motion.offsets is not None or moved else None,
        history=(*motion.history, "loops closed"),
    )
