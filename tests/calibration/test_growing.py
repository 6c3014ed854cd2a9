"""Who hangs on whom, and what hangs on nothing."""

import numpy as np
import pytest

from conftest import real
from osteon import synth
from osteon.calibration.fit_subject import calibrate_blind
from osteon.calibration.motion_guess import guess_from_motion, joint_doubts
from osteon.calibration.tree_from_markers import (
    find_pivot_on_line,
    group,
    grow,
    with_missing_links,
)
from osteon.errors import NotEnoughData
from osteon.formats import read
from osteon.maths import quat
from osteon.values import Recording

CHAIR = np.array([[0.0, 0.0, 0.45], [0.4, 0.0, 0.45], [0.4, 0.4, 0.45], [0.0, 0.2, 0.9]])
FRAMES = 300


def swinging(rng, size: float) -> np.ndarray:
    """(FRAMES, 4) slow turns about all axes, radians."""
    time = np.linspace(0.0, 12.0, FRAMES)[:, None]
    return quat.exp(size * np.sin(time * rng.uniform(0.5, 2.0, 3) + rng.uniform(0.0, 6.0, 3)))


def arm(rng) -> np.ndarray:
    """(FRAMES, 8, 3) four markers on a chest, one by the elbow, three on a forearm; 1 mm noise."""
    chest, upper = swinging(rng, 0.3), swinging(rng, 0.8)
    lower = quat.multiply(upper, swinging(rng, 0.8))
    shoulder = quat.rotate(chest, np.array([0.0, 0.2, 0.2]))
    elbow = shoulder + quat.rotate(upper, np.array([0.0, 0.0, -0.3]))
    on_chest = [[0.1, 0.1, 0.2], [0.1, -0.1, 0.2], [-0.1, 0.0, 0.25], [0.1, 0.0, 0.0]]
    on_forearm = [[0.03, 0.0, -0.1], [-0.03, 0.0, -0.2], [0.0, 0.03, -0.25]]
    points = [
        quat.rotate(chest[:, None], np.array(on_chest)),
        (shoulder + quat.rotate(upper, np.array([0.0, 0.04, -0.28])))[:, None],
        elbow[:, None] + quat.rotate(lower[:, None], np.array(on_forearm)),
    ]
    return np.concatenate(points, axis=1) + rng.normal(scale=0.001, size=(FRAMES, 8, 3))


@pytest.mark.parametrize("seed", range(3))
def test_what_hangs_on_a_single_marker_is_not_hung_elsewhere(seed):
    """Chest, one marker by the elbow, forearm: a chain, though one marker shows no frame."""
    points = arm(np.random.default_rng(seed))
    bodies = [group(points, np.array(columns)) for columns in ([0, 1, 2, 3], [4], [5, 6, 7])]
    edges = grow(bodies)
    assert {frozenset((edge.on, edge.body)) for edge in edges} == {
        frozenset((0, 1)),
        frozenset((1, 2)),
    }


def test_a_line_carries_its_pivot_where_the_other_body_turns(rng):
    """Two thirds of the way between two points; 1 mm noise; 200 draws: 99 % within 0.002."""
    start = rng.normal(scale=0.1, size=(FRAMES, 3))
    way = quat.rotate(swinging(rng, 0.8), np.array([0.0, 0.0, 0.3]))
    arms = quat.rotate(swinging(rng, 0.8)[:, None], rng.normal(scale=0.1, size=(3, 3)))
    other = (start + 2.0 / 3.0 * way)[:, None] + arms + rng.normal(scale=0.001, size=arms.shape)
    found = find_pivot_on_line(start, start + way, other)
    assert found is not None
    assert abs(found.point[0] - 2.0 / 3.0) < 0.005 and found.misfit < 0.002


def test_a_line_needs_frames_that_show_both(rng):
    start, end = rng.normal(size=(2, FRAMES, 3))
    start[20:] = np.nan
    assert find_pivot_on_line(start, end, rng.normal(size=(FRAMES, 2, 3))) is None


def dog_with(prop) -> tuple[Recording, Recording]:
    """A dog that walks about, alone and with the markers (n_frames, n, 3) that ``prop`` makes."""
    exercise = synth.exercise(seconds=34, rate=60)
    alone = synth.perform(synth.quadruped(), exercise, noise=0.0005, seed=2).recording
    time = np.arange(alone.n_frames) / alone.rate
    walked = alone.positions + np.stack([0.1 * time, np.sin(0.2 * time), 0.0 * time], -1)[:, None]
    extra = prop(walked, alone.names)
    names = (*alone.names, *(f"prop {i}" for i in range(extra.shape[1])))
    return (
        Recording(walked, alone.names, alone.rate),
        Recording(np.concatenate([walked, extra], axis=1), names, alone.rate),
    )


def hierarchy(guess) -> set[tuple[frozenset[str], frozenset[str]]]:
    """Markers of every body and of its parent."""
    rig = guess.rig
    carried = [
        frozenset(np.array(rig.marker_names)[rig.marker_bodies == body])
        for body in range(rig.n_bodies)
    ]
    return {(carried[b], carried[p]) for b, p in enumerate(rig.parents) if p >= 0}


