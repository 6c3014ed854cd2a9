"""Verbs that write C3D: what they were not asked to change is as it was."""

from pathlib import Path

import ezc3d
import numpy as np
import pytest

import osteon as ost
from conftest import real
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


def check_outputs(before: ost.Recording, after: ost.Recording) -> None:
    """Marks and the numbers of every model output are those of the file."""
    assert before.marks == after.marks
    for name in before.outputs:
        kept = f"stored_{name}" if f"stored_{name}" in after.names else name
        assert kept in after.outputs
        old, new = (each.positions[:, each.index(n)] for each, n in ((before, name), (after, kept)))
        # metres of float32 numbers: the conversion there and back rounds once
        np.testing.assert_allclose(old, new, rtol=2**-22)
