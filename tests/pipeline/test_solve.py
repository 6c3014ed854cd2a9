"""The whole job, on performances whose truth is known and on real takes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from conftest import real
from osteon import delivery, pipeline, synth
from osteon.cli import osteon
from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.formats import read, write
from osteon.maths import quat
from osteon.typing import Step
from osteon.values import Recording, Source, Take


@pytest.fixture(scope="module")
def performance():
    """A minute's exercise would tell more; ten seconds are enough for a test."""
    return synth.perform(
        synth.human(), synth.exercise(seconds=10, together=True), noise=0.001, gaps=0.03, seed=5
    )


@pytest.fixture(scope="module")
def solved(performance):
    return pipeline.solve(Take(recordings=(performance.recording,)))[0]


@pytest.fixture(scope="module")
def folder(solved, tmp_path_factory):
    folder = tmp_path_factory.mktemp("solved")
    delivery.deliver(solved, folder)
    return folder


def test_limbs_are_found_where_they_were(performance, solved):
    """No skin motion: what remains is noise, and what the frames looked at leave open."""
    truth = performance.truth
    limbs = [name for name in truth.skeleton.names if name.endswith(("shin", "foot", "forearm"))]
    found = solved.motion.world()[1][:, [solved.skeleton.index(name) for name in limbs]]
    wanted = truth.joints[:, [truth.skeleton.index(name) for name in limbs]]
    # seeds 1 to 6: medians 1.8 to 2.7 mm
    assert np.median(np.linalg.norm(found - wanted, axis=-1)) < 0.005


def test_markers_lie_on_the_model(solved):
    # noise of 1 mm per axis is 1.7 mm per marker; seeds 1 to 6 end at 1.29 to 1.35 mm
    assert solved.rms < 0.0017


def test_a_format_never_leads_out_of_the_folder(solved, tmp_path):
    with pytest.raises(BadValue, match="no motion is written as"):
        delivery.deliver(solved, tmp_path / "rig", formats=["osteon/../../x.osteon"])
    assert list(tmp_path.iterdir()) == []


def test_contract_files_agree_with_each_other(solved, folder):
    """A marker is where node and skeleton.json put it, as the contract says."""
    skeleton = json.loads((folder / "skeleton.json").read_text())
    summary = json.loads((folder / "summary.json").read_text())
    motion = read(folder / "motion.bvh").motion()
    assert summary["bvh"] == {"unit": motion.source.unit, "up": motion.source.up}
    assert summary["bvh"] == {"unit": "cm", "up": "y"}
    rotations, joints = motion.world()
    errors = []
    for body in skeleton["bodies"]:
        node = motion.skeleton.index(body["name"])
        for marker in body["markers"]:
            arm = np.array(marker["position"]) - body["joint"]["in_body"]
            place = joints[:, node] + quat.rotate(rotations[:, node], arm)
            seen = solved.recording.positions[:, solved.recording.index(marker["name"])]
            errors.append(np.linalg.norm(place - seen, axis=-1))
    rms = 1e3 * np.sqrt(np.nanmean(np.array(errors) ** 2))
    assert rms == pytest.approx(summary["marker_rms_mm"], abs=0.01)
    assert summary["bone_length_spread_mm"] < 1e-6
    assert (folder / "motion.glb").exists()


def test_report_asks_the_network_for_nothing(folder):
    page = (folder / "report.html").read_text()
    assert "http://" not in page.split("<script>")[0]
    assert 'src="http' not in page and 'href="http' not in page


def test_a_calibrated_subject_is_reused(performance, solved):
    options = pipeline.SolveOptions(skeleton=solved.skeleton)
    again = pipeline.solve(Take(recordings=(performance.recording,)), options=options)[0]
    assert again.skeleton.offsets == pytest.approx(solved.skeleton.offsets)
    assert again.rms == pytest.approx(solved.rms, rel=1e-3)


