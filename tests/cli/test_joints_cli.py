"""osteon joints from the command line: every option, and a sentence for every bad input."""

import json
import sys

import numpy as np
import pytest

from osteon import synth
from osteon.articulation import play_back
from osteon.articulation.body_source import Moving, estimate_noise
from osteon.articulation.find_joints import joints as find_joints
from osteon.cli import main
from osteon.formats import read, write
from osteon.maths import quat
from osteon.values import Bodies, Recording, Swap

SCRIPT = synth.exercise(8, rate=60, together=True)
LOUD = {"noise": 0.002, "orientation_noise": 0.01}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A linkage with a seventh sensor on a bar 0.4 m from the torso's, in units of 1/0.94 m."""
    folder = tmp_path_factory.mktemp("joints")
    worn = synth.sense(synth.linkage(), SCRIPT, seed=1, **LOUD).bodies
    write(worn, folder / "take.csv")
    write(find_joints(worn, root="head").skeleton(), folder / "like.json")
    write(_with_bar(worn), folder / "bar.csv")
    (folder / "tape.csv").write_text("limb,cm\nleft_upper_arm,31.4\n", encoding="utf-8")
    (folder / "wrong.csv").write_text("limb,cm\nleft_uper_arm,31.4\n", encoding="utf-8")
    return folder


def _with_bar(bodies: Bodies) -> Bodies:
    torso = bodies.index("torso")
    turned = quat.rotate(bodies.rotations[:, torso], np.array([0.4, 0.0, 0.0]))
    end = bodies.positions[:, torso] + turned
    return Bodies(
        np.concatenate([bodies.positions, end[:, None]], axis=1) / 0.94,
        np.concatenate([bodies.rotations, bodies.rotations[:, [torso]]], axis=1),
        (*bodies.names, "bar"),
        bodies.rate,
    )


@pytest.fixture
def run(folder, monkeypatch, capsys, tmp_path):
    def run(file: str, *options: str) -> tuple[int, str, str]:
        """Exit code, stdout, stderr."""
        args = ["osteon", "joints", str(folder / file), "-o", str(tmp_path / "rig"), *options]
        monkeypatch.setattr(sys, "argv", args)
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return run


def test_all_files_are_written(run, tmp_path):
    code, out, _ = run("take.csv", "--root", "torso", "--robust")
    assert code == 0
    assert out.startswith("torso (root)\n")
    written = {path.name for path in (tmp_path / "rig").iterdir()}
    wanted = {"skeleton.json", "summary.json", "motion.bvh", "residuals.svg", "report.html"}
    assert written == wanted
    summary = json.loads((tmp_path / "rig" / "summary.json").read_text())
    assert summary["bvh"] == {"unit": "cm", "up": "y"}


def test_measured_lengths_stand_beside_those_found(run, folder):
    code, out, _ = run("take.csv", "--measured", str(folder / "tape.csv"), "--json")
    assert code == 0
    (limb,) = [k for k in json.loads(out)["limbs"] if k["measured_mm"] is not None]
    assert limb["limb"] == "left_upper_arm"
    # 300 lengths of 60 such takes with twice the noise: worst 1.7 mm
    assert abs(limb["difference_mm"]) < 4.0


def test_a_known_hierarchy_is_kept(run, folder):
    code, out, _ = run("take.csv", "--like", str(folder / "like.json"), "--json")
    assert code == 0
    assert json.loads(out)["root"] == "head"


def test_a_known_distance_gives_the_scale(run):
    code, out, _ = run("bar.csv", "--known-distance", "torso", "bar", "0.4", "--json")
    assert code == 0
    limbs = {k["limb"]: k["found_mm"] for k in json.loads(out)["limbs"]}
    assert abs(limbs["left_upper_arm"] - 314.0) < 5.0


def test_a_sensor_that_only_gave_the_scale_is_left_out(run):
    code, out, _ = run(
        "bar.csv", "--known-distance", "torso", "bar", "0.4", "--exclude", "bar", "--json"
    )
    assert code == 0
    found = json.loads(out)
    limbs = {k["limb"]: k["found_mm"] for k in found["limbs"]}
    assert "bar" not in out and abs(limbs["left_upper_arm"] - 314.0) < 5.0


def test_clusters_are_left_out_with_their_noise():
    bodies = synth.sense(synth.linkage(), SCRIPT, seed=1, **LOUD).bodies
    noise = estimate_noise(bodies)
    fewer = Moving(bodies, noise).without([bodies.names[1]])
    less = fewer.noise
    assert fewer.bodies.names == (bodies.names[0], *bodies.names[2:])
    assert less is not None and (less.position == np.delete(noise.position, 1)).all()
    assert (less.rotation == np.delete(noise.rotation, 1, axis=0)).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--exclude", "tors"), "no body named 'tors'; did you mean 'torso'"),
        (("--root", "tors"), "no body named 'tors'; did you mean 'torso'"),
        (("--measured", "wrong.csv"), "no limb named 'left_uper_arm'; did you mean"),
        (("--known-distance", "torso", "pole", "0.4"), "no body named 'pole'"),
        (("--known-distance", "torso", "head", "-1"), "must be positive, got -1"),
    ],
)
def test_wrong_names_and_values_are_one_line(run, folder, options, says):
    placed = [str(folder / word) if word.endswith(".csv") else word for word in options]
    code, _, err = run("take.csv", *placed)
    assert code == 1
    assert says in err
    assert err.strip().count("\n") == 0


