"""Points of a skeleton held in the world: planted soles, hands on a hold, feet above the ground.

To the solvers they are markers with a stiff spring. Friction is a pin at the place where a point
of the sole stays, for as long as what pulls it along is less than friction; the ground pushes a
point that is below it to where it would come out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import BadValue, UnknownName
from osteon.human import StandingFigure
from osteon.posing import GroundPlane, PoseProblem, Rig, RigTree, Standing, sole_paths
from osteon.retargeting.springs import Settle, equilibrium
from osteon.typing import Array
from osteon.values import Motion, Skeleton

PIN_STIFFNESS = 300.0
"""Ratio of a pin's stiffness to a marker's spring. Chosen: all markers of a leg together give
way."""
GROUND_STIFFNESS = 50.0
"""Ratio of the ground's stiffness, under a point that does not stand, to a marker's spring. Chosen:
firm, and yet softer than a pin."""
LOOSE_DISTANCE = 0.03
"""Metres between a pin and the point it holds at which it begins to let go. Chosen: then markers
know better."""
FRICTION_RATIO = 0.8
"""Ratio of friction to load. Chosen: rubber on a dry floor; nothing stands on more than 39°."""
DEEP_DISTANCE = 0.025
"""Metres. The ground pushes less what is deeper, and not at all what is twice as deep. Chosen:
markers that say so know of a hole, or of no ground."""
PUSH_ROUNDS = 6
"""Count of pushes of the ground, each harder where the one before was not enough. Chosen: bounds
the time."""
GROUND_TOLERANCE = 0.0002
"""Metres below the ground that count as on it. Chosen: nobody sees them."""
EASE_SECONDS = 0.1
"""Seconds before and after a stay in which its pin takes hold and lets go. Chosen: feet neither
jump nor lag."""


@dataclass(frozen=True, eq=False)
class Pins:
    """Points pulled to places in some frames."""

    bodies: np.ndarray
    """(n_points,)"""
    places: Array
    """(n_points, 3) from the body's joint, in its frame."""
    targets: Array
    """(n_frames, n_points, 3) NaN where free."""
    weights: Array
    """(n_frames, n_points)"""


@dataclass(frozen=True)
class Hold:
    """A point of a body that is held in the world, as a hand on a bar."""

    body: str
    at: tuple[float, float, float]
    """In the body's frame, metres."""
    to: tuple[float, float, float]
    """In the world, metres."""
    frames: tuple[int, int]
    """First and last."""


@dataclass(frozen=True)
class Keep:
    """A part of the character that is kept where the performer has it, as a hand on a table; for a
    character of another size, where that is when the world is scaled like its path."""

    part: str
    """Human part, such as ``left_hand``."""
    frames: tuple[int, int] | None = None
    """First and last; None: all."""


def pin_soles(standing: Standing, motion: Motion) -> Pins:
    """Make pins for all plants, as high as the ground; every point of a sole has a column.

    Before and after a stay the pin leads the point from and to where the markers have it, so that
    the foot neither jumps nor lags.
    """
    rate, n_frames = motion.rate, motion.n_frames
    names = motion.skeleton.names
    bodies = np.array([body for sole in standing.soles for body in sole.carriers], dtype=int)
    places = np.concatenate([sole.points for sole in standing.soles] or [np.zeros((0, 3))])
    targets = np.full((n_frames, len(bodies), 3), np.nan)
    weights, shares = np.zeros((2, n_frames, len(bodies)))
    before = np.cumsum([0, *(len(sole.points) for sole in standing.soles)])
    first_column = {names[s.body]: int(n) for s, n in zip(standing.soles, before, strict=False)}
    paths = {names[sole.body]: sole_paths(motion, sole) for sole in standing.soles}
    times = np.arange(n_frames)[:, None] / rate
    for plant in standing.plants:
        column = first_column[plant.body] + plant.point
        place, grip = np.array(plant.place), LOOSE_DISTANCE
        stay = place[None] + np.pad(times * standing.ground.belt, ((0, 0), (0, 1)))
        if standing.ground.bears(plant.place):
            stay[:, 2] = standing.ground.height(place)
            grip = _grip(standing.ground)
        path = paths[plant.body][:, plant.point]
        within = np.clip(np.arange(n_frames), *plant.frames)
        apart = (stay - path)[within]
        share = _share(plant.frames, n_frames, rate)
        stronger = share > shares[:, column]
        shares[stronger, column] = share[stronger]
        loose = np.clip(2.0 - np.linalg.norm(apart, axis=-1) / max(grip, 1e-9), 0.0, 1.0)
        targets[stronger, column] = (path + share[:, None] * apart)[stronger]
        weights[stronger, column] = (firm(share) * loose)[stronger]
    if standing.ground.solid:
        targets[..., 2] = np.maximum(targets[..., 2], standing.ground.height(targets))
    return Pins(bodies, places, targets, weights)