def still(walked, names):
    rng = np.random.default_rng(3)
    return CHAIR + rng.normal(scale=0.0005, size=(len(walked), *CHAIR.shape))


def flying(walked, names):
    rng = np.random.default_rng(3)
    time = np.linspace(0.0, 30.0, len(walked))[:, None]
    path = np.sin(time * np.array([0.7, 0.5, 0.9])) * np.array([0.8, 0.6, 0.4])
    turn = quat.exp(np.sin(time * np.array([0.4, 0.6, 0.3])))
    noise = rng.normal(scale=0.0005, size=(len(walked), *CHAIR.shape))
    return path[:, None] + quat.rotate(turn[:, None], CHAIR) + noise


@pytest.mark.parametrize("prop", [still, pytest.param(flying, marks=pytest.mark.slow)])
def test_a_prop_is_left_out_and_named(prop):
    alone, both = dog_with(prop)
    guess = guess_from_motion(both)
    assert not any(name.startswith("prop") for name in guess.rig.marker_names)
    assert "prop 0" in guess.doubts[0] and "sharing no joint" in guess.doubts[0]
    assert hierarchy(guess) == hierarchy(guess_from_motion(alone))


def test_a_prop_that_is_held_stays_where_it_is_held():
    """A stick that turns about a point of the head."""

    def carried(walked, names):
        head = [i for i, name in enumerate(names) if name.startswith("HEA")]
        bodies = group(walked, np.array(head))
        assert bodies.poses is not None
        time = np.linspace(0.0, 30.0, len(walked))[:, None]
        turn = quat.multiply(bodies.poses[0], quat.exp(0.6 * np.sin(time * [0.9, 0.7, 0.5])))
        grip = bodies.poses[1] + quat.rotate(bodies.poses[0], np.array([0.0, 0.0, 0.1]))
        stick = np.array([[0.1, 0.0, 0.0], [0.3, 0.02, 0.0], [0.2, 0.0, 0.05]])
        return grip[:, None] + quat.rotate(turn[:, None], stick)

    _, both = dog_with(carried)
    held = [pair for pair in hierarchy(guess_from_motion(both)) if "prop 0" in pair[0] | pair[1]]
    assert len(held) == 1
    assert any(name.startswith("HEA") for name in held[0][0] | held[0][1])


def test_a_served_ball_needs_the_arm():
    """Tennis serve without labels: no forearm hangs on head or trunk, as both once did."""
    take = read(real("kineticstoolkit/kinematics_tennis_serve.c3d")).recording().markers()
    for body, parent in hierarchy(guess_from_motion(take)):
        for side in "LR":
            if f"{side}WRA" in body | parent:
                assert not {"C7", "CLAV", "LFHD", "T10", "LASI"} & (body | parent)


def in_pieces(recording: Recording, seconds: float) -> Recording:
    """Every track cut after so long, each piece under a name of its own."""
    length = round(seconds * recording.rate)
    tracks = []
    for marker in range(recording.n_markers):
        for start in range(marker % length - length, recording.n_frames, length):
            rows = slice(max(start, 0), start + length)
            track = np.full((recording.n_frames, 3), np.nan)
            track[rows] = recording.positions[rows, marker]
            if np.isfinite(track).any():
                tracks.append(track)
    names = tuple(f"*{i}" for i in range(len(tracks)))
    return Recording(np.stack(tracks, axis=1), names, recording.rate)


def recorded_arm(rng) -> Recording:
    points = arm(rng)
    return Recording(points, tuple(f"*{i}" for i in range(points.shape[1])), 100.0)


def test_pieces_of_tracks_are_told_for_what_they_are(rng):
    cut = in_pieces(recorded_arm(rng), 0.5)
    with pytest.raises(NotEnoughData) as told:
        guess_from_motion(cut)
    assert f"{cut.n_markers} tracks, 8 at a time" in str(told.value)
    assert "of about 0.5 s" in str(told.value) and "join and label them" in str(told.value)


