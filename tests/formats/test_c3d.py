"""C3D: dialects built by hand, round trips, real files, and ezc3d as a second opinion."""

import pickle
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import ezc3d
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings, strategies as st

import osteon as ost
from conftest import DATA, assert_rotations_close, real
from osteon.cli import osteon
from osteon.errors import FormatError
from osteon.formats.c3d import C3D
from osteon.formats.c3d.carried import original
from osteon.formats.c3d.encoding import dec_floats
from osteon.formats.c3d.parameters import intel_value
from osteon.formats.shared.units import METRES, to_z_up, turn_points
from osteon.maths import quat
from osteon.values import Analog, Bodies, Mark, Recording, Source, Take

EZC3D_IS_WRONG = {
    # misses the analog samples between frames: there markers "move" a metre per frame
    *("evart.c3d", "kyowadengyo.c3d", "dynamic.C3D", "standing.C3D", "type1.C3D"),
    # no parameters at all: it reads nothing
    "phasespace_sample.c3d",
    # every residual is −1: it reads gaps only
    *("basketball.c3d", "giant.c3d", "golf.c3d"),
}


def dec(values) -> bytes:
    """IEEE numbers as DEC floats: four times the number with its 16-bit halves exchanged."""
    words = (np.asarray(values, "<f4") * np.float32(4)).view("<u4")
    return ((words >> 16) | (words << 16)).astype("<u4").tobytes()


class Dialect:
    """A hand-made encoder, so that the reader is not tested with its own writer."""

    def __init__(self, code: int = 84, *, is_float: bool = True) -> None:
        self.code, self.is_float = code, is_float
        self.order = ">" if code == 86 else "<"

    def ints(self, *values: int) -> bytes:
        return struct.pack(f"{self.order}{len(values)}H", *(v & 0xFFFF for v in values))

    def floats(self, *values: float) -> bytes:
        if self.code == 85:
            return dec(values)
        return struct.pack(f"{self.order}{len(values)}f", *values)

    def record(self, name: str, group: int, body: bytes) -> bytes:
        head = struct.pack("bb", len(name), group) + name.encode()
        return head + self.ints(len(body) + 3) + body + b"\0"

    def text(self, name: str, group: int, values: list[str]) -> bytes:
        width = max(map(len, values))
        raw = "".join(value.ljust(width) for value in values).encode()
        return self.record(name, group, struct.pack("bBBB", -1, 2, width, len(values)) + raw)

    def build(self, table: np.ndarray, scale: float, labels: list[str], **said) -> bytes:
        """A file of ``table`` (n_frames, n_points, 4) as stored; ``said`` overrides its claims."""
        n_frames, n_points = table.shape[:2]
        scale = -scale if self.is_float else scale
        last = said.get("last", n_frames)
        section = bytes((1, 80, 3, self.code)) + self.record("POINT", -1, b"")
        section += self.record("SCALE", 1, struct.pack("bB", 4, 0) + self.floats(scale))
        section += self.record("USED", 1, struct.pack("bB", 2, 0) + self.ints(n_points))
        if said.get("unit", "mm"):
            section += self.text("UNITS", 1, [said.get("unit", "mm")])
        for name in ("X_SCREEN", "Y_SCREEN"):
            if name in said:
                section += self.text(name, 1, [said[name]])
        section += self.text("LABELS", 1, labels) + said.get("more", b"")
        header = bytes((2, 80)) + self.ints(said.get("n_points", n_points), 0, 1, last, 0)
        header += self.floats(scale) + self.ints(5, 0) + self.floats(100.0)
        header = header.ljust(298, b"\0") + said.get("events", b"")
        data = self.floats(*table.ravel()) if self.is_float else self.ints(*table.ravel())
        return header.ljust(512, b"\0") + section.ljust(3 * 512, b"\0") + data


def made(tmp_path: Path, data: bytes) -> Take:
    path = tmp_path / "made.c3d"
    path.write_bytes(data)
    return ost.read(path)


def some_table(n_frames: int = 7, labels: int = 3) -> np.ndarray:
    table = np.zeros((n_frames, labels, 4))
    table[..., :3] = np.arange(n_frames * labels * 3).reshape(n_frames, labels, 3) * 12 - 80
    table[..., 3] = 0x0300 + 5
    table[1, 0, 3], table[2, 1, 3], table[3, 2] = -1, 0, 0
    return table


def recording(rng, n_frames=40, n_markers=6, **fields) -> Recording:
    """Positions that single precision holds exactly in millimetres, with gaps and fillings."""
    positions = rng.normal(scale=900.0, size=(n_frames, n_markers, 3)).astype("f4")
    residuals = rng.integers(0, 20, size=(n_frames, n_markers)) * 0.25e-3
    positions = positions.astype(float) * 1e-3
    gaps = rng.random((n_frames, n_markers)) < 0.1
    positions[gaps], residuals[gaps] = np.nan, np.nan
    names = tuple(f"M{i}" for i in range(n_markers))
    return Recording(positions, names, 120.0, residuals=residuals, **fields)


