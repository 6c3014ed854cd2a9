"""Two clusters of markers on a mechanical joint, and the plain methods that others place it by.

SCoRE [Ehrig 2006] and SARA [Ehrig 2007] are written here from their papers, on
poses of their own [Kabsch 1976]: what they find, ours must find as well.
"""

from dataclasses import dataclass

import numpy as np

from osteon.articulation import cluster_noise, joints, track
from osteon.articulation.segmentation import TrackedBodies
from osteon.maths import quat
from osteon.synth.curves import smooth_noise, waves
from osteon.values import Connection, Motion, Recording

Pose = tuple[np.ndarray, np.ndarray]
"""Rotations (n_frames, 3, 3) and places (n_frames, 3) of a body."""
AXIS = np.array([0.36, 0.48, 0.8])
"""Of the hinge, in both bodies."""


@dataclass(frozen=True)
class Mechanism:
    """A recording of two bodies, the fixed one's markers first, and its joint's true path."""

    recording: Recording
    centres: np.ndarray
    """(n_frames, 3) the joint in the world."""
    base: np.ndarray
    """(n_frames, 4) how the first body is turned."""
    n_markers: int


def mechanism(
    kind: str,
    degrees: float,
    n_markers: int,
    noise: float,
    *,
    smoothed: float = 0.0,
    seed: int = 0,
    n_frames: int = 600,
) -> Mechanism:
    """A hinge or a ball that turns through ``degrees``.

    ``noise`` in metres per axis, of which filtering over ``smoothed`` seconds leaves the slow part.
    """
    rng = np.random.default_rng([seed, int(degrees), n_markers])
    times = np.arange(n_frames) / 100.0
    base = quat.exp(0.4 * waves(rng, times, 3, 0.1, 0.4))
    half = np.radians(degrees) / 2.0
    if kind == "hinge":
        turn = quat.exp(half * np.sin(2.0 * np.pi * 0.4 * times)[:, None] * AXIS)
    else:
        turn = quat.exp(half * waves(rng, times, 3, 0.1, 0.7))
    place = 0.3 * waves(rng, times, 3, 0.1, 0.3) + (0.0, 0.0, 1.0)
    moving = quat.multiply(base, turn)
    points = [
        _cluster(rng, n_markers, middle) for middle in ((0.05, 0.02, 0.2), (0.02, 0.04, -0.2))
    ]
    world = [
        place[:, None] + quat.rotate(q[:, None], spots)
        for q, spots in zip((base, moving), points, strict=True)
    ]
    positions = np.concatenate(world, axis=1)
    white = rng.standard_normal(positions.shape)
    positions = positions + noise * (
        white if smoothed == 0.0 else smooth_noise(rng, positions.shape, 100.0, smoothed)
    )
    names = tuple(f"{body}_{k}" for body in ("base", "arm") for k in range(n_markers))
    return Mechanism(Recording(positions, names, 100.0), place, base, n_markers)


def _cluster(rng: np.random.Generator, n_markers: int, middle: tuple[float, float, float]):
    """Markers 4 cm about a middle, never near a line."""
    angle = 2.0 * np.pi * np.arange(n_markers) / n_markers
    ring = 0.04 * np.stack([np.cos(angle), np.sin(angle), 0.3 * np.sin(2.0 * angle)], axis=-1)
    return np.array(middle) + quat.rotate(quat.exp(rng.normal(size=3)), ring)


def joined(recording: Recording, groups) -> tuple[TrackedBodies, Connection]:
    """The bodies of two groups of markers, and the joint that we find between them."""
    tracked = track(recording, groups)
    found = joints(tracked.bodies, noise=cluster_noise(tracked), root=tracked.bodies.names[0])
    return tracked, found.connections[0]


def in_world(tracked: TrackedBodies, link: Connection) -> tuple[np.ndarray, np.ndarray | None]:
    """Path of the joint and of a hinge's axis, both bodies' ideas averaged."""
    bodies = tracked.bodies
    ends = [
        (bodies.index(link.parent), link.in_parent, link.axis_in_parent),
        (bodies.index(link.child), link.in_child, link.axis_in_child),
    ]
    q = [bodies.rotations[:, i] for i, _, _ in ends]
    places = [
        bodies.positions[:, i] + quat.rotate(turn, np.asarray(point))
        for (i, point, _), turn in zip(ends, q, strict=True)
    ]
    if link.axis_in_parent is None:
        return np.mean(places, axis=0), None
    axes = [quat.rotate(turn, np.asarray(axis)) for (_, _, axis), turn in zip(ends, q, strict=True)]
    return np.mean(places, axis=0), np.mean(axes, axis=0)


