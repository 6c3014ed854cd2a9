"""Motion → a skeleton that knows what its joints are and how far they go. Paper 001."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ossature.anatomy.bind import CHOICES, check_bind
from ossature.anatomy.cones import bone_axis, find_cones
from ossature.anatomy.kinds import Freedom, KindOptions, find_kinds
from ossature.anatomy.ranges import Arc, Indices, RangeOptions, find_arc
from ossature.anatomy.sampling import default_samples, joint_rotations, resample
from ossature.anatomy.within import hinge_angle
from ossature.errors import BadValue, NotEnoughData
from ossature.maths import quat, zyz
from ossature.values import Cone, Evidence, Joint, Limits, Motion, Skeleton
from ossature.values.arrays import Array
from ossature.values.limits import Interval

ALIKE = 0.9
"""Cosine to the axis a file declares above which ours takes that one's sign."""


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """How joints are judged."""

    kinds: KindOptions = field(default_factory=KindOptions)
    ranges: RangeOptions = field(default_factory=RangeOptions)
    samples: int | None = None
    """Rotations taken from each motion; None: 50 a second, at least 4."""
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


def limits(
    motions: Motion | Sequence[Motion],
    *,
    options: LimitOptions | None = None,
    exclude: Iterable[Sequence[int]] = (),
) -> Skeleton:
    """The skeleton of the motions with kinds, axes, limits, bind poses and evidence in its joints.

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
    samples = _gather(motions, moving, list(exclude), options.samples)
    joints = _judge(skeleton, moving, samples, options)
    bodies = [
        replace(body, joint=joints[moving.index(i)]) if i in moving else body
        for i, body in enumerate(skeleton.bodies)
    ]
    did = f"joint types and limits from {len(samples.rotations)} samples of {len(motions)} motions"
    return skeleton.with_bodies(bodies, did)


def _gather(
    motions: list[Motion], moving: list[int], exclude: list[Sequence[int]], n: int | None
) -> _Samples:
    names = [motions[0].skeleton.names[i] for i in moving]
    rotations, frames = [], []
    for motion in motions:
        columns = [motion.skeleton.index(name) for name in names]
        recorded = joint_rotations(motion, exclude)[:, columns]
        rotations.append(resample(recorded, n or default_samples(motion)))
        frames += [recorded, np.full((3, *recorded.shape[1:]), np.nan)]
    motion_of = np.repeat(np.arange(len(motions)), [len(each) for each in rotations])
    return _Samples(np.concatenate(rotations), motion_of, np.concatenate(frames))


def _judge(
    skeleton: Skeleton, moving: list[int], samples: _Samples, options: LimitOptions
) -> list[Joint]:
    bodies = [skeleton.bodies[i] for i in moving]
    missing = np.isnan(samples.rotations[..., 0]).all(axis=0)
    if missing.any():
        lost = ", ".join(bodies[j].name for j in np.flatnonzero(missing))
        raise NotEnoughData(f"no frame carries a rotation of {lost}")
    freedom = find_kinds(samples.rotations, options.kinds, samples.frames)
    bones = np.stack([bone_axis(skeleton, body) for body in bodies])
    cones, twists = find_cones(
        samples.rotations, freedom.spread.mean, bones, samples.motion_of, options.ranges
    )
    joints = []
    for j, body in enumerate(bodies):
        joint = replace(
            body.joint,
            kind=freedom.kinds[j],
            axes=_signed(freedom.axes[j], body.joint, freedom.spread.mean[j], freedom.rest[j]),
            rest=freedom.rest[j],
        )
        joints.append(_limit(joint, j, samples, freedom, cones[j], twists[j], options))
    return joints


def _limit(
    joint: Joint,
    j: int,
    samples: _Samples,
    freedom: Freedom,
    cone: Cone,
    twist: Arc,
    options: LimitOptions,
) -> Joint:
    """The joint with its limits, from column ``j`` of the samples."""
    own = samples.rotations[:, j]
    arc, hinge = twist, None
    if joint.kind == "hinge":
        arc = find_arc(hinge_angle(own, joint), samples.motion_of, options.ranges)
        hinge = (arc.low, arc.high)
    found = replace(
        joint.limits or Limits(),
        hinge=hinge,
        cone=None if joint.kind == "fixed" else cone,
        zyz=_zyz_box(own, samples.motion_of, options.ranges) if options.zyz else None,
        evidence=_evidence(j, own, freedom, arc, options.kinds.threshold),
    )
    joint = replace(joint, limits=found)
    bind = check_bind(joint, own, freedom.spread.mean[j], options.bind)
    return replace(joint, limits=replace(found, bind=bind))


def _zyz_box(
    samples: Array, motion_of: Indices, options: RangeOptions
) -> tuple[Interval, Interval, Interval]:
    """Paper 001, Eq. 13–19: each angle's own range. ψ does not go round: it has no gap."""
    phi, psi, theta = zyz.from_quat(samples).T
    first, middle, last = (find_arc(angle, motion_of, options) for angle in (phi, psi, theta))
    return (first.low, first.high), (middle.low, middle.high), (last.low, last.high)


def _evidence(j: int, samples: Array, freedom: Freedom, arc: Arc, rule: str) -> Evidence:
    spread = freedom.spread
    return Evidence(
        samples=int(np.isfinite(samples[:, 0]).sum()),
        spread=spread.std[j],
        directions=quat.rotate(spread.mean[j], spread.directions[j]),
        mean=spread.mean[j],
        noise=float(freedom.noise[j]),
        threshold=float(freedom.threshold[j]),
        rule=rule,
        gap=arc.gap,
        coverage=arc.coverage,
    )


def _signed(axes: Array, declared: Joint, mean: Array, rest: Array) -> Array:
    """Axes that point as the file's own do, else so that the mean angle is positive."""
    turn = quat.multiply(mean, quat.inverse(rest))
    turned = np.where(turn[0] < 0.0, -1.0, 1.0) * turn[1:]
    signed = []
    for axis in axes:
        along = declared.axes @ axis if len(declared.axes) else np.zeros(0)
        near = along[np.abs(along) > ALIKE]
        sense = float(near[0]) if len(near) else float(turned @ axis)
        if abs(sense) < 1e-6:
            sense = float(axis[np.argmax(np.abs(axis))])
        signed.append(axis if sense > 0.0 else -axis)
    return np.reshape(signed, (-1, 3))