def round_trip(value, tmp_path: Path, **options) -> Take:
    ost.write(value, tmp_path / "trip.c3d", **options)
    return ost.read(tmp_path / "trip.c3d")


def same(a, b) -> bool:
    return np.array_equal(a, b, equal_nan=True)


# --- dialects ------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_float", [True, False])
@pytest.mark.parametrize("code", [84, 85, 86])
def test_every_processor_and_number_format(tmp_path, code, is_float):
    table, scale = some_table(), 0.5
    stored = table.copy() if is_float else table.astype(int)
    stored[..., :3] = table[..., :3] * (scale if is_float else 1)
    take = made(tmp_path, Dialect(code, is_float=is_float).build(stored, scale, ["A", "B", "C"]))
    found = take.recording()
    expected = table[..., :3] * scale * 1e-3
    expected[1, 0] = expected[3, 2] = np.nan
    np.testing.assert_allclose(found.positions, expected, rtol=1e-12)
    residuals = np.full((7, 3), 5 * scale * 1e-3)
    residuals[1, 0], residuals[2, 1], residuals[3, 2] = np.nan, 0.0, np.nan
    np.testing.assert_allclose(found.residuals, residuals, rtol=1e-12)
    assert found.names == ("A", "B", "C") and found.rate == 100.0


def test_dec_floats_over_their_whole_range():
    values = np.array([0.0, 1.0, -2.5, 1e-37, 3.14159, -8e36, 1.6e38], "f4")
    words = (np.frombuffer(dec(values[:-1]), "<u4"), np.array([0xFFFF7FFF], "<u4"))
    decoded = dec_floats(np.concatenate(words))
    np.testing.assert_array_equal(decoded[:-1], values[:-1])
    assert 1.7e38 < decoded[-1] < 1.71e38  # the largest DEC float, infinity if read carelessly


@pytest.mark.parametrize(
    ("unit", "metres"),
    [("mm", 1e-3), ("m", 1.0), ("mete", 1.0), ("METERS", 1.0), ("cm", 0.01), ("inch", 0.0254)],
)
def test_units(tmp_path, unit, metres):
    data = Dialect().build(some_table(), 0.1, ["A", "B", "C"], unit=unit)
    assert made(tmp_path, data).recording().positions[0, 0, 0] == -80 * metres


@pytest.mark.parametrize(("size", "unit"), [(1.0, "mm"), (1e-3, "m")])
def test_a_missing_unit_is_judged_and_said(tmp_path, size, unit):
    table = some_table()
    table[..., :3] *= size
    source = made(tmp_path, Dialect().build(table, 0.1, list("ABC"), unit="")).recording().source
    assert source.unit == unit and any("no unit" in problem for problem in source.problems)


def test_all_flagged_as_missing_is_taken_as_real(tmp_path):
    table = some_table()
    table[..., 3] = -1
    found = made(tmp_path, Dialect().build(table, 0.1, list("ABC"))).recording()
    assert found.seen.sum() == 20 and not found.seen[3, 2] and found.residuals is None
    assert any("flagged" in problem for problem in found.source.problems)


def test_labels_twice_and_labels_missing(tmp_path):
    found = made(tmp_path, Dialect().build(some_table(), 0.1, ["T8", "T8"])).recording()
    assert found.names == ("T8", "T8_2", "unlabelled_3")
    assert any("T8" in problem for problem in found.source.problems)


@pytest.mark.parametrize(
    "four",
    [
        ("PELO", "PELA", "PELL", "PELP"),
        ("ORIGINPelvis", "AXISXPelvis", "AXISYPelvis", "AXISZPelvis"),
    ],
    ids=["Plug-in Gait", "BodyBuilder"],
)
def test_points_of_a_models_axes_are_no_markers(tmp_path, four):
    labels = ["LASI", *four, "LFEO", "LFEA"]
    found = made(tmp_path, Dialect().build(some_table(labels=7), 0.5, labels)).recording()
    assert found.outputs == set(four)
    assert round_trip(found, tmp_path).recording().outputs == found.outputs


def test_old_events_in_the_header(tmp_path):
    d = Dialect()
    events = d.ints(12345, 2, 0) + d.floats(0.25, 0.5).ljust(72 + 20, b"\0") + b"RHS LTO "
    found = made(tmp_path, d.build(some_table(), 0.1, list("ABC"), events=events)).recording()
    assert [(mark.label, mark.time) for mark in found.marks] == [("RHS", 0.25), ("LTO", 0.5)]


def test_upward_axis(tmp_path):
    said = {"X_SCREEN": "+X", "Y_SCREEN": "+Y"}
    data = Dialect().build(some_table(), 0.1, list("ABC"), **said)
    found = made(tmp_path, data).recording()
    assert (found.source.up, found.source.up_known) == ("y", True)
    np.testing.assert_allclose(found.positions[0, 0], [-0.080, 0.056, -0.068])
    ost.write(found, tmp_path / "back.csv")
    row = (tmp_path / "back.csv").read_text().splitlines()[-1].split(",")
    np.testing.assert_allclose([float(x) for x in row[2:]], some_table()[6, 2, :3] * 1e-3)


