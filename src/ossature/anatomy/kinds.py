"""What kind each joint is, from its rotations about their mean. METHODS §7, paper 001 §2.1.

The spread of the rotations, by principal geodesic analysis, is compared with a threshold: the
directions beyond it are the joint's freedom. Two free directions on a curved surface spread into
the third, so what looks like three is also tried as two axes.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ossature.anatomy.sampling import shaking
from ossature.anatomy.universal import fit_axes
from ossature.errors import BadValue
from ossature.maths import quat, rotations, swing_twist
from ossature.maths.quat import Array
from ossature.maths.rotations import Spread

Indices = NDArray[np.intp]

THRESHOLDS = ("noise", "variance95", "absolute")
KINDS = ("fixed", "hinge", "universal", "ball")
NOISIEST = np.radians(4.0)
"""Whatever shakes more than this is movement: samples in no order look like nothing but noise."""


@dataclass(frozen=True, slots=True)
class KindOptions:
    """What counts as movement."""

    threshold: str = "noise"
    """``noise``: spread well above the shaking found in the data; ``variance95``: the fewest
    directions that hold 95 % of the variance; ``absolute``: a fixed eigenvalue, as in paper 001."""
    minimum: float = 0.5
    """Spread that is never movement, degrees; for ``noise`` and ``variance95``."""
    eigenvalue: float = 1e-3
    """Mean square of a quaternion's vector part along a direction; for ``absolute``."""

    def __post_init__(self) -> None:
        if self.threshold not in THRESHOLDS:
            raise BadValue(
                f"threshold must be one of {', '.join(THRESHOLDS)}, got {self.threshold!r}"
            )
        if not (self.minimum >= 0.0 and self.eigenvalue > 0.0):
            raise BadValue("minimum must not be negative, eigenvalue must be positive")


class Freedom(NamedTuple):
    """What was found about n joints."""

    kinds: tuple[str, ...]
    spread: Spread
    noise: Array
    """(n_joints,) radians."""
    threshold: Array
    """(n_joints,) radians of spread above which a direction counts as free."""
    axes: tuple[Array, ...]
    """Per joint (n_axes, 3) in the parent's frame at rest; none for fixed and ball."""
    rest: Array
    """(n_joints, 4) rotation at which the angles about the axes are zero."""


def find_kinds(
    samples: Array, options: KindOptions | None = None, frames: Array | None = None
) -> Freedom:
    """Kinds, axes and rests of joints.

    Parameters
    ----------
    samples : (n_samples, n_joints, 4)
        Rotations to the parent's frame from the body's; NaN where missing.
    frames : (n_frames, n_joints, 4), optional
        The recording the samples were drawn from, in its own order and rate: the noise is looked
        for there. By default the samples themselves.
    """
    options = options or KindOptions()
    # the mean to a ten-millionth of a radian: far below any noise, in a few steps
    spread = rotations.spread(samples, mean=rotations.frechet_mean(samples, tolerance=1e-7))
    noise = _noise(samples if frames is None else frames, spread)
    threshold = _threshold(samples, spread, noise, options)
    n_free = np.sum(spread.std > threshold[:, None], axis=1)
    pairs = _pairs(samples, spread, np.flatnonzero(n_free >= 2))
    if options.threshold == "noise":
        # a fitted surface leaves less than the noise: its test needs less slack
        close = np.maximum(np.radians(options.minimum), _slack(samples, 2.0) * noise)
        n_free = np.where((n_free == 3) & (pairs[2] <= close), 2, n_free)
    axes, rest = [], np.array(spread.mean)
    for joint, n in enumerate(n_free):
        own, rest[joint] = _axes_and_rest(n, joint, spread, pairs)
        axes.append(own)
    return Freedom(tuple(KINDS[n] for n in n_free), spread, noise, threshold, tuple(axes), rest)


def quaternion_rank(samples: Array, tolerance: float) -> Array:
    """(n_joints,) rank of the 4×N matrices of quaternions: 1 fixed, 2 hinge, more else.

    A check without a mean, blind to signs and rest offsets. ``tolerance`` is a half angle, radians.
    """
    filled = np.where(np.isfinite(samples), samples, 0.0)
    seen = np.maximum(np.isfinite(samples[..., 0]).sum(axis=0), 1)
    moments = np.einsum("nji,njk->jik", filled, filled) / seen[:, None, None]
    return np.sum(np.linalg.eigvalsh(moments) > tolerance**2, axis=-1)