def test_the_skeleton_of_somebody_else_is_noted(performance, solved):
    other = synth.performers.scaled(
        solved.skeleton, dict.fromkeys(solved.skeleton.names, 1.2)
    )  # a head taller
    take = Take(recordings=(performance.recording,))
    options = pipeline.SolveOptions(skeleton=other)
    assert "another person" in pipeline.solve(take, options=options)[0].warnings[0]
    # a rig that nothing can be done with was put down to several people at once
    other = synth.performers.scaled(solved.skeleton, dict.fromkeys(solved.skeleton.names, 2.0))
    options = pipeline.SolveOptions(skeleton=other)
    told, *others = notes(pipeline.solve(take, options=options)[0])
    assert not any("several people" in other for other in others)
    assert told.startswith("not to be used as it stands") and "of another person" in told
    options = pipeline.SolveOptions(skeleton=solved.skeleton)
    assert pipeline.solve(take, options=options)[0].warnings == ()


def notes(solved: pipeline.Solved) -> list[str]:
    """What is told of a take besides how exactly its joints are known."""
    return [note for note in solved.warnings if "joints lie is uncertain" not in note]


def test_what_the_reader_assumed_is_noted(performance, tmp_path):
    path = tmp_path / "walk.csv"
    write(performance.recording, path)
    path.write_text(path.read_text().partition("\n")[2])  # without its rate
    (note,) = notes(pipeline.solve(path)[0])
    assert "100 frames per second assumed" in note


def test_a_marker_that_slips_is_noted(performance, solved):
    assert notes(solved) == []
    positions = np.array(performance.recording.positions)
    half = len(positions) // 2
    positions[half:, performance.recording.index("RTHI")] += [0.05, 0.0, -0.05]
    recording = performance.recording.with_positions(positions, did="")
    (far,) = notes(pipeline.solve(Take(recordings=(recording,)))[0])
    assert "RTHI" in far  # and it does not turn the thigh


def test_y_up_markers_without_a_word_about_it_come_out_upright(performance):
    lying = performance.recording.positions[..., [0, 2, 1]] * [1, 1, -1]
    recording = replace(performance.recording, positions=lying)
    found = pipeline.solve(Take(recordings=(recording,)))[0]
    joints = found.motion.world()[1]
    height = joints[:, found.skeleton.index("head"), 2] - joints[:, 0, 2]
    assert np.median(height) > 0.3
    assert any("z up" in line for line in found.recording.history)


@pytest.mark.parametrize("template", ["auto", "none"])
@pytest.mark.parametrize(
    ("unit", "factor", "question"),
    [
        ("m", 1000.0, " km.* read as metres; are these millimetres"),
        ("m", 100.0, " m.* read as metres; are these centimetres"),
        ("mm", 0.001, " mm.* read as millimetres; are these metres"),
        ("cm", 0.01, " cm.* read as centimetres; are these metres"),
    ],
)
def test_wrong_units_are_asked_about(performance, template, unit, factor, question):
    recording = performance.recording
    source = replace(recording.source, file="a.csv", format="CSV", unit=unit)
    recording = replace(recording, positions=factor * recording.positions, source=source)
    options = pipeline.SolveOptions(template=template)
    with pytest.raises(BadValue, match=question):
        pipeline.solve(Take(recordings=(recording,)), options=options)


def test_a_small_animal_may_have_been_told_in_several_units():
    """A mouse in centimetres, read as millimetres, was asked whether it was in inches."""
    points = 0.001 * np.random.default_rng(0).normal(size=(60, 12, 3))
    points[..., 2] = np.linspace(0.0, 0.016, 12)
    source = Source(file="mouse.csv", format="keypoint CSV", unit="mm")
    mouse = Recording(points, tuple("abcdefghijkl"), 60.0, source=source)
    with pytest.raises(BadValue, match=r"--scale 25.4 \(or .*10 for centimetres"):
        pipeline.solve(Take(recordings=(mouse,)))