def test_header_and_parameters_disagree(tmp_path):
    data = Dialect().build(some_table(200), 0.1, list("ABC"), n_points=4)
    found = made(tmp_path, data).recording()
    assert found.n_markers == 3 and any("4 points" in p for p in found.source.problems)


# --- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 1, 48, 300])
def test_cut_short_says_how_much_is_there(tmp_path, kept):
    data = Dialect().build(some_table(), 0.1, list("ABC"))
    with pytest.raises(FormatError, match=rf"{kept // 48} of 7 frames"):
        made(tmp_path, data[: 2048 + kept])


def test_promises_beyond_the_file_allocate_nothing(tmp_path):
    data = Dialect().build(some_table(), 0.1, list("ABC"), last=65_534, n_points=65_535)
    with pytest.raises(FormatError, match="of 65534 frames"):
        made(tmp_path, data)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 2400), st.integers(0, 255)), max_size=25),
    length=st.integers(0, 2400),
    code=st.sampled_from([84, 85, 86]),
)
def test_damage_raises_nothing_but_format_errors(tmp_path, changes, length, code):
    data = bytearray(Dialect(code).build(some_table(), 0.1, list("ABC")))
    for at, byte in changes:
        if at < len(data):
            data[at] = byte
    path = tmp_path / "damaged.c3d"
    path.write_bytes(data[: max(length, 1024)] if length < 1200 else data)
    try:
        C3D.read(path)  # type: ignore[misc]
    except FormatError as error:
        assert "\n" not in str(error)


def test_sniff_knows_its_own():
    assert C3D.sniff(bytes((2, 80)) + bytes(510))
    assert not C3D.sniff(b"\x00P") and not C3D.sniff(b"HIERARCHY") and not C3D.sniff(b"")


# --- round trips ---------------------------------------------------------------------------------


def test_positions_residuals_and_gaps_return_exactly(tmp_path, rng):
    given_ = recording(rng, subject="Ann")
    found = round_trip(given_, tmp_path).recording()
    assert same(found.positions, given_.positions)
    np.testing.assert_allclose(found.residuals, given_.residuals, rtol=1e-6)
    assert same(found.residuals == 0.0, given_.residuals == 0.0)
    assert (found.subject, found.names, found.rate) == ("Ann", given_.names, 120.0)


def test_gaps_are_exact_zeros_flagged_and_fillings_have_residual_zero(tmp_path):
    positions = np.ones((3, 1, 3))
    positions[1] = np.nan
    residuals = np.array([[2e-3], [np.nan], [0.0]])
    ost.write(Recording(positions, ("A",), 50.0, residuals=residuals), tmp_path / "x.c3d")
    data = (tmp_path / "x.c3d").read_bytes()
    start = (struct.unpack_from("<H", data, 16)[0] - 1) * 512
    stored = np.frombuffer(data, "<f4", 12, start).reshape(3, 4)
    assert stored[0, 3] > 0 and stored[1].tolist() == [0, 0, 0, -1] and stored[2, 3] == 0


def test_a_hundred_thousand_frames(tmp_path, rng):
    given_ = recording(rng, n_frames=100_000, n_markers=3)
    found = round_trip(given_, tmp_path).recording()
    assert same(found.positions, given_.positions)
    data = (tmp_path / "trip.c3d").read_bytes()
    (tmp_path / "cut.c3d").write_bytes(data[: len(data) - 20_000 * 48])
    with pytest.raises(FormatError, match=r"799\d\d|8000\d of 100000 frames"):
        ost.read(tmp_path / "cut.c3d")


def test_a_long_take_that_starts_late(tmp_path, rng):
    given_ = recording(rng, n_frames=3000, source=Source(format="C3D", first_frame=64_000))
    found = round_trip(given_, tmp_path).recording()
    assert found.n_frames == 3000 and found.source.first_frame == 64_000


def test_more_than_255_points_with_long_names(tmp_path, rng):
    given_ = recording(rng, n_frames=3, n_markers=700)
    given_ = replace(given_, names=tuple(f"marker with a long name {i:03d}" for i in range(700)))
    found = round_trip(given_, tmp_path).recording()
    assert found.names == given_.names and same(found.positions, given_.positions)


def test_degrees_stay_degrees_in_another_unit(tmp_path, rng):
    held = recording(rng, outputs=frozenset({"M1"}), source=Source(format="C3D", unit="mm"))
    found = round_trip(held, tmp_path, unit="m").recording()
    column = held.index("M1")
    # the file's number is that of the file in millimetres; float32 keeps seven digits
    wanted = 1e3 * held.positions[:, column]
    assert np.allclose(found.positions[:, column], wanted, rtol=1e-6, equal_nan=True)
    others = [name for name in held.names if name != "M1"]
    kept = found.select(others).positions, held.select(others).positions
    assert np.allclose(*kept, rtol=1e-6, equal_nan=True)


