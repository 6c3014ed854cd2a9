"""Movement axes and the angles about them: known axes are found, and angles tell the motion."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from conftest import assert_close, assert_rotations_close, real
from oracles.angle_oracles import two_axes
from osteon import synth
from osteon.anatomy import parameters as limb_kernel
from osteon.anatomy.direction_methods import circle_axis, joining, sweeps_of
from osteon.anatomy.limb_path import find_threshold_speed, moving_samples, smooth_path
from osteon.anatomy.movement_axes import axes, main_directions, movement_of
from osteon.anatomy.parameters import edited, limb_points, parameterise, smoothest
from osteon.cli import osteon
from osteon.delivery import axes_summary, axes_text
from osteon.errors import BadValue, FormatError, UnknownName
from osteon.formats import read, write
from osteon.formats.own.compact_tables import write_compact_parquet
from osteon.maths import quat, rotations
from osteon.values import Movement
from sweeps import line_angle, swept, worst_angle

FIGURE_3 = {"apart": 60, "reach": ((0, 120), (0, 30)), "times": (4, 2)}
"""One long movement and one short one, not at right angles: where PCA and EM fail."""


def found_by(method, take, source="orientations"):
    return main_directions(take.rotations, take.direction, 50.0, method, source)[0]


def errors(method, n=12, source="orientations", **how):
    """Degrees by which the worse axis is missed, in ``n`` draws."""
    takes = [swept(np.random.default_rng(seed), **how) for seed in range(n)]
    return np.array([worst_angle(found_by(method, take, source), take.axes) for take in takes])


@pytest.mark.parametrize("apart", [60, 75, 90, 120])
def test_known_axes_are_found(apart):
    assert errors("joining", 3, apart=apart).max() < 0.01


@pytest.mark.parametrize("apart", [60, 90])
def test_noise_and_sliding_skin(apart):
    """Half a degree of noise, sensors that turn by up to 1° with the angles: 1.2°, 1.4° of 20."""
    assert np.median(errors("joining", apart=apart, noise=0.5, skin=1.0)) < 2.0


def test_shaking_is_no_movement():
    """8° of white noise about one line, as of a body that few markers tell: steps from cell to cell
    are noise then (20 draws: 1.6°; 75° where nothing is averaged)."""
    off = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        take = swept(rng, reach=((-20, 40), (-20, 30)), rate=100)
        across = quat.normalise(np.cross(take.direction, rng.normal(size=3)))
        line = np.sqrt(0.5) * (take.direction + across)
        shaken = np.radians(8.0) * rng.normal(size=(len(take.rotations), 1)) * line
        shaken = quat.multiply(take.rotations, quat.exp(shaken))
        off.append(worst_angle(main_directions(shaken, take.direction, 100.0)[0], take.axes))
    assert np.median(off) < 5.0


def test_a_short_arc_near_a_great_circle():
    """A limb 82° from its axes over ±20°: great circles are 8° off, rotations 1.6° (20 draws)."""
    how = {"cone": 82.0, "noise": 0.5, "skin": 0.5, "reach": ((-20, 20), (-20, 20))}
    assert np.median(errors("joining", 6, **how)) < 3.0


def test_gaps_and_signs_do_not_disturb_the_mean(rng):
    """Averaged over time, what is missing stays missing, and −q is q."""
    take = swept(rng, noise=1.0)
    flipped = take.rotations * rng.choice([-1.0, 1.0], size=(len(take.rotations), 1))
    holes = rng.random(len(flipped)) < 0.1
    flipped[holes] = np.nan
    steady = smooth_path(quat.unroll(flipped), 50.0)
    assert (np.isnan(steady[:, 0]) == holes).all()
    whole = smooth_path(quat.unroll(take.rotations), 50.0)
    apart = quat.angle(quat.between(steady[~holes], whole[~holes]))
    # the noise that the missing tenth of the samples brings to a mean of about eight
    assert np.degrees(np.median(apart)) < 0.5
    found, _ = main_directions(flipped, take.direction, 50.0)
    assert worst_angle(found, take.axes) < 2.0


def test_figure_3_of_the_paper():
    """PCA and EM miss an axis by about 60°; Direction Joining does not (20 draws: 1.4°)."""
    how = {"noise": 1.0, "skin": 1.0, **FIGURE_3}
    ours, pca, em = (np.median(errors(method, **how)) for method in ("joining", "pca", "em"))
    assert ours < 2.0 < em and ours < 2.0 < pca
    assert em > 30.0 and pca > 30.0


def cone(angle: float, reach: float = 60.0, n: int = 400):
    """A limb that turns about z at ``angle`` degrees from it: points, rotations."""
    theta = np.radians(reach) * np.sin(np.linspace(0.0, 12.0, n))
    limb = np.array([np.sin(np.radians(angle)), 0.0, np.cos(np.radians(angle))])
    rotations = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), theta)
    return limb_points(rotations, limb), rotations


@pytest.mark.parametrize("angle", [90.0, 75.0, 60.0, 45.0, 30.0])
@pytest.mark.parametrize("source", ["orientations", "points"])
def test_a_limb_that_is_not_across_its_axis(angle, source):
    """The paper's a = (c − o) × d is 49° wrong at 45°; a circle has its axis all the same."""
    points, rotations = cone(angle)
    moving = np.ones(len(points), dtype=bool)
    turned = rotations if source == "orientations" else None
    axis = joining(sweeps_of(points, turned, moving))[0].axis
    assert line_angle(axis, np.array([0.0, 0.0, 1.0])) < 0.5
    if angle == 45.0:
        centre = points.mean(axis=0)
        paper = np.cross(centre, points[100] - points[99])
        assert line_angle(paper, np.array([0.0, 0.0, 1.0])) > 40.0


