"""A tracker's field from a walked bar: found, taken off, and refused where no bar is rigid."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import synth
from osteon.articulation import bodies_of, joints
from osteon.cleaning import field_of_bar, without_field
from osteon.errors import BadValue, NotEnoughData, OsteonError
from osteon.formats import read_field, write_field
from osteon.maths import fit_rigid, quat
from osteon.typing import Array
from osteon.values import Bodies, Recording, Take

BAR = 0.565
IRON = synth.Iron(pull=0.15)


def walk_in(iron: synth.Iron, seconds: float = 60.0, seed: int = 0):
    return field_of_bar(Take(bodies=(iron.sense(synth.walked_bar(seconds, seed=seed), seed),)), BAR)


def misplaced(found: Array, truth: Array) -> float:
    """Root mean square distance once the whole is laid over the truth, metres."""
    middle = found - found.mean(axis=0)
    fit = fit_rigid(middle, truth[None])
    laid = quat.rotate(fit.rotations[0], middle) + fit.positions[0]
    return float(np.sqrt(np.mean(np.sum((laid - truth) ** 2, axis=-1))))


def test_scale_and_noise_of_a_tracker_without_iron() -> None:
    """The mean of 3600 distances of ±9 mm is known to 0.15 mm, 0.03 % of the bar."""
    found = walk_in(replace(IRON, lumps=()))
    assert abs(found.field.scale / IRON.scale - 1.0) < 0.002
    places = synth.walked_bar(20.0, size=(2.0, 2.0, 1.4), seed=9).positions
    told = found.field.noise(IRON.reported(places)) / IRON.noise_at(places)
    assert 0.85 < np.median(told) < 1.15
    assert found.turn is not None
    assert found.turn == pytest.approx(np.sqrt(6.0) * IRON.turning_noise, rel=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_places_come_nearer_to_where_they_are(seed: int) -> None:
    """On a walk that the fit has not seen; simulated: 0.25 to 0.6 of the scale's error are left."""
    found = walk_in(IRON, 120.0, seed)
    truth = synth.walked_bar(30.0, size=(2.4, 2.4, 1.5), seed=seed + 90).positions.reshape(-1, 3)
    reported = IRON.reported(truth)
    scaled = misplaced(found.field.scale * reported, truth)
    assert misplaced(found.field.corrected(reported), truth) < 0.75 * scaled
    assert found.left < np.std(found.scaled)


def test_a_field_is_written_and_read(tmp_path) -> None:
    field = walk_in(IRON).field
    write_field(tmp_path / "field.json", field)
    again = read_field(tmp_path / "field.json")
    places = np.random.default_rng(0).uniform(-2.0, 2.0, (20, 3))
    np.testing.assert_array_equal(again.corrected(places), field.corrected(places))
    np.testing.assert_array_equal(again.noise(places), field.noise(places))


@pytest.mark.parametrize(
    "text", ["", "{}", '{"format": "osteon.skeleton"}', '{"format": "osteon.field"}']
)
def test_what_is_no_field_is_refused(tmp_path, text: str) -> None:
    path = tmp_path / "field.json"
    path.write_text(text)
    with pytest.raises(OsteonError, match=r"field\.json"):
        read_field(path)


def test_a_damaged_field_is_refused(tmp_path) -> None:
    field = walk_in(IRON).field
    write_field(tmp_path / "field.json", field)
    text = (tmp_path / "field.json").read_text().replace('"bend_degree": 5', '"bend_degree": 900')
    (tmp_path / "field.json").write_text(text)
    with pytest.raises(OsteonError, match="degree"):
        read_field(tmp_path / "field.json")


def test_markers_are_corrected_like_bodies() -> None:
    field = walk_in(IRON).field
    seen = IRON.sense(synth.walked_bar(5.0, seed=4), 4)
    markers = Recording(seen.positions, seen.names, seen.rate)
    found = without_field(Take(recordings=(markers,), bodies=(seen,)), field)
    np.testing.assert_array_equal(found.recordings[0].positions, found.bodies[0].positions)
    assert "field" in found.bodies[0].history[-1]