@pytest.fixture(scope="module")
def clusters():
    """Markers on the linkage, of which neighbours exchange labels six times."""
    return synth.perform(synth.linkage(), SCRIPT, seed=5, noise=0.0005, swaps=6)


def test_exchanged_labels_are_put_right_and_told(run, folder, clusters, tmp_path):
    write(clusters.recording, folder / "swapped.trc")
    code, out, _ = run("swapped.trc", "--json")
    assert code == 0
    summary = json.loads(out)
    swaps = [k for k in read(tmp_path / "rig" / "skeleton.json").skeleton().events]
    told = {(frozenset(k.markers), k.frames[0]) for k in swaps if isinstance(k, Swap)}
    assert told == {(frozenset(k.markers), k.frames[0]) for k in clusters.truth.swaps}
    # with labels exchanged, residuals are those of markers 5 cm apart
    assert max(joint["rms_mm"] for joint in summary["joints"].values()) < 3.0


def test_bodies_say_which_markers_they_are(run, folder, clusters, tmp_path):
    write(clusters.recording, folder / "clusters.trc")
    code, out, _ = run("clusters.trc")
    assert code == 0
    worn = {
        body.name: sorted(marker.name for marker in body.markers)
        for body in clusters.truth.skeleton.bodies
    }
    summary = json.loads((tmp_path / "rig" / "summary.json").read_text(encoding="utf-8"))
    assert {name: sorted(markers) for name, markers in summary["markers"].items()} == worn
    rig = read(tmp_path / "rig" / "skeleton.json").skeleton()
    assert {b.name: sorted(m.name for m in b.markers) for b in rig.bodies} == worn
    for name, markers in summary["markers"].items():
        assert f"{name} is {', '.join(markers)}" in out


def _still(n_bodies: int) -> Bodies:
    positions = np.tile(np.arange(n_bodies)[:, None] * np.ones(3), (50, 1, 1))
    names = tuple(f"b{i}" for i in range(n_bodies))
    return Bodies(positions, quat.identity((50, n_bodies)), names, 60)


def _turning(positions: np.ndarray) -> Bodies:
    turns = quat.exp(np.random.default_rng(0).normal(size=(*positions.shape[:2], 3)))
    names = tuple(f"b{i}" for i in range(positions.shape[1]))
    return Bodies(positions, turns, names, 60)


UNSEEN = np.full((50, 2, 3), np.nan)
UNSEEN[:3] = np.random.default_rng(2).normal(size=(3, 2, 3))
TWICE = np.random.default_rng(1).normal(size=(50, 1, 3)).repeat(2, axis=1)


@pytest.mark.parametrize(
    ("bodies", "says"),
    [
        (_still(1), "at least two are needed"),
        (_still(3), "nothing moves"),
        (_turning(np.zeros((50, 2, 3))), "orientations but no positions"),
        (
            _turning(TWICE),
            "whose positions never differ; leave one of each out: --exclude",
        ),
        (_turning(UNSEEN), "never or hardly seen"),
    ],
)
def test_bad_takes_are_one_line(run, folder, bodies, says):
    write(bodies, folder / "bad.csv")
    code, _, err = run("bad.csv")
    assert code == 1
    assert says in err
    assert err.strip().count("\n") == 0


@pytest.fixture(scope="module")
def partners(folder):
    """Two people who hold hands from frame 150 to 400, as written by the verb."""
    scene = synth.partners(synth.exercise(9, rate=60, together=True), (150, 400), seed=2)
    write(
        synth.sense_scene(scene, seed=2, noise=0.001, orientation_noise=0.005), folder / "two.csv"
    )
    return folder


def test_partners_get_a_folder_each_and_their_hands_meet(partners, run, tmp_path):
    code, _, told = run("two.csv")
    assert code == 0, told
    ends = []
    for letter, body in (("a", "a:left_hand"), ("b", "b:right_hand")):
        rig = tmp_path / "rig" / letter
        tree = json.loads((rig / "skeleton.json").read_text())
        assert tree["subject"] == letter
        assert {each["name"][:2] for each in tree["bodies"]} == {f"{letter}:"}
        (event,) = [each for each in tree["events"] if each["kind"] == "attachment"]
        assert np.abs(np.subtract(event["frames"], (150, 400))).max() <= 5
        motion, own = read(rig / "motion.bvh").motion(), read(rig / "skeleton.json").skeleton()
        name = body.replace(":", "_")
        index = motion.skeleton.index(name if name in motion.skeleton.names else body)
        point = event["in_first"] if event["bodies"][0] == body else event["in_second"]
        local = np.array(point) - own.body(body).joint.in_body
        ends.append(motion.points([index], local[None])[:, 0])
    apart = np.linalg.norm(ends[0] - ends[1], axis=-1)
    first, last = event["frames"]
    assert apart[first : last + 1].max() < 0.001
    assert min(apart[first - 30], apart[last + 30]) > 0.05


