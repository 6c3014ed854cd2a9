"""The lossless store: every field of every value comes back, bit for bit."""

import dataclasses
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from osteon.errors import FormatError, OsteonError
from osteon.formats import read, write
from osteon.formats.own.store import read_store
from osteon.values import (
    Analog,
    Bodies,
    ForcePlate,
    Mark,
    Motion,
    Recording,
    Source,
    Take,
)
from whole_values import assert_same, full_skeleton

SOURCE = Source("a.c3d", "C3D", "Intel float", "Nexus", "mm", "y", True, 17, ("odd \u2713",))


def full_take(rng: np.random.Generator, n_frames: int = 40) -> Take:
    positions = rng.normal(size=(n_frames, 5, 3))
    positions[::7, 2] = np.nan
    recording = Recording(
        positions, tuple("abcde"), 1 / 3, "S", rng.normal(size=(n_frames, 5)), frozenset("ec"),
        (Mark("strike", np.inf, "Left"),),
        Analog(rng.normal(size=(4 * n_frames, 2)), ("Fz", "Fx"), ("N", ""), 1000.0),
        ("low_pass",), SOURCE,
        (ForcePlate(rng.normal(size=(4, 3)), (1, 0), rng.normal(size=(6, 2)), np.ones(2), True),),
    )  # fmt: skip
    quats = rng.normal(size=(n_frames, 3, 4))
    bodies = Bodies(positions[:, :3], quats, ("x", "y", "z"), 120.0, "T", source=SOURCE)
    motion = Motion(
        full_skeleton(), quats, rng.normal(size=(n_frames, 3)), 59.94,
        rng.normal(size=(n_frames, 3, 3)), (Mark("m", 0.5),), (0,), ("solved",), SOURCE,
    )  # fmt: skip
    still = Motion(full_skeleton("U"), np.ones((0, 3, 4)), np.ones((0, 3)), 30.0)
    bare = dataclasses.replace(recording, residuals=None, analog=None, plates=())
    skeletons = full_skeleton("V"), full_skeleton("W")
    return Take((recording, bare), (bodies,), (motion, still), skeletons)


@pytest.mark.parametrize("n_frames", [0, 1, 40])
def test_every_field_comes_back(tmp_path, rng, n_frames):
    take = full_take(rng, n_frames)
    write(take, tmp_path / "a.osteon")
    assert_same(read(tmp_path / "a.osteon"), take)


def test_an_empty_take_comes_back(tmp_path):
    from osteon.formats.own.store import write_store
    from osteon.formats.registry import WriteOptions

    write_store(tmp_path / "a.osteon", Take(), WriteOptions())
    assert_same(read(tmp_path / "a.osteon"), Take())


def test_the_same_take_gives_the_same_bytes(tmp_path, rng):
    take = full_take(rng)
    write(take, tmp_path / "a.osteon")
    write(read(tmp_path / "a.osteon"), tmp_path / "b.osteon")
    assert (tmp_path / "a.osteon").read_bytes() == (tmp_path / "b.osteon").read_bytes()


def test_a_folder_reads_like_the_archive_and_maps(tmp_path, rng):
    take = full_take(rng)
    write(take, tmp_path / "a.osteon")
    folder = tmp_path / "b.osteon"
    with zipfile.ZipFile(tmp_path / "a.osteon") as archive:
        archive.extractall(folder)
    assert_same(read(folder), take)
    assert_same(read(folder / "take.json"), take)
    mapped = np.load(folder / "recordings/0/positions.npy", mmap_mode="r", allow_pickle=False)
    assert mapped.tobytes() == take.recordings[0].positions.tobytes()


def test_an_archive_packed_again_with_compression_reads(tmp_path, rng):
    take = full_take(rng)
    write(take, tmp_path / "a.osteon")
    repack(tmp_path / "a.osteon", tmp_path / "b.osteon", {}, zipfile.ZIP_DEFLATED)
    assert_same(read(tmp_path / "b.osteon"), take)


