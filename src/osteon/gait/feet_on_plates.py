"""Which foot is on which plate, and what each foot is pushed with.

A plate's force goes to the foot whose sole is nearest to its centre of pressure. Where both feet
are on one plate nobody can tell their shares, and where a foot stands beside the plates, or partly
so, its force is not known; such frames are marked.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from osteon.gait.foot_events import SIDES, Load, Side, find_events, foot_paths
from osteon.maths import runs
from osteon.posing import Standing, sole_paths, standing_of
from osteon.typing import Array
from osteon.values import GroundReaction, Motion

REACH_DISTANCE = 0.1
"""Metres from a sole to a centre of pressure that is that foot's, at most. Chosen: soles are known
to a few centimetres, feet of one person are mostly farther apart."""
HALF_WIDTH = 0.04
"""Metres from the middle line of a sole to its side. Chosen: half of a foot's breadth."""
LIFT_HEIGHT = 0.06
"""Metres above the plate at which the lowest point of a sole is not on it. Chosen: above the error
of soles that no marker shows."""
EDGE_WIDTH = 0.03
"""Metres that a sole may reach over the plate's edge; chosen: soles are known to so much."""
STEP_FORCE = 50.0
"""Newtons that a step reaches at least. Chosen: belts of treadmills show up to 40 of each other."""
SHORTEST_STAY = 0.1
"""Seconds that a foot is on a plate at least before another's turn; chosen: less is noise of the
centre of pressure while little is borne, and sprinters stay for 0.1."""
DROP_TIME = 0.03
"""Seconds for which a load may drop out; chosen: no foot is off and on again in so little."""
QUIET_TIME = 0.05
"""Seconds before and after a step in which its plate is looked at; chosen: its load begins and ends
there, and no other foot's does."""
WHOLE_SHARE, OTHER_SHARE = 0.8, 0.2
"""Shares of the middle half of a step in which every point of the sole must be on the plate, and in
which the other foot may; chosen: a foot beside the plate has less, one on it more."""


class PlateStep(NamedTuple):
    """One foot's stay on one plate."""

    plate: int
    """From 1."""
    foot: str
    """The body's name; none where no foot is near."""
    first: int
    last: int
    """Frames."""
    whole: bool
    """Whether this plate alone bears the foot, all of its sole, and no other foot: so its load
    begins when the foot strikes and ends when it leaves."""


@dataclass(frozen=True, eq=False)
class FootLoads:
    """What acts on the feet, by the plates."""

    wrenches: Array
    """(n_frames, n_bodies, 6) force on each body and its moment about the world's origin."""
    known: dict[str, np.ndarray]
    """By foot (n_frames,) whether all that acts on it is known: on plates alone, or in the air."""
    steps: tuple[PlateStep, ...]


def foot_loads(
    motion: Motion, reactions: Sequence[GroundReaction], standing: Standing
) -> FootLoads:
    """Give the plates' forces to the feet."""
    n_frames, n_bodies = motion.rotations.shape[:2]
    paths = {motion.skeleton.names[sole.body]: sole_paths(motion, sole) for sole in standing.soles}
    grounded = _grounded(motion, standing)
    carried = {foot: np.zeros(n_frames, bool) for foot in paths}
    doubtful = {foot: np.zeros(n_frames, bool) for foot in paths}
    wrenches, steps = np.zeros((n_frames, n_bodies, 6)), []
    for number, reaction in enumerate(reactions, 1):
        force, moment, centre = at_frames(reaction, n_frames, motion.rate)
        on = {foot: _on([reaction], path) & grounded[foot] for foot, path in paths.items()}
        for foot, stay in _stays(centre, paths, motion.rate):
            if force[stay, 2].max() < STEP_FORCE:
                continue
            others = [on[other][stay] for other in paths if other != foot]
            both = np.logical_or.reduce([*others, np.zeros(len(stay), bool)])
            whole = bool(foot) and _bears_all([reaction], paths[foot], stay)
            whole = whole and bool(both[_middle(both)].mean() < OTHER_SHARE)
            steps.append(PlateStep(number, foot, int(stay[0]), int(stay[-1]), whole))
            if not foot:
                continue
            wrenches[stay, motion.skeleton.index(foot)] += np.hstack([force[stay], moment[stay]])
            carried[foot][stay] = True
            for each in paths:
                doubtful[each][stay[both]] = True
            if not _bears_all(reactions, paths[foot], stay):
                doubtful[foot][stay] = True
    known = {foot: (carried[foot] | ~grounded[foot]) & ~doubtful[foot] for foot in paths}
    return FootLoads(wrenches, known, tuple(steps))