def test_subjects_marks_outputs_and_analog_return(tmp_path, rng):
    channels = Analog(rng.normal(size=(160, 2)).astype("f4"), ("Fz", "EMG"), ("N", "V"), 480.0)
    both, own = Mark("Foot Strike", 0.25, "Left"), Mark("Wave", 75.5, "General")
    source = Source(format="C3D", unit="mm", first_frame=31)
    common = {"analog": channels, "source": source}
    ann = recording(rng, subject="Ann", marks=(both,), outputs=frozenset({"M1"}), **common)
    bob = recording(rng, subject="Bob", marks=(both, own), **common)
    extra = replace(recording(rng, n_markers=2, **common), names=("wand", "box"), marks=(both,))
    take = round_trip(Take(recordings=(ann, bob, extra)), tmp_path)
    assert [r.subject for r in take.recordings] == ["Ann", "Bob", ""]
    for found, wanted in zip(take.recordings, (ann, bob, extra), strict=True):
        assert found.names == wanted.names and found.outputs == wanted.outputs
        assert same(found.positions, wanted.positions)
        assert [m.label for m in found.marks] == [m.label for m in wanted.marks]
        np.testing.assert_allclose(
            [m.time for m in found.marks], [m.time for m in wanted.marks], atol=1e-5
        )
        assert found.analog is not None and same(found.analog.values, channels.values)
        assert (found.analog.names, found.analog.units) == (channels.names, channels.units)
        assert found.analog.rate == 480.0 and found.source.first_frame == 31


@pytest.mark.parametrize("unit", ["m", "mm", "cm"])
@pytest.mark.parametrize("up", ["y", "z"])
def test_unit_and_axis_of_the_file(tmp_path, rng, unit, up):
    given_ = recording(rng)
    found = round_trip(given_, tmp_path, unit=unit, up=up).recording()
    assert (found.source.unit, found.source.up, found.source.up_known) == (unit, up, True)
    np.testing.assert_allclose(found.positions, given_.positions, rtol=2e-7)


def test_bodies_return_with_and_without_markers(tmp_path, rng):
    rotations = quat.normalise(rng.normal(size=(20, 3, 4)))
    positions = rng.normal(size=(20, 3, 3))
    positions[4, 1] = np.nan
    bodies = Bodies(positions, rotations, ("pelvis", "thigh", "shank"), 120.0)
    for take in (Take(bodies=(bodies,)), Take((recording(rng, n_frames=20),), (bodies,))):
        found = round_trip(take, tmp_path, up="y").body_poses()
        assert found.names == bodies.names and same(found.seen, bodies.seen)
        np.testing.assert_allclose(found.positions, bodies.positions, atol=1e-6)
        assert_rotations_close(found.rotations[found.seen], bodies.rotations[found.seen], 1e-6)


def test_bodies_from_three_points_each(tmp_path, rng):
    q = quat.normalise(rng.normal(size=(20, 2, 1, 4)))
    origin = rng.normal(size=(20, 2, 1, 3))
    arms = np.array([[0, 0, 0], [0, 0.1, 0], [0, 0, 0.2]])
    points = (quat.rotate(q, arms) + origin).reshape(20, 6, 3)
    names = ("HEAD", "HEADY", "HEADZ", "HAND", "HANDY", "HANDZ")
    take = round_trip(Recording(points, names, 60.0), tmp_path)
    assert take.recording().names == names and take.body_poses().names == ("HEAD", "HAND")
    assert_rotations_close(take.body_poses().rotations, q[:, :, 0], 1e-5)
    points[:, 5] += rng.normal(scale=0.05, size=(20, 3))
    assert round_trip(Recording(points, names, 60.0), tmp_path).body_poses().names == ("HEAD",)


# --- ezc3d ---------------------------------------------------------------------------------------

PEER = """
import sys, ezc3d, numpy as np
for path, out in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        c = ezc3d.c3d(path)
    except Exception:
        continue
    points = c["data"]["points"][:3].transpose(2, 1, 0)
    said = c["parameters"]["POINT"]
    labels = said["LABELS"]["value"] + said.get("LABELS2", {}).get("value", [])
    np.savez(out, points=points, residuals=c["data"]["meta_points"]["residuals"][0].T,
             analog=c["data"]["analogs"][0].T, rotations=c["data"]["rotations"],
             labels=np.array(labels, dtype=str))
"""


def peer_reads(paths: list[Path], folder: Path) -> list[dict | None]:
    """What ezc3d makes of files, in a process of its own because it may crash."""
    pytest.importorskip("ezc3d")
    outs = [folder / f"{i}.npz" for i in range(len(paths))]
    pairs = [str(x) for pair in zip(paths, outs, strict=True) for x in pair]
    subprocess.run([sys.executable, "-c", PEER, *pairs], capture_output=True)
    return [dict(np.load(out)) if out.exists() else None for out in outs]


