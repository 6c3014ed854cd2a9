"""Ways in which flesh and straps move what they carry, to put stated deviations to the test.

Beside the generator's own skin, which follows the joint angles: skin that follows their squares,
jelly that swings after accelerations, and straps that wander at random. Models like these, on other
seeds, were also looked at when the few constants of ``articulation/finish.py`` were chosen.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from osteon import synth
from osteon.articulation import PoseNoise, cluster_noise, finish_joints, solve, track
from osteon.maths import quat
from osteon.values import Bodies, Skeleton

DEGREE = np.radians(1.0)
MAGNETIC = {"noise": 0.004, "moving_noise": 0.007, "orientation_noise": DEGREE}
QUIET = {"noise": 0.001, "orientation_noise": 0.3 * DEGREE}
TURN = 10.0
"""Radians that flesh turns a sensor per metre of shift."""

Worn = synth.SensorPerformance | synth.Performance
Scene = Callable[[int], tuple[Bodies, PoseNoise | None, Worn]]
Moved = Callable[[synth.SensorPerformance, np.random.Generator], np.ndarray]


def sensors(
    script: synth.Script,
    noise: dict[str, float],
    *,
    performer: Callable[[], Skeleton] = synth.human,
    moved: Moved | None = None,
    **troubles,
) -> Scene:
    """A sensor on every body; ``moved`` gives (n_frames, n_bodies, 3) more shifts, metres."""

    def scene(seed: int) -> tuple[Bodies, None, Worn]:
        worn = synth.sense(performer(), script, seed=seed, **noise, **troubles)
        if moved is None:
            return worn.bodies, None, worn
        rng = np.random.default_rng([seed, 1])
        return _shifted(worn.bodies, moved(worn, rng), rng), None, worn

    return scene


def _shifted(bodies: Bodies, shift: np.ndarray, rng: np.random.Generator) -> Bodies:
    mix = rng.standard_normal((bodies.n_bodies, 3, 3)) / np.sqrt(3.0)
    turn = TURN * np.einsum("bij,kbj->kbi", mix, shift)
    return replace(
        bodies,
        positions=bodies.positions + quat.rotate(bodies.rotations, shift),
        rotations=quat.multiply(bodies.rotations, quat.exp(turn)),
    )


def squares(amplitude: float) -> Moved:
    """Skin that follows the squares of the angles of a body's joints."""

    def moved(worn: synth.SensorPerformance, rng: np.random.Generator) -> np.ndarray:
        motion = worn.truth.motion
        parents = np.array(motion.skeleton.parents)
        bent = quat.log(motion.rotations)
        bent[:, parents < 0] = 0.0
        beside = (np.arange(len(parents)) == np.arange(len(parents))[:, None]) | (
            np.arange(len(parents))[:, None] == parents
        )
        pull = rng.standard_normal((len(parents), len(parents), 3, 9)) * beside[..., None, None]
        products = (bent[..., :, None] * bent[..., None, :]).reshape(*bent.shape[:2], 9)
        return amplitude * np.tanh(np.einsum("bjik,tjk->tbi", pull, products))

    return moved


def jelly(frequency: float = 4.0, damping: float = 0.3) -> Moved:
    """Flesh on a spring, moved by the joints' accelerations."""

    def moved(worn: synth.SensorPerformance, _: np.random.Generator) -> np.ndarray:
        motion = worn.truth.motion
        step, stiffness = 1.0 / motion.rate, 2.0 * np.pi * frequency
        speed = np.gradient(motion.world()[1], step, axis=0)
        pushed = quat.rotate(quat.inverse(worn.bodies.rotations), -np.gradient(speed, step, axis=0))
        shift = np.zeros_like(pushed)
        velocity = np.zeros_like(pushed[0])
        for k in range(1, len(pushed)):
            pull = pushed[k] - stiffness**2 * shift[k - 1]
            velocity = (velocity + step * pull) / (1.0 + 2.0 * damping * stiffness * step)
            shift[k] = shift[k - 1] + step * velocity
        return shift

    return moved


def markers(script: synth.Script, skin: float) -> Scene:
    """A cluster of four markers on every body of a human, 1 mm noise."""

    def scene(seed: int) -> tuple[Bodies, PoseNoise, Worn]:
        seen = synth.perform(_in_clusters(), script, seed=seed, noise=0.001, skin=skin)
        bodies = seen.truth.skeleton.bodies
        tracked = track(seen.recording, [[mark.name for mark in body.markers] for body in bodies])
        named = replace(tracked.bodies, names=seen.truth.skeleton.names)
        return named, cluster_noise(tracked), seen

    return scene


def _in_clusters() -> Skeleton:
    human = synth.human()
    corners = 0.035 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    bodies = []
    for body in human.bodies:
        tip = np.array([0.0, 0.0, 0.1]) if body.tip is None else np.asarray(body.tip)
        middle = np.asarray(body.joint.in_body) + 0.5 * tip + [0.03, 0.02, 0.0]
        marks = [
            replace(body.markers[0], name=f"{body.name}_{k}", position=tuple(middle + corner))
            for k, corner in enumerate(corners)
        ]
        bodies.append(replace(body, markers=tuple(marks)))
    return replace(human, bodies=tuple(bodies))