@pytest.mark.parametrize(("factor", "mends"), [(10.0, "--scale 0.1"), (0.1, "--scale 10")])
def test_a_size_that_no_unit_explains_is_mended_the_right_way(performance, factor, mends):
    """Ten times as large in millimetres was asked to be multiplied by ten again."""
    source = replace(performance.recording.source, file="a.c3d", format="C3D", unit="mm")
    points = factor * performance.recording.positions
    recording = replace(performance.recording, positions=points, source=source)
    with pytest.raises(BadValue) as told:
        pipeline.solve(Take(recordings=(recording,)))
    assert mends in str(told.value)


@pytest.mark.parametrize("size", [0.3, 1.5])
def test_small_and_tall_people_pass(performance, size):
    recording = performance.recording
    recording = replace(recording, positions=size * recording.positions)
    options = pipeline.SolveOptions()
    assert pipeline.prepare_take(recording, options)[0].n_frames == recording.n_frames


def test_markers_that_no_set_knows_ride_along(performance):
    recording = performance.recording
    thigh = recording.positions[:, recording.index("LTHI")]
    knee = recording.positions[:, recording.index("LKNE")]
    # beside the thigh, and never quite at rest on it
    extra = 0.5 * (thigh + knee) + 0.01 * np.sin(np.arange(len(thigh)))[:, None]
    recording = replace(
        recording,
        positions=np.concatenate([recording.positions, extra[:, None]], axis=1),
        names=(*recording.names, "mystery"),
        residuals=None,
    )
    found = pipeline.solve(Take(recordings=(recording,)))[0]
    carried = [m.name for m in found.skeleton.body("left_thigh").markers]
    assert "mystery" in carried
    assert found.riders == {"mystery"} and "mystery" not in found.rms_per_marker()
    # 10 mm of a sine along every axis; the others are at noise, and only they are told
    assert np.nanmax(found.marker_error[:, -1]) > 0.015 > 3.0 * found.rms
    summary = delivery.summary_of(found)
    assert summary["riders"] == ["mystery"] and summary["marker_rms_mm"] < 2.0


def _markers(points, names=None) -> Take:
    points = np.asarray(points, dtype=float)
    names = names or tuple(f"M{i}" for i in range(points.shape[1]))
    return Take(recordings=(Recording(points, names, 100.0),))


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        (np.zeros((50, 0, 3)), "0 marker"),
        (np.ones((50, 1, 3)), "holds 1 marker; a rig needs several"),
        (np.full((50, 5, 3), np.nan), "none of the 5 markers is ever seen"),
        (np.random.default_rng(0).normal(size=(1, 6, 3)), "seen together in 20 frames"),
        (np.tile(np.random.default_rng(0).normal(size=(1, 6, 3)), (60, 1, 1)), "one body"),
        (np.random.default_rng(0).normal(size=(90, 6, 3)), "no markers keep their distance"),
    ],
)
def test_what_cannot_be_solved_is_said_in_a_sentence(points, sentence):
    with pytest.raises(NotEnoughData, match=sentence):
        pipeline.solve(_markers(points))


def test_unknown_template_names_the_known_ones(performance):
    take = Take(recordings=(performance.recording,))
    with pytest.raises(UnknownName, match="CMU 41"):
        pipeline.solve(take, options=pipeline.SolveOptions(template="CMU 14"))


def test_a_set_that_does_not_fit_is_told_with_the_one_that_does(performance):
    """The performer wears CMU 41, whose pelvis has other labels than Plug-in Gait's."""
    take = Take(recordings=(performance.recording,))
    with pytest.raises(NotEnoughData) as told:
        pipeline.solve(take, options=pipeline.SolveOptions(template="Plug-in Gait", clean=False))
    assert "LASI" in str(told.value)
    assert "32 of the 40 markers of 'Plug-in Gait'" in str(told.value)
    assert "`template='CMU 41'`" in str(told.value)


