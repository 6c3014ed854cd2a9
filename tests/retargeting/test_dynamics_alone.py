"""The simulation on its own: where it begins, what it lets go, and how friction holds feet."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import synth
from osteon.maths import quat
from osteon.pipeline import MapOptions, map_to
from osteon.posing import GroundPlane, PoseProblem, rig_on
from osteon.retargeting import Feet, equilibrium, posture_weights, simulate
from osteon.typing import Array
from osteon.values import Body, Joint, Marker, Recording, Skeleton, Take

pytest.importorskip("mujoco")

CORNERS = np.array([[0.2, 0.05, 0.0], [0.2, -0.05, 0.0], [-0.05, 0.04, 0.0], [-0.05, -0.04, 0.0]])
ON_TOP = CORNERS + np.array([0.0, 0.0, 0.06])


def foot() -> Skeleton:
    markers = tuple(Marker(f"M{i}", place) for i, place in enumerate(ON_TOP))
    return Skeleton((Body("foot", None, Joint("free"), markers=markers, tip=CORNERS[0]),))


def pulled(targets: Array) -> PoseProblem:
    skeleton = foot()
    rig = rig_on(skeleton, np.zeros(len(ON_TOP), dtype=int), ON_TOP)
    weights = np.ones(targets.shape[:2])
    rest = quat.identity((1,))
    return PoseProblem(rig, targets, weights, posture_weights(rig, 1e-4), rest)


def slid_on(degrees: float, downhill: float) -> float:
    """Metres that a foot's sole moves while its markers drift downhill on a slope in a second."""
    rate, n_frames = 60.0, 60
    angle = np.radians(degrees)
    turn = quat.from_axis_angle(np.array([0.0, 1.0, 0.0]), angle)
    along = quat.rotate(turn, np.array([1.0, 0.0, 0.0]))
    path = np.linspace(0.0, downhill, n_frames)[:, None] * along
    targets = quat.rotate(turn, ON_TOP)[None] + path[:, None]
    ground = GroundPlane(0.0, np.array([-np.tan(angle), 0.0]), np.zeros(2))
    paths = quat.rotate(turn, CORNERS)[None] + path[:, None]
    feet = Feet(np.zeros(4, dtype=int), CORNERS, paths, ground)
    start = np.broadcast_to(turn, (n_frames, 1, 4)), path
    found = simulate(pulled(targets), foot(), np.array([1.0]), start=start, feet=feet, rate=rate)
    assert not found.held
    settled = 15  # friction takes hold within a tenth of a second
    return float(np.linalg.norm(found.root[-1] - found.root[settled]))


def test_friction_holds_a_foot_on_a_slope() -> None:
    """On 20° the cone leaves (0.8 cos − sin) · 5 cm = 2 cm of markers' pull; 1 cm is held but for
    what pins give that are 300 times as stiff, and where the body is taken to rest."""
    assert slid_on(20.0, 0.010) < 0.0005


def test_friction_gives_way_where_it_is_too_steep_or_pulled_too_far() -> None:
    """Beyond atan 0.8 = 39° nothing holds; on 20° a pull of 6 cm slides by what exceeds 2 cm."""
    assert slid_on(45.0, 0.010) > 0.004
    assert slid_on(20.0, 0.060) > 0.02


def worst_turns(one: Array, other: Array) -> Array:
    return np.degrees(quat.angle(quat.between(one, other)))


def mapped(recording: Recording, skeleton: Skeleton, mode: str, *, contacts: bool = False):
    options = MapOptions(mode=mode, contacts=contacts)
    return map_to(Take(recordings=(recording,)), skeleton, options=options).motion


def test_alone_it_comes_to_where_equilibrium_does() -> None:
    """From its neutral posture, without a word from the other: half a degree at the most."""
    take = synth.perform(synth.human(), synth.walk(2.0, rate=60), noise=0.001, seed=3)
    one, other = (
        mapped(take.recording, take.truth.skeleton, mode) for mode in ("equilibrium", "dynamics")
    )
    assert worst_turns(one.rotations, other.rotations).max() < 0.5


def test_it_lets_go_of_stray_markers_by_itself() -> None:
    """One sample in a hundred is anywhere within half a metre; the true pose is kept."""
    take = synth.perform(
        synth.human(), synth.kicks(3.0, rate=60), noise=0.001, outliers=0.01, seed=1
    )
    found = mapped(take.recording, take.truth.skeleton, "dynamics")
    errors = worst_turns(found.rotations, take.truth.motion.rotations)
    assert errors.max() < 20.0
    assert np.percentile(errors, 99) < 8.0


def test_any_creature_stands_on_the_ends_of_its_limbs() -> None:
    """Limbs without a human's names: paws that stand slide less with a ground than without."""
    take = synth.perform(synth.quadruped(), synth.walk(1.5, rate=60), noise=0.002, seed=2)
    called = {name: f"part_{i}" for i, name in enumerate(take.truth.skeleton.names)}
    bodies = tuple(
        replace(body, name=called[body.name], parent=called.get(body.parent or ""))
        for body in take.truth.skeleton.bodies
    )
    skeleton = replace(take.truth.skeleton, bodies=bodies)
    paws = np.array([take.truth.skeleton.index(f"{side}_foot") for side in ("left", "right")])
    ends = np.array([skeleton.bone_ends(int(paw))[0] for paw in paws])

    def slides(contacts: bool) -> float:
        """The usual step of the third of all frames in which a paw moves least, metres."""
        motion = mapped(take.recording, skeleton, "dynamics", contacts=contacts)
        steps = np.linalg.norm(np.diff(motion.points(paws, ends), axis=0), axis=-1)
        return float(np.median(np.sort(steps, axis=0)[: len(steps) // 3]))

    assert slides(True) < 0.5 * slides(False)


def test_the_rest_is_that_of_equilibrium_for_one_body() -> None:
    rng = np.random.default_rng(0)
    turn = quat.exp(rng.normal(size=(5, 3)))
    targets = quat.rotate(turn[:, None], ON_TOP) + rng.normal(size=(5, 1, 3))
    pulls = pulled(targets + 0.002 * rng.normal(size=targets.shape))
    one = equilibrium(pulls)
    other = simulate(pulls, foot(), np.array([1.0]))
    assert worst_turns(one.rotations, other.rotations).max() < 0.5