def test_short_arcs_are_taken_as_great_circles(rng):
    """5° of arc with 0.5° of noise cannot show a small circle; its fit would be anywhere."""
    points, _ = cone(90.0, reach=5.0)
    noisy = quat.normalise(points + np.radians(0.5) * rng.normal(size=points.shape))
    axis, great = circle_axis(noisy, np.zeros(len(noisy), dtype=int))
    assert great and line_angle(axis, np.array([0.0, 0.0, 1.0])) < 2.0


def test_a_swing_back_and_forth_is_one_movement():
    points, rotations = cone(90.0)
    found = joining(sweeps_of(points, rotations, np.ones(len(points), dtype=bool)))
    assert len(found) == 1 and found[0].weight > 0.99


class TestSplit:
    def test_standing_is_told_from_moving(self, rng):
        """Half of the take stands still but for noise, the other half sweeps at 60° a second."""
        still = np.abs(rng.normal(scale=0.02, size=2000))
        sweep = rng.normal(loc=1.0, scale=0.15, size=2000)
        speed = find_threshold_speed(np.concatenate([still, sweep]))
        assert 0.07 < speed < 0.6

    def test_without_a_valley_all_samples_move(self, rng):
        assert find_threshold_speed(np.abs(rng.normal(size=5000))) == 0.0
        assert find_threshold_speed(np.zeros(50)) == 0.0

    def test_missing_samples_do_not_move(self):
        points, _ = cone(90.0)
        points[10:20] = np.nan
        moving = moving_samples(points, 50.0)
        assert not moving[10:20].any() and moving[30:].any()


@pytest.mark.parametrize("apart", [40.0, 90.0, 130.0])
def test_both_branches_lead_to_the_same_place(apart, rng):
    first = np.array([1.0, 0.0, 0.0])
    second = np.array([np.cos(np.radians(apart)), np.sin(np.radians(apart)), 0.0])
    start, end = quat.normalise(rng.normal(size=3)), quat.normalise(rng.normal(size=(200, 3)))
    both = two_axes(first, second, start, end)
    assert both.reached.any()
    for branch in range(2):
        angles = np.stack([both.first[:, branch], both.second[:, branch]], axis=-1)
        led = quat.rotate(rotations.swing(np.stack([first, second]), angles), start)
        assert_close(led[both.reached], end[both.reached], 1e-9)
        # what cannot be reached: no angles on a fine grid come nearer
        for far in np.flatnonzero(~both.reached)[:3]:
            grid = np.stack(np.meshgrid(*[np.linspace(-np.pi, np.pi, 181)] * 2), -1)
            tried = quat.rotate(rotations.swing(np.stack([first, second]), grid), start)
            best = (tried @ end[far]).max()
            assert led[far] @ end[far] > best - 1e-3


def test_the_compiled_angles_are_the_reference_ones(rng):
    first, second, start = quat.normalise(rng.normal(size=(3, 3)))
    end = quat.normalise(rng.normal(size=(100, 3)))
    both = two_axes(first, second, start, end)
    one, two, reached = np.zeros((100, 2)), np.zeros((100, 2)), np.zeros(100, dtype=bool)
    limb_kernel.swing_two(first, second, start, end, one, two, reached)
    assert (reached == both.reached).all()
    assert_close(one, both.first, 1e-9)
    assert_close(two, both.second, 1e-9)
    q, axis = quat.normalise(rng.normal(size=(2, 50, 4))), start
    turned = rotations.twist_angle(q[0], axis)
    nearest = quat.from_axis_angle(axis, turned)
    for other in np.linspace(-np.pi, np.pi, 90):
        away = quat.from_axis_angle(axis, turned + other)
        assert (np.abs(np.sum(nearest * q[0], -1)) >= np.abs(np.sum(away * q[0], -1)) - 1e-12).all()