def loads_of(motion: Motion, reactions: Sequence[GroundReaction]) -> dict[Side, Load]:
    """Return the vertical force under each foot; NaN while no plate bears it alone and whole.

    Plates under a moving belt are left out: it shakes them by more than the threshold.
    """
    standing = standing_of(motion)
    if not reactions or standing.ground.belt.any():
        return {}
    rate = reactions[0].rate
    forces: dict[Side, Array] = {side: np.full(len(reactions[0].force), np.nan) for side in SIDES}
    for step in foot_loads(motion, reactions, standing).steps:
        if step.whole:
            first, last = (frame / motion.rate for frame in (step.first, step.last))
            around = slice(
                max(0, round((first - QUIET_TIME) * rate)), round((last + QUIET_TIME) * rate) + 1
            )
            side = "left" if step.foot.startswith("left") else "right"
            forces[side][around] = reactions[step.plate - 1].force[around, 2]
    return {side: Load(force, rate) for side, force in forces.items() if np.isfinite(force).any()}


def at_frames(reaction: GroundReaction, n_frames: int, rate: float) -> tuple[Array, Array, Array]:
    """Force, moment about the world's origin, and centre of pressure, (n_frames, 3) each.

    Means over the samples nearest to each frame.
    """
    ratio = max(1, round(reaction.rate / rate))
    middle = reaction.corners.mean(axis=0)
    about = reaction.moment + np.cross(middle, reaction.force)
    force = np.where(reaction.loaded[:, None], reaction.force, 0.0)
    about = np.where(reaction.loaded[:, None], about, 0.0)
    places = np.arange(n_frames) * ratio
    inside = places < len(force)
    centre = np.full((n_frames, 3), np.nan)
    centre[inside] = reaction.centre[places[inside]]
    return _mean_around(force, places, ratio), _mean_around(about, places, ratio), centre


