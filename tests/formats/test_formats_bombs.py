"""Small files that would unpack or spread to gigabytes: refused, or read in little memory."""

import base64
import json
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from osteon.formats import read, write
from samples import some_markers

WORKER = Path(__file__).parents[1] / "support" / "bomb_worker.py"
MUCH = 96 << 20
"""Bytes that a bomb makes of itself at least; the worker may take 64 MB."""


def ends(folder: Path, reader: str, bombs: dict[str, Callable[[Path], None]]) -> dict[str, tuple]:
    """How reading each of them ended."""
    paths = [folder / name for name in bombs]
    for path in paths:
        bombs[path.name](path)
        assert path.stat().st_size < MUCH / 30
    command = [sys.executable, str(WORKER), reader, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: (end, why) for name, end, why in map(json.loads, done.stdout.splitlines())}


def lying_zip(method: int) -> Callable[[Path], None]:
    """An archive that promises 100 bytes and holds far more."""

    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("take.json", bytes(MUCH))
        data = bytearray(path.read_bytes())
        struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 24, 100)
        struct.pack_into("<I", data, 22, 100)
        path.write_bytes(data)

    return make


def damaged_lzma(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("take.json", bytes(range(256)) * 8)
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)


def nested_defaults(path: Path, n: int = 3000) -> None:
    many = " ".join(f'a{i}="1"' for i in range(n))
    classes = "".join(f'<default class="c{i}"><geom b="{i}"/>' for i in range(n))
    closing = "</default>" * (n + 1)
    body = "<worldbody><body/></worldbody>"
    path.write_text(f"<mujoco><default><geom {many}/>{classes}{closing}{body}</mujoco>")


def equal_names(path: Path) -> None:
    bodies = '<body name="a"/>' * 6000
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")


def gltf(path: Path, n_keys: int, n_nodes: int, n_accessors: int = 1, spare: int = 0) -> None:
    """All nodes moved by the same keys, which any number of accessors name."""
    keys = np.arange(n_keys, dtype="<f4").tobytes() + bytes(12 * n_keys) + bytes(spare)
    uri = "data:application/octet-stream;base64," + base64.b64encode(keys).decode()
    times = {"componentType": 5126, "count": n_keys, "type": "SCALAR", "bufferView": 0}
    places = {**times, "type": "VEC3", "byteOffset": 4 * n_keys}
    nodes = [{"name": f"n{i}"} for i in range(n_nodes)]
    moved = [
        {"sampler": i % n_accessors, "target": {"node": i, "path": "translation"}}
        for i in range(n_nodes)
    ]
    document = {
        "asset": {"version": "2.0"},
        "nodes": [{**nodes[0], "children": [*range(1, n_nodes)]}, *nodes[1:]],
        "skins": [{"joints": [*range(n_nodes)]}],
        "buffers": [{"byteLength": len(keys), "uri": uri}],
        "bufferViews": [{"buffer": 0, "byteLength": len(keys)}],
        "accessors": [times, *[places] * n_accessors],
        "animations": [
            {
                "samplers": [{"input": 0, "output": 1 + i} for i in range(n_accessors)],
                "channels": moved,
            }
        ],
    }
    path.write_text(json.dumps(document))


def shared_vertices(path: Path) -> None:
    """Many primitives of one mesh that all name the same vertices."""
    corners = bytes(12 * 30_000)
    uri = "data:application/octet-stream;base64," + base64.b64encode(corners).decode()
    document = {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}] * 300}],
        "buffers": [{"byteLength": len(corners), "uri": uri}],
        "bufferViews": [{"buffer": 0, "byteLength": len(corners)}],
        "accessors": [{"componentType": 5126, "count": 30_000, "type": "VEC3", "bufferView": 0}],
    }
    path.write_text(json.dumps(document))


def beside_noise(path: Path) -> None:
    """A MATLAB file that is not all too small for what it unpacks to."""
    noise = np.random.default_rng(1).bytes(1 << 20)
    path.write_bytes(path.read_bytes() + struct.pack("<II", 2, len(noise)) + noise)


def qtm(path: Path, kind: type) -> None:
    data = np.zeros((2, 4, MUCH // 64), kind)
    labelled = {"Labels": np.array(["a", "b"], object), "Data": data}
    frames = {"Frames": data.shape[2], "FrameRate": 100}
    take = {**frames, "Trajectories": {"Labeled": labelled}}
    savemat(path, {"take": take}, do_compression=True)
    beside_noise(path)


def structures(path: Path, count: int = 300_000) -> None:
    """A long array of structures with one empty field."""

    def element(kind: int, content: bytes) -> bytes:
        return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)

    head = element(6, struct.pack("<II", 2, 0)) + element(5, struct.pack("<ii", count, 1))
    fields = element(5, struct.pack("<i", 8)) + element(1, b"x".ljust(8, b"\0"))
    packed = zlib.compress(
        element(14, head + element(1, b"take") + fields + element(14, b"") * count)
    )
    start = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x100) + b"IM"
    path.write_bytes(start + struct.pack("<II", 15, len(packed)) + packed)
    beside_noise(path)


def still_joints(path: Path) -> None:
    joints = "".join(f"JOINT j{i} {{\nOFFSET 0 1 0\n}}\n" for i in range(60))
    head = f"HIERARCHY\nROOT r {{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n{joints}}}\nMOTION\n"
    path.write_text(head + "Frames: 90000\nFrame Time: 0.01\n" + "0\n" * 90_000)


BOMBS: dict[str, Callable[[Path], None]] = {
    "deflated.osteon": lying_zip(zipfile.ZIP_DEFLATED),
    "bzip2.osteon": lying_zip(zipfile.ZIP_BZIP2),
    "lzma.osteon": lying_zip(zipfile.ZIP_LZMA),
    "damaged_lzma.osteon": damaged_lzma,
    "nested_defaults.xml": nested_defaults,
    "equal_names.xml": equal_names,
    "base64.gltf": lambda path: gltf(path, 2, 1500, spare=2_000_000),
    "shared_keys.gltf": lambda path: gltf(path, 20_000, 2000),
    "many_accessors.gltf": lambda path: gltf(path, 20_000, 400, n_accessors=400),
    "zeros.mat": lambda path: qtm(path, np.float64),
    "small_integers.mat": lambda path: qtm(path, np.int8),
    "structures.mat": structures,
    "still_joints.bvh": still_joints,
}
READABLE = {"nested_defaults.xml", "equal_names.xml", "base64.gltf"}
"""Those whose content is modest, and only the way to it was long."""


def test_small_files_stay_small(tmp_path):
    found = ends(tmp_path, "take", BOMBS)
    assert {name: end for name, end in found.items() if end[0] == "escaped"} == {}
    assert {name for name, end in found.items() if end[0] == "read"} == READABLE
    assert "unzip it and read the folder" in found["bzip2.osteon"][1]
    assert "-v6" in found["zeros.mat"][1]


def test_shared_vertices_stay_few(tmp_path):
    found = ends(tmp_path, "mesh", {"shared.gltf": shared_vertices})
    assert found["shared.gltf"][0] == "refused"
    assert "5000000 vertices" in found["shared.gltf"][1]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_packed_again_are_read(method, tmp_path, rng):
    """By a program that knows only the usual two methods."""
    recording = some_markers(rng, 30)
    write(recording, tmp_path / "a.osteon")
    with zipfile.ZipFile(tmp_path / "a.osteon") as source:
        files = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(tmp_path / "b.osteon", "w", method) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    np.testing.assert_array_equal(
        read(tmp_path / "b.osteon").recording().positions, recording.positions
    )
