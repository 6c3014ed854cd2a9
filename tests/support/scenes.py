"""More than one performer in a recording: a racket in a hand, two people."""

from dataclasses import replace

import numpy as np

from osteon import synth
from osteon.maths import quat
from osteon.synth.curves import stream, waves
from osteon.values import Bodies

QUIET = {"noise": 0.001, "orientation_noise": 0.005}
HELD = (300, 700)
"""First frame and the one after the last in which the racket is in the hand."""
Pairs = set[frozenset[str]]


def person(seed: int, seconds: float = 15.0, skin: float = 0.0) -> tuple[Bodies, Pairs]:
    """Sensors on a human, and the pairs of bodies that are joined."""
    script = synth.exercise(seconds, rate=60, together=True)
    worn = synth.sense(synth.human(), script, seed=seed, skin=skin, **QUIET)
    joined = {frozenset((b.name, b.parent)) for b in worn.truth.skeleton.bodies if b.parent}
    return worn.bodies, joined


def with_racket(bodies: Bodies, seed: int, held: tuple[int, int] | None = None) -> Bodies:
    """A racket that turns a little in the right hand; beyond ``held`` it goes its own ways."""
    rng, times = stream(seed, "racket"), np.arange(bodies.n_frames) / bodies.rate
    hand = bodies.index("right_hand")
    grip = bodies.positions[:, hand] + quat.rotate(bodies.rotations[:, hand], np.full(3, 0.04))
    in_hand = quat.multiply(bodies.rotations[:, hand], quat.exp(0.4 * waves(rng, times, 3, 0.2, 1)))
    away = quat.exp(1.5 * waves(rng, times, 3, 0.1, 0.5))
    free = 0.8 * waves(rng, times, 3, 0.1, 0.5) + (0.5, 0.5, 1.0)
    share = np.ones(len(times))
    if held is not None:
        # a quarter of a second to take it, and to let it go
        edges = (held[0] - 15, held[0], held[1], held[1] + 15)
        share = np.interp(np.arange(len(times)), edges, (0.0, 1.0, 1.0, 0.0))
    rotations = quat.slerp(away, in_hand, share)
    place = free + share[:, None] * (grip - free) + quat.rotate(rotations, np.array([0.2, 0, 0]))
    place = place + QUIET["noise"] * rng.standard_normal(place.shape)
    shaken = quat.exp(QUIET["orientation_noise"] * rng.standard_normal(place.shape))
    return Bodies(
        np.concatenate([bodies.positions, place[:, None]], axis=1),
        np.concatenate([bodies.rotations, quat.multiply(rotations, shaken)[:, None]], axis=1),
        (*bodies.names, "racket"),
        bodies.rate,
    )


def two_people(seed: int, skin: float = 0.0) -> tuple[Bodies, Pairs]:
    """Two humans who move about at 1.5 m from one another, ``a:`` and ``b:``, and their joints."""
    both, joined = [], set()
    for prefix, shift, own in (("a:", 0.0, seed), ("b:", 1.5, seed + 1000)):
        bodies, pairs = person(own, skin=skin)
        names = tuple(prefix + name for name in bodies.names)
        both.append(replace(bodies, names=names, positions=bodies.positions + (shift, 0.0, 0.0)))
        joined |= {frozenset(prefix + name for name in pair) for pair in pairs}
    first, second = both
    return (
        Bodies(
            np.concatenate([first.positions, second.positions], axis=1),
            np.concatenate([first.rotations, second.rotations], axis=1),
            (*first.names, *second.names),
            first.rate,
        ),
        joined,
    )
