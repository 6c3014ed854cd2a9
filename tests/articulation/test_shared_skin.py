"""Joints fitted together with the skin of their bodies."""

import numpy as np

from osteon import synth
from osteon.articulation import finish as finishing, finish_joints, joints, solve
from osteon.articulation.finish import fit_with_skin
from osteon.values import Slip

DEGREE = np.radians(1.0)
MAGNETIC = {"noise": 0.004, "moving_noise": 0.007, "orientation_noise": DEGREE}
MOVING = synth.exercise(20, rate=60, together=True)
LIMBS = ("upper_arm", "forearm", "thigh", "shin")


def parents(worn: synth.SensorPerformance) -> dict[str, str]:
    return {body.name: body.parent for body in worn.truth.skeleton.bodies if body.parent}


def lengths_off(worn: synth.SensorPerformance) -> np.ndarray:
    """Errors of the lengths of arms and legs, metres."""
    solution = solve(worn.bodies, parents=parents(worn))
    found = finish_joints(worn.bodies, solution.noise, solution.fits, solution.order)
    places = {worn.bodies.names[joint.child]: joint.centres for joint in found}
    skeleton, off = worn.truth.skeleton, []
    for name in skeleton.names:
        if name.partition("_")[2] in LIMBS:
            (child,) = skeleton.children(name)
            true = skeleton.body(child).joint.in_parent - skeleton.body(name).joint.in_body
            apart = places[child][3:] - places[name][:3]
            off.append(np.linalg.norm(apart) - np.linalg.norm(true))
    return np.array(off)


def shown(worn: synth.SensorPerformance) -> bool:
    solution = solve(worn.bodies, parents=parents(worn))
    skin = fit_with_skin(worn.bodies, solution.noise, solution.fits, solution.order)
    return skin is not None


def test_skin_that_joints_share_is_told_from_their_places(monkeypatch):
    """Simulated: over ten takes 0.58 of the errors of joints fitted one by one, over these four
    0.69; over any three of the ten at most 0.92."""
    takes = [
        synth.sense(synth.human(), MOVING, seed=seed, skin=0.5, **MAGNETIC)
        for seed in range(11, 15)
    ]
    together = np.concatenate([lengths_off(worn) for worn in takes])
    monkeypatch.setattr(finishing, "solve_shared_skin", lambda *_: None)
    apart = np.concatenate([lengths_off(worn) for worn in takes])
    assert np.sqrt(np.mean(together**2)) < 0.92 * np.sqrt(np.mean(apart**2))


def test_noise_is_no_skin():
    assert not shown(synth.sense(synth.human(), MOVING, seed=13, **MAGNETIC))


def test_straps_that_wander_are_no_skin():
    loose = dict.fromkeys(synth.human().names, (0.005, 2.0 * DEGREE))
    assert not shown(synth.sense(synth.human(), MOVING, seed=14, wobble=loose, **MAGNETIC))


def test_one_joint_shares_its_skin_with_nobody():
    worn = synth.sense(synth.ball(), MOVING, seed=15, skin=1.0, **MAGNETIC)
    assert not shown(worn)


def test_a_slip_shows_beneath_skin():
    """Without skin taken off, postures hide steps of 5 cm in the median person's skin."""
    slipped = (synth.Slipped("left_thigh", 600, (0.03, 0.0, 0.04)),)
    worn = synth.sense(synth.human(), MOVING, seed=16, skin=1.0, slips=slipped, **MAGNETIC)
    found = joints(worn.bodies)
    (event,) = [event for event in found.events if isinstance(event, Slip)]
    assert event.body == "left_thigh"
    assert abs(event.frame - 600) <= 15


def test_sizes_of_slips_that_would_show_are_told():
    quiet = joints(synth.sense(synth.human(), MOVING, seed=17, **MAGNETIC).bodies).visible_slips
    skin = joints(
        synth.sense(synth.human(), MOVING, seed=17, skin=1.0, **MAGNETIC).bodies
    ).visible_slips
    assert quiet.keys() == skin.keys() == set(synth.human().names)
    assert all(quiet[name] < skin[name] for name in quiet)
    assert max(quiet.values()) < 0.03
