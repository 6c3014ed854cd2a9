"""A tracker near iron: places and joints by the scale alone, and with the field of a walked bar.

Truth is a generated tracker (``osteon.synth.Iron``): lumps of iron, scale 0.94, noise that grows
from the transmitter outwards. ``python benchmarks/accuracy_field.py [seeds]``
"""

import sys
from dataclasses import replace

import numpy as np

from osteon import synth
from osteon.articulation import bodies_of, joints
from osteon.cleaning import field_of_bar
from osteon.maths import fit_rigid, quat
from osteon.typing import Array
from osteon.values import Joints, Take

BAR = 0.565
"""Metres: the bar of [000]."""
PULL = 0.15
"""Metres by which each lump moves a sensor that is a metre off."""
LUMPS = {
    "no iron": (),
    "as drawn": synth.Iron().lumps,
    "left out": ((-2.6, 0.5, 0.4), (0.8, 2.9, -0.3), (-0.5, -0.6, 3.2)),
}
"""Where iron is; the last was not looked at while the method was made."""


def misplaced(found: Array, truth: Array) -> float:
    """Root mean square distance once the whole is laid over the truth, millimetres."""
    fit = fit_rigid(found - found.mean(axis=0), truth[None])
    laid = quat.rotate(fit.rotations[0], found - found.mean(axis=0)) + fit.positions[0]
    return 1000.0 * float(np.sqrt(np.mean(np.sum((laid - truth) ** 2, axis=-1))))


def places(iron: synth.Iron, seed: int) -> tuple[float, ...]:
    walk = field_of_bar(Take(bodies=(iron.sense(synth.walked_bar(120.0, seed=seed), seed),)), BAR)
    field = walk.field
    truth = synth.walked_bar(60.0, size=(2.6, 2.6, 1.6), seed=seed + 50).positions.reshape(-1, 3)
    reported = iron.reported(truth)
    inside = ~field.outside(reported)
    truth, reported = truth[inside], reported[inside]
    noise = field.noise(reported) / iron.noise_at(truth)
    return (
        field.scale,
        1000 * float(np.std(walk.scaled)),
        1000 * walk.left,
        misplaced(field.scale * reported, truth),
        misplaced(field.corrected(reported), truth),
        float(np.median(noise)),
    )


def joint_errors(iron: synth.Iron, seed: int) -> list[float]:
    """Root mean square error of joint places of sensors, mm: reported, scaled, field."""
    walk = field_of_bar(Take(bodies=(iron.sense(synth.walked_bar(120.0, seed=seed), seed),)), BAR)
    take = synth.sense(synth.human(), synth.exercise(30, rate=60, together=True), seed=seed)
    moved = take.bodies.positions + np.array([1.0, 0.3, 0.0])
    seen = bodies_of(Take(bodies=(iron.sense(replace(take.bodies, positions=moved), seed),)))
    parents = {
        body.name: body.parent for body in take.truth.skeleton.bodies if body.parent is not None
    }
    errors = []
    for moving in (seen, seen.rescaled(walk.field.scale), seen.in_field(walk.field)):
        found = joints(moving.bodies, noise=moving.noise, parents=parents)
        errors.append(_error(found, take))
    return errors


def _error(found: Joints, take: synth.SensorPerformance) -> float:
    """Of the joints in the frames of the sensors beyond them, millimetres."""
    worn = take.truth.placement
    assert worn is not None
    off = []
    for link in found.connections:
        body = take.bodies.index(link.child)
        off.append(
            link.in_child - quat.rotate(quat.inverse(worn.rotations[body]), -worn.positions[body])
        )
    return 1000.0 * float(np.sqrt(np.mean(np.sum(np.square(off), axis=-1))))


def main() -> None:
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    print("iron | scale | distance ± mm: scaled, field | places off mm: scaled, field | noise told")
    for name, lumps in LUMPS.items():
        iron = synth.Iron(lumps=lumps, pull=PULL)
        rows = np.array([places(iron, seed) for seed in range(n_seeds)])
        print(f"{name} | " + " | ".join(f"{value:.3g}" for value in np.median(rows, axis=0)))
    print("\niron | joints off mm: as reported, scaled, field")
    for name, lumps in LUMPS.items():
        iron = synth.Iron(lumps=lumps, pull=PULL)
        rows = np.array([joint_errors(iron, seed) for seed in range(n_seeds)])
        print(f"{name} | " + " | ".join(f"{value:.1f}" for value in np.median(rows, axis=0)))


if __name__ == "__main__":
    main()