def _grip(ground: GroundPlane) -> float:
    """Metres that markers may pull a sole along the ground before it slides. On a slope a load
    presses less, and itself pulls downhill; how great it is nobody knows, for springs carry the
    body, so it is as great as ``LOOSE_DISTANCE`` on the level says."""
    steep = float(np.linalg.norm(ground.slope))
    return LOOSE_DISTANCE * max(1.0 - steep / FRICTION_RATIO, 0.0) / np.hypot(1.0, steep)


def stand(
    pulls: PoseProblem,
    standing: Standing,
    motion: Motion,
    others: Sequence[Pins],
    settle: Settle = equilibrium,
) -> PoseProblem:
    """Return the same model with soles pinned where they stand, pushed by the ground, and pulled by
    ``others``.

    Pushes are springs and leave a point a little below the ground; so does a pin where another
    point of the sole pulls it down. What is left is added to where they pull, time and again.
    """
    soles = pushed = pin_soles(standing, motion)
    on_ground = with_pins(pulls, soles, *others)
    if not standing.ground.solid:
        return on_ground
    motion = _settled(settle, on_ground, motion)
    below = _below(standing, motion)
    push, lift = (
        GROUND_STIFFNESS * np.clip(2.0 - below / DEEP_DISTANCE, 0.0, 1.0),
        np.zeros(below.shape),
    )
    for _ in range(PUSH_ROUNDS):
        deep = below.max(axis=1) > GROUND_TOLERANCE  # other frames stay as they are
        if not deep.any():
            break
        pushed = _where(deep, _lifted(soles, push, lift, standing, motion), pushed)
        on_ground = with_pins(pulls, pushed, *others)
        motion = _settled(settle, on_ground, motion)
        below = _below(standing, motion)
        lift = np.maximum(lift + below, 0.0)
    return on_ground


def _where(frames: np.ndarray, one: Pins, other: Pins) -> Pins:
    """The first in these frames, else the second."""
    return replace(
        one,
        targets=np.where(frames[:, None, None], one.targets, other.targets),
        weights=np.where(frames[:, None], one.weights, other.weights),
    )


def _settled(settle: Settle, pulls: PoseProblem, motion: Motion) -> Motion:
    poses = settle(pulls, (motion.rotations, motion.root))
    return replace(motion, rotations=poses.rotations, root=poses.root)


def _below(standing: Standing, motion: Motion) -> Array:
    """(n_frames, n_points) how deep all points of all soles are in the ground, metres."""
    paths = _all_paths(standing, motion)
    return standing.ground.height(paths) - paths[..., 2]


def _all_paths(standing: Standing, motion: Motion) -> Array:
    return np.concatenate([sole_paths(motion, sole) for sole in standing.soles], axis=1)


def _lifted(pins: Pins, push: Array, lift: Array, standing: Standing, motion: Motion) -> Pins:
    """Pins ``lift`` higher; free points that are below the ground pulled as far above it."""
    out = _all_paths(standing, motion)
    below = standing.ground.height(out) - out[..., 2]
    pushed = (below + lift > 0.0) & (push > pins.weights)
    out[..., 2] += below + lift
    targets = np.array(pins.targets)
    targets[..., 2] += lift
    return replace(
        pins,
        targets=np.where(pushed[..., None], out, targets),
        weights=np.where(pushed, push, pins.weights),
    )


def pin_holds(holds: Sequence[Hold], skeleton: Skeleton, n_frames: int, rate: float) -> Pins:
    """Make pins for handholds and other points that a user names."""
    bodies = np.array([skeleton.index(hold.body) for hold in holds], dtype=int)
    places = np.array([hold.at for hold in holds], dtype=float).reshape(-1, 3)
    places -= skeleton.joints_in_bodies[bodies]
    targets = np.full((n_frames, len(holds), 3), np.nan)
    weights = np.zeros((n_frames, len(holds)))
    for column, hold in enumerate(holds):
        frames = _within(hold.frames, n_frames, f"hold of {hold.body!r}")
        share = _share(frames, n_frames, rate)
        weights[:, column] = firm(share)
        targets[weights[:, column] > 0.0, column] = hold.to
    return Pins(bodies, places, targets, weights)


