"""Motion → a skeleton that knows what its joints are and how far they go. [001]."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.joint_limits._kinds_kernel import hinge_angles
from osteon.joint_limits.bind_poses import CHOICES, check_binds
from osteon.joint_limits.kinds import Degrees, KindOptions, find_kinds, turn_doubts
from osteon.joint_limits.ranges import Arc, RangeOptions, bone_axes, find_arc, find_arcs, find_cones
from osteon.joint_limits.sampling import default_samples, denoise, joint_rotations, resample
from osteon.joint_limits.seen_region import find_regions
from osteon.maths import euler, quat
from osteon.threads import one_thread
from osteon.typing import Array, Indices
from osteon.values import (
    Evidence,
    Interval,
    Joint,
    Limits,
    Motion,
    Skeleton,
    in_rows,
    read_only,
    unit_quaternions,
    with_columns,
)

ALIKE_COSINE = 0.9
"""To the axis a file declares, above which ours takes that one's sign. Chosen: within 26°."""
NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """How joints are judged."""

    kinds: KindOptions = field(default_factory=KindOptions)
    ranges: RangeOptions = field(default_factory=RangeOptions)
    samples: int | None = None
    """Rotations taken from each motion; None: 50 a second for the kinds, and for limits every frame
    besides, where these are more."""
    denoise: bool = True
    """Take the noise that was found out of the motion before its ranges are measured; False: the
    largest and smallest of the samples as they are, as in [001]."""
    zyz: bool = False
    """Also give each joint its box of ZYZ angles."""
    bind: str = "mid-range"
    """What replaces a bind pose outside the limits: ``mid-range``, ``circular mean`` or
    ``nearest sample``."""

    def __post_init__(self) -> None:
        if self.bind not in CHOICES:
            raise BadValue(f"bind must be one of {', '.join(CHOICES)}, got {self.bind!r}")


@dataclass(frozen=True, slots=True, eq=False)
class _Samples:
    """Rotations of the joints below the root, of all motions together."""

    rotations: Array
    """(n_samples, n_joints, 4)"""
    motion_of: Indices
    """(n_samples,) which motion each belongs to."""
    frames: Array
    """(n_frames, n_joints, 4) as recorded, motions three missing frames apart."""
    recorded: list[Array]
    """The same, motion by motion."""


@one_thread()
def limits(
    motions: Motion | Sequence[Motion],
    *,
    options: LimitOptions | None = None,
    exclude: Iterable[Sequence[int]] = (),
) -> Skeleton:
    """Return the skeleton of the motions with kinds, axes, limits, bind poses and evidence in its
    joints.

    Parameters
    ----------
    motions
        One, or several of the same skeleton; ``options.ranges.combine`` says how they add up.
    exclude : pairs
        First and last frame of stretches to leave out, in every motion.
    """
    options = options or LimitOptions()
    motions = [motions] if isinstance(motions, Motion) else list(motions)
    if not motions:
        raise NotEnoughData("joint limits need at least one motion")
    skeleton = motions[0].skeleton
    moving = [i for i, body in enumerate(skeleton.bodies) if body.parent is not None]
    if not moving:
        raise NotEnoughData("the skeleton has one body only; there is no joint to judge")
    names, exclude = [skeleton.names[i] for i in moving], list(exclude)
    recorded = [joint_rotations(m, exclude)[:, _columns(m.skeleton, names)] for m in motions]
    n_samples = [options.samples or default_samples(motion) for motion in motions]
    samples = _gather(recorded, n_samples)
    doubts = turn_doubts(motions[0])
    joints = _judge(skeleton, moving, samples, None if doubts is None else doubts[moving], options)
    bodies = list(skeleton.bodies)
    moved = with_columns([bodies[i] for i in moving], joint=joints)
    for i, body in zip(moving, moved, strict=True):
        bodies[i] = body
    did = f"joint types and limits from {len(samples.rotations)} samples of {len(motions)} motions"
    return skeleton.with_bodies(bodies, did)