def peer_positions(peer: dict) -> np.ndarray:
    points = peer["points"].copy()
    points[(peer["residuals"] < 0) | (points == 0).all(axis=-1)] = np.nan
    points[~np.isfinite(points).all(axis=-1)] = np.nan
    return points


def in_file_axes(take: Take) -> np.ndarray:
    """Millimetres or metres along the file's own axes, columns in the order of the subjects."""
    source = take.recordings[0].source
    turn = quat.inverse(to_z_up(source.up))
    parts = [turn_points(r.positions, turn) for r in take.recordings]
    return np.concatenate(parts, axis=1) / METRES[source.unit]


def test_ezc3d_reads_what_we_write(tmp_path, rng):
    channels = Analog(rng.normal(size=(160, 2)).astype("f4"), ("Fz", "EMG"), ("N", "V"), 480.0)
    given_ = recording(rng, n_markers=300, subject="Ann", analog=channels)
    rotations = quat.normalise(rng.normal(size=(40, 2, 4)))
    bodies = Bodies(rng.normal(size=(40, 2, 3)), rotations, ("a", "b"), 120.0, "Ann")
    ost.write(Take((given_,), (bodies,)), tmp_path / "ours.c3d")
    [peer] = peer_reads([tmp_path / "ours.c3d"], tmp_path)
    assert peer is not None and tuple(peer["labels"]) == given_.names
    np.testing.assert_allclose(peer_positions(peer), given_.positions * 1e3, rtol=1e-7)
    np.testing.assert_array_equal(peer["analog"], channels.values)
    matrices = peer["rotations"].transpose(3, 2, 0, 1)
    np.testing.assert_allclose(matrices[..., :3, 3], bodies.positions * 1e3, rtol=1e-6)
    np.testing.assert_allclose(matrices[..., :3, :3], quat.to_matrix(rotations), atol=1e-6)


def compare_with_ezc3d(paths: list[Path], folder: Path) -> int:
    compared = 0
    for path, peer in zip(paths, peer_reads(paths, folder), strict=True):
        take = ost.read(path)
        if peer is None or path.name in EZC3D_IS_WRONG or not take.recordings:
            continue
        ours, theirs = in_file_axes(take), peer_positions(peer)
        ours[(ours == 0).all(axis=-1)] = np.nan  # a model output may be 0
        if len(take.recordings) > 1:
            ours, theirs = np.sort(ours, axis=1), np.sort(theirs, axis=1)
        assert same(np.isfinite(ours), np.isfinite(theirs)), f"gaps differ in {path.name}"
        tolerance = 1e-4 if take.recordings[0].source.unit == "mm" else 1e-7
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance, err_msg=path.name)
        compared += 1
    return compared


def test_some_real_files_against_ezc3d(tmp_path):
    names = ("cmu-01/01_01.c3d", "c3d-org/sample_03/gait-pig.c3d", "nimble-c3d/squat.c3d")
    names += ("c3d-org/sample_15/FP1.C3D", "kineticstoolkit/kinematics_tennis_serve_2players.c3d")
    assert compare_with_ezc3d([real(name) for name in names], tmp_path) == 5


@pytest.mark.slow
def test_every_real_file_against_ezc3d(tmp_path):
    paths = sorted(path for path in DATA.rglob("*") if path.suffix.lower() == ".c3d")
    if not paths:
        pytest.skip("no real recordings here: set OSTEON_DATA")
    assert compare_with_ezc3d(paths, tmp_path) > 0.7 * len(paths)


# --- real files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", ["sample_01", "sample_02", "sample_08"])
def test_encodings_of_one_recording_decode_alike(sample):
    paths = sorted(real(f"c3d-org/{sample}").glob("*.[cC]3[dD]"))
    found = [ost.read(path).recording() for path in paths]
    step = 0.3e-3  # integers are that coarse in sample_02
    for other in found[1:]:
        assert same(other.seen, found[0].seen) and other.names == found[0].names
        np.testing.assert_allclose(other.positions, found[0].positions, atol=step)


def test_rotation_group_of_theia(tmp_path):
    path = real("theia-rotations/C3DRotationExample.c3d")
    bodies = ost.read(path).body_poses()
    [peer] = peer_reads([path], tmp_path)
    assert peer is not None and bodies.n_bodies == 21 and bodies.names[1] == "pelvis"
    matrices = peer["rotations"].transpose(3, 2, 0, 1)[bodies.seen]
    np.testing.assert_allclose(bodies.positions[bodies.seen], matrices[:, :3, 3] * 1e-3, atol=1e-9)
    # single precision leaves the matrices orthonormal to 1e-5
    turns = quat.to_matrix(bodies.rotations[bodies.seen])
    np.testing.assert_allclose(turns, matrices[:, :3, :3], atol=1e-4)