def test_the_smoothest_path_is_found_over_the_whole_take():
    """A greedy choice goes wrong at the crossing; the cheapest of all 2ⁿ paths does not."""
    rng = np.random.default_rng(4)
    first, second = rng.uniform(-2.0, 2.0, size=(2, 9, 2))
    chosen = np.zeros(9, dtype=np.int64)
    smoothest(first, second, chosen)

    def cost(path):
        rows = np.arange(9)
        steps = [np.diff(values[rows, path]) for values in (first, second)]
        start = 1e-3 * (abs(first[0, path[0]]) + abs(second[0, path[0]]))
        return start + sum(np.sum(((s + np.pi) % (2 * np.pi) - np.pi) ** 2) for s in steps)

    paths = [[(k >> i) & 1 for i in range(9)] for k in range(2**9)]
    assert cost(chosen) == pytest.approx(min(cost(path) for path in paths))


def test_angles_tell_the_rotations(rng):
    take = swept(rng, apart=70, noise=0.5, twist=20)
    points = limb_points(take.rotations, take.direction)
    movement = movement_of(
        points, take.rotations, take.direction, found_by("joining", take), np.eye(3)
    )
    told = parameterise(take.rotations, movement)
    around = np.vstack([movement.axes, quat.rotate(movement.rest, movement.direction)])
    back = quat.multiply(rotations.swing(around, told.angles), movement.rest)
    assert_rotations_close(back[told.reached], take.rotations[told.reached], 1e-9)
    assert told.reached.mean() > 0.99


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_angles_and_twist_are_the_true_ones(noise):
    """With the true axes and rest, the angles are those that made the motion; and with found axes
    the twist is off by 0.36° (median of 12 draws), the paper's by 18.7°."""
    off = []
    for seed in range(4):
        take = swept(np.random.default_rng(seed), apart=75, twist=25, noise=noise)
        known = Movement(take.axes, ("bend", "turn"), take.rest, take.direction)
        apart = parameterise(take.rotations, known).angles - take.angles
        apart = (apart + np.pi) % (2.0 * np.pi) - np.pi
        if noise == 0.0:
            assert np.abs(apart).max() < 1e-6
        points = limb_points(take.rotations, take.direction)
        moved = movement_of(
            points, take.rotations, take.direction, found_by("joining", take), np.eye(3)
        )
        twist = parameterise(take.rotations, moved).angles[:, -1] - take.angles[:, -1]
        off.append(np.median(np.abs(twist - np.median(twist))))
    assert np.degrees(np.median(off)) < 1.0


@pytest.fixture(scope="module")
def calibration():
    return axes(synth.act(synth.human(), synth.exercise(20), seed=1).motion)


def test_a_whole_body_is_told_in_fewer_numbers(calibration):
    """48 degrees of freedom, 6 of them the root's; knees and elbows bend about one axis."""
    compact = calibration.compact
    assert len(compact.names) < 3 * (len(compact.skeleton.bodies) - 1)
    assert compact.skeleton.body("left_shin").movement.labels == ("bend",)
    assert compact.skeleton.body("left_thigh").movement.labels == ("bend", "sideways")
    assert 1e3 * np.mean([limb.error for limb in calibration.limbs]) < 1.3
    apart = compact.motion().world()[1] - calibration.motion.world()[1]
    assert 1e3 * np.linalg.norm(apart, axis=-1).mean() < 1.3


def test_signs_do_not_depend_on_the_take(calibration):
    other = axes(synth.act(synth.human(), synth.exercise(20), seed=5).motion)
    for name in ("left_thigh", "right_upper_arm", "head", "left_shin"):
        one, two = (m.compact.skeleton.body(name).movement for m in (calibration, other))
        assert one.labels == two.labels
        assert (np.sum(one.axes * two.axes, axis=-1) > 0.98).all()


def test_a_positive_bend_lifts_the_thigh_forward(calibration):
    changed = edited(calibration.compact, {"left_thigh.bend": np.radians(60.0)}, frames=3)
    before, after = (m.motion().world()[1] for m in (calibration.compact, changed))
    moved = np.linalg.norm(after - before, axis=-1) > 1e-9
    below = [calibration.compact.skeleton.index(n) for n in ("left_shin", "left_foot")]
    assert sorted(np.flatnonzero(moved[3])) == below and moved.sum() == 2
    knee = calibration.compact.skeleton.index("left_shin")
    assert after[3, knee, 1] > before[3, knee, 1] + 0.2