def repack(source: Path, target: Path, changes: dict[str, bytes], method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", method) as new:
        for name in sorted(old.namelist()):
            new.writestr(name, changes.get(name, old.read(name)))


@pytest.fixture
def stored(tmp_path, rng) -> Path:
    write(full_take(rng), tmp_path / "a.osteon")
    return tmp_path / "a.osteon"


def document(path: Path) -> dict:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("take.json"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d["take"]["recordings"][0].update(names=["a", 3]),
            r"take.recordings\[0\].names",
        ),
        (lambda d: d["take"]["recordings"][0].update(rate=-1), "rate must be a positive"),
        (lambda d: d["take"]["recordings"][0].update(names=["a"]), r"shape \(n_frames, 1, 3\)"),
        (lambda d: d["take"]["motions"][0].update(root={"npy": "x.npy"}), "holds no 'x.npy'"),
        (lambda d: d["take"]["motions"][0].update(root={"shape": [2]}), "expected an array"),
        (lambda d: d["take"]["skeletons"][0]["bodies"][1].update(parent="x"), "no parent body"),
        (lambda d: d.update(version=2), "version must be 1 or lower, got 2"),
        (lambda d: d.update(format="other"), r"\$.format"),
    ],
)
def test_what_is_wrong_is_named(stored, tmp_path, change, message):
    tree = document(stored)
    change(tree)
    repack(stored, tmp_path / "b.osteon", {"take.json": json.dumps(tree).encode()})
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "b.osteon")


def test_one_array_cannot_be_asked_for_twice(stored, tmp_path):
    tree = document(stored)
    tree["take"]["recordings"][1] = tree["take"]["recordings"][0]
    repack(stored, tmp_path / "b.osteon", {"take.json": json.dumps(tree).encode()})
    with pytest.raises(FormatError, match="each has a file of its own"):
        read(tmp_path / "b.osteon")


def test_an_array_that_promises_more_than_it_holds_is_refused(stored, tmp_path):
    name = "recordings/0/positions.npy"
    with zipfile.ZipFile(stored) as archive:
        data = archive.read(name)
    for changed in (data[:-8], data.replace(b"(40, 5, 3)", b"(99999999999999, 5, 3)")):
        repack(stored, tmp_path / "b.osteon", {name: changed})
        with pytest.raises(FormatError, match="bytes of numbers, there are"):
            read(tmp_path / "b.osteon")


def test_pickles_are_not_loaded(stored, tmp_path):
    np.save(tmp_path / "p.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    name = "recordings/0/positions.npy"
    repack(stored, tmp_path / "b.osteon", {name: (tmp_path / "p.npy").read_bytes()})
    with pytest.raises(FormatError, match=r"not a \.npy file of float64"):
        read(tmp_path / "b.osteon")


def test_a_zip_bomb_is_refused(stored, tmp_path):
    repack(stored, tmp_path / "b.osteon", {"take.json": bytes(50_000_000)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(FormatError, match="would unpack from"):
        read(tmp_path / "b.osteon")


def test_a_folder_does_not_reach_outside(stored, tmp_path):
    folder = tmp_path / "b.osteon"
    with zipfile.ZipFile(stored) as archive:
        archive.extractall(folder)
    text = (folder / "take.json").read_text()
    (tmp_path / "x.npy").write_bytes((folder / "recordings/0/positions.npy").read_bytes())
    (folder / "take.json").write_text(text.replace("recordings/0/positions.npy", "../x.npy"))
    with pytest.raises(FormatError, match="outside of the folder"):
        read(folder)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_damaged_archive_is_refused_or_read(stored, data):
    """Only our own errors leave the reader, whatever bytes were changed, cut or repeated."""
    content = bytearray(stored.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        piece = data.draw(st.binary(max_size=6))
        content[at : at + data.draw(st.integers(0, 6))] = piece
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(1, len(content))) :]
    target = stored.with_name("damaged.osteon")
    target.write_bytes(content)
    try:
        read_store(target)
    except OsteonError as error:
        assert "\n" not in str(error)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_damaged_document_is_refused_or_read(stored, data):
    """The checksums of zip hide the JSON from the test above: here it is damaged alone."""
    folder = stored.with_name("folder.osteon")
    if not folder.exists():
        with zipfile.ZipFile(stored) as archive:
            archive.extractall(folder)
    content = bytearray(document_bytes(stored))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        token = data.draw(st.sampled_from([b"null", b"[", b"{}", b"-1", b"1e999", b'"', b",", b""]))
        content[at : at + data.draw(st.integers(0, 8))] = token
    (folder / "take.json").write_bytes(content)
    try:
        read_store(folder)
    except OsteonError as error:
        assert "\n" not in str(error)


def document_bytes(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read("take.json")