def test_art_human_has_21_bodies():
    take = ost.read(real("c3d-org/sample_37/ART-Human_real.c3d"))
    assert take.recording().n_markers == 63 and take.body_poses().n_bodies == 21
    assert take.body_poses().source.up == "z"


def test_events_count_from_the_first_frame_of_a_trimmed_file():
    found = ost.read(real("c3d-org/sample_03/gait-pig-nz.c3d")).recording()
    assert found.source.first_frame == 300 and len(found.marks) == 7
    assert all(0 <= mark.time <= found.n_frames / found.rate for mark in found.marks)


def test_real_files_survive_a_round_trip(tmp_path):
    for name in ("cmu-01/01_01.c3d", "kineticstoolkit/kinematics_tennis_serve_2players.c3d"):
        take = ost.read(real(name))
        for a, b in zip(take.recordings, round_trip(take, tmp_path).recordings, strict=True):
            assert same(a.positions, b.positions) and (a.subject, a.names) == (b.subject, b.names)
            np.testing.assert_allclose(a.residuals, b.residuals, rtol=1e-6)


# --- what only the file's own head tells ---------------------------------------------------------

CORNERS = np.array([[0, 0, 0], [400, 0, 0], [400, 600, 0], [0, 600, 0]], "f4")


def laboratory(dialect: Dialect) -> bytes:
    """Two markers and an angle; a force plate; a group that no other program knows, twice."""

    def record(name: str, group: int, body: bytes, about: bytes = b"") -> bytes:
        head = struct.pack("bb", -len(name), group) + name.encode()  # locked
        return head + dialect.ints(len(body) + 3 + len(about)) + body + bytes([len(about)]) + about

    more = dialect.text("ANGLES", 1, ["LKneeAngles"]) + dialect.text("TYPE_GROUPS", 1, ["ANGLES"])
    more += record("FORCE_PLATFORM", -3, b"", b"on the floor")
    more += record("USED", 3, struct.pack("bB", 2, 0) + dialect.ints(1))
    shape = struct.pack("bBBBB", 4, 3, 3, 4, 1)
    more += record("CORNERS", 3, shape + dialect.floats(*CORNERS.flat))
    more += record("ORIGIN", 3, struct.pack("bBBB", 4, 2, 3, 1) + dialect.floats(0, 0, -40))
    more += record("Processing", -9, b"") + record("empty", -10, b"")
    for mass in (71.5, 72.5):
        more += record("Bodymass", 9, struct.pack("bB", 4, 0) + dialect.floats(mass), b"kilograms")
    more += record("FLAGS", 9, struct.pack("bBB3b", 1, 1, 3, -1, 0, 7))
    table = some_table() if dialect.is_float else some_table().astype(int)
    screen = {"X_SCREEN": "+X", "Y_SCREEN": "+Z"}
    return dialect.build(table, 0.5, ["LASI", "RASI", "LKneeAngles"], more=more, **screen)


def told(value: Recording | Bodies, *, but: tuple[str, ...] = ()) -> list[tuple]:
    """Every parameter of the file a value was read from, as Intel would store it, and spelling."""
    head = original([value])
    assert head is not None
    return [
        (r.group, r.name, r.number, r.locked, r.is_group)
        + (() if r.is_group else (intel_value(head.head, r.place, head.processor),))
        for r in head.parameters.records
        if f"{r.group}:{r.name}" not in ("POINT:DATA_START", "ROTATION:DATA_START", *but)
    ]


@pytest.mark.parametrize("is_float", [True, False])
@pytest.mark.parametrize("code", [84, 85, 86])
def test_what_only_other_programs_know_returns(tmp_path, code, is_float):
    before = made(tmp_path, laboratory(Dialect(code, is_float=is_float)))
    after = round_trip(before, tmp_path)
    # what was whole numbers becomes floats, which the scale's sign tells
    but = () if is_float else ("POINT:SCALE",)
    assert told(after.recording(), but=but) == told(before.recording(), but=but)
    assert after.recording().outputs == {"LKneeAngles"}
    head = original([after.recording()])
    assert head is not None and b"kilograms" in head.head and b"on the floor" in head.head


def test_a_store_between_two_c3d_files_loses_nothing(tmp_path):
    before = made(tmp_path, laboratory(Dialect()))
    ost.write(before, tmp_path / "a.c3d")
    ost.write(before, tmp_path / "a.osteon")
    ost.write(ost.read(tmp_path / "a.osteon"), tmp_path / "b.c3d")
    assert (tmp_path / "a.c3d").read_bytes() == (tmp_path / "b.c3d").read_bytes()