def _gather(recorded: list[Array], n_samples: list[int]) -> _Samples:
    rotations = [resample(each, n) for each, n in zip(recorded, n_samples, strict=True)]
    motion_of = np.repeat(np.arange(len(rotations)), n_samples)
    if len(recorded) == 1:
        return _Samples(rotations[0], motion_of, recorded[0], recorded)
    apart = np.full((3, *recorded[0].shape[1:]), np.nan)
    frames = [part for each in recorded for part in (each, apart)]
    return _Samples(np.concatenate(rotations), motion_of, np.concatenate(frames), recorded)


def _columns(skeleton: Skeleton, names: list[str]) -> list[int]:
    places = {name: column for column, name in enumerate(skeleton.names)}
    for name in names:
        if name not in places:
            raise BadValue(
                f"the motions are of different skeletons: one has a body {name!r}, another has "
                f"{', '.join(skeleton.names)}; give motions of one rig, or take each by itself"
            )
    return [places[name] for name in names]


def _judge(
    skeleton: Skeleton,
    moving: list[int],
    samples: _Samples,
    doubts: Array | None,
    options: LimitOptions,
) -> list[Joint]:
    bodies = [skeleton.bodies[i] for i in moving]
    missing = np.isnan(samples.rotations[..., 0]).all(axis=0)
    if missing.any():
        lost = ", ".join(bodies[j].name for j in np.flatnonzero(missing))
        raise NotEnoughData(f"no frame carries a rotation of {lost}")
    # all frames of one motion: the noise is looked for in the samples themselves
    frames = None if samples.rotations is samples.recorded[0] else samples.frames
    freedom = find_kinds(samples.rotations, options.kinds, frames, doubts)
    samples = _for_ranges(samples, freedom, options)
    joints = _shaped([body.joint for body in bodies], freedom)
    joints = _limited(joints, bone_axes(skeleton)[moving], samples, freedom, options)
    joints = _in_regions(joints, _parents_among(skeleton, moving), samples, options)
    binds = check_binds(joints, samples.rotations, freedom.spread.mean, options.bind)
    limits = with_columns([joint.limits or NO_LIMITS for joint in joints], bind=binds)
    return with_columns(joints, limits=limits)


def _for_ranges(samples: _Samples, freedom: Degrees, options: LimitOptions) -> _Samples:
    """Every frame, without its noise: what a joint did for a moment lies within its limits, too."""
    recorded = samples.recorded
    if options.denoise:
        recorded = [denoise(each, freedom.noise) for each in recorded]
    n_samples = np.bincount(samples.motion_of).tolist()
    if options.samples is None:
        n_samples = [max(n, len(each)) for n, each in zip(n_samples, recorded, strict=True)]
    return _gather(recorded, n_samples)


def _shaped(declared: list[Joint], freedom: Degrees) -> list[Joint]:
    """Return joints where the file has them, of the kinds that were found and with signed axes."""
    turns = quat.multiply(freedom.spread.mean, quat.inverse(freedom.rest))
    turns = np.where(turns[:, :1] < 0.0, -1.0, 1.0) * turns[:, 1:]
    axes = _signed(declared, freedom.axes, turns)
    rests = unit_quaternions(read_only(freedom.rest))
    return with_columns(declared, kind=freedom.kinds, axes=axes, rest=rests)


def _limited(
    joints: list[Joint], bones: Array, samples: _Samples, freedom: Degrees, options: LimitOptions
) -> list[Joint]:
    """Return the joints with their limits and what these were judged from."""
    q, motion_of, ranges = samples.rotations, samples.motion_of, options.ranges
    cones, arcs = find_cones(q, freedom.spread.mean, bones, motion_of, ranges)
    hinges = [j for j, joint in enumerate(joints) if joint.kind == "hinge"]
    for j, arc in zip(hinges, _hinge_arcs(joints, hinges, samples, ranges), strict=True):
        arcs[j] = arc
    rows = range(len(joints))
    limits = with_columns(
        [joint.limits or NO_LIMITS for joint in joints],
        hinge=[(arcs[j].low, arcs[j].high) if j in hinges else None for j in rows],
        cone=[None if joints[j].kind == "fixed" else cones[j] for j in rows],
        zyz=[_zyz_box(q[:, j], motion_of, ranges) if options.zyz else None for j in rows],
        evidence=_evidence(q, freedom, arcs, options.kinds.threshold),
    )
    return with_columns(joints, limits=limits)


