"""What ``osteon solve`` says and leaves, as a user meets it."""

import json
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from archives import marker_take, person
from osteon.cli import osteon
from osteon.errors import WrongContent
from osteon.formats import read, write
from osteon.report.page import body_rows
from osteon.values import GlidePath


@pytest.fixture(scope="module")
def take(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second and a half of a performer."""
    file = tmp_path_factory.mktemp("takes") / "walk.c3d"
    write(replace(marker_take(person(1), 0, 1.5), subject=""), file)
    return file


def solve(*words: str | Path) -> Result:
    result = CliRunner().invoke(osteon, ["solve", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result


def test_files_of_an_earlier_run_give_way_and_the_users_stay(take: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    solve(take, "-o", out, "--formats", "osim,osteon")
    (out / "notes.txt").write_text("mine")
    (out / "motion.usda").write_text("mine, too: no run has listed it")
    listed = json.loads((out / "summary.json").read_text())["files"]
    assert {out / name for name in listed} <= set(out.iterdir())
    again = solve(take, "-o", out)
    assert "motion.osim" in again.stderr and "motion.bvh" not in again.stderr
    assert sorted(file.name for file in out.iterdir()) == [
        "motion.bvh",
        "motion.glb",
        "motion.usda",
        "notes.txt",
        "passport.json",
        "report.html",
        "skeleton.json",
        "summary.json",
    ]


def test_a_full_disk_costs_no_result(take: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    solve(take, "-o", out)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    # the page is the largest file; a limit on the size of files stops it as a full disk would
    limit = len(before["report.html"]) // 2
    assert limit > max(len(data) for name, data in before.items() if name != "report.html")
    words = ["solve", str(take), "-o", str(out), "--formats", "osteon"]
    ended = subprocess.run(
        [sys.executable, "-c", "from osteon.cli import main; main()", *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"osteon: cannot write to {out}: ") and "untouched" in last
    assert "Traceback" not in ended.stderr
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


def test_a_skeleton_that_cannot_do_what_is_asked_is_refused(take: Path, tmp_path: Path) -> None:
    solve(take, "-o", tmp_path)
    for option, file, way_out in (
        ("--limits", "skeleton.json", "osteon limits"),
        ("--skeleton", "motion.bvh", "osteon map RECORDING --skeleton motion.bvh"),
        ("--skeleton", "passport.json", "--passport"),
        ("--limits", "passport.json", "--passport"),
    ):
        asked = ["solve", str(take), "-o", str(tmp_path / "out"), option, str(tmp_path / file)]
        result = CliRunner().invoke(osteon, asked)
        assert isinstance(result.exception, WrongContent)
        assert way_out in str(result.exception) and not (tmp_path / "out").exists()


def test_bones_measured_that_the_rig_lacks_are_noted(take: Path, tmp_path: Path) -> None:
    measured = tmp_path / "measured.csv"
    measured.write_text("limb,cm\nleft_tigh,43\nright_thigh,43\n")
    said = solve(take, "-o", tmp_path / "out", "--measured", measured).stdout
    assert "no bone named 'left_tigh'; did you mean 'left_thigh'" in said
    assert "no bone named 'right_thigh'" not in said


def test_progress_tells_what_is_done_and_nothing_else(take: Path, tmp_path: Path) -> None:
    all_of_it = solve(take, "-o", tmp_path).stderr.splitlines()
    told = [line for line in all_of_it if not line.endswith(" %")]  # said where it takes its time
    steps = ["reading", "looking", "calibrating", "solving", "analysing"]
    assert [line.split()[0] for line in told] == steps
    little = solve(
        take, "-o", tmp_path / "out", "--no-clean", "--skeleton", tmp_path / "skeleton.json"
    )
    told = [line.split()[0] for line in little.stderr.splitlines() if not line.endswith(" %")]
    assert told == ["reading", "solving", "analysing"]
    passport = solve(take, "-o", tmp_path / "own", "--passport", tmp_path / "passport.json")
    assert "calibrating" not in passport.stderr and "against the passport" in passport.stderr
    mapped = CliRunner().invoke(
        osteon,
        ["map", str(take), "-o", str(tmp_path / "map"), "--skeleton", str(tmp_path / "motion.bvh")],
    )
    assert mapped.exit_code == 0 and mapped.stderr.splitlines().count("reading") == 1


def test_nothing_is_told_of_what_is_not_there(take: Path, tmp_path: Path) -> None:
    whole = read(take).recording()
    filled = np.where(whole.seen[..., None], whole.positions, np.nanmean(whole.positions, axis=0))
    write(replace(whole, positions=filled, residuals=None), tmp_path / "whole.c3d")
    said = solve(tmp_path / "whole.c3d", "-o", tmp_path / "out", "--no-clean").stdout
    assert "missing" not in said and "event" not in said
    assert " % of samples missing\n" in solve(take, "-o", tmp_path / "out").stdout


def test_json_is_one_line_and_one_frame_is_no_frames(take: Path, tmp_path: Path) -> None:
    solve(take, "-o", tmp_path)
    one = read(take).recording()
    one = replace(one, positions=one.positions[:1], residuals=None, marks=())
    write(one, tmp_path / "one.c3d")
    inspected = CliRunner().invoke(osteon, ["inspect", str(tmp_path / "one.c3d")])
    assert " 1 frame at " in inspected.stdout
    rig, motion = tmp_path / "skeleton.json", tmp_path / "motion.bvh"
    posed = solve(tmp_path / "one.c3d", "-o", tmp_path / "one", "--skeleton", rig)
    assert ", 1 frame, " in posed.stdout and "solving 1 frame\n" in posed.stderr
    limits = ["limits", str(motion), "-o", str(tmp_path / "limits"), "--json"]
    live = ["live", str(take), "--skeleton", str(rig), "--json"]
    for asked in (limits, live):
        result = CliRunner().invoke(osteon, asked)
        assert result.exit_code == 0 and result.stdout.count("\n") == 1
        assert json.loads(result.stdout)


def test_terminal_and_report_tell_the_same_doubt(take: Path, tmp_path: Path) -> None:
    said = solve(take, "-o", tmp_path).stdout
    rows = body_rows(read(tmp_path / "skeleton.json").skeleton())
    worst = max(rows, key=lambda row: row.sigma_mm or 0.0)
    assert f"least certain joint: {worst.name}, ± {worst.sigma_mm:.0f} mm" in said


def test_a_joint_that_glides_is_told_with_its_path(take: Path, tmp_path: Path) -> None:
    solve(take, "-o", tmp_path)
    rig = read(tmp_path / "skeleton.json").skeleton()
    places = np.array([(0, 0, 0), (0.003, 0, 0), (0, 0, 0.004), (0, 0, 0)])
    path = GlidePath((0, 1, 0), (1, 0, 0, 0), (-0.5, 0.0, np.pi / 2, 2.0), places)
    joint = replace(rig.body("left_shin").joint, glide=0.0021, glide_path=path)
    write(rig.replacing("left_shin", joint=joint), tmp_path / "glides.json")
    said = solve(take, "-o", tmp_path / "out", "--skeleton", tmp_path / "glides.json").stdout
    assert "left_shin 2.1 mm (5.0 mm on the way from 0 to 90°)" in said


def test_a_summary_that_names_other_files_removes_none(take: Path, tmp_path: Path) -> None:
    shutil.copy(take, tmp_path / "motion.c3d")
    (tmp_path / "data.csv").write_text("")
    listed = {"files": ["data.csv", "../take.c3d", "motion.c3d"]}
    (tmp_path / "summary.json").write_text(json.dumps(listed))
    solve(tmp_path / "motion.c3d", "-o", tmp_path)
    assert (tmp_path / "data.csv").exists() and (tmp_path / "motion.c3d").exists()


def test_labels_put_back_are_named_with_their_frames(take: Path, tmp_path: Path) -> None:
    sound = read(take).recordings[0]
    positions = sound.positions.copy()
    pair = [sound.index("LKNE"), sound.index("LANK")]
    positions[40:61, pair] = positions[40:61, pair[::-1]]
    write(replace(sound, positions=positions), tmp_path / "walk.c3d")
    told = solve(tmp_path / "walk.c3d", "-o", tmp_path / "out").stdout
    assert "\nexchanged labels put back: LKNE/LANK 40–60\n" in told
    # nothing happened in the take that is solved with this skeleton
    told = solve(take, "-o", tmp_path, "--skeleton", tmp_path / "out" / "skeleton.json").stdout
    assert "put back" not in told