def test_a_wrong_set_that_calibrates_is_told_all_the_same(performance):
    """Character Studio's labels are a part of CMU 41's: its rig lacks a third of the markers."""
    take = Take(recordings=(performance.recording,))
    for template, wrong in (("Character Studio 28", True), ("CMU 41", False), ("auto", False)):
        options = pipeline.SolveOptions(template=template, clean=False)
        (solved,) = pipeline.solve(take, options=options)
        told = [note for note in solved.warnings if "`template='CMU 41'`" in note]
        assert bool(told) == wrong, solved.warnings


def test_a_set_that_is_whole_is_not_blamed(performance):
    """All labels are there but the pelvis was never seen: another set would not help."""
    recording = performance.recording
    hidden = recording.positions.copy()
    hidden[:, [recording.index(name) for name in ("LFWT", "RFWT", "LBWT")]] = np.nan
    take = Take(recordings=(replace(recording, positions=hidden, residuals=None),))
    with pytest.raises(NotEnoughData, match="two markers of 'pelvis'") as told:
        pipeline.solve(take, options=pipeline.SolveOptions(clean=False))
    assert "--template" not in str(told.value)


def test_takes_of_two_people_are_told_apart():
    """Two people without names were made one rig, 75 mm from the markers, without a word."""
    walks = [real(f"anatomical-truth/opencap-{who}-walking1/real.trc") for who in (2, 4)]
    for one in pipeline.solve(*walks):
        assert one.warnings[0].startswith("two people? ")
    assert "not to be used" in pipeline.solve(*walks)[0].warnings[1]


def test_a_file_given_twice_is_no_further_evidence(performance, tmp_path):
    file = tmp_path / "walk.c3d"
    write(performance.recording, file)
    with pytest.raises(BadValue, match="given twice"):
        pipeline.solve(file, tmp_path / "." / "walk.c3d")


def test_of_two_subjects_one_may_be_asked_for(performance):
    both = tuple(replace(performance.recording, subject=name) for name in ("Ann", "Bob"))
    solved = pipeline.solve(Take(recordings=both), subject="Bob")
    assert [one.recording.subject for one in solved] == ["Bob"]
    with pytest.raises(UnknownName, match="Ann, Bob"):
        pipeline.solve(Take(recordings=both), subject="Zoe")


def test_a_motion_is_sent_where_motions_go(performance):
    with pytest.raises(NotEnoughData, match="osteon fit, limits, axes or map"):
        pipeline.solve(Take(motions=(performance.truth.motion,)))


def test_the_command_ends_with_one_line_and_leaves_nothing(tmp_path):
    take = tmp_path / "one.csv"
    take.write_text("# rate=100\nframe,marker,x,y,z\n0,A,0,0,1\n1,A,0,0,1\n")
    result = CliRunner().invoke(osteon, ["solve", str(take), "-o", str(tmp_path / "out")])
    assert isinstance(result.exception, NotEnoughData)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def walk():
    return pipeline.solve(real("cmu-02/02_01.c3d"))[0]


def test_cmu_walk_to_three_millimetres(walk):
    """The published skeleton leaves 11.7 mm; an earlier prototype 2.6 mm."""
    assert walk.rms < 0.003
    assert np.isfinite(walk.marker_error).all()


def test_cmu_walk_lengths_are_the_published_ones(walk):
    """CMU's own skeleton of this man, in metres; 12 % is what people's methods differ by."""
    published = {
        "left_thigh": 0.4286,
        "right_thigh": 0.4283,
        "left_shin": 0.4113,
        "right_shin": 0.4073,
        "left_upper_arm": 0.2746,
        "right_upper_arm": 0.2837,
    }
    for name, length in published.items():
        assert walk.skeleton.body(name).length == pytest.approx(length, rel=0.12)
    for name in ("thigh", "shin", "upper_arm", "forearm"):
        left, right = (walk.skeleton.body(f"{side}_{name}").length for side in ("left", "right"))
        assert left == pytest.approx(right, abs=0.010)


