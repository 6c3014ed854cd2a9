"""Strikes and offs: laws of what is found, and what laboratories say of real walks."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from conftest import real
from osteon import pipeline, synth
from osteon.anatomy import find_angles
from osteon.gait import SIDES, FootPaths, Load, bands_of, find_events, foot_paths, gait_of
from osteon.values import Take


@pytest.fixture(scope="module")
def walk():
    performed = synth.perform(synth.human(), synth.walk(seconds=5), noise=0.0005, seed=3)
    return pipeline.solve(Take(recordings=(performed.recording,)))[0].motion


def times(events, side, kind):
    return np.array([event.time for event in events if (event.side, event.kind) == (side, kind)])


def test_feet_take_turns(walk):
    events = find_events(foot_paths(walk))
    for side in SIDES:
        own = [event.kind for event in events if event.side == side]
        assert len(own) > 4
        assert all(first != second for first, second in itertools.pairwise(own))
    strikes = [event.side for event in events if event.kind == "strike"]
    assert all(first != second for first, second in itertools.pairwise(strikes))


def test_pelvis_and_trunk_are_told_of_the_own_side(walk):
    """So curves of both sides lie on each other, and controls may be averaged over sides."""
    angles = find_angles(walk, {})
    bands = bands_of([gait_of(walk, angles)])
    left, right = (bands["pelvis_own_side_forwards", side].mean for side in SIDES)
    assert min(np.ptp(left), np.ptp(right)) > np.radians(2.0)
    assert np.corrcoef(left, right)[0, 1] > 0.9
    titles = {title for title, _ in bands if "_lab_" not in title}
    assert not [title for title in titles if "right" in title or "left" in title]


def test_a_belt_makes_no_difference(walk):
    # whoever walks at the belt's speed stays where they are
    speed = (walk.root[-1] - walk.root[0])[:2] * walk.rate / (walk.n_frames - 1)
    drift = np.arange(walk.n_frames)[:, None] / walk.rate * speed
    root = walk.root.copy()
    root[:, :2] -= drift
    feet = foot_paths(replace(walk, root=root))
    assert np.allclose(feet.belt, -speed, atol=0.05 * np.linalg.norm(speed))
    over, on = find_events(foot_paths(walk)), find_events(feet)
    for side in SIDES:
        for kind in ("strike", "off"):
            ours, theirs = times(over, side, kind), times(on, side, kind)
            assert len(ours) == len(theirs)
            assert np.abs(ours - theirs).max() < 0.02


def test_slower_cameras_see_the_same_events(walk):
    all_of_it = find_events(foot_paths(walk))
    half = find_events(foot_paths(walk.frames(0, walk.n_frames - 1, 2)))
    for side in SIDES:
        ours, theirs = times(all_of_it, side, "strike"), times(half, side, "strike")
        assert len(ours) == len(theirs) and np.abs(ours - theirs).max() < 0.015


@pytest.mark.parametrize("rate", [50.0, 100.0, 200.0])
def test_who_lands_on_the_toes_strikes_with_them(rate):
    """A step a second; toes are down after 0.4 s of swing, the heel sinks later and never lands."""
    time = np.arange(0.0, 4.0, 1.0 / rate)
    within = time % 1.0
    swing = np.minimum(within / 0.4, 1.0)
    ahead = np.floor(time) + swing - np.sin(2.0 * np.pi * swing) / (2.0 * np.pi)
    toes = 0.06 * np.sin(np.pi * swing)
    sinking = np.exp(-np.maximum(within - 0.4, 0.0) / 0.05)
    heel = toes + np.where(within < 0.4, 0.05, 0.02 + 0.03 * sinking)
    heights = np.stack([heel, toes, toes, toes], axis=1)
    places = ahead[:, None] + np.array([0.0, 0.15, 0.15, 0.2])
    path = np.stack([places, np.zeros_like(places), heights], axis=-1)
    feet = FootPaths(dict.fromkeys(SIDES, path), np.ones(len(time), bool), rate, np.zeros(2))
    strikes = times(find_events(feet), "left", "strike")
    assert len(strikes) == 4
    assert np.abs(strikes % 1.0 - 0.4).max() < 0.02  # what laboratories ask for


def test_a_foot_that_markers_pull_away_for_a_moment_takes_no_step(walk):
    """Some 60 ms there and back in the middle of a stance, as fast as a swing."""
    feet = foot_paths(walk)
    events = find_events(feet)
    strike = times(events, "left", "strike")[1]
    off = next(time for time in times(events, "left", "off") if time > strike)
    middle = round(0.5 * (strike + off) * feet.rate)
    half = round(0.03 * feet.rate)
    pulled = feet.soles["left"].copy()
    there = 0.1 * np.cos(np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * half + 1))
    pulled[middle - half : middle + half + 1, :, 0] += there[:, None]
    found = find_events(replace(feet, soles=feet.soles | {"left": pulled}))
    assert [event.kind for event in found] == [event.kind for event in events]


def test_who_stands_takes_no_step(walk):
    still = walk.frames(10, 10)
    held = replace(
        still,
        rotations=np.repeat(still.rotations, 200, axis=0),
        root=np.repeat(still.root, 200, axis=0),
    )
    assert find_events(foot_paths(held)) == ()


def test_a_plate_says_it_better(walk):
    feet = foot_paths(walk)
    events = find_events(feet)
    strike = times(events, "left", "strike")[1]
    off = next(time for time in times(events, "left", "off") if time > strike)
    samples = np.arange(round(1000 * walk.n_frames / walk.rate)) / 1000.0
    on = (samples > strike + 0.03) & (samples < off - 0.04)
    moved = find_events(feet, {"left": Load(np.where(on, 700.0, 0.0), 1000.0)})
    said = [event for event in moved if event.source == "plate"]
    assert [event.kind for event in said] == ["strike", "off"]
    assert abs(said[0].time - (strike + 0.03)) < 0.002
    assert abs(said[1].time - (off - 0.04)) < 0.002
    assert len(moved) == len(events)


def test_a_treadmill_is_told_as_its_laboratory_marked_it():
    solved = pipeline.solve(real("gaitalytics/treadmill_events.c3d"))[0]
    take = pipeline.gait(solved, pipeline.angles(solved))
    apart = np.array(take.apart)
    assert len(apart) == 43
    assert np.mean(np.abs(apart) <= 0.02) >= 0.9
    assert abs(np.median(apart)) <= 0.01
    assert 1.0 < take.belt < 1.2
