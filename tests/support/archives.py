"""Generated archives for the tests of batch and passport."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import osteon as ost
from osteon import synth
from osteon.values import Bodies, Recording, Skeleton

MOTIONS = (synth.walk, synth.chicken_walk, synth.kicks, synth.exercise)


def sensor_takes(n: int, frames: int, seed: int = 0) -> list[Bodies]:
    """One exercise of [000]'s linkage under sensors, cut into takes."""
    script = synth.exercise(seconds=n * frames / 60.0, rate=60)
    worn = synth.sense(synth.linkage(), script, noise=0.002, orientation_noise=0.01, seed=seed)
    return [cut(worn.bodies, i * frames, (i + 1) * frames) for i in range(n)]


def marker_take(
    figure: Skeleton, take: int, seconds: float, seed: int = 0, suit: int = 0
) -> Recording:
    """A motion of a person under markers; another ``take``, another motion.

    Under a third of real skin: under all of it passports from takes as short as those of the tests
    accuse elbows that nobody touched.
    """
    script = MOTIONS[take % len(MOTIONS)](seconds=seconds)
    performed = synth.perform(
        figure, script, noise=0.001, skin=0.3, suit=suit, gaps=0.01, seed=seed
    )
    return performed.recording


def cut(bodies: Bodies, start: int, stop: int) -> Bodies:
    return replace(
        bodies,
        positions=bodies.positions[start:stop],
        rotations=bodies.rotations[start:stop],
        subject="",
    )


def write_sensors(folder: Path, subjects: int, takes: int, frames: int) -> None:
    for subject in range(subjects):
        for take, bodies in enumerate(sensor_takes(takes, frames, seed=subject)):
            path = folder / f"P{subject}" / f"take_{take:02d}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            ost.write(bodies, path)


def write_markers(folder: Path, subjects: int, takes: int, seconds: float) -> None:
    for subject in range(subjects):
        figure = person(subject)
        for take in range(takes):
            path = folder / f"M{subject}" / f"take_{take:02d}.c3d"
            path.parent.mkdir(parents=True, exist_ok=True)
            recording = marker_take(figure, take, seconds, seed=100 * subject + take)
            ost.write(replace(recording, subject=f"M{subject}"), path)


def person(seed: int) -> Skeleton:
    """Somebody of no special size."""
    height = np.random.default_rng(seed).normal(1.72, 0.08)
    return synth.human(height, variation=0.04, seed=seed)


def files_of(output: Path, *, left_out: Sequence[str] = (".batch",)) -> dict[str, bytes]:
    """Everything a batch wrote, but what differs from run to run by its nature."""
    return {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in sorted(output.rglob("*"))
        if path.is_file() and path.relative_to(output).parts[0] not in left_out
    }


def moved(figure: Skeleton, shifts: dict[str, np.ndarray]) -> Skeleton:
    """The person with some markers stuck elsewhere."""
    bodies = [
        replace(
            body,
            markers=tuple(
                replace(m, position=m.position + shifts.get(m.name, np.zeros(3)))
                for m in body.markers
            ),
        )
        for body in figure.bodies
    ]
    return replace(figure, bodies=tuple(bodies))