def _in_regions(
    joints: list[Joint], parents: list[int], samples: _Samples, options: LimitOptions
) -> list[Joint]:
    margin = float(np.radians(options.ranges.margin))
    regions = find_regions(samples.rotations, joints, parents, margin)
    limits = with_columns([joint.limits or NO_LIMITS for joint in joints], region=regions)
    return with_columns(joints, limits=limits)


def _parents_among(skeleton: Skeleton, moving: list[int]) -> list[int]:
    """Return for each moving body which of them is its parent; −1: a root."""
    places = {body: place for place, body in enumerate(moving)}
    return [places.get(skeleton.parents[body], -1) for body in moving]


def _hinge_arcs(
    joints: list[Joint], hinges: list[int], samples: _Samples, options: RangeOptions
) -> list[Arc]:
    if not hinges:
        return []
    rests = np.stack([joints[j].rest for j in hinges])
    axes = np.stack([joints[j].axes[0] for j in hinges])
    angles = hinge_angles(samples.rotations[:, hinges], rests, axes)
    return find_arcs(angles, samples.motion_of, options)


def _zyz_box(
    samples: Array, motion_of: Indices, options: RangeOptions
) -> tuple[Interval, Interval, Interval]:
    """[001] Eq. 13–19: each angle's own range. ψ does not go round: it has no gap."""
    phi, psi, theta = euler.zyz_from_quat(samples).T
    first, middle, last = (find_arc(angle, motion_of, options) for angle in (phi, psi, theta))
    return (first.low, first.high), (middle.low, middle.high), (last.low, last.high)


def _evidence(samples: Array, freedom: Degrees, arcs: list[Arc], rule: str) -> list[Evidence]:
    mean = read_only(freedom.spread.mean)
    directions = read_only(quat.rotate(mean[:, None], freedom.spread.directions))
    n_seen = np.isfinite(samples[..., 0]).sum(axis=0).tolist()
    crosstalk = [None if share != share else share for share in freedom.crosstalk.tolist()]
    return in_rows(
        Evidence,
        n_seen,
        read_only(freedom.spread.std),
        directions,
        mean,
        freedom.noise.tolist(),
        freedom.threshold.tolist(),
        [rule] * len(arcs),
        [arc.gap for arc in arcs],
        [arc.coverage for arc in arcs],
        crosstalk,
    )


def _signed(declared: list[Joint], axes: Sequence[Array], turned: Array) -> list[Array]:
    """Axes that point as the file's own do, else so that the mean angle is positive."""
    n_axes = [len(own) for own in axes]
    every = np.concatenate(axes)
    senses = np.sum(every * np.repeat(turned, n_axes, axis=0), axis=1)
    largest = np.take_along_axis(every, np.argmax(np.abs(every), axis=1)[:, None], axis=1)[:, 0]
    senses = np.where(np.abs(senses) < 1e-6, largest, senses)
    firsts = np.cumsum([0, *n_axes]).tolist()
    for joint, first, n in zip(declared, firsts, n_axes, strict=False):
        for i in range(first, first + n) if len(joint.axes) else ():
            near = [
                cosine for cosine in (joint.axes @ every[i]).tolist() if abs(cosine) > ALIKE_COSINE
            ]
            senses[i] = near[0] if near else senses[i]
    signed = read_only(np.where(senses[:, None] > 0.0, every, -every))
    return [signed[first:last] for first, last in pairwise(firsts)]
