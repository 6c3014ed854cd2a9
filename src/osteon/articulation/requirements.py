"""What a take must have before joints can be looked for: a sentence for each thing it lacks.

Poses that cannot be: a tracker that flips to its other hemisphere for some frames.

Such a pose breaks every joint of its body at once. It is taken as not seen, and the joints are
fitted again without it.

The coach: which motion a joint still lacks, and what it would bring.

A joint is uncertain along the directions that never turned. Turning by ±θ about an axis square to
such a direction raises its share of the relative motion by ``1 − mean cos``; what a share is worth
in millimetres, the direction that is known best tells.

The coach for a rig that a calibration has found: its own covariances tell what is lacking.
"""

from dataclasses import replace

import numpy as np

from osteon.articulation.centre import PairFits
from osteon.errors import NotEnoughData
from osteon.human import is_along_axis, is_flanked, words_for_joint
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Advice, Bodies, Connection, Motion, Skeleton

MIN_FRAMES = 10


def check_bodies(bodies: Bodies) -> tuple[Bodies, list[str]]:
    """The bodies that can be used, and a warning for each that cannot."""
    if bodies.n_bodies < 2:
        held = bodies.names[0] if bodies.names else "none"
        raise NotEnoughData(
            f"joints lie between bodies: at least two are needed, got {held}; a body is a sensor, "
            "or three markers and more that move together. Keypoints are joints already: give "
            "them to osteon solve"
        )
    never = [
        name
        for name, seen in zip(bodies.names, bodies.seen.sum(0), strict=True)
        if seen < MIN_FRAMES
    ]
    if bodies.n_bodies - len(never) < 2:
        raise NotEnoughData(
            f"fewer than two bodies are seen in {MIN_FRAMES} frames or more; "
            f"never or hardly seen: {', '.join(never[:8])}"
        )
    if never:
        bodies = bodies.select([name for name in bodies.names if name not in never])
    _check_places(bodies)
    _check_twins(bodies)
    _check_together(bodies)
    return bodies, [f"{name} is hardly ever seen and was left out" for name in never]


def check_motion(bodies: Bodies, fits: PairFits) -> None:
    if fits.silent.all():
        turn = np.degrees(np.sqrt(2.0 * np.nanmax(fits.motion)))
        raise NotEnoughData(
            f"nothing moves: the {bodies.n_bodies} bodies turn by {turn:.1f}° at most against each "
            "other, no more than their noise; record a motion that bends the joints"
        )


def _check_places(bodies: Bodies) -> None:
    span = np.nanmax(bodies.positions, axis=(0, 1)) - np.nanmin(bodies.positions, axis=(0, 1))
    if span.max() < 1e-9:
        raise NotEnoughData(
            "the take has orientations but no positions (all bodies stay at one point): joints "
            "cannot be placed from orientations alone"
        )


def _check_twins(bodies: Bodies) -> None:
    twins: dict[str, str] = {}
    for i, name in enumerate(bodies.names):
        apart = np.abs(bodies.positions[:, i + 1 :] - bodies.positions[:, i : i + 1])
        worst = np.nanmax(np.where(np.isfinite(apart), apart, 0.0), axis=(0, 2), initial=0.0)
        both = (bodies.seen[:, i + 1 :] & bodies.seen[:, i : i + 1]).any(axis=0)
        for j in np.flatnonzero(both & (worst < 1e-9)).tolist():
            twins.setdefault(bodies.names[i + 1 + j], name)
    if twins:
        pairs = ", ".join(f"{name!r} and {other!r}" for other, name in twins.items())
        leave_out = " ".join(f"`exclude={other!r}`" for other in twins)
        raise NotEnoughData(
            f"the same sensor twice: {pairs}, whose positions never differ; leave one of each out: "
            f"{leave_out}"
        )


def _check_together(bodies: Bodies) -> None:
    """Every body must be seen together with others, directly or through a chain of them."""
    together = bodies.seen.T.astype(float) @ bodies.seen >= MIN_FRAMES
    reached = together[0]
    for _ in range(bodies.n_bodies):
        reached = reached | together[reached].any(axis=0)
    if not reached.all():
        alone = [name for name, there in zip(bodies.names, reached, strict=True) if not there]
        raise NotEnoughData(
            f"{', '.join(alone[:8])} and {bodies.names[0]} are never seen in the same frames, "
            f"so no joint between them can be found; leave them out: `exclude={alone[0]!r}`"
        )