def _noise(frames: Array, spread: Spread) -> Array:
    """Shaking of all directions together, unless the one that moves least shakes far less.

    The more a joint moves the more of its motion is taken for shaking; but of pure noise the least
    direction, picked as the least, shows too little.
    """
    turns = quat.log(quat.between(spread.mean[None], frames))
    fast = shaking(np.einsum("jik,njk->nji", spread.directions, turns))
    n_frames = np.maximum(np.isfinite(turns[..., 0]).sum(axis=0), 1)
    together = np.sqrt(np.mean(fast**2, axis=-1))
    return np.minimum.reduce(
        [together, (1.0 + 2.5 / np.sqrt(n_frames)) * fast[:, 2], np.full(len(fast), NOISIEST)]
    )


def _threshold(samples: Array, spread: Spread, noise: Array, options: KindOptions) -> Array:
    """(n_joints,) radians."""
    minimum = np.full(len(noise), np.radians(options.minimum))
    if options.threshold == "absolute":
        # the vector part of a quaternion is half the turn, to first order
        return np.full(len(noise), 2.0 * np.sqrt(options.eigenvalue))
    if options.threshold == "variance95":
        variance = spread.std**2
        held = np.cumsum(variance, axis=1) / np.maximum(variance.sum(axis=1), 1e-300)[:, None]
        last = np.argmax(held >= 0.95, axis=1)
        return np.maximum(minimum, spread.std[np.arange(len(last)), last] * (1.0 - 1e-9))
    return np.maximum(minimum, _slack(samples, 4.0) * noise)


def _slack(samples: Array, per_root: float) -> Array:
    """(n_joints,) how many times the noise still counts as noise.

    The spread of n samples of pure noise, and the noise found in them, scatter by about 1/√n.
    """
    n_samples = np.maximum(np.isfinite(samples[..., 0]).sum(axis=0), 1)
    return 1.2 + per_root / np.sqrt(n_samples)


def _pairs(samples: Array, spread: Spread, joints: Indices) -> tuple[Array, Array, Array]:
    """Outer axis in the parent, inner axis in the body, misfit; of other joints zero and inf."""
    n_joints = samples.shape[1]
    outer, inner, off = np.zeros((n_joints, 3)), np.zeros((n_joints, 3)), np.full(n_joints, np.inf)
    if len(joints) == 0:
        return outer, inner, off
    mean, directions = spread.mean[joints], spread.directions[joints]
    turns = quat.to_matrix(quat.between(mean[None], samples[:, joints]))
    turns = np.where(np.isfinite(turns), turns, np.nanmean(turns, axis=0))
    turns = directions @ turns @ np.swapaxes(directions, -1, -2)
    first, second, off[joints] = fit_axes(turns)
    outer[joints] = quat.rotate(mean, np.einsum("ji,jik->jk", first, directions))
    inner[joints] = np.einsum("ji,jik->jk", second, directions)
    return outer, inner, off


def _axes_and_rest(
    n_free: int, joint: int, spread: Spread, pairs: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """Axes in the parent's frame at rest, and the rest: of all allowed poses nearest to zero."""
    mean = spread.mean[joint]
    if n_free == 1:
        axis = quat.rotate(mean, spread.directions[joint, 0])
        turn = quat.from_axis_angle(axis, -swing_twist.twist_angle(mean, axis))
        return axis[None], quat.multiply(turn, mean)
    if n_free == 2:
        outer, inner = pairs[0][joint], pairs[1][joint]
        rest = _nearest_to_zero(mean, outer, inner)
        return np.stack([outer, quat.rotate(rest, inner)]), rest
    return np.zeros((0, 3)), mean if n_free == 0 else quat.identity()


def _nearest_to_zero(mean: Array, outer: Array, inner: Array) -> Array:
    """Of the poses R(outer, α)·mean·R(inner, β) the one that turns least.

    Its w is bilinear in the half angles' (cos, sin): the leading singular pair maximises it.
    """
    half_turns = [quat.identity(), np.concatenate([[0.0], outer])]
    inner_turns = [quat.identity(), np.concatenate([[0.0], inner])]
    table = np.array(
        [[quat.multiply(quat.multiply(a, mean), b)[0] for b in inner_turns] for a in half_turns]
    )
    left, _, right = np.linalg.svd(table)
    before = left[0, 0] * half_turns[0] + left[1, 0] * half_turns[1]
    after = right[0, 0] * inner_turns[0] + right[0, 1] * inner_turns[1]
    return quat.multiply(quat.multiply(before, mean), after)