def test_editing_refuses_what_is_not_there(calibration):
    with pytest.raises(UnknownName, match=r"no movement parameter named 'left_thigh\.bent'"):
        edited(calibration.compact, {"left_thigh.bent": 0.0})
    with pytest.raises(BadValue, match="needs one angle, or one for each of 5 frames"):
        edited(calibration.compact, {"left_thigh.bend": np.zeros(4)}, frames=slice(5))


def test_missing_poses_stay_missing(calibration):
    motion = calibration.motion
    rotations = motion.rotations.copy()
    rotations[40:50, 3] = np.nan
    told = axes(replace(motion, rotations=rotations))
    back = told.compact.motion().rotations
    assert (np.isnan(back).any(axis=-1) == np.isnan(rotations).any(axis=-1)).all()


@pytest.mark.parametrize("n_frames", [1, 2, 10])
def test_takes_of_few_frames_are_told_too(calibration, n_frames):
    motion = calibration.motion
    short = replace(motion, rotations=motion.rotations[:n_frames], root=motion.root[:n_frames])
    told = axes(short)
    assert told.compact.angles.shape[0] == n_frames
    assert 1e3 * np.mean([limb.error for limb in told.limbs]) < 1.3


@pytest.mark.parametrize("method", ["pca", "em"])
def test_other_methods_tell_the_motion_too(calibration, method):
    told = axes(calibration.motion, method=method)
    assert 1e3 * np.mean([limb.error for limb in told.limbs]) < 1.3
    with pytest.raises(BadValue, match="method must be one of joining, pca, em"):
        axes(calibration.motion, method="ica")


def test_command_line_and_back(tmp_path, calibration):
    write(calibration.motion, tmp_path / "take.osteon")
    args = ["axes", str(tmp_path / "take.osteon"), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(osteon, [*args, "--formats", "csv,osteon", "--json"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["error_mm"] < 1.3 and facts["limbs"]["left_shin"]["axes"] == ["bend"]
    assert facts["parameters"] == len(calibration.compact.names)
    for name in ("parameters.csv", "parameters.osteon"):
        back = read(tmp_path / "out" / name).motion()
        assert_close(back.world()[1], calibration.compact.motion().world()[1], 1e-6)
    (tmp_path / "out" / "skeleton.json").unlink()
    with pytest.raises(FormatError, match=r"needs the skeleton\.json"):
        read(tmp_path / "out" / "parameters.csv")


def test_first_axes_that_hardly_lead_are_named(tmp_path, calibration):
    """A shoulder that swings alike all round has no first axis to compare; an elbow has."""
    bodies = []
    for body in calibration.compact.skeleton.bodies:
        shares = {"left_upper_arm": (0.5, 0.4), "right_upper_arm": (0.9, 0.1)}.get(body.name)
        movement = body.movement
        if shares is not None:
            movement = replace(movement, share=shares)
        bodies.append(replace(body, movement=movement))
    skeleton = replace(calibration.compact.skeleton, bodies=tuple(bodies))
    told = replace(calibration, compact=replace(calibration.compact, skeleton=skeleton))
    facts = axes_summary(told)
    assert "left_upper_arm" in facts["open_axes"]
    assert not {"right_upper_arm", "left_shin"} & set(facts["open_axes"])
    assert "left_upper_arm" in axes_text(facts).split("other first axes of")[1]


def test_parquet(tmp_path, calibration):
    parquet = pytest.importorskip("pyarrow.parquet")
    compact = calibration.compact
    write_compact_parquet(tmp_path / "a.parquet", compact)
    table = parquet.read_table(tmp_path / "a.parquet")
    assert tuple(table.column_names[7:]) == compact.names
    assert_close(
        table["left_shin.bend"].to_numpy(), compact.angles[:, compact.index("left_shin.bend")]
    )
    assert b"left_shin" in table.schema.metadata[b"osteon.skeleton"]


def test_cmu_walk_is_told_exactly():
    told = axes(read(real("cmu-02/02_01.amc")).motion())
    assert 1e3 * np.mean([limb.error for limb in told.limbs]) < 1.3
    assert np.degrees(np.mean([limb.turned for limb in told.limbs])) < 1.0
    steps = np.degrees(np.abs(np.diff(told.compact.angles, axis=0)))
    assert steps.max() < 20.0  # no branch is changed in mid-air