def test_cmu_walk_knees_bend_one_way(walk):
    """The shin turns backwards about the thigh's sideways axis, never forwards past straight."""
    rotations = walk.motion.rotations
    for side in ("left", "right"):
        shin = quat.rotate(
            rotations[:, walk.skeleton.index(f"{side}_shin")], np.array([0, 0, -1.0])
        )
        bend = np.arctan2(-shin[:, 0], -shin[:, 2])
        assert np.degrees(bend.min()) > -12 and np.degrees(bend.max()) > 40


def test_cmu_walk_hips_lie_between_the_pelvis_markers(walk):
    pelvis = walk.skeleton.body("pelvis")
    box = np.array([marker.position for marker in pelvis.markers])
    for side in ("left", "right"):
        hip = walk.skeleton.body(f"{side}_thigh").joint.in_parent
        assert (hip[:2] > box[:, :2].min(axis=0)).all() and (hip[:2] < box[:, :2].max(axis=0)).all()


def test_cmu_walk_without_its_labels():
    recording = read(real("cmu-02/02_01.c3d")).recording()
    names = tuple(f"p{i:02d}" for i in range(recording.n_markers))
    alone = pipeline.SolveOptions(template="none")
    blind = pipeline.solve(Take(recordings=(replace(recording, names=names),)), options=alone)[0]
    label = dict(zip(names, recording.names, strict=True))
    home = {label[m.name]: b.name for b in blind.skeleton.bodies for m in b.markers}
    limbs = ("LFHD", "LFWT", "LTHI", "RTHI", "LSHN", "RSHN", "LHEE", "RHEE", "LWRA", "RWRA", "C7")
    assert len({home[name] for name in limbs}) == len(limbs)
    for group in (("LFHD", "RFHD", "LBHD", "RBHD"), ("LFWT", "RFWT", "LBWT", "RBWT")):
        assert len({home[name] for name in group}) == 1
    parent = {body.name: body.parent for body in blind.skeleton.bodies}
    chain = [home[name] for name in ("LHEE", "LSHN", "LTHI", "LFWT")]
    assert [parent[body] for body in chain[:-1]] == chain[1:]
    assert blind.rms < 0.005


def test_two_players_give_two_rigs(tmp_path):
    file = real("kineticstoolkit/kinematics_tennis_serve_2players.c3d")
    solved = pipeline.solve(file)
    assert sorted(one.recording.subject for one in solved) == ["Derrick", "Viktor"]


@pytest.mark.slow
def test_calibrated_on_one_half_the_other_half_fits_as_well():
    """01_01: 1.3 times its own error at most."""
    whole = read(real("cmu-01/01_01.c3d")).recording()
    half = whole.n_frames // 2
    first, second = (
        replace(
            whole,
            positions=whole.positions[rows],
            residuals=None if whole.residuals is None else whole.residuals[rows],
        )
        for rows in (slice(0, half), slice(half, None))
    )
    learned = pipeline.solve(Take(recordings=(first,)))[0]
    own = pipeline.solve(Take(recordings=(second,)))[0]
    options = pipeline.SolveOptions(skeleton=learned.skeleton)
    carried = pipeline.solve(Take(recordings=(second,)), options=options)[0]
    assert carried.rms < 1.3 * own.rms