def test_force_plates_follow_unit_and_axes(tmp_path):
    before = made(tmp_path, laboratory(Dialect()))
    ost.write(before, tmp_path / "a.c3d", unit="m", up="y")
    head = original([ost.read(tmp_path / "a.c3d").recording()])
    assert head is not None
    corners = head.parameters.numbers("FORCE_PLATFORM", "CORNERS").reshape(4, 3)
    x, y, z = CORNERS.T / 1e3
    np.testing.assert_allclose(corners, np.stack([x, z, -y], axis=-1), rtol=1e-6)
    np.testing.assert_allclose(head.parameters.numbers("FORCE_PLATFORM", "ORIGIN"), [0, 0, -0.04])
    # an angle is no point to be turned: it is left out, and so is its list
    assert head.parameters.texts("POINT", "LABELS") == ["LASI", "RASI"]
    assert not head.parameters.texts("POINT", "ANGLES")


def test_what_changed_is_written_anew(tmp_path):
    before = made(tmp_path, laboratory(Dialect())).recording()
    mark = Mark("Foot Strike", 0.02, "Left")
    cut = replace(
        before,
        positions=before.positions[:5],
        residuals=None,
        names=("LASI", "waist", "LKneeAngles"),
        marks=(mark,),
    )
    after = round_trip(cut, tmp_path).recording()
    assert (after.n_frames, after.names, after.outputs) == (5, cut.names, {"LKneeAngles"})
    assert [m.label for m in after.marks] == ["Foot Strike"] and not after.source.problems
    told_after, told_before = (
        [row for row in told(each) if row[0] in ("FORCE_PLATFORM", "PROCESSING", "EMPTY")]
        for each in (after, before)
    )
    assert told_after == told_before and len(told_before) == 9


def test_converting_says_what_another_format_cannot_hold(tmp_path):
    made(tmp_path, laboratory(Dialect()))
    files = [str(tmp_path / "made.c3d"), str(tmp_path / "made.trc")]
    done = CliRunner().invoke(osteon, ["convert", *files])
    assert "1 model outputs, 1 force plate, the parameters of PROCESSING: left out" in done.stderr
    files[1] = str(tmp_path / "again.c3d")
    assert "left out" not in CliRunner().invoke(osteon, ["convert", *files]).stderr


WRONG_COUNTS = {"Dance.c3d", "Dance1.c3d", "golfswing.c3d", "golfswing1.c3d", "kyowadengyo.c3d"}
"""POINT says more frames, or points, than are there; that is mended."""

EVERYTHING = """
import sys, pickle, ezc3d
for path, out in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        c = ezc3d.c3d(path)
    except Exception:
        continue
    told = {
        f"{group}:{name}": (value["value"], value["type"], value["description"], value["is_locked"])
        for group, held in c["parameters"].items()
        for name, value in held.items()
        if not name.startswith("__")
    }
    frames, seen = c["data"]["points"][:3], c["data"]["meta_points"]["residuals"][0] >= 0
    frames[:, ~seen] = float("nan")
    with open(out, "wb") as file:
        pickle.dump((told, c["data"]["analogs"], frames), file)
"""


AT_THE_ORIGIN = {"2198928.c3d", "bigparlove.c3d"}
"""A point that is always at 0, 0, 0 and no listed output: a gap to us, and flagged as one."""


def peer_parameters(
    paths: list[Path], folder: Path
) -> list[tuple[dict, np.ndarray, np.ndarray] | None]:
    """All parameters, analog samples and places, by ezc3d."""
    pytest.importorskip("ezc3d")
    outs = [folder / f"{i}.pickle" for i in range(len(paths))]
    pairs = [str(x) for pair in zip(paths, outs, strict=True) for x in pair]
    subprocess.run([sys.executable, "-c", EVERYTHING, *pairs], capture_output=True)
    return [pickle.loads(out.read_bytes()) if out.exists() else None for out in outs]


def compare_round_trips(paths: list[Path], folder: Path) -> int:
    """Parameters and analog samples of files written again, by our reader and by ezc3d."""
    copies = [folder / f"{i}.c3d" for i in range(len(paths))]
    mended = ("POINT:SCALE", "POINT:FRAMES", "POINT:USED")
    for path, copy in zip(paths, copies, strict=True):
        before = ost.read(path)
        ost.write(before, copy)
        after = ost.read(copy)
        a, b = ((*take.recordings, *take.bodies)[0] for take in (before, after))
        but = mended if path.name in WRONG_COUNTS else ()
        but += ("POINT:SCALE",) if a.source.detail.endswith("integer") else ()
        assert told(a, but=but) == told(b, but=but), path.name
        for old, new in zip(before.recordings, after.recordings, strict=True):
            assert (old.names, old.outputs, old.marks) == (new.names, new.outputs, new.marks)
            if old.analog is not None:
                assert new.analog is not None and same(old.analog.values, new.analog.values)
    compared = 0
    pairs = zip(paths, *(peer_parameters(some, folder) for some in (paths, copies)), strict=True)
    for path, one, other in pairs:
        if one is None or path.name in EZC3D_IS_WRONG | WRONG_COUNTS:
            continue
        assert other is not None and one[0].keys() == other[0].keys(), path.name
        for name in one[0].keys() - {"POINT:DATA_START", "POINT:SCALE", "ROTATION:DATA_START"}:
            (values, *how), (values_again, *how_again) = one[0][name], other[0][name]
            assert np.array_equal(values, values_again), f"{name} of {path.name}"
            assert how == how_again, f"type, description or lock of {name} of {path.name}"
        assert same(one[1], other[1]), path.name
        if path.name not in AT_THE_ORIGIN:
            # whole numbers times the scale, rounded to float32 once
            np.testing.assert_allclose(one[2], other[2], rtol=2**-23, err_msg=path.name)
        compared += 1
    return compared


