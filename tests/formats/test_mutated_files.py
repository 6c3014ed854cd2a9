"""Files of ours that somebody changed: the verbs that read them end well or in one line."""

import json
import random
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fuzz_worker
from archives import marker_take, person, sensor_takes
from mutations import mutated
from osteon.articulation.statistics import JointStatistics
from osteon.articulation.summed import Sums
from osteon.cli import osteon
from osteon.errors import OsteonError
from osteon.formats import content_hash, write
from osteon.formats.own.skeleton_json import read_passport
from osteon.formats.plain_csv import read_measured
from osteon.joint_limits.limits_toml import read_edits as read_limits_toml
from osteon.values.skeleton import UNKNOWN_DEVIATION, without_gaps

FRAMES = 24
"""Of the take that verbs are given: enough to solve, soon done."""


def run(*args: object) -> str:
    """What a verb said last; whatever is no error of ours escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd numbers may well overflow on their way to an error
        result = CliRunner().invoke(osteon, [str(arg) for arg in args])
    error = result.exception
    if error is None or isinstance(error, SystemExit | OsteonError | OSError):
        return str(error or result.output)
    raise error


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A walk, solved; its limits, axes and edits; a short piece of it for the trials."""
    folder = tmp_path_factory.mktemp("home")
    walk = marker_take(person(1), 0, 2.0)
    write(walk, folder / "walk.c3d")
    write(replace(walk, positions=walk.positions[:FRAMES]), folder / "short.c3d")
    run("solve", folder / "walk.c3d", "-o", folder / "solved")
    run("limits", folder / "solved" / "motion.glb", "-o", folder / "limits")
    run("axes", folder / "solved" / "motion.glb", "-o", folder / "axes")
    edits = {
        "format": "osteon.edits",
        "version": 1,
        "recording": {
            "file": "short.c3d",
            "sha256": content_hash(folder / "short.c3d"),
            "subject": "",
        },
        "edits": [
            {"edit": "cut", "markers": ["LTHI"], "first": 3, "last": 8},
            {"edit": "fill", "markers": ["LTHI"], "first": 3, "last": 8, "method": "spline"},
        ],
    }
    (folder / "take.edits.json").write_text(json.dumps(edits))
    return folder


def through(home: Path, source: str, count: int, verb: Callable[[Path], object]) -> None:
    """Change the file in as many ways and let ``verb`` read it each time."""
    path = home / source
    whole = path.read_bytes()
    document = json.loads(whole)
    try:
        for case in range(count):
            path.write_text(json.dumps(mutated(document, random.Random(f"{source} {case}"))))
            try:
                verb(path)
            except Exception as error:
                raise AssertionError(f"case {case}: {path.read_text()[:2000]}") from error
    finally:
        path.write_bytes(whole)


def solve(home: Path, option: str) -> Callable[[Path], str]:
    out = ("-o", home / "out", "--formats", "bvh")
    return lambda path: run("solve", home / "short.c3d", option, path, *out)


def converted(path: Path) -> None:
    for ending in (".bvh", ".glb", ".xml", ".urdf", ".osim", ".osteon", ".asf"):
        run("convert", path, path.with_name(f"x{ending}"))