def scores(scene: Scene, seed: int) -> tuple[list[float], list[float]]:
    """Errors of a take's joints in units of their deviations, one number per joint.

    From the place in the sensor as it was strapped on (none for markers), and from its mean over
    the take. The hierarchy is given.
    """
    bodies, noise, worn = scene(seed)
    skeleton = worn.truth.skeleton
    parents = {body.name: body.parent for body in skeleton.bodies if body.parent}
    solution = solve(bodies, parents=parents, noise=noise)
    told: tuple[list[float], list[float]] = ([], [])
    for joint in finish_joints(bodies, solution.noise, solution.fits, solution.order):
        ends = [bodies.names[joint.child], bodies.names[joint.parent]]
        lower = ends[0] if parents.get(ends[0]) == ends[1] else ends[1]
        for place, scores in zip((_strapped, _mean_place), told, strict=True):
            if place is _mean_place or worn.truth.placement is not None:
                truth = np.concatenate([place(worn, bodies, name, lower) for name in ends])
                error = joint.centres - truth
                square = error @ np.linalg.solve(joint.covariance, error) / 6.0
                scores.append(float(np.sqrt(square)))
    return told


def _strapped(worn: Worn, _: Bodies, name: str, lower: str) -> np.ndarray:
    """The joint above ``lower`` in a sensor's frame as it was strapped on."""
    placement, skeleton = worn.truth.placement, worn.truth.skeleton
    assert placement is not None
    joint = skeleton.body(lower).joint
    index = skeleton.index(name)
    away = (joint.in_body if name == lower else joint.in_parent) - placement.positions[index]
    return quat.rotate(quat.inverse(placement.rotations[index]), away)


def _mean_place(worn: Worn, bodies: Bodies, name: str, lower: str) -> np.ndarray:
    """The joint above ``lower`` in a body's measured frame, mean over the take."""
    index = bodies.index(name)
    joint = worn.truth.joints[:, worn.truth.skeleton.index(lower)]
    away = joint - bodies.positions[:, index]
    return np.nanmean(quat.rotate(quat.inverse(bodies.rotations[:, index]), away), axis=0)


_TOGETHER = synth.exercise(30, rate=60, together=True)
_ONE_BY_ONE = synth.exercise(60, rate=60)
_WALK = synth.walk(20, rate=60)
_STRAPS = dict.fromkeys(synth.human().names, (0.005, 2.0 * DEGREE))

SCENES: dict[str, Scene] = {
    "white noise, exercise": sensors(_TOGETHER, MAGNETIC),
    "white noise, linkage": sensors(_TOGETHER, MAGNETIC, performer=synth.linkage),
    "white noise, joint after joint": sensors(_ONE_BY_ONE, MAGNETIC),
    "white noise, walk": sensors(_WALK, MAGNETIC),
    "white noise, markers, exercise": markers(_TOGETHER, 0.0),
    "skin 0.5, exercise": sensors(_TOGETHER, MAGNETIC, skin=0.5),
    "skin 1, exercise": sensors(_TOGETHER, MAGNETIC, skin=1.0),
    "skin 2, exercise": sensors(_TOGETHER, MAGNETIC, skin=2.0),
    "skin 1, joint after joint": sensors(_ONE_BY_ONE, MAGNETIC, skin=1.0),
    "skin 1, linkage": sensors(_TOGETHER, MAGNETIC, skin=1.0, performer=synth.linkage),
    "skin 1, dog": sensors(_TOGETHER, MAGNETIC, skin=1.0, performer=synth.quadruped),
    "skin 0.5, walk": sensors(_WALK, MAGNETIC, skin=0.5),
    "skin 1, walk": sensors(_WALK, MAGNETIC, skin=1.0),
    "skin 2, walk": sensors(_WALK, MAGNETIC, skin=2.0),
    "skin 1, kicks": sensors(synth.kicks(12, rate=60), MAGNETIC, skin=1.0),
    "skin 1, markers, exercise": markers(_TOGETHER, 1.0),
    "skin 1, markers, walk": markers(_WALK, 1.0),
    "squares 10 mm, exercise": sensors(_TOGETHER, QUIET, moved=squares(0.01)),
    "squares 10 mm, walk": sensors(_WALK, QUIET, moved=squares(0.01)),
    "jelly, exercise": sensors(_TOGETHER, QUIET, moved=jelly()),
    "jelly, walk": sensors(_WALK, QUIET, moved=jelly()),
    "straps 5 mm / 2°, exercise": sensors(_TOGETHER, QUIET, wobble=_STRAPS),
    "straps 5 mm / 2°, walk": sensors(_WALK, QUIET, wobble=_STRAPS),
}
