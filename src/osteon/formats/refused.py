"""Kinds of file that are recognised and not read, or not written: with what to do instead."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Refused:
    """A kind of file that osteon knows and does not read."""

    name: str
    sniff: Callable[[bytes], bool]
    reason: str
    advice: str


def _begins(*starts: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(starts)


def _has(*words: bytes) -> Callable[[bytes], bool]:
    return lambda head: all(word in head for word in words)


def _is_model(head: bytes) -> bool:
    return b"<OpenSimDocument" in head and re.search(rb"<Model[ >]", head) is not None


def _is_bare_numbers(head: bytes) -> bool:
    lines = [line for line in head.split(b"\n") if line.strip()]
    return bool(lines) and re.fullmatch(rb"[-+.\deE\s]+", lines[0]) is not None


def _is_table(head: bytes) -> bool:
    lines = head.strip().split(b"\n")[:2]
    commas = [line.count(b",") for line in lines]
    return (
        commas[0] >= 2 and commas[0] == commas[-1] and re.search(rb",-?\d", lines[-1]) is not None
    )


REFUSED = (
    Refused(
        "MATLAB 7.3 file",
        _begins(b"MATLAB 7.3 MAT-file"),
        "it is stored as HDF5, which osteon does not read",
        "save it in MATLAB with '-v7', or export TSV or C3D",
    ),
    Refused(
        "HDF5 file",
        _begins(b"\x89HDF\r\n\x1a\n"),
        "its content has no agreed names, rate or units",
        "write the points as plain CSV (frame,marker,x,y,z)",
    ),
    Refused(
        "OpenSim model",
        _is_model,
        "it describes a musculoskeletal model and holds no recording",
        "give the recording (TRC or C3D)",
    ),
    Refused(
        "OpenSim settings",
        _has(b"<OpenSimDocument"),
        "it configures an OpenSim tool and holds no recording",
        "give the recording (TRC or C3D)",
    ),
    Refused(
        "OpenSim motion table",
        _has(b"endheader"),
        "joint coordinates mean nothing without their OpenSim model",
        "give the markers (TRC or C3D) they were computed from",
    ),
    Refused(
        "URDF model",
        _has(b"<robot"),
        "it describes a robot and holds no recording",
        "give the recording; a skeleton is read from MJCF",
    ),
    Refused(
        "Vicon skeleton",
        _has(b"<KinematicModel"),
        "it describes a subject and holds no recording",
        "give the C3D file of the take",
    ),
    Refused(
        "Vicon subject measurements",
        _begins(b"$"),
        "it lists body sizes and holds no recording",
        "give the C3D file of the take",
    ),
    Refused(
        "Vicon CSV",
        lambda head: (
            _begins(b"Model Outputs", b"Trajectories", b"Joints")(head) or b"\nTRAJECTORIES" in head
        ),
        "its layout differs between versions and settings",
        "export the take as C3D",
    ),
    Refused(
        "x-io orientation log",
        _begins(b"Timestamp (us),W,X,Y,Z"),
        "it holds the orientation of one inertial sensor and no positions",
        "joints need sensors with positions: give optical or magnetic data, or MVNX",
    ),
    Refused(
        "x-io inertial log",
        _begins(b"Timestamp (us),Gyroscope", b"Timestamp (us),Accelerometer"),
        "it holds raw turning rates and accelerations and no positions",
        "joints need sensors with positions: give optical or magnetic data, or MVNX",
    ),
    Refused(
        "passport",
        _has(b'"osteon.passport"'),
        "it tells who a performer is and holds no recording",
        "use it with: osteon solve --passport",
    ),
    Refused(
        "FBX as text",
        _begins(b"; FBX"),
        "osteon reads only binary FBX",
        "export it as binary FBX, or as GLB or BVH",
    ),
    Refused(
        "USD",
        _begins(b"PXR-USDC", b"#usda"),
        "osteon does not read it",
        "export BVH or GLB",
    ),
    Refused(
        "HTR",
        _has(b"[Header]", b"NumSegments"),
        "osteon does not read it",
        "export BVH, or the markers as TRC or C3D",
    ),
    Refused(
        "Blender file",
        _begins(b"BLENDER"),
        "only Blender reads it",
        "export GLB, FBX or BVH there",
    ),
    Refused(
        "picture",
        _begins(b"\x89PNG", b"\xff\xd8\xff", b"GIF8"),
        "it shows no motion",
        "give the recording",
    ),
    Refused(
        "video",
        lambda head: (
            head[4:8] == b"ftyp" or _begins(b"\x1a\x45\xdf\xa3")(head) or head[8:12] == b"AVI "
        ),
        "osteon finds nobody in pictures",
        "find their keypoints first, as with FreeMoCap, Pose2Sim or OpenCap, and give those in 3D",
    ),
    Refused(
        "archive",
        _begins(b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf"),
        "it is a packed file",
        "unpack it first",
    ),
    Refused(
        "bare numbers",
        _is_bare_numbers,
        "it has neither names nor rate nor units",
        "write plain CSV (frame,marker,x,y,z)",
    ),
    Refused(
        "table",
        lambda head: _is_table(head) or _is_table(head.replace(b",", b".").replace(b";", b",")),
        "its header is none that osteon knows",
        "columns must be frame,marker,x,y,z or frame,body,x,y,z,qw,qx,qy,qz in metres",
    ),
    Refused(
        "JSON",
        _begins(b"{", b"["),
        "it is no skeleton and holds no keypoints",
        "give the recording, or a skeleton.json or motion.glb that osteon has written",
    ),
)
"""Asked in this order when no format says yes."""

BY_BLENDER = (".blend",)
ARMATURE_SCRIPT = Path(__file__).parent / "blender" / "build_armature.py"
"""Shipped as a file for Blender; Osteon itself never runs it."""
BLENDER_ADVICE = (
    "Blender writes .blend from a folder that solve or map wrote: "
    f"blender --background --python {ARMATURE_SCRIPT} -- FOLDER rig.blend"
)