@pytest.mark.parametrize("count", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_passports(home, count):
    through(home, "solved/passport.json", count, solve(home, "--passport"))


@pytest.mark.parametrize("count", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_skeletons_to_solve_by(home, count):
    through(home, "solved/skeleton.json", count, solve(home, "--skeleton"))


@pytest.mark.parametrize("count", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_limits_to_solve_by(home, count):
    through(home, "limits/skeleton.json", count, solve(home, "--limits"))


@pytest.mark.parametrize("count", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_characters(home, count):
    out = ("-o", home / "out")
    through(
        home,
        "limits/skeleton.json",
        count,
        lambda path: run("map", home / "short.c3d", "--skeleton", path, *out),
    )


@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_skeletons_to_convert(home, count):
    through(home, "limits/skeleton.json", count, converted)


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_movement_axes(home, count):
    through(
        home,
        "axes/skeleton.json",
        count,
        lambda path: run("convert", path.with_name("parameters.csv"), home / "x.bvh"),
    )


@pytest.mark.parametrize("count", [20, pytest.param(150, marks=pytest.mark.slow)])
def test_edits(home, count):
    assert "20 bodies" in run(
        *("solve", home / "short.c3d", "--edits", home / "take.edits.json", "-o", home / "out")
    )
    through(home, "take.edits.json", count, solve(home, "--edits"))


def damaged(path: Path, count: int, reader: Callable[[Path], object]) -> int:
    """Damage a file's bytes as often; how many of the results were still read."""
    whole, done = path.read_bytes(), 0
    for case in range(count):
        path.write_bytes(fuzz_worker.damage(whole, whole, random.Random(f"{path.name} {case}")))
        try:
            reader(path)
            done += 1
        except OsteonError as error:
            assert "\n" not in str(error)
    return done


def test_saved_statistics(tmp_path):
    bodies = sensor_takes(1, 30)[0]
    sums = Sums.of(bodies)
    sums.statistics.save(tmp_path / "statistics.npz")
    sums.save(tmp_path / "sums.npz")
    np.testing.assert_array_equal(
        JointStatistics.load(tmp_path / "statistics.npz").gram, sums.statistics.gram
    )
    np.testing.assert_array_equal(Sums.load(tmp_path / "sums.npz").rotation, sums.rotation)
    assert damaged(tmp_path / "statistics.npz", 300, JointStatistics.load) < 300
    assert damaged(tmp_path / "sums.npz", 300, Sums.load) < 300


def test_statistics_of_another_shape_are_refused(tmp_path):
    bodies = sensor_takes(1, 30)[0]
    statistics = JointStatistics.of(bodies)
    good = {
        "names": np.array(statistics.names),
        "gram": statistics.gram,
        "own": statistics.own,
        "count": statistics.count,
    }
    bad = {
        "names": np.array([[1, 2]]),
        "gram": np.full_like(statistics.gram, np.nan),
        "own": statistics.own[:1],
        "count": statistics.count.astype(complex),
    }
    for name, value in bad.items():
        np.savez(tmp_path / "a.npz", **(good | {name: value}))
        with pytest.raises(OsteonError, match=name):
            JointStatistics.load(tmp_path / "a.npz")


def test_tables_and_limits_by_hand(home, tmp_path):
    (tmp_path / "measured.csv").write_text("limb,cm\nleft_shin,41.5\nright_shin,42\n")
    limits = tmp_path / "limits.toml"
    limits.write_bytes((home / "limits" / "limits.toml").read_bytes())
    assert damaged(tmp_path / "measured.csv", 200, read_measured) < 200
    assert damaged(limits, 200, read_limits_toml) < 200


def test_nothing_known_is_a_metre_and_what_is_known_stays():
    covariance = np.array([[4.0, np.nan, 1.0], [np.nan, np.nan, np.nan], [1.0, np.nan, 9.0]])
    expected = [[4.0, 0.0, 1.0], [0.0, UNKNOWN_DEVIATION**2, 0.0], [1.0, 0.0, 9.0]]
    np.testing.assert_array_equal(without_gaps(covariance), expected)


@pytest.mark.parametrize("bodies", [0, 1, 2])
def test_skeletons_of_few_bodies(home, bodies):
    path = home / "few.json"
    document = json.loads((home / "limits" / "skeleton.json").read_bytes())
    path.write_text(json.dumps(document | {"bodies": document["bodies"][:bodies]}))
    run("map", home / "short.c3d", "--skeleton", path, "-o", home / "out")
    run("map", home / "solved" / "motion.bvh", "--skeleton", path, "-o", home / "out")
    solve(home, "--skeleton")(path)
    solve(home, "--limits")(path)
    converted(path)


@pytest.mark.parametrize("kind", ["hinge", "universal", "ball"])
def test_joints_whose_axes_nobody_told(home, kind):
    path = home / "axes_untold.json"
    document = json.loads((home / "limits" / "skeleton.json").read_bytes())
    for body in document["bodies"][1:]:
        body["joint"] |= {"type": kind, "axes": []}
    path.write_text(json.dumps(document))
    solve(home, "--limits")(path)
    run("map", home / "short.c3d", "--skeleton", path, "-o", home / "out")
    converted(path)


@pytest.mark.parametrize("part", ["markers", "joint"])
def test_a_passport_may_know_nothing_of_a_place(home, part):
    """``null`` in a covariance, as the file's description allows."""
    path = home / "solved" / "passport.json"
    whole = path.read_bytes()
    document = json.loads(whole)
    for body in document["skeleton"]["bodies"]:
        for holder in body["markers"] if part == "markers" else [body["joint"]]:
            holder["covariance"] = [[None] * 3] * 3
    path.write_text(json.dumps(document))
    try:
        assert read_passport(path).skeleton.names[0] == "pelvis"
        assert "20 bodies" in solve(home, "--passport")(path)
    finally:
        path.write_bytes(whole)
