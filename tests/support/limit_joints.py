"""Synthetic joints of known kind, axis and range, for the tests of limits."""

import numpy as np

from oracles.angle_oracles import directions_across
from osteon.maths import quat, rotations
from osteon.values import Body, Joint, Motion, Skeleton

Z = np.array([0.0, 0.0, 1.0])


def two_sines(rng, n: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Cycles in a take of n samples and phase, of a sine and of one of half its size."""
    cycles, first = rng.uniform(1.0, max(2.0, min(6.0, n / 15))), rng.uniform(0, 7)
    return (cycles, first), (cycles * rng.uniform(0.3, 1.7), rng.uniform(0, 7))


def wave(rng, n: int, low: float, high: float) -> np.ndarray:
    """A smooth angle that fills the range from low to high exactly."""
    (first, start), (second, offset) = two_sines(rng, n)
    time = 2 * np.pi * np.linspace(0.0, 1.0, n)
    track = np.sin(first * time + start) + 0.5 * np.sin(second * time + offset)
    return low + (high - low) * (track - track.min()) / np.ptp(track)


def any_angle(rng, n: int) -> np.ndarray:
    """A smooth angle over 40° to 120°, somewhere."""
    low = rng.uniform(-np.pi / 2, np.pi / 2)
    return wave(rng, n, low, low + np.radians(rng.uniform(40, 120)))


def some_joint(rng, kind: str, n: int, noise_deg: float):
    """Rotations (n, 4) of any sign about any rest, the first axis, and its angle if a hinge."""
    rest = quat.normalise(rng.normal(size=4))
    axis = quat.normalise(rng.normal(size=3))
    angle = any_angle(rng, n)
    q = np.broadcast_to(rest, (n, 4))
    if kind in ("hinge", "universal"):
        q = quat.multiply(quat.from_axis_angle(axis, angle), rest)
    if kind == "universal":
        tilt = rng.uniform(-0.5, 0.5)
        second = np.cos(tilt) * directions_across(axis)[0] + np.sin(tilt) * axis
        second = quat.rotate(quat.inverse(rest), second)
        q = quat.multiply(q, quat.from_axis_angle(second, any_angle(rng, n)))
    if kind == "ball":
        half = 0.5 * np.radians(rng.uniform(40, 120, size=3))
        turns = np.stack([wave(rng, n, -h, h) for h in half], axis=-1)
        q = quat.multiply(rest, quat.exp(turns))
    q = quat.multiply(q, quat.exp(np.radians(noise_deg) * rng.normal(size=(n, 3))))
    return q * rng.choice([-1.0, 1.0], size=n)[:, None], axis, angle


def motion_of(*tracks, rate=60.0) -> Motion:
    """A motion whose joints below the root turn as given, (n, 4) each; bones along z."""
    names = [f"bone_{i}" for i in range(len(tracks))]
    bodies = [Body("root", None, Joint("free"))]
    bodies += [Body(name, "root", Joint(in_parent=(0, 0, 0.3)), tip=(0, 0, 0.2)) for name in names]
    q = np.stack([np.broadcast_to(quat.identity(), tracks[0].shape), *tracks], axis=1)
    return Motion(Skeleton(tuple(bodies)), q, np.zeros((len(q), 3)), rate)


def ball_samples(rng, n=1000, swing=(40.0, 25.0), twist=(-20.0, 35.0)):
    """Poses inside an elliptic cone about a random rest, bones along z, and that rest."""
    angle, size = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(0, 1, n))
    swings = np.radians(swing) * (size * np.array([np.cos(angle), np.sin(angle)])).T
    twists = np.radians(rng.uniform(*twist, n))
    rest = quat.normalise(rng.normal(size=4))
    across = directions_across(Z)
    return quat.multiply(rest, rotations.join(swings, twists, Z, across)), rest