def _mean_around(values: Array, places: np.ndarray, width: int) -> Array:
    """Means over ``width`` samples, made odd, about each place; zero beyond the samples."""
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(np.nan_to_num(values), axis=0)])
    low = np.clip(places - width // 2, 0, len(values))
    high = np.clip(places + width // 2 + 1, 0, len(values))
    return (sums[high] - sums[low]) / np.maximum(high - low, 1)[:, None]


def _grounded(motion: Motion, standing: Standing) -> dict[str, np.ndarray]:
    """By foot (n_frames,) whether it may be on the ground: all but its swings.

    Who takes no step is on the ground where the foot stands still.
    """
    events = find_events(foot_paths(motion)) if len(standing.soles) > 1 else ()
    found = {}
    for foot in (motion.skeleton.names[sole.body] for sole in standing.soles):
        own = [event for event in events if event.side == foot.partition("_")[0]]
        found[foot] = np.full(motion.n_frames, bool(own))
        for before, after in itertools.pairwise(own):
            if (before.kind, after.kind) == ("off", "strike"):
                first, last = (event.time * motion.rate for event in (before, after))
                found[foot][int(np.ceil(first)) : int(last) + 1] = False
        for contact in standing.contacts if not own else ():
            if contact.body == foot:
                found[foot][contact.frames[0] : contact.frames[1] + 1] = True
    return found


def _middle(values: np.ndarray) -> slice:
    """The middle half."""
    quarter = len(values) // 4
    return slice(quarter, len(values) - quarter)


def _inside(reactions: Sequence[GroundReaction], path: Array, margin: float) -> np.ndarray:
    """(n_frames, n_points) whether points of a sole are over any of the plates."""
    found = np.zeros(path.shape[:2], bool)
    for reaction in reactions:
        first, second, _, fourth = reaction.corners
        sides = np.stack([first - second, first - fourth])
        lengths = np.linalg.norm(sides, axis=1)
        along = (path - reaction.corners.mean(axis=0)) @ (sides / lengths[:, None]).T
        found |= (np.abs(along) < 0.5 * lengths + margin).all(axis=-1)
    return found


def _on(reactions: Sequence[GroundReaction], path: Array) -> np.ndarray:
    """(n_frames,) whether any point of a sole (n_frames, n_points, 3) is on the plates."""
    low = path[..., 2] - reactions[0].corners[:, 2].mean() < LIFT_HEIGHT
    return (_inside(reactions, path, 0.0) & low).any(axis=-1)


def _bears_all(reactions: Sequence[GroundReaction], path: Array, stay: np.ndarray) -> bool:
    """Whether every point of a sole is over the plates in the middle of a stay."""
    middle = path[stay[_middle(stay)]]
    return bool(_inside(reactions, middle, EDGE_WIDTH).mean(axis=0).min() > WHOLE_SHARE)


def _stays(centre: Array, paths: Mapping[str, Array], rate: float) -> list[tuple[str, np.ndarray]]:
    """Return who is on a plate and in which frames; no name where no foot is near.

    Where feet change on the plate, as on a treadmill, the stay ends.
    """
    names = [*paths, ""]
    loaded = _bridged(np.isfinite(centre[:, 0]), round(DROP_TIME * rate))
    owners = _owners(centre, [*paths.values()])
    found = []
    for first, last in runs(loaded):
        frames = np.arange(first, last + 1)
        whose = _settled(owners[frames], SHORTEST_STAY * rate)
        for stay in np.split(frames, np.flatnonzero(np.diff(whose)) + 1):
            found.append((names[whose[stay[0] - first]], stay))
    return found


def _bridged(on: np.ndarray, longest: int) -> np.ndarray:
    """With short gaps closed."""
    closed = on.copy()
    for first, last in runs(~on):
        if first > 0 and last + 1 < len(on) and last - first < longest:
            closed[first : last + 1] = True
    return closed


def _settled(owners: np.ndarray, shortest: float) -> np.ndarray:
    """Owners of one stretch in which those of a moment give way to those before and after."""
    settled = owners.copy()
    while True:
        cuts = [0, *(np.flatnonzero(np.diff(settled)) + 1).tolist(), len(settled)]
        lengths = np.diff(cuts)
        least = int(np.argmin(lengths))
        if len(lengths) == 1 or lengths[least] >= shortest:
            return settled
        beside = [at for at in (least - 1, least + 1) if 0 <= at < len(lengths)]
        longer = max(beside, key=lambda at: lengths[at])
        settled[cuts[least] : cuts[least + 1]] = settled[cuts[longer]]


def _owners(centre: Array, paths: Sequence[Array]) -> np.ndarray:
    """(n_frames,) the sole nearest to a centre of pressure; −1 where none is near."""
    if not paths:
        return np.full(len(centre), -1)
    gaps = np.stack([_beside(centre, path) for path in paths], axis=-1)
    gaps = np.where(np.isfinite(gaps), gaps, np.inf)
    nearest = np.argmin(gaps, axis=-1)
    return np.where(gaps.min(axis=-1) < REACH_DISTANCE, nearest, -1)


def _beside(centre: Array, path: Array) -> Array:
    """(n_frames,) how far a place is from a sole, seen from above; below 0 within it."""
    heel, tip = path[:, 0, :2], path[:, 3, :2]
    along = tip - heel
    share = np.sum((centre[:, :2] - heel) * along, axis=1) / np.sum(along**2, axis=1)
    foot = heel + np.clip(share, 0.0, 1.0)[:, None] * along
    return np.linalg.norm(centre[:, :2] - foot, axis=1) - HALF_WIDTH
