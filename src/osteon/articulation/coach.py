"""Which motion a joint still lacks, and what it would bring.

A joint is uncertain along the directions that never turned. Turning by ±θ about an axis square to
such a direction raises its share of the relative motion by ``1 − mean cos``; what a share is worth
in millimetres, the direction that is known best tells.

The coach for a rig that a calibration has found: its own covariances tell what is lacking.
"""

import numpy as np

from osteon.human import is_along_axis, is_flanked, words_for_joint
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Advice, Bodies, Connection, Motion, Skeleton

GOOD = 0.005
"""Metres: a joint known this well needs no advice."""
SWEEP = np.radians(30.0)
"""The advised motion goes this far to either side."""
SECONDS = 2.0
"""How long one such motion takes."""
REPEATS = 2


def advise(bodies: Bodies, connections: tuple[Connection, ...]) -> tuple[Advice, ...]:
    """A sentence for each joint that is not yet known well, worst first."""
    found = [
        _advice(bodies, link)
        for link in connections
        if link.kind != "free" and link.ellipsoid[0][0] > GOOD
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
    n_more = REPEATS * SECONDS * bodies.rate
    turned = 1.0 - np.sinc(SWEEP / np.pi)
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
    return f"{np.degrees(SWEEP):.0f}°"


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
    return tuple(advice for advice in found if not _is_marked(motion.skeleton, advice))


def _is_marked(skeleton: Skeleton, advice: Advice) -> bool:
    """Whether markers on both sides of a joint tell already what no motion would."""
    along = is_along_axis(advice.child, advice.direction)
    return along and is_flanked(skeleton, advice.child, advice.direction)


def _towards_end(motion: Motion, index: int) -> np.ndarray:
    """(3,) from the far end of a bone to its joint, in the body's frame: how the limb lies."""
    ends = motion.skeleton.bone_ends(index)
    return -np.mean(ends, axis=0) if ends else np.zeros(3)
