"""The simulation on its own: where it begins, what it lets go, what friction holds."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import synth
from osteon.maths import quat
from osteon.pipeline import MapOptions, map_to
from osteon.posing import PoseProblem, standing_of
from osteon.retargeting import Simulation, equilibrium, own_attachments, posture_weights
from osteon.typing import Array
from osteon.values import Skeleton, Take

pytest.importorskip("mujoco")


def mapped(take, skeleton: Skeleton, mode: str, **options):
    recording = Take(recordings=(take.recording,))
    return map_to(recording, skeleton, options=MapOptions(mode=mode, **options))


def degrees_apart(one: Array, other: Array) -> Array:
    return np.degrees(quat.angle(quat.between(one, other)))


def tilted(take, degrees: float):
    """Everything turned about x, along which nobody walks."""
    turn = quat.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.radians(degrees))
    places = quat.rotate(turn, take.recording.positions)
    return replace(take, recording=take.recording.with_positions(places, did="tilted"))


def slides(take, motion, *, ends: bool = False) -> Array:
    """Millimetres from their middle, in each true stay, of ankles, or of the feet's ends."""
    found = []
    for contact in take.truth.contacts:
        first, last = contact.frames
        if last - first >= 0.1 * motion.rate:
            foot = take.truth.skeleton.index(contact.body)
            place = motion.skeleton.bone_ends(foot)[0] if ends else np.zeros(3)
            path = motion.points(np.array([foot]), place[None])[first + 2 : last - 1, 0]
            found.append(np.linalg.norm(path - path.mean(axis=0), axis=-1))
    return 1e3 * np.concatenate(found)


@pytest.fixture(scope="module")
def walked():
    return synth.perform(synth.human(), synth.walk(2.0, rate=60), noise=0.001, seed=4)


@pytest.mark.parametrize("mode", ["equilibrium", "dynamics"])
def test_friction_holds_feet_on_a_slope_of_20_degrees_and_not_of_45(walked, mode):
    """Noise of 1 mm moves ankles by 1 mm. Rubber holds to atan 0.8 = 39°."""
    for degrees, holds in ((20.0, True), (45.0, False)):
        hill = tilted(walked, degrees)
        motion = mapped(hill, walked.truth.skeleton, mode).motion
        slope = standing_of(motion).ground.slope
        assert slope == pytest.approx([0.0, np.tan(np.radians(degrees))], abs=0.01)
        assert (slides(walked, motion).max() < 0.2) == holds


def test_neither_mode_knows_of_the_other(walked, monkeypatch):
    """The simulation finds its poses where nobody can ask for the other's."""
    whole = mapped(walked, walked.truth.skeleton, "equilibrium").motion
    monkeypatch.delattr("osteon.retargeting.springs.solve_frames")
    motion = mapped(walked, walked.truth.skeleton, "dynamics").motion
    apart = degrees_apart(whole.rotations, motion.rotations)
    assert np.sqrt(np.mean(apart**2)) < 0.5  # the bound; here 0.02


def test_it_lets_go_of_strays_by_itself():
    """One sample in fifty is up to half a metre away; limbs keep their true pose."""
    script = synth.kicks(3.0, rate=60)
    take = synth.perform(synth.human(), script, noise=0.001, outliers=0.02, seed=2)
    solved = mapped(take, take.truth.skeleton, "dynamics", contacts=False)
    apart = degrees_apart(solved.motion.rotations, take.truth.motion.rotations)
    assert apart.max() < 20.0  # a limb that a stray led, or that is turned over, is farther off


def pulls_of(take, rest: Array) -> PoseProblem:
    skeleton = take.truth.skeleton
    points = own_attachments(skeleton, take.recording.names)
    rig = points.rig(skeleton)
    targets = take.recording.positions[:, [take.recording.index(name) for name in points.names]]
    return PoseProblem(rig, targets, np.ones(len(points.names)), posture_weights(rig, 1e-4), rest)


def test_it_begins_in_any_neutral_posture(walked):
    """Joints of the neutral posture turned by up to half a right angle about each axis: the first
    pose is found all the same, and is the other's."""
    skeleton = walked.truth.skeleton
    masses = np.ones(len(skeleton.bodies))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        turns = quat.exp(np.radians(45.0) * rng.uniform(-1.0, 1.0, (len(skeleton.bodies), 3)))
        pulls = pulls_of(walked, quat.multiply(turns, skeleton.rest))
        few = replace(pulls, targets=pulls.targets[:3])
        alone = Simulation(skeleton, masses)(few)
        apart = degrees_apart(equilibrium(few).rotations, alone.rotations)
        assert np.sqrt(np.mean(apart**2)) < 0.5  # a limb turned over has 40


def without_names(skeleton: Skeleton) -> Skeleton:
    called = {name: f"part {i}" for i, name in enumerate(skeleton.names)}
    bodies = [
        replace(body, name=called[body.name], parent=called.get(body.parent or ""))
        for body in skeleton.bodies
    ]
    return replace(skeleton, bodies=tuple(bodies))


@pytest.mark.parametrize("mode", ["equilibrium", "dynamics"])
def test_any_creature_stands_on_the_ends_of_its_limbs(mode):
    """Four legs without a human's names: paws stay where they stand."""
    take = synth.perform(synth.quadruped(), synth.walk(2.0, rate=60), noise=0.001, seed=2)
    creature = without_names(take.truth.skeleton)
    held, free = (
        slides(take, mapped(take, creature, mode, contacts=contacts).motion, ends=True)
        for contacts in (True, False)
    )
    assert np.median(held) < 0.3 * np.median(free)


def test_frames_that_are_pulled_as_before_are_not_simulated_again(walked):
    pulls = pulls_of(walked, walked.truth.skeleton.rest)
    few = replace(pulls, targets=pulls.targets[:4])
    simulation = Simulation(walked.truth.skeleton, np.ones(len(walked.truth.skeleton.bodies)))
    before = simulation(few)
    moved = np.array(few.targets)
    moved[2, 0] += 0.01
    after = simulation(replace(few, targets=moved), (before.rotations, before.root))
    changed = np.any(before.rotations != after.rotations, axis=(1, 2))
    assert changed.tolist() == [False, False, True, False]
