"""Cycles and numbers of steps that are written down by hand."""

import numpy as np
import pytest

from conftest import assert_close
from osteon.gait import CYCLE_POINTS, Cycle, FootEvent, FootPaths, cycles_of, numbers_of, over_cycle
from osteon.gait.trials import GaitTake, bands_of, between_takes, control_bands, spreads_of

WALK = [
    FootEvent(0.0, "left", "strike"),
    FootEvent(0.1, "right", "off"),
    FootEvent(0.5, "right", "strike"),
    FootEvent(0.6, "left", "off"),
    FootEvent(1.0, "left", "strike"),
    FootEvent(1.1, "right", "off"),
]
RUN = [
    FootEvent(0.0, "left", "strike"),
    FootEvent(0.25, "left", "off"),
    FootEvent(0.35, "right", "strike"),
    FootEvent(0.6, "right", "off"),
    FootEvent(0.7, "left", "strike"),
]


def test_a_walker_stands_on_both_feet_twice():
    (cycle,) = cycles_of(WALK)
    assert (cycle.side, cycle.start, cycle.off, cycle.end) == ("left", 0.0, 0.6, 1.0)
    assert_close([cycle.both_feet, cycle.no_foot, cycle.share(cycle.off)], [0.2, 0.0, 60.0])


def test_a_runner_flies_twice():
    (cycle,) = cycles_of(RUN)
    assert_close([cycle.both_feet, cycle.no_foot], [0.0, 0.2])


def test_a_cycle_without_its_off_is_none():
    assert cycles_of([event for event in WALK if event.kind == "strike"]) == ()


def test_who_stood_still_between_two_strikes_made_no_cycle():
    late = [FootEvent(event.time * 4.0, event.side, event.kind) for event in WALK]
    assert cycles_of(late) == ()


def test_who_stands_on_one_leg_and_swings_the_other_does_not_walk():
    swings = [(0.0, "strike"), (0.2, "off"), (0.7, "strike"), (0.9, "off"), (1.4, "strike")]
    assert cycles_of([FootEvent(time, "right", kind) for time, kind in swings]) == ()


def test_a_line_stays_a_line_over_the_cycle():
    cycle = Cycle("left", 0.033, 0.5, 1.417)
    values = np.stack([np.arange(300) / 100.0, -np.arange(300) / 50.0], axis=-1)
    told = over_cycle(values, 100.0, cycle)
    wanted = np.linspace(0.033, 1.417, CYCLE_POINTS)
    assert_close(told, np.stack([wanted, -2.0 * wanted], axis=-1), 1e-9)


@pytest.mark.parametrize("turn", [0.0, 0.7, np.pi])
def test_lengths_are_between_footprints_whichever_way_one_walks(turn):
    feet = footprints({"left": [(0.0, 0.0, 0.1), (1.2, 1.0, 0.1)], "right": [(0.55, 0.5, -0.1)]})
    ahead, across = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    soles = {}
    for side, path in feet.soles.items():
        turned = path.copy()
        turned[..., :2] = path[..., :1] * ahead + path[..., 1:2] * across
        soles[side] = turned
    feet = FootPaths(soles, feet.known, feet.rate, feet.belt)
    (cycle,) = cycles_of(WALK)
    found = numbers_of(cycle, feet, WALK)
    assert_close(found["stride_length"], 1.2)
    assert_close(found["step_length"], 0.65)
    assert_close(found["step_width"], 0.2)
    assert_close([found["speed"], found["cadence"], found["step_time"]], [1.2, 120.0, 0.5])
    assert_close([found["double_support"], found["single_support"]], [20.0, 40.0])


def footprints(prints):
    """Feet that jump from print to print: (way, since when, aside)."""
    soles = {}
    for side, places in prints.items():
        path = np.zeros((200, 4, 3))
        for way, since, aside in places:
            path[round(100 * since) :, :, 0], path[round(100 * since) :, :, 1] = way, aside
        soles[side] = path
    return FootPaths(soles, np.ones(200, dtype=bool), 100.0, np.zeros(2))


def take(*heights):
    """A take whose cycles are level curves."""
    curves = {("knee", "left"): np.array([np.full(CYCLE_POINTS, h) for h in heights])}
    cycle = Cycle("left", 0.0, 0.6, 1.0)
    numbers = tuple({"speed": height} for height in heights)
    return GaitTake("", (), (cycle,) * len(heights), curves, numbers, 0.0)


def test_takes_of_one_person_are_pooled_by_cycle():
    band = bands_of([take(1.0, 2.0), take(6.0)])["knee", "left"]
    assert band.count == 3
    assert_close(band.mean, np.full(CYCLE_POINTS, 3.0))
    assert_close(band.deviation, np.full(CYCLE_POINTS, np.sqrt(7.0)))
    assert_close(spreads_of_speed([take(1.0, 2.0), take(6.0)]), (3.0, np.sqrt(7.0)))


def spreads_of_speed(takes):
    full = [GaitTake(t.name, t.events, t.cycles, t.curves, with_all(t), 0.0) for t in takes]
    spread = spreads_of(full)["speed", "left"]
    return spread.mean, spread.deviation


def with_all(one):
    from osteon.gait import UNITS

    return tuple(dict.fromkeys(UNITS) | numbers for numbers in one.numbers)


def test_controls_are_pooled_by_person():
    band = control_bands([[take(1.0, 1.0, 1.0)], [take(3.0)]])["knee", "right"]
    assert band.count == 2
    assert_close(band.mean, np.full(CYCLE_POINTS, 2.0))
    assert_close(band.deviation, np.full(CYCLE_POINTS, np.sqrt(2.0)))


def test_takes_differ_by_their_means():
    assert_close(between_takes([take(1.0, 3.0), take(4.0)])["knee", "left"], np.sqrt(2.0))
    assert between_takes([take(1.0, 3.0)]) == {}
