"""What the report page is given, without a browser."""

import base64
import json
import re
import zipfile
import zlib
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from conftest import assert_close, assert_rotations_close, real
from osteon import pipeline, synth
from osteon.articulation import play_back
from osteon.articulation.find_joints import joints
from osteon.cli import osteon
from osteon.delivery import summary_of
from osteon.delivery.pages import pages_of, show_joints, view
from osteon.delivery.report_of_solve import report_of
from osteon.errors import NotEnoughData
from osteon.formats import write
from osteon.maths import quat
from osteon.pipeline.solve_take import Solved
from osteon.report.data import Packed, ReportData
from osteon.report.page import (
    MOST_NUMBERS,
    body_rows,
    distances,
    gap_spans,
    pack,
    pack_whole,
    stride_for,
    write_report,
)
from osteon.values import Bodies, Body, GlidePath, Joint, Motion, Recording, Skeleton, Take


def unpacked(packed: Packed) -> np.ndarray:
    """As the page does it."""
    n = int(np.prod(packed.shape))
    planes = np.frombuffer(zlib.decompress(base64.b64decode(packed.data)), dtype=np.uint8)
    folded = np.zeros((n, 4), dtype=np.uint8)
    folded[:, : len(planes) // max(n, 1)] = planes.reshape(-1, n).T if n else 0
    folded = folded.view("<u4").reshape(packed.shape)
    change = (folded >> 1).astype(np.int32) ^ -(folded & 1).astype(np.int32)
    whole = np.cumsum(change, axis=0, dtype=np.int32)
    return np.where(whole == packed.missing, np.nan, packed.origin + packed.step * whole)


def read_page(path: Path) -> dict[str, Any]:
    """The data inside a page."""
    inside = re.search(r'id="osteon-data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert inside
    return json.loads(inside[1])


def test_where_there_were_no_markers_the_page_speaks_of_joints(tmp_path):
    """Feet mended in a motion, and joint centres fitted: both stand where markers would."""
    motion = synth.act(synth.human(), synth.walk(2), seed=1).motion
    write(motion, tmp_path / "walk.bvh")
    for verb in (["map", "--feet-only"], ["fit"]):
        out = tmp_path / verb[0]
        args = [verb[0], str(tmp_path / "walk.bvh"), *verb[1:], "-o", str(out)]
        done = CliRunner().invoke(osteon, args)
        assert done.exit_code == 0, done.output
        page = read_page(out / "report.html")
        said = [*done.output.splitlines(), page["cloud"], *page["warnings"]]
        said += [word for fact in page["facts"] for word in fact]
        said += [each["what"] for each in page["residuals"]]
        assert page["cloud"] == "joints" and not [line for line in said if "marker" in line]
        assert json.loads((out / "summary.json").read_text())["points"] == "joints"


@pytest.mark.parametrize("step", [1e-4, 1e-7])
@pytest.mark.parametrize("shape", [(1,), (7,), (5, 3), (40, 2, 3), (0, 4, 3)])
def test_packing_keeps_every_value_to_half_a_step(rng, shape, step):
    values = rng.normal(scale=1.0, size=shape)
    values[rng.random(shape) < 0.2] = np.nan
    packed = pack(values, step)
    assert packed.missing == (-(2**31) if step < 1e-5 and values.size > 1 else -(2**15))
    assert np.array_equal(np.isnan(unpacked(packed)), np.isnan(values))
    assert_close(unpacked(packed), values, 0.5001 * step)


def test_a_long_way_is_told_as_finely_as_a_short_one():
    way = np.linspace(0.0, 500.0, 1000)
    assert_close(unpacked(pack(way, 1e-4)), way, 0.5001e-4)


def test_a_range_beyond_all_integers_is_told_more_coarsely():
    values = np.array([-1e6, 0.0, 1e6])
    assert_close(unpacked(pack(values, 1e-4)), values, 1e-3)


def test_whole_numbers_are_exact():
    values = np.array([[0, 1, 65534], [7, 32767, 32768]])
    assert_close(unpacked(pack_whole(values)), values)


def test_an_array_that_never_changes_or_is_never_seen():
    assert_close(unpacked(pack(np.full((4, 2), 7.25), 1e-4)), np.full((4, 2), 7.25))
    assert np.isnan(unpacked(pack(np.full((4, 2), np.nan), 1e-4))).all()


def test_smooth_motion_takes_half_of_what_its_integers_would():
    times = np.linspace(0.0, 60.0, 7200)[:, None]
    swinging = 0.3 * np.sin(times * np.linspace(1.0, 3.0, 30)) + times * 0.05
    plain = base64.b64encode(np.zeros(swinging.shape, np.int16).tobytes())
    assert len(pack(swinging, 1e-4).data) < 0.6 * len(plain)


@pytest.mark.parametrize(
    ("n_frames", "numbers"), [(1, 3), (344, 200), (144_000, 218), (10**6, 300)]
)
def test_a_page_never_carries_more_than_it_may(n_frames, numbers):
    stride = stride_for(n_frames, numbers)
    assert -(-n_frames // stride) * numbers <= MOST_NUMBERS + numbers
    assert stride == 1 or -(-n_frames // (stride - 1)) * numbers > MOST_NUMBERS


def test_distances_tell_the_rms_of_all_frames_though_some_are_left_out(rng):
    values = np.abs(rng.normal(scale=0.003, size=(90, 3)))
    values[:, 1] = np.nan
    told = distances("a and b", ("one", "two", "three"), values, stride=7)
    assert told.values.shape == (13, 3)
    assert told.rms_mm[1] is None
    assert told.rms_mm[0] == pytest.approx(1e3 * np.sqrt(np.mean(values[:, 0] ** 2)))


def test_gaps_name_their_markers():
    places = np.zeros((10, 6, 3))
    places[2:4, 1] = places[3:6, 4] = np.nan
    places[8] = np.nan
    spans = gap_spans(tuple("abcdef"), Recording(places, tuple("abcdef"), 100.0).seen)
    assert [(span.first, span.last) for span in spans] == [(2, 5), (8, 8)]
    assert spans[0].what == "b, e not seen"
    assert spans[1].what == "a, b, c, d and 2 more not seen"


def test_no_text_ends_the_element_it_stands_in(tmp_path):
    bad = '</script><script>alert("1")</script><!--'
    write_report(
        tmp_path / "page.html",
        ReportData(title=bad, subject=bad, rate=1.0, frames=1, stride=1, warnings=[bad]),
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert bad not in page and "<script>alert" not in page
    assert read_page(tmp_path / "page.html")["warnings"] == [bad]


@pytest.fixture
def motion() -> Motion:
    take = synth.perform(synth.human(), synth.walk(seconds=1.5), seed=2)
    return take.truth.motion


def page_of(take: Take) -> ReportData:
    (page,) = pages_of(take, "x")
    return page


NOTICES = ("three.js authors", "Leon Sorokin", "Permission is hereby granted")
"""Of the packages whose code is in the pages."""


@pytest.mark.parametrize("page", ["report", "studio"])
def test_bundles_carry_the_licences_of_what_is_in_them(page):
    folder = resources.files(f"osteon.{page}") / "bundle"
    for name in (f"{page}.js", f"{page}.css", "THIRD_PARTY.txt"):
        text = (folder / name).read_text(encoding="utf-8")
        assert all(notice in text for notice in NOTICES), name


def test_a_written_report_carries_the_licences_of_what_is_in_it(tmp_path):
    write_report(
        tmp_path / "a.html", ReportData(title="a", subject="", rate=1.0, frames=1, stride=1)
    )
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert all(notice in text for notice in NOTICES)


def test_a_motion_is_packed_so_that_its_joints_come_back(motion):
    page = page_of(Take(motions=(motion,)))
    assert page.poses is not None and page.poses.joints is None
    turns, places = motion.world()
    # steps of the packing: 1e-4 rad and the root's reach over 65 000; chains of at most a metre
    assert_rotations_close(quat.exp(unpacked(page.poses.turns)), turns, 1e-4)
    shown = np.zeros_like(places)
    shown[:, 0] = unpacked(page.poses.root)
    world = quat.exp(unpacked(page.poses.turns))
    for index, row in enumerate(page.bodies[1:], start=1):
        shown[:, index] = shown[:, row.parent] + quat.rotate(
            world[:, row.parent], np.array(row.offset)
        )
    assert_close(shown, places, 5e-4)


def test_a_motion_shows_skin_ranges_frames_and_contacts(motion):
    page = page_of(Take(motions=(motion,)))
    assert page.skin is not None
    assert len(page.skin.joints) == len(page.bodies)
    assert unpacked(page.skin.bodies).max() < len(page.bodies)
    assert any(row.cone or row.hinge for row in page.bodies)
    assert all(row.frame for row in page.bodies)
    assert {span.kind for span in page.spans} >= {"contact"}


def test_skin_gaps_and_gliding_are_told_in_millimetres():
    places = np.array([(0, 0, 0), (0.003, 0, 0), (0, 0, 0.004), (0, 0, 0)])
    path = GlidePath((0, 1, 0), (1, 0, 0, 0), (-0.5, 0.0, 1.5, 2.0), places)
    joint = Joint(gap=0.007, glide=0.004, glide_path=path)
    rig = Skeleton((Body("thigh", None, skin=0.009), Body("shin", "thigh", joint)))
    thigh, shin = body_rows(rig)
    assert (thigh.skin_mm, thigh.gap_mm, thigh.glide_mm) == (pytest.approx(9.0), None, None)
    assert (shin.skin_mm, shin.gap_mm, shin.glide_mm) == (None, *map(pytest.approx, (7.0, 4.0)))
    told = shin.glide_path
    assert told is not None and (told.low, told.high) == (0.0, 1.5)
    assert told.travel_mm == pytest.approx(5.0)


def test_markers_alone(rng):
    recording = Recording(rng.normal(size=(5, 2, 3)), ("a", "b"), 50.0, subject="S")
    page = page_of(Take(recordings=(recording,)))
    assert page.poses is None and page.bodies == []
    assert page.points is not None
    assert_close(unpacked(page.points), recording.positions, 1e-4)


def test_rigid_bodies_alone(rng):
    turns = quat.normalise(rng.normal(size=(6, 2, 4)))
    bodies = Bodies(rng.normal(size=(6, 2, 3)), turns, ("a", "b"), 50.0)
    page = page_of(Take(bodies=(bodies,)))
    assert [row.parent for row in page.bodies] == [-1, -1]
    assert page.poses is not None and page.poses.joints is not None
    assert_close(unpacked(page.poses.joints), bodies.positions, 1e-4)


def test_joints_show_margins_advice_and_both_ideas(tmp_path):
    script = synth.exercise(seconds=8)
    bodies = synth.sense(synth.linkage(), script, noise=0.004, orientation_noise=0.017).bodies
    found = joints(bodies)
    show_joints(bodies, play_back(bodies, found), found, tmp_path)
    page = read_page(tmp_path / "report.html")
    decided = {c.child: c.margin for c in found.connections if np.isfinite(c.margin)}
    shown = {row["name"]: row["margin"] for row in page["bodies"] if row["margin"] is not None}
    assert shown == pytest.approx(decided) and shown
    assert page["residuals"][0]["names"] == [c.child for c in found.connections]
    assert page["residuals"][0]["rms_mm"] == pytest.approx(
        [1e3 * np.sqrt(np.nanmean(column**2)) for column in found.residuals.T]
    )
    assert page["advice"] == [advice.text for advice in found.advice]


def test_a_skeleton_that_does_not_move():
    page = page_of(Take(skeletons=(Skeleton((Body("only", None),)),)))
    assert page.frames == 1 and page.skin is None


def test_the_floor_lies_under_a_rig_that_hangs_by_its_root():
    rig = synth.human()
    joints = Motion(rig, rig.rest[None], np.zeros((1, 3)), 1.0).world()[1]
    assert page_of(Take(skeletons=(rig,))).ground.height <= joints[..., 2].min() < -0.5


def test_every_subject_has_a_page(rng, tmp_path):
    people = tuple(
        Recording(rng.normal(size=(3, 1, 3)), ("m",), 50.0, subject=name)
        for name in ("../b", "C", "D", "D")
    )
    pages = view(Take(recordings=people), tmp_path)
    wanted = ["%2E.%2Fb.html", "C.html", "D 1.html", "D 2.html"]
    assert [page.name for page in pages] == wanted
    assert sorted(file.name for file in tmp_path.iterdir()) == wanted


def test_view_of_a_file_prints_where_the_page_is(motion, tmp_path):
    write(motion, tmp_path / "walk.bvh")
    asked = ["view", str(tmp_path / "walk.bvh"), "-o", str(tmp_path / "out"), "--no-open"]
    result = CliRunner().invoke(osteon, asked)
    assert result.exit_code == 0
    assert result.stdout.strip() == str(tmp_path / "out" / "report.html")
    assert "walk.bvh" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_view_of_a_folder_shows_its_report_or_its_motion(motion, tmp_path):
    write(motion, tmp_path / "rig" / "motion.bvh")
    assert view(tmp_path / "rig", tmp_path / "out") == (tmp_path / "out" / "report.html",)
    (tmp_path / "rig" / "report.html").write_text("kept")
    assert view(tmp_path / "rig", tmp_path / "out") == (tmp_path / "rig" / "report.html",)
    assert (tmp_path / "rig" / "report.html").read_text() == "kept"


def test_view_of_a_folder_with_several_subjects_or_takes_lists_their_reports(tmp_path):
    people = [tmp_path / "two" / name / "report.html" for name in ("Ann", "Bob")]
    takes = [tmp_path / "days" / day / "walk" / "report.html" for day in ("friday", "monday")]
    index = tmp_path / "archive" / "index.html"
    for page in (*people, *takes, index, tmp_path / "archive" / "takes" / "a" / "report.html"):
        page.parent.mkdir(parents=True)
        page.write_text("")
    assert view(tmp_path / "two", tmp_path / "new") == tuple(people)
    assert view(tmp_path / "days", tmp_path / "new") == tuple(takes)
    assert view(tmp_path / "archive", tmp_path / "new") == (index,)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["walk.osteon", "walk.glb", "walk.amc", "walk.csv"])
def test_view_of_other_formats(motion, tmp_path, name):
    take = synth.perform(synth.human(), synth.walk(seconds=0.3), seed=2)
    write(take.recording if name.endswith("csv") else motion, tmp_path / name)
    (page,) = view(tmp_path / name, tmp_path / "out")
    assert page.exists()


def test_view_of_a_store_that_is_a_folder(motion, tmp_path):
    write(motion, tmp_path / "walk.osteon")
    with zipfile.ZipFile(tmp_path / "walk.osteon") as archive:
        archive.extractall(tmp_path / "folder.osteon")
    assert view(tmp_path / "folder.osteon", tmp_path)[0].stat().st_size > 700_000


def test_view_of_an_empty_folder_or_take_says_so(tmp_path):
    with pytest.raises(NotEnoughData, match=r"holds no report and none of motion\.glb"):
        view(tmp_path, tmp_path)
    with pytest.raises(NotEnoughData, match="nothing that can be shown"):
        view(Take(), tmp_path)


def test_view_opens_the_browser_unless_told(motion, tmp_path, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    write(motion, tmp_path / "walk.bvh")
    CliRunner().invoke(osteon, ["view", str(tmp_path / "walk.bvh"), "-o", str(tmp_path)])
    assert opened == [(tmp_path / "report.html").as_uri()]


def repeated(solved: Solved, n_frames: int, rng: np.random.Generator) -> Solved:
    """A short take over and over, with noise that is never the same."""
    recording, motion = solved.recording, solved.motion
    frames = np.arange(n_frames) % recording.n_frames
    noise = rng.normal(scale=3e-4, size=(n_frames, recording.n_markers, 3))
    return replace(
        solved,
        recording=replace(recording, positions=recording.positions[frames] + noise, residuals=None),
        motion=replace(
            motion, rotations=motion.rotations[frames], root=motion.root[frames], held=()
        ),
        marker_error=solved.marker_error[frames] + np.abs(noise[..., 0]),
    )


@pytest.mark.slow
def test_twenty_minutes_fit_into_sixty_megabytes(rng, tmp_path):
    script = synth.sequence(synth.walk(seconds=6), synth.exercise(seconds=20))
    take = synth.perform(synth.human(), script, noise=5e-4, skin=1.0, gaps=0.02, seed=1)
    solved = pipeline.solve(Take(recordings=(take.recording,)))[0]
    long = repeated(solved, 144_000, rng)
    assert long.recording.n_markers == 41
    page = report_of(long, summary_of(long))
    assert page.stride == 1 and page.frames == 144_000
    write_report(tmp_path / "long.html", page)
    assert (tmp_path / "long.html").stat().st_size < 60_000_000


@pytest.mark.parametrize("name", ["cmu-02/02_01.c3d", "cmu-02/02_01.amc"])
def test_view_of_real_files(name, tmp_path):
    (page,) = view(real(name), tmp_path)
    assert page.stat().st_size < 3_000_000
