"""What every reader and every writer must do, whatever the format.

A format that joins ``FORMATS`` is tested here at once. One that is read and not written needs an
entry in ``samples.SEEDS``.
"""

import os
import shutil

import numpy as np
import pytest

from conftest import assert_rotations_close
from osteon.errors import BadValue, FormatError, OsteonError, UnknownFormat, WrongContent
from osteon.formats import FORMATS, find_format, read, write
from osteon.formats.shared.units import TO_Z_UP, metres_per, turn_points
from osteon.maths import quat
from osteon.values import Bodies, CompactMotion, Motion, Recording, Skeleton, Take
from samples import READABLE, SEEDS, WRITABLE, make_seed, some_markers, some_motion, some_value

TOLERANCE = 2e-6
"""Metres: single precision at a few metres. Formats that keep more say so in their own tests."""

OWN_AXES = {"FBX"}
"""Bones are read as they stand in the file, along themselves; the bodies' frames are lost."""
KEEPS_SOURCE = {"Osteon store"}
"""Formats that keep what a value says of the file it first came from."""


def values_of(take: Take) -> list:
    return [*take.recordings, *take.bodies, *take.motions, *take.skeletons]


def only(take: Take, kind: str):
    pick = {
        "markers": take.recordings,
        "bodies": take.bodies,
        "motion": take.motions,
        "compact": take.compacts,
    }
    found = pick.get(kind) or (take.skeleton(),)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("form", READABLE, ids=lambda form: form.name)
class TestReader:
    def test_has_a_sample(self, form):
        assert form.write or form.name in SEEDS, f"add a sample of {form.name} to samples.SEEDS"

    def test_fills_valid_values(self, form, tmp_path, rng):
        path = make_seed(form, tmp_path, rng)
        take = read(path)
        assert take.kinds and set(take.kinds) <= form.holds
        for value in values_of(take):
            if isinstance(value, Skeleton):
                continue
            arrays = [value.rotations, value.root] if isinstance(value, Motion) else []
            arrays += [value.positions] if isinstance(value, Recording | Bodies) else []
            arrays += [value.rotations] if isinstance(value, Bodies) else []
            assert all(not array.flags.writeable and len(array) for array in arrays)
            assert not any(np.isinf(array).any() for array in arrays)
            assert value.rate > 0

    def test_says_where_values_came_from(self, form, tmp_path, rng):
        path = make_seed(form, tmp_path, rng)
        if form.name in KEEPS_SOURCE:
            return
        for value in values_of(read(path)):
            if not isinstance(value, Skeleton):
                source = value.source
                assert source.file == path.name and source.format
                assert source.up in TO_Z_UP and source.unit
                assert all(problem and "\n" not in problem for problem in source.problems)

    def test_is_found_by_content(self, form, tmp_path, rng):
        path = make_seed(form, tmp_path, rng)
        nameless = tmp_path / "no_ending"
        shutil.copy(path, nameless)
        head = nameless.read_bytes()[:4096]
        assert find_format(nameless, FORMATS) is form
        assert [other.name for other in FORMATS if other.sniff(head)] == [form.name]

    def test_an_empty_file_is_not_this(self, form, tmp_path):
        assert not form.sniff(b"") and not form.sniff(b"\0" * 4096)


def assert_same(found, given, turn=TO_Z_UP["z"], scale: float = 1.0, *, axes: bool = False) -> None:
    """Same content, ``found`` being ``given`` turned and scaled; with ``axes`` its bones have axes
    of their own instead of the bodies'."""
    if isinstance(given, Skeleton):
        assert (found.names, found.parents) == (given.names, given.parents)
        lengths = (lambda arms: np.linalg.norm(arms, axis=-1)) if axes else np.asarray
        np.testing.assert_allclose(lengths(found.offsets), lengths(given.offsets), atol=TOLERANCE)
        return
    assert found.rate == pytest.approx(given.rate, rel=1e-6)
    assert found.n_frames == given.n_frames
    if isinstance(given, CompactMotion):
        assert_same(found.motion(), given.motion())
        return
    if isinstance(given, Motion):
        assert found.skeleton.names == given.skeleton.names
        rotations, places = given.world()
        found_rotations, found_places = found.world()
        places = scale * turn_points(places, turn)
        np.testing.assert_allclose(found_places, places, atol=TOLERANCE)
        if axes:
            stands = quat.between(found_rotations, rotations)
            assert_rotations_close(stands, np.broadcast_to(stands[:1], stands.shape), TOLERANCE)
        elif turn is TO_Z_UP["z"]:  # else a reader may turn the bones' own frames along
            assert_rotations_close(found_rotations, rotations, TOLERANCE)
        return
    assert found.names == given.names
    positions = scale * turn_points(given.positions, turn)
    np.testing.assert_allclose(found.positions, positions, atol=TOLERANCE)
    if isinstance(given, Bodies):
        seen, rotations = given.seen, quat.multiply(turn, given.rotations)
        assert_rotations_close(found.rotations[seen], rotations[seen], TOLERANCE)


