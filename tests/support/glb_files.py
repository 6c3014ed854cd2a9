"""What is in a GLB file, and what the Khronos validator says of it."""

import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

NODE = Path(__file__).parents[1] / "node"


def khronos(*paths: Path) -> list[dict]:
    """What the Khronos validator says of each file."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (NODE / "node_modules").is_dir():
        pytest.skip("run `make tests/node/node_modules` to fetch the glTF validator")
    command = ["node", "validate_glb.mjs", *map(str, paths)]
    run = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(run.stdout)


def parts(path: Path) -> tuple[dict, bytes]:
    data = path.read_bytes()
    size = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + size]), data[20 + size + 8 :]


def save(path: Path, document: dict, numbers: bytes) -> Path:
    """Write a GLB file of these parts."""
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(numbers), 0x004E4942) + numbers
    path.write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
    return path
