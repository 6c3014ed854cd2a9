"""End effectors onto targets: reached where they can be, told where not, turned little."""

import numpy as np
import pytest

from conftest import assert_close
from osteon.errors import BadValue, NotEnoughData, ShapeError, UnknownName
from osteon.fixed_lengths.rectification import rectify
from osteon.maths import quat
from osteon.values import Body, Joint, Motion, Skeleton
from rigs import hinge_chain, human, move

LINK = 0.3


def chain(n_links: int) -> Skeleton:
    """Ball joints at every 30 cm up the z axis; the last body is the end."""
    joints = [Joint("free")] + [Joint("ball", (0, 0, LINK)) for _ in range(n_links)]
    return Skeleton(
        tuple(
            Body(f"link_{i}", f"link_{i - 1}" if i else None, joint, tip=(0, 0, LINK))
            for i, joint in enumerate(joints)
        )
    )


def straight(n_links: int, n_frames: int = 1) -> Motion:
    return Motion(
        chain(n_links), quat.identity((n_frames, n_links + 1)), np.zeros((n_frames, 3)), 100.0
    )


def place(motion: Motion, body: str) -> np.ndarray:
    return motion.world()[1][:, motion.skeleton.index(body)]


@pytest.mark.parametrize("n_links", [2, 3, 6])
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.01, 0.2])
def test_reachable_targets_are_reached(rng, n_links, size):
    motion = move(chain(n_links), 200)
    end = f"link_{n_links}"
    moved = place(motion, end) + size * quat.normalise(rng.normal(size=(200, 3)))
    far = np.linalg.norm(moved - motion.root, axis=-1) > 0.999 * n_links * LINK
    near = np.linalg.norm(moved - motion.root, axis=-1) < 0.01
    moved[far | near] = np.nan
    result = rectify(motion, {end: moved})
    assert not result.unreachable
    asked = np.isfinite(moved[:, 0])
    assert asked.sum() > 50
    assert_close(place(result.motion, end)[asked], moved[asked], 1e-9)
    assert result.turned[~asked].max(initial=0.0) < 1e-15
    assert_close(result.motion.root, motion.root)


def test_nothing_to_do_does_nothing():
    motion = move(human(), 20)
    ends = {name: place(motion, name) for name in ("left_hand", "left_foot", "right_foot")}
    result = rectify(motion, ends)
    # the joint places themselves are only known to rounding
    assert result.turned.max() < 1e-7 and not result.unreachable


def test_the_turn_is_spread_over_the_limb():
    motion = move(chain(4), 100)
    wanted = place(motion, "link_4") + (0.0, 0.02, 0.0)
    alike = rectify(motion, {"link_4": wanted})
    steep = rectify(motion, {"link_4": wanted}, spread=0.2)
    assert alike.turned.max() < steep.turned.max()
    # the last joint takes the larger share when others are reluctant
    assert np.median(steep.turned[:, 3]) > np.median(alike.turned[:, 3])


def test_without_spread_only_the_last_bone_turns_by_the_least_angle(rng):
    """[004]: about OP1 × OP2 by the angle between them, whatever the distance."""
    motion = move(chain(3), 50)
    joint, end = place(motion, "link_2"), place(motion, "link_3")
    wanted = end + rng.normal(scale=0.05, size=(50, 3))
    result = rectify(motion, {"link_3": wanted}, spread=0.0)
    a, b = end - joint, wanted - joint
    angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))
    assert_close(result.turned[:, 2], angle, 1e-12)
    assert result.turned[:, [0, 1, 3]].max() < 1e-7
    short = np.abs(np.linalg.norm(b, axis=-1) - LINK)
    assert_close(result.distance["link_3"], short, 1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 3.0, np.pi - 1e-9, np.pi])