def test_some_real_files_keep_all_parameters(tmp_path):
    """Plates, angles, DEC integers, channels of scale 0, a parameter twice, a group unnamed."""
    names = ("gait-pig.c3d", "../sample_10/TYPE-2.C3D", "../sample_33/bigparlove.c3d")
    names += ("../sample_15/FP1.C3D", "../sample_02/sgi_int.c3d")
    paths = [real(f"c3d-org/sample_03/{name}") for name in names]
    assert compare_round_trips(paths, tmp_path) == 4  # ezc3d reads no MIPS


def test_cameras_and_zeros_of_outputs_come_back(tmp_path):
    """Fourth words of four kinds: cameras and residual, cameras alone, a gap with its own code, and
    an output that is truly 0, 0, 0, which no gap is."""
    words = np.array([[0x0302, 0x0100, -32748.0, 0.0], [0x0705, 0, 0x0100, 0]])
    places = np.array([[[1, 2, 3], [4, 5, 6], [0, 0, 0], [0, 0, 0]]] * 2, "f4")
    places[1, 2] = 7.0
    first = tmp_path / "first.c3d"
    points = np.concatenate([places, words[..., None]], axis=-1).astype("<f4")
    some = Recording(places / 1e3, ("A", "B", "C", "LHipPower"), 100.0)
    some = replace(some, outputs=frozenset({"LHipPower"}), source=Source(format="C3D", unit="mm"))
    ost.write(some, first)
    head, _ = first.read_bytes().split(places.astype("<f4")[0, 0].tobytes(), 1)
    first.write_bytes((head + points.tobytes()).ljust(len(first.read_bytes()), b"\0"))
    ost.write(ost.read(first), tmp_path / "again.c3d")
    for path in (first, tmp_path / "again.c3d"):
        found = ost.read(path).recording()
        assert found.seen.tolist() == [[True, True, False, True], [True] * 4]
        assert points.tobytes() in path.read_bytes()
    # a place that is new was seen by no camera; the others keep theirs
    filled = np.where(found.seen[..., None], found.positions, 1.0)
    ost.write(found.with_filled(filled, ~found.seen, "filled"), tmp_path / "filled.c3d")
    table = np.frombuffer((tmp_path / "filled.c3d").read_bytes()[-512:], "<f4")[:32]
    assert table.reshape(2, 4, 4)[..., 3].tolist() == [[0x0302, 0x0100, 0, 0], [0x0705, 0, 256, 0]]


def test_the_sign_of_a_zero_comes_back(tmp_path):
    """Of a channel; filters leave −0."""
    values = np.array([[0.0, -0.0], [-0.0, 1.5]] * 2)
    some = Recording(np.ones((2, 1, 3)), ("A",), 100.0)
    some = replace(some, analog=Analog(values, ("Fx", "Fz"), ("N", "N"), 200.0))
    ost.write(some, tmp_path / "first.c3d")
    ost.write(ost.read(tmp_path / "first.c3d"), tmp_path / "again.c3d")
    first, again = (ost.read(tmp_path / f"{name}.c3d").recording() for name in ("first", "again"))
    assert first.analog is not None and again.analog is not None
    assert np.signbit(first.analog.values).tolist() == np.signbit(values).tolist()
    assert again.analog.values.tobytes() == first.analog.values.tobytes()


def test_a_group_of_no_rotations_bounds_no_points(tmp_path):
    """ezc3d writes one, with the block where its own file ends; a longer file goes on."""
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [100.0]
    file["parameters"]["POINT"]["LABELS"]["value"] = ["A"]
    file["data"]["points"] = np.ones((4, 1, 200))
    file.write(str(tmp_path / "one.c3d"))
    assert "ROTATION" in ezc3d.c3d(str(tmp_path / "one.c3d"))["parameters"]
    one = ost.read(tmp_path / "one.c3d").recording()
    names = tuple(f"A{number}" for number in range(9))
    more = replace(one, names=names, positions=np.tile(one.positions, (1, 9, 1)), residuals=None)
    ost.write(more, tmp_path / "more.c3d")
    assert ost.read(tmp_path / "more.c3d").recording().positions.shape == (200, 9, 3)


@pytest.mark.slow
def test_every_real_file_keeps_all_parameters(tmp_path):
    paths = sorted(path for path in DATA.rglob("*") if path.suffix.lower() == ".c3d")
    if not paths:
        pytest.skip("no real recordings here: set OSTEON_DATA")
    assert compare_round_trips(paths, tmp_path) > 0.8 * len(paths)
