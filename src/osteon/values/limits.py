"""How far a joint goes: ranges, cones, regions of poses that were seen, and what shows it."""

from dataclasses import dataclass

import numpy as np

from osteon.errors import BadValue, ShapeError
from osteon.typing import Array
from osteon.values.array_checks import freeze, settle

Interval = tuple[float, float]
"""Low and high, radians, going up; high may pass π."""


@dataclass(frozen=True, slots=True, eq=False)
class Cone:
    """Where a bone may point and how far it may twist. The joint's rotation is
    ``centre · swing · twist``: a twist about ``axis``, then a swing of it. Radians."""

    centre: Array
    """(4,) rotation to the parent's frame from the body's, in the middle of the cone."""
    axis: Array
    """(3,) unit vector along the bone, in the body's frame."""
    across: Array
    """(2, 3) unit vectors that with ``axis`` make a right-handed frame; a swing is a rotation
    vector along them."""
    radii: Array
    """(2,) half axes of the elliptic cone, along ``across``, about ``centre``."""
    polygon: Array
    """(n_corners, 2) swings at the corners of a convex spherical polygon, anticlockwise: tighter
    than the ellipse. Its edges are straight in the plane of swings."""
    twist: Interval

    def __post_init__(self) -> None:
        freeze(self, centre=(4,), axis=(3,), across=(2, 3), radii=(2,), polygon=("n_corners", 2))


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What a joint's kind and limits were judged from. Radians."""

    samples: int
    """Rotations looked at."""
    spread: Array
    """(3,) standard deviation along each principal direction, largest first."""
    directions: Array
    """(3, 3) rows are these directions, unit turn axes in the parent's frame."""
    mean: Array
    """(4,) Fréchet mean of the rotations."""
    noise: float
    """Shaking found in the fast part of the motion."""
    threshold: float
    """A direction with more spread than this counts as movement."""
    rule: str
    """Which rule gave the threshold: ``noise``, ``variance95`` or ``absolute``."""
    gap: float
    """Largest arc without a sample, of the hinge angle or else of the twist."""
    coverage: float
    """Share of the range of that angle, cut into 5° cells, that holds samples."""
    crosstalk: float | None = None
    """Spread in the second direction as a share of that in the first, by what markers tell of each;
    None where the motion is not from markers."""

    def __post_init__(self) -> None:
        freeze(self, spread=(3,), directions=(3, 3), mean=(4,))


@dataclass(frozen=True, slots=True, eq=False)
class Bind:
    """The pose a rig starts in, held against the limits. docs/methods.md §8."""

    feasible: bool
    """Whether the bind pose, rotation zero, lies within the limits."""
    excess: float
    """How far outside it lies, radians."""
    choice: str
    """What takes its place: ``bind pose`` (itself), ``mid-range``, ``circular mean``,
    ``nearest sample``; or ``unlimited or not enough motion``, and then it stays."""
    rotation: Array
    """(4,) the rotation to start in."""

    def __post_init__(self) -> None:
        freeze(self, rotation=(4,))


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Where a joint may be: near rotations that were seen. So twist knows of swing, and the joint
    of its parent. Radians. docs/methods.md §8."""

    poses: Array
    """(n_poses, 4) rotations that were seen, few that stand for all; unit to five decimals."""
    beside: Array
    """(n_poses, 4) the parent joint's rotations in the same poses, or (0, 4): it does not matter
    where the parent is."""
    radius: float
    """How far from the nearest of them the joint may be."""
    shared: int = 0
    """Count of first poses that belong together in all joints: whole poses of the body."""
    shares: Array = ()  # type: ignore[assignment]
    """(n_poses,) of the samples that each pose stands for, or (0,): all alike."""

    def __post_init__(self) -> None:
        poses = np.asarray(self.poses, dtype=float).reshape(-1, 4)
        beside = np.asarray(self.beside, dtype=float).reshape(-1, 4)
        settle(self, poses=poses, beside=beside, shares=np.asarray(self.shares, dtype=float))
        freeze(self, poses=("n_poses", 4), beside=("n_beside", 4), shares=("n_shares",))
        if len(poses) == 0 or len(beside) not in (0, len(poses)):
            raise ShapeError(
                f"a region needs poses, and as many or none beside them; got {len(poses)} and "
                f"{len(beside)}"
            )
        if len(self.shares) not in (0, len(poses)):
            raise ShapeError(
                f"a region needs a share of each of {len(poses)} poses or none, got "
                f"{len(self.shares)}"
            )
        if not 0.0 < self.radius < np.pi:
            raise BadValue(f"a region's radius must lie between 0 and π, got {self.radius}")


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """How far a joint goes, in one or several descriptions of the same thing. Radians."""

    hinge: Interval | None = None
    """Angle about the joint's single axis, from the joint's rest."""
    euler: tuple[tuple[str, float, float], ...] = ()
    """Ranges of angles about successive axes, as files give them: (axis, low, high). The joint's
    rotation is R(first)·R(second)·R(third)."""
    frame: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Rotation to the parent's frame at rest from the frame whose x, y, z ``euler`` names."""
    cone: Cone | None = None
    """Swing–twist limits."""
    zyz: tuple[Interval, Interval, Interval] | None = None
    """Ranges of φ, ψ, θ with the joint's rotation Rz(φ)·Ry(ψ)·Rz(θ) in the parent's frame."""
    bind: Bind | None = None
    evidence: Evidence | None = None
    region: Region | None = None
    """Which of the rotations that cone or hinge allow were seen: twist by swing, and by parent."""