def test_the_least_turn_is_safe_at_nothing_and_at_half_a_turn(angle):
    wanted = LINK * np.array([np.sin(angle), 0.0, np.cos(angle)])
    result = rectify(straight(1), {"link_1": wanted}, spread=0.0)
    assert_close(place(result.motion, "link_1")[0], wanted, 1e-9)
    assert abs(result.turned[0, 0] - angle) < 1e-7


def test_a_straight_limb_bends_towards_a_target_on_its_line():
    result = rectify(straight(3), {"link_3": (0.0, 0.0, 0.7)})
    assert not result.unreachable
    assert_close(place(result.motion, "link_3")[0], (0.0, 0.0, 0.7), 1e-9)


def test_targets_out_of_reach_are_told_and_aimed_at():
    motion = straight(3, n_frames=2)
    result = rectify(motion, {"link_3": [(2.0, 0.0, 0.0), (0.3, 0.0, 0.5)]})
    assert result.unreachable == {"link_3": (0,)}
    assert result.distance["link_3"][0] == pytest.approx(2.0 - 3 * LINK, abs=2e-3)
    assert_close(place(result.motion, "link_3")[1], (0.3, 0.0, 0.5), 1e-9)


def test_shared_bodies_stay_and_limbs_do_not_disturb_each_other():
    motion = move(human(), 30)
    wanted = {
        "left_foot": place(motion, "left_foot") + (0.0, 0.0, 0.01),
        "left_hand": place(motion, "left_hand") + (0.01, 0.0, 0.0),
    }
    result = rectify(motion, wanted)
    names = motion.skeleton.names
    still = [i for i, name in enumerate(names) if not name.startswith("left_")]
    assert result.turned[:, still].max() < 1e-7


def test_a_target_farther_up_is_kept():
    motion = move(chain(4), 40)
    wanted = {name: place(motion, name) + 0.005 for name in ("link_4", "link_2")}
    result = rectify(motion, wanted)
    for name, target in wanted.items():
        met = result.distance[name] < 1e-9
        assert_close(place(result.motion, name)[met], target[met], 1e-9)
    assert np.mean(result.distance["link_2"] < 1e-9) > 0.9


def test_hinges_turn_about_their_axis_only():
    skeleton = hinge_chain(4)
    rotations = quat.identity((20, 4))
    rotations[:, 1:] = quat.from_axis_angle(np.array([0.0, 1, 0]), np.full((20, 3), 0.4))
    motion = Motion(skeleton, rotations, np.zeros((20, 3)), 100.0)
    target = place(motion, "link_3") + (0.02, 0.0, -0.01)
    result = rectify(motion, {"link_3": target})
    assert not result.unreachable
    turns = quat.log(quat.between(motion.rotations, result.motion.rotations))[:, 1:]
    assert np.abs(turns[..., [0, 2]]).max() < 1e-12


def test_tips_are_targets_too():
    result = rectify(straight(2), {"link_2.tip": (0.1, 0.2, 0.6)})
    world, joints = result.motion.world()
    assert_close(
        joints[0, 2] + quat.rotate(world[0, 2], np.array([0, 0, LINK])), (0.1, 0.2, 0.6), 1e-9
    )


def test_bad_requests_are_refused():
    motion = straight(2)
    with pytest.raises(UnknownName, match="no body named 'link_9'"):
        rectify(motion, {"link_9": (0, 0, 0)})
    with pytest.raises(ShapeError, match="'link_2' must have shape"):
        rectify(motion, {"link_2": np.zeros((5, 3))})
    with pytest.raises(BadValue, match="spread must lie between 0 and 1"):
        rectify(motion, {"link_2": (0, 0, 0)}, spread=2.0)
    with pytest.raises(NotEnoughData, match="has no tip"):
        rectify(move(human(), 2), {"pelvis.tip": (0, 0, 0)})
    loose = Motion(chain(2), quat.identity((1, 3)), np.zeros((1, 3)), 1.0, np.zeros((1, 3, 3)))
    with pytest.raises(NotEnoughData, match="bones of this motion stretch"):
        rectify(loose, {"link_2": (0, 0, 0)})