def test_gaps_are_no_pieces(rng):
    """A marker hidden for a third of the time comes back under its name."""
    take = recorded_arm(rng)
    shown = np.repeat(rng.random((FRAMES // 10 + 1, take.n_markers)) < 0.7, 10, axis=0)[:FRAMES]
    hidden = np.where(shown[..., None], take.positions, np.nan)
    guess = guess_from_motion(Recording(hidden, take.names, take.rate))
    assert not any("pieces" in doubt for doubt in guess.doubts)


def test_a_few_pieces_are_counted(rng):
    take = recorded_arm(rng)
    positions = np.array(take.positions)
    positions[FRAMES // 3 :, 0] = np.nan
    doubts = guess_from_motion(Recording(positions, take.names, take.rate)).doubts
    assert doubts[0].startswith("1 of 8 tracks last for less than half")


def test_how_far_it_is_is_told_all_along(rng):
    told: list[float] = []
    calibrate_blind([recorded_arm(rng)], progress=told.append)
    assert told == sorted(told) and told[-1] <= 1.0
    assert sum(share <= 0.4 for share in told) >= 3  # pairs of bodies
    assert sum(share > 0.4 for share in told) > 3  # steps of the fit


@pytest.mark.parametrize("degrees", [0, 2, 30, 140])
def test_a_hinge_is_told_from_what_hardly_turns(degrees, rng):
    """Two boards of four markers; 0.05 mm noise, so that nothing is told along the axis."""
    angle = np.radians(degrees) * 0.5 * (1.0 - np.cos(np.linspace(0.0, 6.0 * np.pi, FRAMES)))
    base = swinging(rng, 0.5)
    hinged = quat.multiply(base, quat.exp(angle[:, None] * np.array([0.0, 1.0, 0.0])))
    board = np.array([[0.05, -0.1, 0.0], [0.25, -0.1, 0.0], [0.25, 0.1, 0.0], [0.05, 0.1, 0.03]])
    points = [quat.rotate(base[:, None], -board), quat.rotate(hinged[:, None], board)]
    noisy = np.concatenate(points, axis=1) + rng.normal(scale=0.00005, size=(FRAMES, 8, 3))
    bodies = [group(noisy, np.arange(4)), group(noisy, np.arange(4, 8))]
    (doubt,) = joint_doubts(bodies, grow(bodies), {0: "one", 1: "other"})
    assert ("hardly turn" in doubt) == (degrees < 20)
    assert ("turn about one axis only" in doubt) == (degrees > 20)


def chain(rng, on: tuple[list, ...]) -> list[np.ndarray]:
    """Markers (FRAMES, n, 3) of a chest, an upper arm, its forearm, another upper arm …"""
    chest = swinging(rng, 0.3)
    at = [(chest, np.zeros((FRAMES, 3)))]
    while len(at) < len(on):
        upper, bend = swinging(rng, 0.8), rng.normal(0.6, 0.5, FRAMES)
        shoulder = quat.rotate(chest, np.array([0.0, 0.2 * (-1) ** (len(at) // 2), 0.2]))
        elbow = shoulder + quat.rotate(upper, np.array([0.0, 0.0, -0.3]))
        about = quat.exp(np.array([0.0, 1.0, 0.0]) * bend[:, None])
        at += [(upper, shoulder), (quat.multiply(upper, about), elbow)]
    return [
        place[:, None]
        + quat.rotate(turn[:, None], np.array(markers, dtype=float))
        + rng.normal(scale=0.001, size=(FRAMES, len(markers), 3))
        for (turn, place), markers in zip(at, on, strict=True)
    ]


CHEST = [[0.1, 0.1, 0.2], [0.1, -0.1, 0.2], [-0.1, 0.0, 0.25], [0.1, 0.0, 0.0]]
ARM = [[0.04, 0.0, -0.1], [-0.04, 0.03, -0.15], [0.0, 0.04, -0.2]]
WRIST = [[0.0, 0.03, -0.25], [0.0, -0.03, -0.25]]
ELBOW = [[0.0, 0.04, -0.3], [0.0, -0.04, -0.3]]
"""On the axis about which the forearm bends."""


def links(edges) -> set[frozenset[int]]:
    return {frozenset((edge.on, edge.body)) for edge in edges}


@pytest.mark.parametrize("seed", range(3))
def test_one_marker_that_hides_does_not_hang_a_body_elsewhere(seed):
    """A marker of the forearm is never seen with the upper arm's frame."""
    parts = chain(np.random.default_rng(seed), (CHEST, ARM, ARM))
    parts[1][: FRAMES // 2, 0] = np.nan
    parts[2][FRAMES // 2 :, 1] = np.nan
    points = np.concatenate(parts, axis=1)
    columns = (range(4), range(4, 7), range(7, 10))
    bodies = [group(points, np.array(each)) for each in columns]
    assert links(grow(bodies)) == {frozenset((0, 1)), frozenset((1, 2))}


@pytest.mark.parametrize("seed", range(3))
def test_markers_of_an_elbow_are_the_upper_arm_that_wears_no_others(seed):
    """They are steady against the forearm, which shares no joint with the chest."""
    parts = chain(np.random.default_rng(seed), (CHEST, ELBOW, WRIST, ARM, ARM))
    points = np.concatenate(parts, axis=1)
    bodies = [group(points, np.arange(*ends)) for ends in ((0, 4), (4, 8), (8, 11), (11, 14))]
    parted = with_missing_links(bodies, grow(list(bodies)))
    assert [list(body.markers) for body in parted[1:3]] == [[4, 5], [6, 7]]
    assert {frozenset((0, 1)), frozenset((1, 2))} <= links(grow(parted))


def test_a_body_that_has_its_joint_is_not_parted():
    parts = chain(np.random.default_rng(0), (CHEST, [*ARM, *ELBOW], [*ARM, *WRIST]))
    points = np.concatenate(parts, axis=1)
    bodies = [group(points, np.arange(*ends)) for ends in ((0, 4), (4, 9), (9, 14))]
    assert len(with_missing_links(bodies, grow(list(bodies)))) == 3