def score(take: Mechanism) -> np.ndarray:
    """(n_frames, 3) the joint in the world by SCoRE, the mean of both bodies' ideas of it."""
    one, other = _score(take.recording.positions, take.n_markers)
    return 0.5 * (one + other)


def _score(positions: np.ndarray, n_markers: int) -> tuple[np.ndarray, np.ndarray]:
    return score_of_poses(*_poses(positions, n_markers))


def score_of_poses(first: Pose, second: Pose) -> tuple[np.ndarray, np.ndarray]:
    """(n_frames, 3) where each of two bodies has SCoRE's joint."""
    (rotation, place), (turned, moved) = first, second
    matrix = np.concatenate([rotation, -turned], axis=-1).reshape(-1, 6)
    centre = np.linalg.lstsq(matrix, (moved - place).reshape(-1), rcond=None)[0]
    return rotation @ centre[:3] + place, turned @ centre[3:] + moved


def sara(take: Mechanism) -> np.ndarray:
    """(n_frames, 3) the axis in the world by SARA: the direction in which SCoRE is blind."""
    (rotation, _), (turned, _) = _poses(take.recording.positions, take.n_markers)
    matrix = np.concatenate([rotation, -turned], axis=-1).reshape(-1, 6)
    halves = np.linalg.svd(matrix, full_matrices=False)[2][-1].reshape(2, 3)
    halves = halves / np.linalg.norm(halves, axis=-1, keepdims=True)
    world = rotation @ halves[0] + turned @ halves[1]
    return world / np.linalg.norm(world, axis=-1, keepdims=True)


def _poses(positions: np.ndarray, n_markers: int) -> list[Pose]:
    return [_kabsch(positions[:, :n_markers]), _kabsch(positions[:, n_markers:])]


def _kabsch(points: np.ndarray) -> Pose:
    """A cluster's pose against its mean shape."""
    middle = points.mean(axis=1)
    spread = points - middle[:, None]
    shape = spread[0]
    for _ in range(5):
        u, _, vt = np.linalg.svd(np.einsum("kmi,mj->kij", spread, shape))
        u[..., -1] *= np.linalg.det(u @ vt)[:, None]
        shape = np.einsum("kij,kmi->mj", u @ vt, spread) / len(points)
    return u @ vt, middle


def off_joint(take: Mechanism, kind: str, found: np.ndarray) -> float:
    """Metres in the first body, on average: from a ball's centre, or across a hinge's axis.

    ``found`` (n_frames, 3) is the joint in the world.
    """
    away = quat.rotate(quat.inverse(take.base), found - take.centres).mean(axis=0)
    return float(np.linalg.norm(np.cross(AXIS, away) if kind == "hinge" else away))


def off_axis(take: Mechanism, found: np.ndarray) -> float:
    """Radians between a hinge's axis and one found in the world (n_frames, 3), on average."""
    mean = quat.rotate(quat.inverse(take.base), found).mean(axis=0)
    return float(np.arctan2(np.linalg.norm(np.cross(AXIS, mean)), abs(AXIS @ mean)))


def off_in_deviations(take: Mechanism, kind: str, motion: Motion) -> float:
    """How far the second body's joint is off, rms over its coordinates, in the deviations stated of
    it; of a hinge across its axis."""
    rotations, places = motion.world()
    to_root = quat.inverse(rotations[:, 0])
    away = quat.rotate(to_root, places[:, 1] - take.centres).mean(axis=0)
    covariance = motion.skeleton.bodies[1].joint.covariance
    assert covariance is not None
    across = np.eye(3)
    if kind == "hinge":
        axis = quat.rotate(to_root, quat.rotate(take.base, AXIS)).mean(axis=0)
        across = np.linalg.svd(axis[None])[2][1:]
    off, known = across @ away, across @ covariance @ across.T
    return float(np.sqrt(off @ np.linalg.solve(known, off) / len(off)))