def without_poses(bodies: Bodies, hidden: np.ndarray, did: str) -> Bodies:
    """The bodies with some poses (n_frames, n_bodies) taken as not seen."""
    positions = np.where(hidden[..., None], np.nan, bodies.positions)
    rotations = np.where(hidden[..., None], np.nan, bodies.rotations)
    return replace(bodies, positions=positions, rotations=rotations, history=(*bodies.history, did))


OUTLIER_RATIO = 8.0
"""Ratio to a joint's median residual that an outlier exceeds. Chosen."""
SMALLEST_OUTLIER = 0.05
"""Metres: nothing smaller is called an outlier. Chosen: trackers that flip do so by decimetres."""
MOST_OUTLIERS = 0.25
"""Share of frames. Chosen: what happens more often is no exception."""


def impossible_poses(ends: np.ndarray, distances: Array, n_bodies: int) -> np.ndarray:
    """(n_frames, n_bodies) poses that break all joints of their body.

    Parameters
    ----------
    ends : (n_joints, 2)
        Indices of the two bodies of each joint.
    distances : (n_frames, n_joints)
        Residual of each joint, metres; NaN where not seen.
    """
    limit = np.maximum(OUTLIER_RATIO * np.nanmedian(distances, axis=0), SMALLEST_OUTLIER)
    broken = np.nan_to_num(distances) > limit
    broken[:, broken.mean(axis=0) > MOST_OUTLIERS] = False
    hidden = np.zeros((len(distances), n_bodies), dtype=bool)
    touches = np.zeros((len(ends), n_bodies), dtype=bool)
    touches[np.arange(len(ends)), ends[:, 0]] = touches[np.arange(len(ends)), ends[:, 1]] = True
    seen = np.isfinite(distances)
    for frame in np.flatnonzero(broken.any(axis=1)):
        _blame(hidden[frame], broken[frame], touches & seen[frame][:, None])
    return hidden


def _blame(hidden: np.ndarray, broken: np.ndarray, touches: np.ndarray) -> None:
    """Hide bodies whose joints are all broken, those with most joints first; in place."""
    broken = broken.copy()
    degree = touches.sum(axis=0)
    while broken.any():
        count = touches[broken].sum(axis=0)
        count[(count < degree) | hidden] = 0
        worst = int(np.argmax(count))
        if count[worst] == 0:
            return
        hidden[worst] = True
        broken &= ~touches[:, worst]


GOOD_DEVIATION = 0.005
"""Metres: a joint known this well needs no advice. Chosen."""
SWEEP_ANGLE = np.radians(30.0)
"""Radians that the advised motion goes to either side. Chosen: most joints can."""
SWEEP_SECONDS = 2.0
"""Seconds that one such motion takes. Chosen."""
SWEEP_COUNT = 2
"""Count of such motions. Chosen: as the sentence says."""


def advise(bodies: Bodies, connections: tuple[Connection, ...]) -> tuple[Advice, ...]:
    """A sentence for each joint that is not yet known well, worst first."""
    found = [
        _advice(bodies, link)
        for link in connections
        if link.kind != "free" and link.ellipsoid[0][0] > GOOD_DEVIATION
    ]
    return tuple(sorted(found, key=lambda advice: -advice.deviation))


def _advice(bodies: Bodies, link: Connection) -> Advice:
    deviations, directions = link.ellipsoid
    worst = float(deviations[0])
    # any axis square to the silent direction helps; the next worst direction has turned least
    axis = directions[1]
    reachable = _after(bodies, link)
    text = f"{_lacking(bodies, link, directions[0])} ±{_millimetres(worst)}: " + (
        f"no motion shows that; {marker} would"
        if (marker := _marker(link, directions[0]))
        else f"{_motion_word(bodies, link, axis)} would bring ±{_millimetres(reachable)}"
    )
    return Advice(link.child, worst, directions[0], axis, reachable, text)


def _lacking(bodies: Bodies, link: Connection, direction: Array) -> str:
    """Which joint, and where it is open; a person's joints by their names."""
    words = words_for_joint(link.child)
    name = f"{link.child} on {link.parent}" if words is None else words.name
    along = "along its axis" if _marker(link, direction) else _where(bodies, link, direction)
    return f"{name}, {along}"


def _marker(link: Connection, direction: Array) -> str:
    """The marker that would show a joint along its axis; empty for other directions."""
    words = words_for_joint(link.child)
    return words.marker if words and is_along_axis(link.child, direction) else ""


