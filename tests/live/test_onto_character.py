"""A performer's poses on a character, frame by frame."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from osteon import synth
from osteon.cli import osteon
from osteon.errors import NotEnoughData
from osteon.formats import write
from osteon.human import figure_at_rest, load_names, rename_bodies
from osteon.joint_limits import hold_within
from osteon.live import OntoCharacter
from osteon.live.performance import LivePose
from osteon.maths import quat
from osteon.posing import FEET, Follower, find_soles, find_standing, sole_paths
from osteon.retargeting import average_figure, carry_poses, size_ratio, slide_and_depth
from osteon.values import Cone, Joint, Limits, Motion, Skeleton

RATE = 120.0
FRAME = None
"""The character does not look at the frame, and no listener here does."""


@pytest.fixture(scope="module")
def walk() -> Motion:
    return synth.act(synth.human(), synth.walk(5.0, rate=RATE), seed=1).motion


def short_shins() -> Skeleton:
    """A small figure with other proportions and other names: carried feet slide."""
    figure = average_figure(1.3)
    feet = [figure.index(f"{side}_foot") for side in ("left", "right")]
    bodies = list(figure.bodies)
    for foot in feet:
        joint = bodies[foot].joint
        bodies[foot] = replace(
            bodies[foot], joint=replace(joint, in_parent=0.75 * np.array(joint.in_parent))
        )
    names = {body: load_names("mixamo").written(body) for body in figure.names}
    return rename_bodies(replace(figure, bodies=tuple(bodies)), names, "renamed")


def poses_of(motion: Motion) -> list[LivePose]:
    world, joints = motion.world()
    rows = zip(motion.rotations, world, joints, strict=True)
    return [LivePose(n, motion.skeleton, *row, rms=0.001) for n, row in enumerate(rows)]


def led(character: Skeleton, poses: list[LivePose], said: list[str] | None = None) -> Motion | None:
    shown: list[LivePose] = []
    say = (lambda sentence: None) if said is None else said.append
    onto = OntoCharacter(character, RATE, [lambda frame, pose: shown.append(pose)], say)
    for pose in poses:
        onto(FRAME, pose)  # type: ignore[arg-type]
    if not shown:
        return None
    rotations = np.stack([pose.rotations for pose in shown])
    return Motion(onto.skeleton, rotations, np.stack([pose.joints[0] for pose in shown]), RATE)


def slide(motion: Motion, walk: Motion) -> float:
    """Of the character's feet while the performer's stand, RMS, metres."""
    own, other = figure_at_rest(walk.skeleton), figure_at_rest(motion.skeleton)
    feet = {own.parts[part]: other.parts[part] for part in FEET}
    like = find_standing(walk, find_soles(own))
    plants = tuple(replace(plant, body=feet[plant.body]) for plant in like.plants)
    like = replace(like, plants=plants)
    return slide_and_depth(motion, find_standing(motion, find_soles(other), like))[0]


def test_feet_are_held_while_the_performers_stand(walk: Motion) -> None:
    shown = led(short_shins(), poses_of(walk))
    assert shown is not None
    own, other = figure_at_rest(walk.skeleton), figure_at_rest(shown.skeleton)
    poses = carry_poses(own, other, walk, scale=size_ratio(own, other))
    carried = Motion(shown.skeleton, *poses, RATE)
    assert slide(shown, walk) < 0.4 * slide(carried, walk)
    assert slide(shown, walk) < 0.005


def test_soles_stay_above_the_ground(walk: Motion) -> None:
    shown = led(short_shins(), poses_of(walk))
    assert shown is not None
    soles = find_soles(figure_at_rest(shown.skeleton))
    heights = np.concatenate([sole_paths(shown, sole)[..., 2] for sole in soles], axis=1)
    lowest = heights[round(RATE) :].min(axis=1)  # the first second finds how high it is
    assert lowest.max() - lowest.min() < 0.01


def test_the_character_is_called_by_our_names_and_follows(walk: Motion) -> None:
    shown = led(short_shins(), poses_of(walk))
    assert shown is not None and set(FEET) <= set(shown.skeleton.names)
    arm = shown.skeleton.index("left_upper_arm"), walk.skeleton.index("left_upper_arm")
    turns = [
        quat.angle(quat.between(motion.world()[0][10, body], motion.world()[0][60, body]))
        for motion, body in zip((shown, walk), arm, strict=True)
    ]
    assert abs(turns[0] - turns[1]) < np.radians(3.0)


def test_limits_of_the_character_are_held(walk: Motion) -> None:
    figure = average_figure(1.6)
    shoulder = figure.index("left_upper_arm")
    corners = 0.1 * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    bone, across = -np.eye(3)[2], np.eye(3)[[1, 0]]
    bound = Cone(quat.identity(), bone, across, np.full(2, 0.1), corners, (-0.1, 0.1))
    bodies = list(figure.bodies)
    joint: Joint = replace(bodies[shoulder].joint, limits=Limits(cone=bound))
    bodies[shoulder] = replace(bodies[shoulder], joint=joint)
    shown = led(replace(figure, bodies=tuple(bodies)), poses_of(walk))
    free = led(figure, poses_of(walk))
    assert shown is not None and free is not None
    held = hold_within(shown.skeleton, shown.rotations)
    assert quat.angle(quat.between(held, shown.rotations)).max() < 1e-6
    assert quat.angle(quat.between(free.rotations, shown.rotations))[:, shoulder].max() > 0.1


def test_a_marker_that_strays_lets_go() -> None:
    seen = synth.perform(synth.human(), synth.walk(2.0, rate=RATE), seed=1)
    places = np.array(seen.recording.positions)
    strayed = places.copy()
    strayed[100:130, seen.recording.index("LKNE")] += [0.0, 0.4, 0.2]
    joints = []
    for positions in (places, strayed):
        follower, poses = Follower(seen.truth.motion.skeleton, seen.recording.names), []
        for number, frame in enumerate(positions):
            found = follower.follow(frame)
            assert found is not None
            still = Motion(follower.skeleton, found.rotations[None], found.root[None], RATE)
            world, places_now = still.world()
            poses.append(
                LivePose(number, follower.skeleton, found.rotations, world[0], places_now[0], 0.0)
            )
        shown = led(average_figure(1.4), poses)
        assert shown is not None
        joints.append(shown.world()[1])
    assert np.linalg.norm(joints[0] - joints[1], axis=-1).max() < 0.02


def test_a_performer_who_is_no_human_is_told_once() -> None:
    linkage = synth.act(synth.linkage(), synth.exercise(1.0, rate=RATE), seed=1).motion
    said: list[str] = []
    assert led(average_figure(1.6), poses_of(linkage), said) is None
    assert len(said) == 1 and said[0].startswith("the character stays as it is")


def test_a_character_that_is_no_human_is_refused() -> None:
    with pytest.raises(NotEnoughData):
        OntoCharacter(synth.linkage(), RATE, [])


def test_a_character_that_nobody_sees_is_refused(tmp_path, walk: Motion) -> None:
    write(walk, tmp_path / "hero.bvh")
    given = ["live", "udp://127.0.0.1:0", "--onto", str(tmp_path / "hero.bvh")]
    result = CliRunner().invoke(osteon, given)
    assert result.exit_code == 2 and "--vmc or --studio" in result.output
