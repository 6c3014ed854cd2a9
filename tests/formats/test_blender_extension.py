"""The Blender extension: a recording in, an edited armature out.

``bpy`` as in ``test_blender.py``.
"""

import json
import os
import runpy
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import osteon as ost
from osteon import synth
from osteon.human import known_names

ROOT = Path(__file__).parents[2]
FRAME = 40
"""Which is looked at, and edited."""


@pytest.fixture
def archive(tmp_path) -> Path:
    return runpy.run_path(str(ROOT / "blender" / "build.py"))["build"](tmp_path / "dist")


def test_the_archive_is_whole(archive):
    with zipfile.ZipFile(archive) as packed:
        manifest = tomllib.loads(packed.read("blender_manifest.toml").decode())
        sources = {name: packed.read(name) for name in packed.namelist() if name.endswith(".py")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (manifest["id"], manifest["version"]) == ("osteon", project["version"])
    assert set(sources) == {"__init__.py", "exchange.py"}
    for name, source in sources.items():
        compile(source, name, "exec")
    listed = sources["__init__.py"].decode().split("NAMES = (", 1)[1].split(")", 1)[0]
    assert {word.strip(' "\n') for word in listed.split(",")} - {"as they are"} == set(
        known_names()
    )


def run_in_blender(archive: Path, folder: Path, *arguments: object) -> dict:
    python = os.environ.get("OSTEON_BLENDER_PYTHON", "")
    if not Path(python).is_file():
        pytest.skip("set OSTEON_BLENDER_PYTHON to a Python that has the bpy wheel")
    script = ROOT / "tests" / "support" / "blender_extension.py"
    command = Path(sys.executable).parent / "osteon"
    words = [python, script, archive, command, *arguments]
    run = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=600, check=False,
        env=os.environ | {"BLENDER_USER_RESOURCES": str(folder / "blender")},
    )  # fmt: skip
    told = [line for line in run.stdout.splitlines() if line.startswith("FACTS ")]
    assert told, run.stdout[-1000:] + run.stderr[-2000:]
    return json.loads(told[0].removeprefix("FACTS "))


@pytest.mark.slow
def test_a_recording_comes_in_and_an_edited_armature_goes_back(archive, tmp_path):
    take = synth.perform(synth.human(), synth.walk(1.5), noise=0.001, seed=4)
    ost.write(take.recording, tmp_path / "walk_07.c3d")
    recording = ost.read(tmp_path / "walk_07.c3d").recording()
    solved = ost.solve(tmp_path / "walk_07.c3d")[0].motion
    names, places = solved.skeleton.names, solved.world()[1]
    sent = tmp_path / "sent.osteon"
    facts = run_in_blender(
        archive, tmp_path, tmp_path / "walk_07.c3d", sent, "left_upper_arm", FRAME
    )
    assert facts["frames"] == [1, solved.n_frames]
    assert facts["rate"] == pytest.approx(solved.rate) and facts["action"] == "walk_07"
    heads = np.array([facts["heads"][name] for name in names])
    assert np.abs(heads - places[FRAME]).max() < 1e-4  # metres; Blender counts in single precision
    # bones go from joint to joint, and the figure stands upright before it moves
    shin = np.array(facts["heads"]["left_shin"])
    assert facts["tails"]["left_thigh"] == pytest.approx(shin, abs=1e-4)
    assert facts["rest"]["head"][2] > facts["rest"]["left_foot"][2] + 1.2
    for name, place in facts["markers"].items():
        expected = recording.positions[FRAME, recording.index(name)]
        if np.isfinite(expected).all():
            assert place == pytest.approx(expected, abs=1e-5)
        assert (name in facts["hidden"]) == bool(np.isnan(expected).any())
    assert set(facts["markers"]) == set(recording.names)
    back = ost.read(sent).motion()
    order = [back.skeleton.index(name) for name in names]
    found = back.world()[1][:, order]
    edited = np.array([facts["edited"][name] for name in names])
    assert np.abs(edited - heads).max() > 0.05  # the arm was turned by 0.5 rad
    # Blender writes BVH with six decimals, and angles that add up along an arm
    assert np.abs(found[FRAME] - edited).max() < 5e-4
    others = np.arange(solved.n_frames) != FRAME
    assert np.abs(found[others] - places[others]).max() < 5e-4
    assert back.rate == pytest.approx(solved.rate, rel=1e-4)