def _millimetres(metres: float) -> str:
    return f"{1000 * metres:.0f} mm" if metres >= 0.001 else f"{1000 * metres:.1g} mm"


def _after(bodies: Bodies, link: Connection) -> float:
    """Deviation of the worst direction after the advised motion.

    The variance falls with the share of motion that a direction shows. White noise would fall
    with the frames as well; skin and straps do not, and nothing is promised on their behalf.
    """
    deviations, directions = link.ellipsoid
    n_more = SWEEP_COUNT * SWEEP_SECONDS * bodies.rate
    turned = 1.0 - np.sinc(SWEEP_ANGLE / np.pi)
    shown = bodies.n_frames * _share(bodies, link, directions[0]) + n_more * turned
    share = shown / (bodies.n_frames + n_more)
    worth = deviations[2] ** 2 * _share(bodies, link, directions[2])
    return float(1.0 / np.sqrt(1.0 / deviations[0] ** 2 + share / max(worth, 1e-18)))


def _share(bodies: Bodies, link: Connection, direction: Array) -> float:
    """Share of the relative motion that a direction of the parent shows: 1 − mean cos."""
    child, parent = (bodies.rotations[:, bodies.index(n)] for n in (link.child, link.parent))
    seen = quat.rotate(quat.between(child, parent), direction)
    return float(1.0 - np.linalg.norm(np.nanmean(seen, axis=0)))


def _motion_word(bodies: Bodies, link: Connection, axis: Array) -> str:
    """What to do twice: a person's joint by its name, others twist or swing, as the missing axis
    runs along the limb or not, on average over the take."""
    if words := words_for_joint(link.child):
        return f"to {words.motion} twice by ±{_degrees()}"
    if link.kind == "fixed":
        return f"two bends of ±{_degrees()} to each side"
    child, parent = (bodies.rotations[:, bodies.index(n)] for n in (link.child, link.parent))
    along = quat.rotate(quat.between(parent, child), link.in_child)
    length = max(float(np.linalg.norm(link.in_child)), 1e-12)
    share = np.sqrt(np.nanmean((along @ axis) ** 2)) / length
    if share > 0.7:
        return f"two twists of ±{_degrees()} about the limb"
    return f"two swings of ±{_degrees()} across the usual motion"


def _degrees() -> str:
    return f"{np.degrees(SWEEP_ANGLE):.0f}°"


def _where(bodies: Bodies, link: Connection, direction: Array) -> str:
    """The direction in words: how it stands in the world, on average over the take."""
    turned = quat.rotate(bodies.rotations[:, bodies.index(link.parent)], direction)
    upright = float(np.sqrt(np.nanmean(turned[:, 2] ** 2)))
    if upright > 0.85:
        return "height"
    return "depth or width" if upright < 0.5 else "a slanted line"


def advise_motion(motion: Motion) -> tuple[Advice, ...]:
    """A sentence for each joint whose place is not yet known well, worst first."""
    links = tuple(
        Connection(
            body.parent,
            body.name,
            body.joint.in_parent,
            _towards_end(motion, index),
            np.kron(np.eye(2), body.joint.covariance),
            body.joint.rms or 0.0,
            body.joint.kind,
        )
        for index, body in enumerate(motion.skeleton.bodies)
        if body.parent is not None and body.joint.covariance is not None
    )
    rotations, places = motion.world()
    found = advise(Bodies(places, rotations, motion.skeleton.names, motion.rate), links)
    return tuple(advice for advice in found if not _is_in_vain(motion.skeleton, advice))


def _is_in_vain(skeleton: Skeleton, advice: Advice) -> bool:
    """Whether no motion would help: of toes without markers, and where markers on both sides of a
    joint tell already what no motion would."""
    index = skeleton.index(advice.child)
    is_bare = not skeleton.bodies[index].markers and not skeleton.children_of(index)
    told = advice.child, advice.direction
    is_marked = is_along_axis(*told) and is_flanked(skeleton, *told)
    return (is_bare and bool(skeleton.marker_names)) or is_marked


def _towards_end(motion: Motion, index: int) -> np.ndarray:
    """(3,) from the far end of a bone to its joint, in the body's frame: how the limb lies."""
    ends = motion.skeleton.bone_ends(index)
    return -np.mean(ends, axis=0) if ends else np.zeros(3)
