"""Whether a skeleton that a file told of can be one: numbers of a size that a measure can have,
directions that point somewhere, ranges that go up. Types alone do not show that."""

from collections.abc import Iterator

import numpy as np

from osteon.errors import BadValue
from osteon.typing import Array
from osteon.values import Body, Joint, Limits, Skeleton, without_gaps

FARTHEST_PLACE = 1e6
"""Metres; chosen: a thousand kilometres are no body, whatever unit was meant."""
WIDEST_ANGLE = 1e3
"""Radians; chosen: the ends of a range may pass full turns, but not by the hundred."""
ROUNDED_SHARE = 0.01
"""Share of 1 that a unit length may be off by; chosen: two digits, which people leave at least."""
AXIS_COUNTS = {"hinge": 1, "universal": 2}
"""Count of axes that a joint of this kind has, where they are known; defined by the kind."""

Fault = tuple[str, str]
"""Which part, and what is wrong with it."""


def check_rig(skeleton: Skeleton) -> Skeleton:
    """Return the same skeleton; ``BadValue`` names the first body that cannot be."""
    for body in skeleton.bodies:
        check_body(body)
    for loop in skeleton.loops:
        if not (_is_place(loop.in_first) and _is_place(loop.in_second)):
            raise BadValue(f"the loop of {loop.bodies[0][:40]!r} closes at no place")
        if loop.frames is not None and not 0 <= loop.frames[0] <= loop.frames[1]:
            raise BadValue(f"the loop of {loop.bodies[0][:40]!r} holds in no frames: {loop.frames}")
        for name in loop.bodies:
            skeleton.index(name)
    return skeleton


def check_body(body: Body) -> Body:
    """Return the same body; ``BadValue`` says why it cannot be."""
    for part, problem in _faults(body):
        raise BadValue(f"{part} of body {body.name[:40]!r} {problem}")
    return body


def _faults(body: Body) -> Iterator[Fault]:
    yield from _joint_faults(body.joint)
    places = {f"marker {m.name[:40]!r}": m.position for m in body.markers}
    if body.tip is not None:
        places["the tip"] = body.tip
    if body.frame is not None:
        places["the frame"] = body.frame.origin
        if not _is_unit(body.frame.rotation):
            yield "the frame", "is turned by no rotation"
    for part, place in places.items():
        if not _is_place(place):
            yield part, f"lies at no place: {place.tolist()}"
    for marker in body.markers:
        yield from _doubt_faults(f"marker {marker.name[:40]!r}", marker.covariance, marker.rms)
    if body.length is not None and (body.length < 0.0 or body.length > FARTHEST_PLACE):
        yield "the length", f"must be 0 m or more, got {body.length:g}"
    if body.movement is not None:
        moves = (body.movement.axes, body.movement.direction, body.movement.rest)
        if not all(map(_is_unit, moves)):
            yield "the movement", "has an axis, direction or rest that points nowhere"


def _joint_faults(joint: Joint) -> Iterator[Fault]:
    if not (_is_place(joint.in_parent) and _is_place(joint.in_body)):
        yield "the joint", "lies at no place"
    if not _is_unit(joint.rest):
        yield "the joint's rest", "is no rotation"
    if not _is_unit(joint.axes):
        yield "an axis", "of the joint is no direction"
    wanted = AXIS_COUNTS.get(joint.kind, len(joint.axes))
    if len(joint.axes) not in (0, wanted):
        yield "the joint", f"turns about {wanted} axes as a {joint.kind}, got {len(joint.axes)}"
    path = joint.glide_path
    if path is not None and not (_is_unit(path.axis) and _is_place(path.places)):
        yield "the joint", "glides about no axis, or to no place"
    elif path is not None and not (np.abs(path.angles) < WIDEST_ANGLE).all():
        yield "the joint", "glides at angles beyond all measure"
    yield from _doubt_faults("the joint", joint.covariance, joint.rms)
    if joint.limits is not None:
        yield from _limit_faults(joint.limits)


def _doubt_faults(part: str, covariance: Array | None, rms: float | None) -> Iterator[Fault]:
    if rms is not None and (rms < 0.0 or rms > FARTHEST_PLACE):  # NaN is not known
        yield part, f"fits to {rms:g} m, expected 0 or more"
    if covariance is None:
        return
    whole = without_gaps(covariance)
    size = float(np.abs(whole).max())
    if size > FARTHEST_PLACE**2 or np.abs(whole - whole.T).max() > ROUNDED_SHARE * size:
        yield part, "has a covariance that is not symmetric, or beyond all measure"
    elif np.linalg.eigvalsh(whole)[0] < -ROUNDED_SHARE * size:
        yield part, "has a covariance below zero"


def _limit_faults(limits: Limits) -> Iterator[Fault]:
    ranges = [(low, high) for _, low, high in limits.euler]
    ranges += [limits.hinge] if limits.hinge else []
    ranges += limits.zyz or ()
    turns = [np.array(limits.frame)]
    if limits.cone is not None:
        cone = limits.cone
        ranges.append(cone.twist)
        turns.append(cone.centre)
        if not (_is_unit(cone.axis) and _is_unit(cone.across)):
            yield "the cone", "has an axis that is no direction"
        if not ((cone.radii >= 0.0) & (cone.radii <= WIDEST_ANGLE)).all():
            yield "the cone", f"has half axes of {cone.radii.tolist()} radians"
        if not (np.abs(cone.polygon) <= WIDEST_ANGLE).all():
            yield "the cone", "has corners beyond all measure"
    turns += [limits.bind.rotation] if limits.bind else []
    turns += [limits.evidence.mean] if limits.evidence else []
    if any(axis not in ("x", "y", "z") for axis, _, _ in limits.euler) or len(limits.euler) > 3:
        yield "a range", "is about no axis of x, y, z, or there are more than three"
    if not all(_goes_up(low, high) for low, high in ranges):
        yield "a range", "must go up, in radians"
    if not all(map(_is_unit, turns)):
        yield "a limit", "stands about no rotation"


def _goes_up(low: float, high: float) -> bool:
    ends = [end for end in (low, high) if np.isfinite(end)]
    return low <= high and all(abs(end) <= WIDEST_ANGLE for end in ends)


def _is_place(place: Array) -> bool:
    return bool((np.abs(place) <= FARTHEST_PLACE).all())


def _is_unit(vectors: Array) -> bool:
    """Return whether directions, or rotations, (..., n) have length 1, to a few digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors, axis=-1)
    return bool((np.abs(lengths - 1.0) <= ROUNDED_SHARE).all())