def pin_keeps(
    keeps: Sequence[Keep],
    performer: StandingFigure,
    character: StandingFigure,
    motion: Motion,
    scale: float = 1.0,
) -> Pins:
    """Make pins that lead parts of the character along the performer's joints, scaled.

    Parameters
    ----------
    motion
        The performer's.
    """
    n_frames, joints = motion.n_frames, motion.world()[1]
    for keep in keeps:
        for whose, figure in (("character", character), ("performer", performer)):
            if keep.part not in figure.parts:
                raise UnknownName(f"part of the {whose}", keep.part, sorted(figure.parts))
    on = [character.skeleton.index(character.parts[keep.part]) for keep in keeps]
    bodies = np.array(on, dtype=int)
    targets = np.full((n_frames, len(keeps), 3), np.nan)
    weights = np.zeros((n_frames, len(keeps)))
    for column, keep in enumerate(keeps):
        frames = _within(keep.frames or (0, n_frames - 1), n_frames, f"keep of {keep.part!r}")
        weights[:, column] = firm(_share(frames, n_frames, motion.rate))
        own = performer.skeleton.index(performer.parts[keep.part])
        targets[:, column] = scale * joints[:, own]
    return Pins(bodies, np.zeros((len(keeps), 3)), targets, weights)


def with_pins(pulls: PoseProblem, *pins: Pins) -> PoseProblem:
    """Return the same model pulled by pins as well."""
    rig, tree = pulls.rig, pulls.rig.tree
    bodies = np.concatenate([tree.marker_bodies, *(each.bodies for each in pins)])
    places = np.concatenate([rig.places, *(each.places for each in pins)])
    more: RigTree = replace(tree, marker_bodies=bodies.astype(np.int64))
    return replace(
        pulls,
        rig=Rig(more, rig.offsets, places),
        targets=np.concatenate([pulls.targets, *(each.targets for each in pins)], axis=1),
        weights=np.concatenate([pulls.weights, *(each.weights for each in pins)], axis=1),
    )


def slide_and_depth(motion: Motion, standing: Standing) -> tuple[float, float]:
    """Measure how far planted points stray from their place along the ground, RMS, and how deep
    any point of a sole goes below it at most, metres; 0 where there is no ground."""
    strays, depth = [0.0], 0.0
    for sole in standing.soles:
        paths, name = sole_paths(motion, sole), motion.skeleton.names[sole.body]
        if standing.ground.solid:
            depth = max(depth, float((standing.ground.height(paths) - paths[..., 2]).max()))
        for plant in (plant for plant in standing.plants if plant.body == name):
            frames = np.arange(plant.frames[0], plant.frames[1] + 1)
            belt = frames[:, None] / motion.rate * standing.ground.belt
            flat = paths[frames, plant.point, :2] - belt
            strays += np.linalg.norm(flat - flat.mean(axis=0), axis=-1).tolist()
    return float(np.sqrt(np.mean(np.square(strays)))), depth


def _within(frames: tuple[int, int], n_frames: int, whose: str) -> tuple[int, int]:
    if not 0 <= frames[0] <= frames[1] < n_frames:
        raise BadValue(
            f"{whose}: frames {frames[0]} to {frames[1]} are not within the recording's 0 to "
            f"{n_frames - 1}"
        )
    return frames


def _share(frames: tuple[int, int], n_frames: int, rate: float) -> Array:
    """(n_frames,) 1 within a stay, falling smoothly to 0 on both sides of it."""
    outside = np.abs(np.arange(n_frames) - np.clip(np.arange(n_frames), *frames))
    return ease(np.clip(1.0 - outside / (EASE_SECONDS * rate), 0.0, 1.0))


def ease(share: Array) -> Array:
    """Return shares from 0 to 1 that begin and end slowly."""
    return share * share * (3.0 - 2.0 * share)


def firm(share: Array) -> Array:
    """Return the stiffness of pins that take hold and let go a thousandfold."""
    return np.where(share > 0.0, PIN_STIFFNESS * 1e-3 ** (1.0 - share), 0.0)
