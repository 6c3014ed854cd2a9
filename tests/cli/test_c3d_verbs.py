"""Verbs that write C3D: what they were not asked to change is as it was."""

from dataclasses import replace
from pathlib import Path

import ezc3d
import numpy as np
import pytest

import osteon as ost
from conftest import real
from osteon.delivery.beside_markers import beside_markers
from osteon.formats.c3d.carried import original
from osteon.formats.c3d.parameters import intel_value

FILES = (
    "c3d-org/sample_03/gait-pig.c3d",
    "c3d-org/sample_09/PlugInC3D.c3d",
    "clinical-gait-auckland/RCH/dynamic/RCH.08.c3d",
    "opensim-core/walking2.c3d",
)
"""Plates, analog channels, marks, angles and moments, groups of their makers."""
ABOUT_POINTS = {"LABELS", "DESCRIPTIONS", "USED", "DATA_START", "SCALE"}
"""Parameters of POINT that say which points there are: all three verbs add or rename some."""


def own_lists(stem: str) -> set[str]:
    """Of labels that went on to further parameters, as LABELS2."""
    return {f"{stem}{number}" for number in range(2, 10)}


LISTED = own_lists("LABELS") | own_lists("DESCRIPTIONS")
CHANGED = {f"POINT:{name}" for name in ABOUT_POINTS | LISTED}
ASKED = {"clean": set(), "label": set(), "angles": {"POINT:ANGLES"}}
"""What each verb alone is asked to change."""


def parameters(path: Path) -> dict[str, tuple]:
    """Name → number, locked flag, type, dimensions, values and description, by our reader."""
    head = original([ost.read(path).recordings[0]])
    assert head is not None
    return {
        f"{r.group}:{r.name}": (r.locked, r.is_group)
        + (() if r.is_group else (intel_value(head.head, r.place, head.processor),))
        for r in head.parameters.records
    }


def by_ezc3d(path: Path) -> tuple[dict[str, tuple], np.ndarray]:
    file = ezc3d.c3d(str(path))
    found = {
        f"{group}:{name}": (each["type"], each["description"], each["is_locked"], each["value"])
        for group, held in file["parameters"].items()
        for name, each in held.items()
        if not name.startswith("__")
    }
    return found, file["data"]["analogs"]


def written_by(verb: str, path: Path, folder: Path, command) -> Path:
    asked, found = {
        "clean": (("-o", folder / "clean.c3d"), "clean.c3d"),
        "label": (("-o", folder / "labelled"), f"labelled/{path.stem}.c3d"),
        "angles": (("-o", folder / "angles"), "angles/angles.c3d"),
    }[verb]
    code, _, told = command(verb, path, *asked)
    assert code == 0, told
    return folder / found


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["clean", "label", "angles"])
@pytest.mark.parametrize("name", FILES)
def test_what_a_verb_was_not_asked_to_change_stays(name, verb, tmp_path, command):
    path = real(name)
    copy = written_by(verb, path, tmp_path, command)
    before, after = parameters(path), parameters(copy)
    changed = CHANGED | ASKED[verb]
    lost = {key for key in before.keys() - changed if before[key] != after.get(key)}
    assert not lost and len(before.keys() - changed) > 20
    (told, samples), (told_again, samples_again) = by_ezc3d(path), by_ezc3d(copy)
    for key in told.keys() - changed:
        *kept, values = told[key]
        *found, values_again = told_again[key]
        assert kept == found and np.array_equal(values, values_again), key
    assert np.array_equal(samples, samples_again, equal_nan=True) and samples.size
    check_outputs(*(ost.read(file).recordings[0] for file in (path, copy)))


def with_bodies(path: Path) -> ost.Recording:
    """Write a marker and two bodies; return the marker."""
    rng = np.random.default_rng(5)
    places, turns = rng.normal(size=(30, 2, 3)), rng.normal(size=(30, 2, 4))
    bodies = ost.Bodies(places, turns, ("pelvis", "left_thigh"), 100.0)
    ost.write(ost.Take(recordings=(a_marker(),), bodies=(bodies,)), path)
    (recording,) = ost.read(path).recordings
    return recording


def a_marker() -> ost.Recording:
    return ost.Recording(np.ones((30, 1, 3)), ("LASI",), 100.0)


def test_bodies_of_a_file_stay_beside_its_markers(tmp_path):
    """Programs without markers keep their poses in the group ROTATION."""
    source, target = tmp_path / "before.c3d", tmp_path / "after.c3d"
    cleaned = with_bodies(source)
    ost.write(beside_markers([cleaned], source, target), target)
    (before,), (after,) = (ost.read(path).bodies for path in (source, target))
    assert before.names == after.names
    np.testing.assert_array_equal(before.positions, after.positions)
    # matrices of float32 numbers: the conversion there and back rounds each of them
    np.testing.assert_allclose(before.rotations, after.rotations, atol=2**-22)
    assert not beside_markers([cleaned], source, tmp_path / "after.csv").bodies


def test_bodies_lie_down_with_markers_that_do(tmp_path):
    """Where another axis turned out to be up, the file's own numbers stay."""
    source, target = tmp_path / "before.c3d", tmp_path / "after.c3d"
    cleaned = with_bodies(source)
    said = replace(cleaned.source, up="y", up_known=False)
    ost.write(beside_markers([replace(cleaned, source=said)], source, target), target)
    told, told_again = (ezc3d.c3d(str(path))["data"]["rotations"] for path in (source, target))
    np.testing.assert_allclose(told, told_again, atol=1e-3)


def check_outputs(before: ost.Recording, after: ost.Recording) -> None:
    """Marks and the numbers of every model output are those of the file."""
    assert before.marks == after.marks
    for name in before.outputs:
        kept = f"stored_{name}" if f"stored_{name}" in after.names else name
        assert kept in after.outputs
        old, new = (each.positions[:, each.index(n)] for each, n in ((before, name), (after, kept)))
        # metres of float32 numbers: the conversion there and back rounds once
        np.testing.assert_allclose(old, new, rtol=2**-22)
