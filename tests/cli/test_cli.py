"""The command line: exit codes, one line per error, JSON, and a quick start."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from osteon.cli import VERBS, osteon
from osteon.errors import MissingExtra
from osteon.formats import read, write
from osteon.values import Analog, Mark, Take
from samples import some_bodies, some_compact, some_markers, some_motion


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb):
    result = CliRunner().invoke(osteon, [verb, "--help"])
    assert result.exit_code == 0
    assert f"Example: osteon {verb}" in result.output


def test_help_names_no_option_that_does_not_exist():
    verbs = [osteon.get_command(click.Context(osteon), verb) for verb in VERBS]
    known = {word for verb in verbs if verb for one in verb.params for word in one.opts}
    for verb in verbs:
        assert verb is not None
        said = [verb.help, *(getattr(one, "help", None) for one in verb.params)]
        named = re.findall(r"(?<!\S)--[a-z-]+", " ".join(filter(None, said)))
        assert set(named) <= known, verb.name


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("convert walk.bvh out.bvh --rate 1e9", "--rate"),
        ("convert walk.bvh out.bvh --loop nan", "nan is no number"),
        ("convert walk.bvh out.bvh --scale inf", "--scale"),
        ("demo -o out --seed -1", "--seed"),
        ("live udp://127.0.0.1:39541 --silence nan", "nan is no number"),
        ("forces walk.bvh -o out --mass -5", "--mass"),
        ("solve walk.bvh -o out --names nobody", "'nobody'; known"),
        ("solve walk.bvh -o out --template nobody", "nobody"),
        ("solve walk.bvh -o", "requires an argument"),
        ("limits walk.bvh -o out --margin -50", "--margin"),
        ("limits walk.bvh -o out --quantile 0", "--quantile"),
        ("limits walk.bvh -o out --exclude 5", "'--exclude': expected FIRST:LAST"),
        ("convert walk.bvh out.bvh --frames 5", "'--frames': expected FIRST:LAST"),
        ("solve walk.bvh -o out --own-set walk.bvh --template none", "leave out --template"),
        ("clean walk.bvh -o out.csv --skeleton walk.bvh --hips davis", "leave out --hips"),
        ("label walk.bvh -o out --own-set walk.bvh --set none", "leave out --set"),
        ("label walk.bvh -o out --skeleton walk.bvh --set none", "leave out --set"),
        ("live walk.bvh --rate 60 --silence 3", "leave out --rate and --silence"),
        ("live walk.bvh --no-browser", "leave out --no-browser"),
        ("map walk.bvh --feet-only -o out --no-contacts", "leave out --no-contacts"),
        ("normalise walk.bvh -o out --mesh-up z", "leave out --mesh-up"),
    ],
)
def test_values_that_mean_nothing_are_wrong_usage(words, told, tmp_path, monkeypatch):
    """Some filled the memory, some ended in a traceback, one wrote a file of nothing, several did
    nothing without a word."""
    monkeypatch.chdir(tmp_path)
    write(some_motion(np.random.default_rng(0)), tmp_path / "walk.bvh")
    result = CliRunner().invoke(osteon, words.split())
    assert (result.exit_code, [*tmp_path.glob("out*")]) == (2, []), result.output
    assert told in result.output
    blank = CliRunner().invoke(osteon, ["solve", "walk.bvh", "-o", ""])
    assert blank.exit_code == 2 and "no folder is named" in blank.output


def test_help_lists_every_verb_and_loads_no_arrays():
    code = (
        "import sys; sys.argv = ['osteon', '--help']\n"
        "from osteon.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'rich'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"
    assert all(verb in shown.stdout for verb in VERBS)


def test_solve_waits_for_nothing_of_scipy():
    code = (
        "import sys\n"
        "from osteon.delivery import deliver\n"
        "from osteon.pipeline import analyse, solve, write_passports\n"
        "parts = ('linalg', 'optimize', 'sparse', 'spatial', 'special')\n"
        "print([part for part in parts if f'scipy.{part}' in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_inspect_says_what_is_in_a_file(command, tmp_path, rng):
    path = tmp_path / "walk.csv"
    write(some_markers(rng), path)
    code, out, err = command("inspect", path)
    assert (code, err) == (0, "")
    assert "4 markers, 12 frames at 120 Hz (0.10 s), 4.2 % missing" in out
    assert "RASI" in out.split("gaps of")[1] and "LASI" not in out.split("gaps of")[1]


def test_gaps_are_those_of_markers(command, tmp_path, rng):
    markers = some_markers(rng)
    write(replace(markers, outputs=frozenset({"RASI"})), tmp_path / "walk.c3d")
    _, out, _ = command("inspect", tmp_path / "walk.c3d")
    assert "0.0 % missing" in out and "1 of them model outputs" in out and "gaps of" not in out


def test_convert_leaves_no_model_output_among_markers(command, tmp_path, rng):
    """Angles are no points: where a format has no place for them they are left out, and said so."""
    markers = some_markers(rng)
    analog = Analog(rng.normal(size=(markers.n_frames, 2)), ("Fz1", "Fz2"), ("N", "N"), 120.0)
    told = {"outputs": frozenset({"RASI"}), "marks": (Mark("Strike", 0.05),), "analog": analog}
    write(replace(markers, **told), tmp_path / "walk.c3d")
    code, _, err = command("convert", tmp_path / "walk.c3d", tmp_path / "walk.trc")
    assert code == 0 and "RASI" not in read(tmp_path / "walk.trc").recording().names
    assert "TRC cannot hold 1 model outputs, 1 events, 2 analog channels: left out" in err
    code, _, err = command("convert", tmp_path / "walk.c3d", tmp_path / "y.c3d", "--up", "y")
    assert code == 0 and "RASI" not in read(tmp_path / "y.c3d").recording().names
    assert "C3D cannot hold 1 model outputs in turned axes: left out" in err
    command("convert", tmp_path / "walk.c3d", tmp_path / "walk.csv")
    assert read(tmp_path / "walk.csv").recording().outputs == {"RASI"}


def test_inspect_as_json(command, tmp_path, rng):
    path = tmp_path / "walk.csv"
    write(some_markers(rng), path)
    code, out, _ = command("inspect", path, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["kinds"] == ["markers"] and facts["unit"] == "m" and facts["up"] == "z"
    (markers,) = facts["markers"]
    assert (markers["count"], markers["frames"], markers["rate"]) == (4, 12, 120.0)
    assert markers["gaps"]["RASI"] == {"missing": 2, "gaps": 1, "longest": 2}
    assert markers["missing"] == pytest.approx(2 / 48, abs=1e-6)


def test_inspect_a_moving_skeleton(command, tmp_path, rng):
    path = tmp_path / "walk.bvh"
    write(some_motion(rng), path)
    code, out, _ = command("inspect", path, "--json")
    (motion,) = json.loads(out)["motion"]
    assert code == 0 and motion["count"] == 5 and motion["parents"]["spine"] == "hips"


@pytest.mark.parametrize("content", [None, b"", b"\0\1\2", b"PathFileType\t4\n", b"Hello, world"])
def test_bad_files_are_one_line_and_exit_1(command, content, tmp_path):
    path = tmp_path / "bad.trc"
    if content is not None:
        path.write_bytes(content)
    for args in (("inspect", path), ("convert", path, tmp_path / "out.csv")):
        code, out, err = command(*args)
        assert code == 1 and out == ""
        assert err.startswith("osteon: bad.trc") and err.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


def test_wrong_usage_is_exit_2(command):
    assert command("inspect")[0] == 2
    assert command("convert", "a.c3d")[0] == 2
    assert command("no-such-verb")[0] == 2


def test_convert_writes_and_names_the_file(command, tmp_path, rng):
    source, target = tmp_path / "a.csv", tmp_path / "out" / "b.trc"
    write(some_markers(rng), source)
    code, out, err = command("convert", source, target)
    assert (code, out.strip(), err) == (0, str(target), "")
    assert read(target).recording().names == read(source).recording().names


def test_convert_says_what_is_left_out(command, tmp_path, rng):
    source = tmp_path / "a.osteon"
    write(Take(recordings=(some_markers(rng),), bodies=(some_bodies(rng),)), source)
    code, _, err = command("convert", source, tmp_path / "a.trc")
    assert code == 0 and "TRC cannot hold bodies: left out" in err
    code, _, err = command("convert", source, tmp_path / "a.csv")
    assert code == 1 and "--only" in err and not (tmp_path / "a.csv").exists()
    assert command("convert", source, tmp_path / "a.csv", "--only", "bodies")[0] == 0
    assert read(tmp_path / "a.csv").kinds == ("bodies",)
    code, _, err = command("convert", source, tmp_path / "b.csv", "--only", "motion")
    assert code == 1 and "the file holds markers and bodies" in err


def test_convert_refuses_endings_and_kinds(command, tmp_path, rng):
    source = tmp_path / "a.csv"
    write(some_markers(rng), source)
    refused = {"a.xyz": "no format is written", "a.bvh": "BVH stores", "a.blend": "blender --back"}
    for target, message in refused.items():
        code, out, err = command("convert", source, tmp_path / target)
        assert (code, out) == (1, "") and message in err and err.count("\n") == 1
        assert not (tmp_path / target).exists()


def copies(path: Path, folder: Path) -> list[Path]:
    """Other ways to say ``path``."""
    folder.mkdir()
    (folder / "link").symlink_to(path.parent)
    (folder / path.name).symlink_to(path)
    os.link(path, folder / f"twin{path.suffix}")
    spelled = [folder / "link" / path.name, folder / path.name, folder / f"twin{path.suffix}"]
    return [path, path.parent / ".." / path.parent.name / path.name, *spelled]


def test_nothing_is_converted_into_itself(command, tmp_path, rng):
    source = tmp_path / "take" / "a.c3d"
    write(some_markers(rng), source)
    before = source.read_bytes()
    for target in copies(source, tmp_path / "other"):
        code, out, err = command("convert", source, target)
        assert (code, out) == (1, "") and "would be overwritten by what is made of it" in err
        assert source.read_bytes() == before


def test_a_skeleton_beside_its_motion_is_not_overwritten(command, tmp_path, rng):
    write(some_motion(rng), tmp_path / "02_01.amc")
    (tmp_path / "02_01.asf").rename(tmp_path / "02.asf")
    before = (tmp_path / "02.asf").read_bytes()
    code, _, err = command("convert", tmp_path / "02_01.amc", tmp_path / "02.amc")
    assert code == 1 and "02.asf would be overwritten" in err
    assert (tmp_path / "02.asf").read_bytes() == before and not (tmp_path / "02.amc").exists()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("map", "--skeleton", "figure"), "motion.bvh"),
        (("map", "--feet-only"), "motion.glb"),
        (("fit",), "motion.bvh"),
        (("joints",), "motion.bvh"),
        (("solve", "--formats", "osteon"), "motion.osteon"),
        (("normalise",), "normalised.bvh"),
        (("axes", "--formats", "glb"), "parameters.glb"),
    ],
)
def test_no_verb_writes_over_its_input(words, name, command, tmp_path, rng):
    path = tmp_path / "rig" / name
    write(some_motion(rng), path)
    before = path.read_bytes()
    code, _, err = command(words[0], path, *words[1:], "-o", tmp_path / "rig")
    assert code == 1 and f"{name} would be overwritten by what is made of it" in err
    assert path.read_bytes() == before and [path] == list((tmp_path / "rig").iterdir())


def test_info_knows_the_formats(command):
    code, out, _ = command("info", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["osteon"] and "numpy" in facts["packages"]
    assert "reads and writes markers" in facts["formats"]["TRC"]
    assert "TRC" in command("info")[1]
    assert facts["marker_sets"]["CMU 41"] == 41 and "'CMU 41'" in command("info")[1]


def test_folder_that_cannot_be_written_is_refused_before_the_work(command, tmp_path, rng):
    path = tmp_path / "walk.csv"
    write(some_markers(rng), path)
    code, _, err = command("solve", path, "-o", path / "rig")
    assert code == 2
    assert f"'{path}' is a file" in err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place that takes no files")
@pytest.mark.parametrize("words", [("solve",), ("view", "--no-open"), ("demo",)])
def test_place_that_takes_no_files_is_found_before_the_work(words, command, tmp_path, rng):
    path = tmp_path / "walk.bvh"
    write(some_motion(rng), path)
    given = () if words == ("demo",) else (path,)
    code, _, err = command(*words, *given, "-o", "/proc/nowhere")
    assert code == 2 and "'/proc/nowhere' cannot be written" in err


def test_unknown_formats_are_refused_before_the_work(command, tmp_path, rng):
    path = tmp_path / "walk.bvh"
    write(some_motion(rng), path)
    for verb in ("solve", "normalise", "axes"):
        code, _, err = command(verb, path, "-o", tmp_path / "rig", "--formats", "osteon,doc")
        assert code == 2
        assert "no motion is written as 'doc'; known: " in err and " glb," in err
    assert not (tmp_path / "rig").exists()


@pytest.mark.parametrize("verb", ["limits", "normalise", "axes"])
def test_markers_where_a_motion_is_needed_are_told_with_a_way_out(verb, command, tmp_path, rng):
    path = tmp_path / "walk.csv"
    write(some_markers(rng), path)
    code, _, err = command(verb, path, "-o", tmp_path / "rig")
    assert code == 1
    assert "walk.csv: holds markers but no moving skeleton" in err and "osteon solve" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("limits", "FILE", "-o", "rig", "--samples", 0), "--samples"),
        (("limits", "FILE", "-o", "rig", "--minimum", -3), "--minimum"),
        (("live", "udp://127.0.0.1:39541", "--silence", -1), "--silence"),
        (("live", "udp://127.0.0.1:39541", "--rate", 0), "--rate"),
        (("studio", "FILE", "--port", 99999999), "--port"),
    ],
)
def test_absurd_numbers_are_refused_by_name(words, told, command, tmp_path, rng):
    path = tmp_path / "walk.bvh"
    write(some_motion(rng), path)
    code, _, err = command(*(path if word == "FILE" else word for word in words))
    assert code == 2
    assert f"Invalid value for '{told}'" in err and "range" in err


def test_mistyped_verb_is_answered_with_the_nearest(command):
    code, _, err = command("slove", "walk.c3d")
    assert code == 2
    assert "No such command 'slove'. Did you mean 'solve'?" in err


def test_no_folder_is_asked_for_where_the_page_stays_in_its_own(command, tmp_path):
    """The folder was passed over without a word."""
    (tmp_path / "walk").mkdir()
    (tmp_path / "walk" / "report.html").write_text("<p>")
    code, _, err = command("view", tmp_path / "walk", "--no-open", "-o", tmp_path / "page")
    assert code == 2 and "has its pages already: leave out -o" in err
    code, out, _ = command("view", tmp_path / "walk", "--no-open")
    assert code == 0 and out == f"{tmp_path / 'walk' / 'report.html'}\n"


def test_feet_of_one_of_several_are_mended(command, tmp_path, rng):
    """Where a file holds several, the name was asked for and not listened to."""
    both = [replace(some_motion(rng), skeleton=each) for each in _named_skeletons(rng)]
    write(Take(motions=tuple(both)), tmp_path / "two.osteon")
    words = ("map", tmp_path / "two.osteon", "--feet-only", "-o", tmp_path / "out")
    assert command(*words)[0] == 1
    assert command(*words, "--subject", "ben")[0] == 0


def _named_skeletons(rng):
    skeleton = some_motion(rng).skeleton
    return [replace(skeleton, subject=name) for name in ("ann", "ben")]


def test_full_disk_is_one_line(monkeypatch, command, tmp_path, rng):
    path = tmp_path / "walk.bvh"
    write(some_motion(rng), path)

    def full(*_args, **_named):
        raise OSError(28, "No space left on device", "rig/report.html")

    monkeypatch.setattr("osteon.delivery.pages.write_report", full)
    code, _, err = command("view", path, "-o", tmp_path, "--no-open")
    assert (code, err) == (1, "osteon: rig/report.html: No space left on device\n")


def test_output_that_takes_no_more_is_one_line(monkeypatch, command):
    def full(*_args, **_named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("osteon.cli.file_verbs._formats", full)
    code, _, err = command("info")
    assert (code, err) == (1, "osteon: writing failed: No space left on device\n")


def test_convert_keeps_the_skeleton_of_a_motion(command, tmp_path, rng):
    write(some_motion(rng), tmp_path / "walk.bvh")
    code, _, err = command(
        "convert", tmp_path / "walk.bvh", tmp_path / "rig.xml", "--only", "skeleton"
    )
    assert code == 0 and "left out" not in err
    assert read(tmp_path / "rig.xml").kinds == ("skeleton",)


def test_convert_makes_poses_of_movement_parameters(command, tmp_path, rng):
    """Whoever has a compact file of ours gets any other; as .osteon it stays as it is."""
    compact = some_compact(rng)
    write(compact, tmp_path / "walk.osteon")
    code, _, err = command("convert", tmp_path / "walk.osteon", tmp_path / "walk.glb")
    assert code == 0 and "left out" not in err
    apart = read(tmp_path / "walk.glb").motion().world()[1] - compact.motion().world()[1]
    assert abs(apart).max() < 1e-5  # GLB stores single precision
    for only, kinds in ((), ("compact",)), (("--only", "motion"), ("motion",)):
        assert command("convert", tmp_path / "walk.osteon", tmp_path / "more.osteon", *only)[0] == 0
        assert read(tmp_path / "more.osteon").kinds == kinds


def test_a_missing_part_is_told_with_what_installs_it():
    assert "pip install 'osteon[usd]'" in str(MissingExtra("usd-core", "writing USD", "usd"))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", b"time;marker;x;y\n0,5;LASI;0,1;0,2\n", "columns must be frame,marker,x,y,z"),
        ("a.mp4", b"\0\0\0 ftypisom" + bytes(100), "video: osteon finds nobody in pictures"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "picture"),
        ("a.blend", b"BLENDER-v405" + bytes(100), "export GLB, FBX or BVH there"),
        ("summary.json", b'{\n  "frames": 343}', "it is no skeleton"),
        ("a.txt", b"Hello, world", "begins with 'Hello, world'); osteon info lists"),
        ("a.bin", b"\xd7\x12\0\0" * 9, "begins with bytes d7 12 00 00"),
    ],
)
def test_what_is_no_recording_is_told_in_one_short_line(name, content, told, command, tmp_path):
    """Bytes as Python writes them, and 22 formats, stood where advice was missing."""
    (tmp_path / name).write_bytes(content)
    code, _, err = command("inspect", tmp_path / name)
    assert code == 1 and told in err and len(err) < 250


def test_who_gives_a_folder_is_told_which_file_of_it(command, tmp_path, rng):
    write(some_motion(rng), tmp_path / "walk" / "motion.bvh")
    for words in (("limits", tmp_path / "walk", "-o", tmp_path / "out"),):
        code, _, err = command(*words)
        assert code == 2 and "walk/motion.bvh" in err.replace("\n", "")
    for words in (("inspect", tmp_path / "walk"), ("axes", tmp_path / "walk", "-o", tmp_path)):
        code, _, err = command(*words)
        assert code == 1 and "walk/motion.bvh" in err


def test_a_motion_that_breaks_off_in_a_number_is_told_as_cut_short(command, tmp_path, rng):
    write(some_motion(rng), tmp_path / "walk.bvh")
    whole = (tmp_path / "walk.bvh").read_bytes().rstrip()
    (tmp_path / "walk.bvh").write_bytes(whole[: whole.rindex(b" ")] + b" -")
    code, _, err = command("inspect", tmp_path / "walk.bvh")
    assert code == 1 and "where the file ends: cut short?" in err


def test_a_name_without_an_ending_is_told_as_such(command, tmp_path, rng):
    write(some_motion(rng), tmp_path / "walk.bvh")
    assert "without an ending" in command("convert", tmp_path / "walk.bvh", tmp_path / "out")[2]