def loose(kind: str) -> Bodies:
    bar = synth.walked_bar(60.0)
    places, turns = np.array(bar.positions), np.array(bar.rotations)
    along = (places[:, 1] - places[:, 0]) / BAR
    times = np.arange(bar.n_frames) / bar.rate
    if kind == "stretches":
        places[:, 1] += 0.05 * np.sin(2 * np.pi * 0.4 * times)[:, None] * along
    elif kind == "slips":
        places[:, 1] += np.where(times > 33.0, 0.02, 0.0)[:, None] * along
    else:
        bend = 0.5 * np.sin(2 * np.pi * 0.3 * times)[:, None] * np.array([0.0, 1.0, 0.0])
        turns[:, 1] = quat.multiply(turns[:, 1], quat.exp(bend))
    return IRON.sense(replace(bar, positions=places, rotations=turns))


@pytest.mark.parametrize(
    ("kind", "word"),
    [("stretches", "changes by"), ("slips", "longer after 3[234]"), ("turns", "turn")],
)
def test_a_bar_that_is_not_rigid_is_refused(kind: str, word: str) -> None:
    with pytest.raises(BadValue, match=f"not fixed to one rigid bar: .*{word}"):
        field_of_bar(Take(bodies=(loose(kind),)), BAR)


def test_a_rigid_bar_is_not_refused() -> None:
    for seed in range(2):
        walk_in(IRON, 60.0, seed + 20)


def test_a_bar_that_stays_in_place_is_refused() -> None:
    bar = synth.walked_bar(20.0, size=(0.1, 0.1, 0.1))
    with pytest.raises(NotEnoughData, match="moves within"):
        field_of_bar(Take(bodies=(IRON.sense(bar),)), BAR)


def test_centimetres_are_told() -> None:
    bar = IRON.sense(synth.walked_bar(20.0))
    with pytest.raises(BadValue, match="given in metres"):
        field_of_bar(Take(bodies=(bar,)), 56.5)


def test_few_frames_and_three_sensors_are_told() -> None:
    bar = IRON.sense(synth.walked_bar(2.0))
    with pytest.raises(NotEnoughData, match="120 frames show both"):
        field_of_bar(Take(bodies=(bar,)), BAR)
    three = Bodies(
        np.repeat(bar.positions, 2, axis=1)[:, :3],
        np.repeat(bar.rotations, 2, axis=1)[:, :3],
        ("a", "b", "c"),
        60.0,
    )
    with pytest.raises(BadValue, match="the file has 3"):
        field_of_bar(Take(bodies=(three,)), BAR)
    with pytest.raises(BadValue, match="twice"):
        field_of_bar(Take(bodies=(three,)), BAR, ("a", "a"))


def test_a_bar_held_one_way_is_told() -> None:
    bar = synth.walked_bar(60.0)
    middle = bar.positions.mean(axis=1, keepdims=True)
    half = np.array([[0.0, 0.0, -0.5 * BAR], [0.0, 0.0, 0.5 * BAR]])
    upright = replace(bar, positions=middle + half)
    found = field_of_bar(Take(bodies=(IRON.sense(upright),)), BAR)
    assert "hardly ever held along" in found.notes[0]


def test_joints_take_the_field_off() -> None:
    """A linkage beside the iron: its limbs come out nearer to their lengths than by the scale."""
    field = walk_in(IRON, 120.0).field
    take = synth.sense(synth.linkage(), synth.exercise(20, rate=60, together=True), seed=1)
    moved = replace(take.bodies, positions=take.bodies.positions + np.array([1.0, 0.3, 0.0]))
    seen = bodies_of(Take(bodies=(IRON.sense(moved, 3),)))
    parents = {b.name: b.parent for b in take.truth.skeleton.bodies if b.parent is not None}
    worn = take.truth.placement
    assert worn is not None

    def off(moving) -> float:
        found = joints(moving.bodies, noise=moving.noise, parents=parents)
        columns = [take.bodies.index(link.child) for link in found.connections]
        truth = quat.rotate(quat.inverse(worn.rotations[columns]), -worn.positions[columns])
        found_at = np.stack([link.in_child for link in found.connections])
        return float(np.sqrt(np.mean(np.sum((found_at - truth) ** 2, axis=-1))))

    corrected = seen.in_field(field)
    assert corrected.noise is not None
    assert corrected.noise.over_frames is not None
    assert off(corrected) < off(seen.rescaled(field.scale))


def test_poses_outside_the_volume_are_told() -> None:
    field = walk_in(IRON).field
    far = synth.walked_bar(20.0)
    far = replace(far, positions=far.positions + np.array([4.0, 0.0, 0.0]))
    moving = bodies_of(Take(bodies=(far,))).in_field(field)
    assert "outside the volume" in moving.problems[-1]