@pytest.mark.slow
def test_a_marker_left_out_is_foretold():
    """02_01: each marker in turn out of the pose; where the model puts it, against the truth."""
    take = read(real("cmu-02/02_01.c3d"))
    whole = pipeline.solve(take)[0]
    recording = whole.recording
    apart = []
    for name in recording.names:
        others = recording.select([other for other in recording.names if other != name])
        options = pipeline.SolveOptions(skeleton=whole.skeleton, clean=False)
        found = pipeline.solve(Take(recordings=(others,)), options=options)[0]
        body = next(b for b in whole.skeleton.bodies if name in [m.name for m in b.markers])
        marker = next(m for m in body.markers if m.name == name)
        rotations, joints = found.motion.world()
        index = found.skeleton.index(body.name)
        place = joints[:, index] + quat.rotate(rotations[:, index], marker.position)
        apart.append(np.linalg.norm(place - recording.positions[:, recording.index(name)], axis=-1))
    assert np.median(apart) < 0.015


def test_a_static_take_shapes_the_skeleton_or_is_named(performance, solved):
    """Whoever it is named after: there is only one to be it."""
    recording = replace(performance.recording, subject="Ann")
    first, rest = (
        Take(recordings=(replace(recording, positions=recording.positions[rows], residuals=None),))
        for rows in (slice(None, 400), slice(400, None))
    )
    still = Take(recordings=(replace(rest.recordings[0], subject="", source=Source("still.c3d")),))
    [alone], [helped] = pipeline.solve(first), pipeline.solve(first, static=[still])
    assert np.abs(helped.skeleton.offsets - alone.skeleton.offsets).max() > 1e-4
    assert not any("still.c3d" in warning for warning in helped.warnings)
    known = pipeline.SolveOptions(skeleton=solved.skeleton)
    [given] = pipeline.solve(first, static=[still], options=known)
    assert "still.c3d was not used: with `skeleton` none calibrates" in given.warnings


def test_going_by_motion_alone_is_announced():
    recording = synth.perform(synth.linkage(), synth.exercise(seconds=4), seed=3).recording
    said: list[Step] = []
    [blind] = pipeline.solve(Take(recordings=(recording,)), progress=said.append)
    assert blind.warnings[0].startswith("no known marker set has these labels (")
    assert "not taken for a human: " in blind.warnings[0]
    assert blind.recognition is None
    asked = pipeline.SolveOptions(template="none")
    [blind] = pipeline.solve(Take(recordings=(recording,)), options=asked)
    assert not any("marker set" in warning for warning in blind.warnings)


def test_a_human_is_recognised_without_labels(tmp_path):
    """Names, sides and the file to correct; with it nearly the same rig comes again."""
    walk = synth.perform(synth.human(), synth.walk(seconds=4), noise=0.001, seed=3)
    recording = walk.recording
    strange = replace(recording, names=tuple(f"M{i}" for i in range(recording.n_markers)))
    [found] = pipeline.solve(Take(recordings=(strange,)))
    assert "recognised as a human by shape and motion, with confidence" in found.warnings[0]
    assert {"pelvis", "left_thigh", "right_shin", "left_forearm"} <= set(found.skeleton.names)
    limbs = [f"{side}_{limb}" for side in ("left", "right") for limb in ("shin", "foot")]
    joints = found.motion.world()[1][:, [found.skeleton.index(name) for name in limbs]]
    truth = walk.truth
    wanted = truth.joints[:, [truth.skeleton.index(name) for name in limbs]]
    # a marker taken for one of the next landmark would lead a knee 50 mm astray and more
    assert np.median(np.linalg.norm(joints - wanted, axis=-1), axis=0).max() < 0.01
    delivery.deliver(found, tmp_path)
    own = pipeline.SolveOptions(own_set=tmp_path / "markers.toml")
    [again] = pipeline.solve(Take(recordings=(strange,)), options=own)
    # who gives the file has looked it over: its landmarks are sure, where shape left doubts
    assert again.skeleton.names == found.skeleton.names
    assert np.abs(again.skeleton.offsets - found.skeleton.offsets).max() < 0.01
    [blind] = pipeline.solve(
        Take(recordings=(strange,)), options=pipeline.SolveOptions(template="none")
    )
    assert blind.skeleton.names[0] == "body_01" and blind.recognition is None
