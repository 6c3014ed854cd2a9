"""A performer's passport: what it holds, and what it says about a new take."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import osteon as ost
from archives import marker_take, moved, person
from conftest import real
from osteon import delivery, pipeline
from osteon.errors import BadValue, FormatError, NotEnoughData
from osteon.formats.own.skeleton_json import read_passport, write_passport
from osteon.identity.moved_markers import find_moved_markers
from osteon.identity.same_person import compare
from osteon.identity.take_check import TakeFindings
from osteon.pipeline import SolveOptions, calibrate_subject, set_of
from osteon.values import Recording, Skeleton, Take
from osteon.values.take import Origin, Passport


@cache
def take(who: int, motion: int, seconds: float = 3.0, seed: int = 0) -> Recording:
    return marker_take(person(who), motion, seconds, seed=seed)


@cache
def known(who: int = 1) -> Skeleton:
    """Somebody calibrated on a walk and an exercise."""
    takes = [take(who, 0), take(who, 3, 6.0)]
    options = SolveOptions()
    return calibrate_subject(takes, set_of(takes, options), options, "Ann").skeleton


@pytest.mark.parametrize("motion", [0, 1])
def test_same_person_in_another_take_is_left_alone(motion: int) -> None:
    places = find_moved_markers(known(), take(1, motion, seed=5))
    # 15 other seeds of each motion: nothing named; doubtful none and 3, where 1.5 are meant to be
    assert places.replaced == () and places.doubtful == () and not places.all_anew
    assert places.skeleton is known()


@pytest.mark.parametrize(("marker", "rivals"), [("C7", {"C7"}), ("RTHI", {"RTHI", "RKNE"})])
def test_marker_put_elsewhere_is_named_and_its_new_place_found(
    marker: str, rivals: set[str]
) -> None:
    """15 mm along its body: of directions that a pose can imitate nothing is claimed. Of two
    markers on a thigh either may have gone along it, so both are named."""
    shift = np.array([0.0, 0.0, 0.015])
    recording = marker_take(moved(person(1), {marker: shift}), 1, 3.0, seed=5)
    places = find_moved_markers(known(), recording)
    (found,) = places.replaced
    assert {found.marker, found.rival} - {""} == rivals
    assert not places.all_anew
    assert found.chance < 0.01
    # 15 other seeds of each: always named; 14.2 to 17.6 mm for C7, 14.1 to 15.1 for RTHI
    assert 0.009 < found.moved < 0.022
    markers = {m.name: m.position for body in places.skeleton.bodies for m in body.markers}
    before = {m.name: m.position for body in known().bodies for m in body.markers}
    changed = [name for name in before if not np.array_equal(before[name], markers[name])]
    assert set(changed) == rivals


def test_marker_that_may_have_moved_is_told_and_keeps_its_place() -> None:
    """The chance falls as the marker goes; between sure and nothing lies a doubt."""
    kinds = []
    for millimetres in np.arange(0.0, 15.5, 0.5):
        shift = {"RTHI": np.array([0.0, 0.0, 1e-3 * millimetres])}
        places = find_moved_markers(known(), marker_take(moved(person(1), shift), 1, 3.0, seed=5))
        kinds.append((len(places.replaced), len(places.doubtful)))
        if places.doubtful:
            assert places.skeleton is known() and 0.01 < places.doubtful[0].chance <= 0.1
            told = TakeFindings("same", known(), (), places.doubtful)
            (fact,) = told.facts()["doubtful"]
            assert {fact["marker"], fact["rival"]} == {"RTHI", "RKNE"}
            assert f"{fact['marker']} or {fact['rival']} may have been put" in told.sentences()[0]
    assert kinds == sorted(kinds, key=lambda kind: (kind[0], kind[1]))
    assert kinds[0] == (0, 0) and (0, 1) in kinds and kinds[-1] == (1, 0)


def test_new_place_brings_the_fit_back() -> None:
    recording = marker_take(moved(person(1), {"C7": np.array([0, 0, 0.02])}), 1, 3.0, seed=5)
    passport = Passport(known(), (), 0.0)
    solved = ost.solve(Take(recordings=(recording,)), options=SolveOptions(passport=passport))[0]
    assert solved.rms_per_marker()["C7"] < 0.006
    assert solved.findings is not None and solved.findings.person == "same"
    assert any("C7 was put" in text for text in solved.warnings)
    assert delivery.summary_of(solved)["passport"]["replaced"][0]["marker"] == "C7"
    assert pipeline.passports_of([solved]) == {}  # the one given still holds


def test_another_person_is_told_and_calibrated_alone() -> None:
    recording = take(4, 0)
    solved = ost.solve(
        Take(recordings=(recording,)), options=SolveOptions(passport=Passport(known(), (), 0.0))
    )[0]
    assert solved.findings is not None
    assert solved.findings.person == "other" and solved.findings.anew
    assert any("another person" in text for text in solved.warnings)
    assert solved.rms < 0.005  # with the passport's bones it would be 20 mm


def test_suit_put_on_anew_is_the_same_person_by_the_bones(rng: np.random.Generator) -> None:
    """Every marker 20 mm elsewhere: markers cannot tell, bones can."""
    figure = person(1)
    names = [marker.name for body in figure.bodies for marker in body.markers]
    shifts = {name: 0.02 * _unit(rng.normal(size=3)) for name in names}
    recording = marker_take(moved(figure, shifts), 3, 6.0, seed=9, suit=9)
    solved = ost.solve(
        Take(recordings=(recording,)), options=SolveOptions(passport=Passport(known(), (), 0.0))
    )[0]
    assert solved.findings is not None and solved.findings.anew
    # bones of 6 s under skin mostly leave it open, of 20 s in one draw of two; nobody is accused
    assert solved.findings.person in ("same", "open")


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def test_odds_are_even_when_nothing_is_known_and_grow_with_the_difference() -> None:
    one = known()
    assert compare(one, replace(one, bodies=one.bodies[:1])).log_odds == 0.0
    assert compare(one, one).verdict == "same"
    odds = [compare(one, _stretched(one, share)).log_odds for share in (0.0, 0.03, 0.06, 0.1)]
    assert odds == sorted(odds, reverse=True) and odds[-1] < -2.0
    longer = compare(one, _stretched(one, 0.1))
    assert longer.verdict == "other" and all(bone.change > 0.0 for bone in longer.changed)
    thigh = next(bone for bone in longer.bones if bone.name == "thigh to shin")
    assert thigh.known == pytest.approx(
        np.linalg.norm(one.offsets[one.index("left_shin")]), abs=0.02
    )


def _stretched(skeleton: Skeleton, share: float) -> Skeleton:
    bodies = [
        replace(body, joint=replace(body.joint, in_parent=(1.0 + share) * body.joint.in_parent))
        for body in skeleton.bodies
    ]
    return replace(skeleton, bodies=tuple(bodies))


def test_too_few_shared_markers_are_refused() -> None:
    stranger = Recording(np.zeros((5, 3, 3)), ("x", "y", "z"), 100.0)
    with pytest.raises(NotEnoughData, match="0 of the 3 markers are among"):
        find_moved_markers(known(), stranger)


def test_passport_reads_back_as_written(tmp_path: Path) -> None:
    takes = (
        Origin("a.c3d", 720, 120.0, "ab" * 32, "2026-01-05T10:00:00Z", "Vicon"),
        Origin("b.c3d", 1440, 120.0),
    )
    passport = Passport(known(), takes, 0.0031, "osteon 0.1.0")
    write_passport(tmp_path / "passport.json", passport)
    back = read_passport(tmp_path / "passport.json")
    assert (back.takes, back.noise, back.made_by) == (takes, 0.0031, "osteon 0.1.0")
    assert back.subject == "Ann" and back.frames == 2160
    for body, other in zip(known().bodies, back.skeleton.bodies, strict=True):
        assert (body.name, body.parent, body.joint.kind) == (
            other.name,
            other.parent,
            other.joint.kind,
        )
        assert np.array_equal(body.joint.in_parent, other.joint.in_parent)
        for marker, again in zip(body.markers, other.markers, strict=True):
            assert marker.name == again.name
            assert np.array_equal(marker.position, again.position)
            assert np.array_equal(marker.covariance, again.covariance)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no json", "not valid JSON"),
        (
            '{"format": "osteon.skeleton", "version": 1}',
            "is 'osteon.skeleton', expected 'osteon.passport'",
        ),
        (
            '{"format": "osteon.passport", "version": 9, "skeleton": '
            '{"format": "osteon.skeleton", "version": 1, "bodies": []}}',
            "version must be 1 or lower, got 9",
        ),
        (
            '{"format": "osteon.passport", "version": 1, "noise": -1, "skeleton": '
            '{"format": "osteon.skeleton", "version": 1, "bodies": []}}',
            "noise must be",
        ),
    ],
)
def test_bad_passport_is_refused_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "passport.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=problem):
        read_passport(path)


def test_noise_must_be_a_distance() -> None:
    with pytest.raises(BadValue, match="noise"):
        Passport(known(), (), float("nan"))


def test_solve_writes_a_passport_and_takes_it_back(tmp_path: Path) -> None:
    """Two takes of one subject: a folder for each, a passport for both."""
    from osteon.cli import osteon

    files = [tmp_path / "one.c3d", tmp_path / "two.c3d"]
    for motion, file in enumerate(files):
        ost.write(replace(take(1, motion, 1.5), subject="Ann"), file)
    out = tmp_path / "out"
    first = CliRunner().invoke(osteon, ["solve", *map(str, files), "-o", str(out)])
    assert first.exit_code == 0, first.output
    assert (out / "one" / "motion.bvh").exists() and (out / "two" / "motion.bvh").exists()
    passport = read_passport(out / "passport.json")
    assert [origin.file for origin in passport.takes] == ["one.c3d", "two.c3d"]
    assert len(passport.takes[0].sha256) == 64 and passport.takes[0].modified.endswith("Z")
    kinds = {body.name: body.joint.kind for body in passport.skeleton.bodies}
    assert kinds["pelvis"] == "free" and kinds["left_thigh"] != "free"
    assert passport.skeleton.body("left_thigh").joint.limits is not None
    assert 0.0 < passport.noise < 0.005
    given = [str(files[0]), "--passport", str(out / "passport.json"), "-o", str(tmp_path / "two")]
    again = CliRunner().invoke(osteon, ["solve", *given])
    assert again.exit_code == 0, again.output
    assert not (tmp_path / "two" / "passport.json").exists()
    assert "was put" not in again.output and "another person" not in again.output


def test_takes_of_one_name_get_folders_of_their_own(tmp_path: Path) -> None:
    """The passport tells of both files, too."""
    from osteon.cli import osteon

    files = [tmp_path / day / "walk.c3d" for day in ("monday", "friday")]
    for motion, file in enumerate(files):
        file.parent.mkdir()
        ost.write(take(1, motion, 1.5), file)
    out = tmp_path / "out"
    result = CliRunner().invoke(osteon, ["solve", *map(str, files), "-o", str(out)])
    assert result.exit_code == 0, result.output
    for day in ("monday", "friday"):
        assert (out / day / "walk" / "motion.bvh").exists()
        assert str(out / day / "walk") in result.stdout
    assert len({origin.sha256 for origin in read_passport(out / "passport.json").takes}) == 2


@pytest.mark.parametrize(
    ("takes", "folders"),
    [
        (["Ann a/walk.c3d", "Bob a/walk.c3d"], ["Ann", "Bob"]),
        (["Ann a/walk.c3d", "../evil a/walk.c3d"], ["Ann", "%2E.%2Fevil"]),
        (["Ann a/walk.c3d", "Ann a/run.c3d"], ["walk", "run"]),
        (["Ann a/walk.c3d", "Bob a/walk.c3d", "Ann run.c3d"], ["walk Ann", "walk Bob", "run Ann"]),
        (["Ann a/walk.c3d", "Ann a/walk.trc"], ["walk.c3d", "walk.trc"]),
        ([" a/x/walk.c3d", " b/x/walk.c3d"], ["a/x/walk", "b/x/walk"]),
        ([" a/../walk.c3d", " b/walk.c3d"], ["here/walk", "b/walk"]),
        ([" walk.c3d", "walk a/run.c3d"], ["walk", "run"]),
        (["Ann a/walk.c3d", "Ann a/walk.c3d"], ["walk 1", "walk 2"]),
    ],
)
def test_folders_tell_takes_apart(
    takes: list[str], folders: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    from osteon.cli.solve_verbs import _folders

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    solved = [
        SimpleNamespace(recording=SimpleNamespace(subject=subject), path=Path(file))
        for subject, file in (each.split(" ") for each in takes)
    ]
    assert [folder.as_posix() for folder in _folders(solved)] == folders


def test_real_people_are_told_apart() -> None:
    """Both halves of a walk are one person, the jumper of another file is not."""
    options = SolveOptions()
    walk, jump = (
        ost.read(real(name)).recording().markers()
        for name in ("cmu-02/02_01.c3d", "cmu-01/01_01.c3d")
    )
    first, second = _part(walk, 0, 170), _part(walk, 170, 343)
    skeleton = calibrate_subject([first], set_of([first], options), options).skeleton
    same = find_moved_markers(skeleton, second)
    assert same.replaced == ()
    jump = _part(jump, 0, 600)
    assert find_moved_markers(skeleton, jump).all_anew
    alone = calibrate_subject([jump], set_of([jump], options), options).skeleton
    assert compare(skeleton, alone).verdict == "other"


def _part(recording: Recording, start: int, stop: int) -> Recording:
    residuals = recording.residuals
    return replace(
        recording,
        positions=recording.positions[start:stop],
        residuals=None if residuals is None else residuals[start:stop],
    )