def test_frames_of_several_takes_are_told(folder, run, tmp_path):
    code, _, told = run("take.csv", str(folder / "take.csv"), "--formats", "glb")
    assert code == 0, told
    summary = json.loads((tmp_path / "rig" / "summary.json").read_text())
    assert [each["frames"] for each in summary["takes"]] == [[0, 479], [480, 959]]
    assert summary["frames"] == 960
    assert (tmp_path / "rig" / "motion.glb").exists()


VERBS = {
    "inspect": (),
    "limits": ("-o", "out"),
    "normalise": ("-o", "out"),
    "axes": ("-o", "out"),
    "fit": ("-o", "out"),
    "map": ("--skeleton", "rig/motion.bvh", "-o", "out"),
    "joints": ("-o", "out"),
}
"""All that take a motion."""


@pytest.fixture(scope="module")
def rig_of_thing(folder, tmp_path_factory):
    """The motion of a linkage and of a thing that goes its own ways, by channels of its own."""
    place = tmp_path_factory.mktemp("thing")
    worn = synth.sense(synth.linkage(), SCRIPT, seed=1, **LOUD).bodies
    away = synth.sense(synth.linkage(), SCRIPT, seed=9, **LOUD).bodies
    thing = away.positions[:, :1] + np.linspace(0, 3, worn.n_frames)[:, None, None]
    both = Bodies(
        np.concatenate([worn.positions, thing], axis=1),
        np.concatenate([worn.rotations, away.rotations[:, :1]], axis=1),
        (*worn.names, "thing"),
        worn.rate,
    )
    found = find_joints(both)
    (place / "rig").mkdir()
    write(play_back(both, found), place / "rig" / "motion.bvh")
    return place


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_the_motion_of_joints(verb, rig_of_thing, monkeypatch, capsys):
    """``map`` wants legs, which this linkage has none of, and says so."""
    monkeypatch.chdir(rig_of_thing)
    monkeypatch.setattr(sys, "argv", ["osteon", verb, "rig/motion.bvh", *VERBS[verb]])
    with pytest.raises(SystemExit) as stop:
        main()
    told = capsys.readouterr().err
    assert int(stop.value.code or 0) == 0 or (verb == "map" and "show no left_thigh" in told), told


def _clusters(bodies: Bodies, folder, lines: str):
    """Four markers on each sensor's body, called by numbers, and a table of them."""
    corners = 0.05 * np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]])
    paths, names = [], []
    for index, body in enumerate(bodies.names[:2]):
        for corner in corners:
            turned = quat.rotate(bodies.rotations[:, index], corner)
            paths.append(bodies.positions[:, index] + turned)
            names.append(f"m{len(names)}_{body[:1]}")
    write(Recording(np.stack(paths, axis=1), tuple(names), bodies.rate), folder / "markers.csv")
    (folder / "clusters.toml").write_text(f"[clusters]\n{lines}\n", encoding="utf-8")
    return names


def test_clusters_are_bodies_under_the_names_they_were_given(run, folder, tmp_path):
    bodies = read(folder / "take.csv").body_poses()
    names = _clusters(bodies, folder, "")
    lines = f"trunk = {json.dumps(names[:4])}\nupper = {json.dumps(names[4:])}"
    _clusters(bodies, folder, lines)
    code, out, told = run("markers.csv", "--clusters", str(folder / "clusters.toml"))
    assert code == 0, told
    assert f"trunk is {', '.join(names[:4])}" in out
    skeleton = read(tmp_path / "rig" / "skeleton.json").skeleton()
    worn = {body.name: [marker.name for marker in body.markers] for body in skeleton.bodies}
    assert worn == {"trunk": names[:4], "upper": names[4:]}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('trunk = "a"', "expected a table"),
        ('trunk = ["a", "b", "c"]\narm = ["c", "d", "e"]', "c on two bodies"),
        ('trunk = ["nobody", "b", "c"]\narm = ["d", "e", "f"]', "no marker named 'nobody'"),
    ],
)
def test_clusters_that_cannot_be_are_refused_in_a_sentence(run, folder, lines, said):
    _clusters(read(folder / "take.csv").body_poses(), folder, lines)
    code, _, told = run("markers.csv", "--clusters", str(folder / "clusters.toml"))
    assert code != 0 and said in told


def test_clusters_of_sensors_are_refused(run, folder):
    _clusters(read(folder / "take.csv").body_poses(), folder, 'a = ["b"]')
    code, _, told = run("take.csv", "--clusters", str(folder / "clusters.toml"))
    assert code != 0 and "clusters are of markers" in told