@pytest.mark.parametrize(("form", "kind"), WRITABLE, ids=lambda x: getattr(x, "name", x))
class TestWriter:
    @pytest.mark.parametrize("n_frames", [1, 12])
    def test_what_is_written_is_read(self, form, kind, n_frames, tmp_path, rng):
        value = some_value(kind, rng, n_frames)
        path = tmp_path / f"a{form.suffixes[0]}"
        write(value, path)
        assert_same(only(read(path), kind), value, axes=form.name in OWN_AXES)

    def test_a_second_round_changes_nothing(self, form, kind, tmp_path, rng):
        first, second = (tmp_path / f"{name}{form.suffixes[0]}" for name in "ab")
        write(some_value(kind, rng), first)
        value = only(read(first), kind)
        write(value, second)
        assert_same(only(read(second), kind), value)

    @pytest.mark.parametrize("unit", ["m", "cm", "mm", "in"])
    def test_units(self, form, kind, unit, tmp_path, rng):
        """A format that does not store the unit judges it: the ratio between is known."""
        value = some_value(kind, rng)
        path = tmp_path / f"a{form.suffixes[0]}"
        try:
            write(value, path, unit=unit)
        except BadValue:
            assert not path.exists()
            return
        found = only(read(path), kind)
        read_as = unit if isinstance(found, Skeleton) else found.source.unit
        ratio = metres_per(read_as) / metres_per(unit)
        assert_same(found, value, scale=ratio, axes=form.name in OWN_AXES)

    @pytest.mark.parametrize("up", ["y", "z"])
    def test_up_axis(self, form, kind, up, tmp_path, rng):
        """A format that does not store the axis reads it as its own: the turn between is known."""
        value = some_value(kind, rng)
        path = tmp_path / f"a{form.suffixes[0]}"
        try:
            write(value, path, up=up)
        except BadValue:
            assert not path.exists()
            return
        found = only(read(path), kind)
        read_as = up if isinstance(found, Skeleton) else found.source.up
        turn = quat.multiply(TO_Z_UP[read_as], quat.inverse(TO_Z_UP[up]))
        turn = TO_Z_UP["z"] if read_as == up else turn
        assert_same(found, value, turn, axes=form.name in OWN_AXES)

    def test_an_unknown_unit_or_axis_is_refused(self, form, kind, tmp_path, rng):
        value, path = some_value(kind, rng), tmp_path / f"a{form.suffixes[0]}"
        for options in ({"unit": "furlong"}, {"up": "w"}):
            with pytest.raises(OsteonError):
                write(value, path, **options)
        assert list(tmp_path.iterdir()) == []


def test_names_of_formats_are_unique():
    names = [form.name for form in FORMATS]
    assert len(set(names)) == len(names)


def test_a_format_that_cannot_hold_it_refuses(tmp_path, rng):
    with pytest.raises(
        WrongContent, match="TRC stores markers, but what is to be written holds motion"
    ):
        write(some_motion(rng), tmp_path / "a.trc")
    with pytest.raises(UnknownFormat, match="known: "):
        write(some_markers(rng), tmp_path / "a.xyz")
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_not_there_or_empty(tmp_path):
    with pytest.raises(FormatError, match="No such file"):
        read(tmp_path / "none.c3d")
    with pytest.raises(FormatError, match="it is a folder, not a recording"):
        read(tmp_path)
    (tmp_path / "empty.c3d").touch()
    with pytest.raises(UnknownFormat, match="the file is empty"):
        read(tmp_path / "empty.c3d")


def test_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "walk.c3d")
    with pytest.raises(FormatError, match="is a pipe or a device; save it to a file"):
        read(tmp_path / "walk.c3d")


def test_a_failed_write_leaves_the_old_file(tmp_path, rng):
    path = tmp_path / "a.trc"
    path.write_text("precious")
    with pytest.raises(BadValue, match="tabs part its columns"):
        write(some_markers(rng, names=("a\tb",)[:1] + ("c", "d", "e")), path)
    assert path.read_text() == "precious" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"MATLAB 7.3 MAT-file, Platform: PCWIN64", "HDF5.*-v7"),
        (b"\x89HDF\r\n\x1a\n", "HDF5 file.*plain CSV"),
        (b"Timestamp (us),W,X,Y,Z\n1,1,0,0,0\n", "no positions"),
        (b'<?xml version="1.0"?>\n<OpenSimDocument Version="4"><Model name="a">', "OpenSim model"),
        (b'<OpenSimDocument Version="4"><ScaleTool><ModelScaler>', "OpenSim settings"),
        (b"Coordinates\nnRows=3\nendheader\ntime\tx\n", "without their OpenSim model"),
        (b"; FBX 7.7.0 project file\n", "binary FBX"),
        (b"0.56 0.03 1.37\n", "neither names nor rate"),
        (b"a,b,c\n1,2,3\n", "columns must be frame,marker"),
    ],
)
def test_known_kinds_are_refused_with_their_reason(text, reason, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(text)
    with pytest.raises(WrongContent, match=reason):
        read(path)
