"""Small values of every kind, and a small file of every format, for tests of all formats."""

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.io import savemat

from osteon.formats import FORMATS, Format, write
from osteon.formats.own.compact_tables import write_compact_csv
from osteon.maths import quat
from osteon.values import Bodies, Body, CompactMotion, Joint, Motion, Movement, Recording, Skeleton

NAMES = ("LASI", "RASI", "größe_2", "頭")


def random_rotations(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return quat.normalise(rng.normal(size=(*shape, 4)))


def some_markers(rng: np.random.Generator, n_frames: int = 12, names=NAMES) -> Recording:
    """Markers about a metre from the origin; from frame 3 on the second is missing twice."""
    positions = rng.uniform(-1.0, 1.0, size=(n_frames, len(names), 3)) + (0.0, 0.0, 1.5)
    positions[3:5, 1] = np.nan
    return Recording(positions, names, rate=120.0)


def hide(recording: Recording, marker: str, first: int, last: int) -> Recording:
    """Count a marker as not seen from ``first`` to ``last``."""
    positions = recording.positions.copy()
    positions[first : last + 1, recording.index(marker)] = np.nan
    return recording.with_filled(
        positions, np.zeros(recording.seen.shape, dtype=bool), did="hidden"
    )


def some_bodies(rng: np.random.Generator, n_frames: int = 12, names=NAMES) -> Bodies:
    positions = rng.uniform(-1.0, 1.0, size=(n_frames, len(names), 3)) + (0.0, 0.0, 1.5)
    positions[3:5, 1] = np.nan
    return Bodies(positions, random_rotations(rng, n_frames, len(names)), names, rate=120.0)


def some_skeleton(names=("hips", "spine", "größe_2", "head", "foot")) -> Skeleton:
    """Five bodies: a chain of three on the root, and a side branch; ends have tips."""
    parents = (None, names[0], names[1], names[2], names[0])
    places = ((0, 0, 0), (0, 0, 0.2), (0, 0.1, 0.3), (0, 0, 0.25), (0.1, 0, -0.1))
    tips = (None, None, None, (0, 0, 0.2), (0, 0, -0.4))
    bodies = [
        Body(name, parent, Joint(in_parent=np.array(place, dtype=float)), tip=tip)
        for name, parent, place, tip in zip(names, parents, places, tips, strict=True)
    ]
    return Skeleton(tuple(bodies))


def some_motion(rng: np.random.Generator, n_frames: int = 12) -> Motion:
    skeleton = some_skeleton()
    # small turns: the figure stands upright, as readers that judge the up axis expect
    rotations = quat.exp(rng.normal(scale=0.2, size=(n_frames, len(skeleton.bodies), 3)))
    root = rng.uniform(-0.3, 0.3, size=(n_frames, 3)) + (0.0, 0.0, 1.0)
    return Motion(skeleton, rotations, root, rate=120.0)


def some_compact(rng: np.random.Generator, n_frames: int = 12) -> CompactMotion:
    """A root, and limbs that move about two axes, one, and none."""
    axes = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
    bodies = list(some_skeleton().bodies)
    for index in range(1, len(bodies)):
        n = index % 3
        movement = Movement(
            axes[:n], ("bend", "turn")[:n], random_rotations(rng), np.array([0.0, 0.0, 1.0])
        )
        bodies[index] = replace(bodies[index], movement=movement)
    root = rng.uniform(-1.0, 1.0, size=(n_frames, 3))
    angles = rng.uniform(-1.0, 1.0, size=(n_frames, 8))
    turn = random_rotations(rng, n_frames)
    return CompactMotion(Skeleton(tuple(bodies)), root, turn, angles, rate=120.0)


def some_value(kind: str, rng: np.random.Generator, n_frames: int = 12):
    """A value of one of the kinds that formats hold."""
    if kind == "skeleton":
        return some_skeleton()
    makers = {
        "markers": some_markers,
        "bodies": some_bodies,
        "motion": some_motion,
        "compact": some_compact,
    }
    return makers[kind](rng, n_frames)


def _motive(path: Path, rng: np.random.Generator) -> None:
    kinds = ["Bone"] * 7 + ["Bone Marker"] * 3 + ["Marker"] * 6
    names = ["Ann:Head"] * 7 + ["Ann:Front"] * 3 + ["Ann:Front"] * 3 + ["Unlabeled 1001"] * 3
    quantities = ["Rotation"] * 4 + ["Position"] * 12
    axes = [*"XYZWXYZ", *"XYZ" * 3]
    rows = rng.normal(size=(6, 16))
    lines = [
        "Format Version,1.23,Take Name,a take,Capture Frame Rate,120.0,Export Frame Rate,60.0,"
        "Total Exported Frames,6,Rotation Type,Quaternion,Length Units,Centimeters,"
        "Coordinate Space,Global",
        "",
        ",Type," + ",".join(kinds),
        ",Name," + ",".join(names),
        ",ID," + ",".join(names),
        ",," + ",".join(quantities),
        "Frame,Time (Seconds)," + ",".join(axes),
        *(f"{i},{i / 60:.6f}," + ",".join(f"{x:.6f}" for x in row) for i, row in enumerate(rows)),
    ]
    lines[9] = lines[9].rsplit(",", 3)[0] + ",,,"  # the last marker is not seen in frame 2
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")


def _trb(path: Path, rng: np.random.Generator) -> None:
    """Three markers, the second of which is not seen in the second frame."""
    names, body = ("LASI", "RASI", "SACR"), b""
    for key, value in ((0x0103, 120.0), (0x0104, 120.0), (0x0105, 0.25)):
        body += struct.pack("<HHf", key, 1, value)
    for number, name in enumerate(names, 1):
        body += struct.pack("<HHHH8s", 0x010C, 3, number, 7, name.encode())
    frames = b""
    for frame, seen in enumerate(((1, 2, 3), (1, 3), (3, 2, 1)), 1):
        frames += struct.pack("<HHHHHH", 0, 0, 0x0600, frame, 3 + 6 * len(seen), 0)
        for marker in seen:
            place = rng.uniform(100.0, 900.0, 3)
            frames += struct.pack("<HH4fI", marker, 0, *place, 0.5, 3)
    place = (12 + len(body)) // 4
    head = b"\0\0\0\0\xff\xff\xff\xff" + struct.pack("<HH", place >> 16, place & 0xFFFF)
    path.write_bytes(head + body + frames)


def _mokka(path: Path, rng: np.random.Generator) -> None:
    rows = rng.uniform(100.0, 900.0, size=(6, 9)).round(3)
    samples = rng.normal(size=(12, 2)).round(4)
    lines = ["Frame number,6", "First frame,11", "Point frequency,100", "Analog frequency,200", ""]
    lines += ["Left_Foot Strike,0.12,0.14", "General_Event,0.13", ""]
    lines += ["Time,LASI,,,RASI,,,LKneeAngles,,", "s" + ",mm" * 6 + ",deg" * 3]
    lines += [f"{0.1 + i / 100:g}," + ",".join(map(str, row)) for i, row in enumerate(rows)]
    lines += ["", "Time,Fx1,Fz1", "s,N,N"]
    lines += [f"{0.1 + i / 200:g}," + ",".join(map(str, row)) for i, row in enumerate(samples)]
    path.write_text("\n".join(lines) + "\n\n")


def _qtm_tsv(path: Path, rng: np.random.Generator) -> None:
    rows = rng.normal(scale=300.0, size=(5, 6))
    rows[1, :3] = 0.0
    lines = [
        "NO_OF_FRAMES\t5",
        "NO_OF_MARKERS\t2",
        "FREQUENCY\t100",
        "TIME_STAMP\t2021-08-26, 15:19:24.317\t14.6",
        "EVENT\tstart\t2\t0.01",
        "DATA_INCLUDED\t3D",
        "MARKER_NAMES\ttop\tleft",
        "Frame\tTime\ttop X\ttop Y\ttop Z\tleft X\tleft Y\tleft Z",
        *(
            f"{i + 1}\t{i / 100:.5f}\t" + "\t".join(f"{x:.3f}" for x in row)
            for i, row in enumerate(rows)
        ),
    ]
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8")


def _qtm_mat(path: Path, rng: np.random.Generator) -> None:
    data = rng.uniform(0.1, 100.0, size=(2, 4, 5))
    data[1, :, 2] = np.nan
    kinds = np.where(np.isnan(data[:, 0]), 0, 1).astype(np.uint8)
    labelled = {"Count": 2, "Labels": np.array(["hip", "knee"], object), "Data": data}
    take = {"Frames": 5, "FrameRate": 300, "Trajectories": {"Labeled": {**labelled, "Type": kinds}}}
    savemat(path, {"take_1": take}, do_compression=True)


def _polhemus(path: Path, rng: np.random.Generator) -> None:
    blocks = []
    for turn in quat.to_matrix(random_rotations(rng, 4)):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = turn, rng.normal(size=3)
        blocks.append("\n".join(" ".join(f"{x:9.6g}" for x in row) for row in pose))
    path.write_text("\n\n".join(blocks) + "\n")


def mvnx_text(positions: np.ndarray, rotations: np.ndarray, names=NAMES, skip=()) -> str:
    """An MVNX file as MVN writes it, calibration poses first; ``skip`` names parts to leave out."""

    def frame(index: int, kind: str, q: np.ndarray, p: np.ndarray) -> str:
        parts = {"orientation": q, "position": p, "velocity": np.zeros_like(p)}
        inner = "".join(
            f"<{part}>{' '.join(f'{x:.9f}' for x in values.ravel())}</{part}>\n"
            for part, values in parts.items()
            if part not in skip
        )
        return f'<frame time="{index * 16}" index="{index}" type="{kind}">\n{inner}</frame>\n'

    still = quat.identity((len(names),)), np.zeros((len(names), 3))
    segments = "".join(
        f'<segment label="{name}" id="{i}"><points><point label="p"><pos_b>0 0 0</pos_b></point>'
        f"</points></segment>\n"
        for i, name in enumerate(names, 1)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<mvnx version="4" xmlns="http://www.xsens.com/mvn/mvnx">\n<mvn version="2021.2"/>\n'
        f'<subject label="Ann" frameRate="60" segmentCount="{len(names)}">\n'
        f"<segments>\n{segments}</segments>\n<frames>\n"
        + "".join(frame(0, kind, *still) for kind in ("identity", "tpose", "tpose-isb", "npose"))
        + "".join(
            frame(i, "normal", q, p)
            for i, (q, p) in enumerate(zip(rotations, positions, strict=True))
        )
        + "</frames>\n</subject>\n</mvnx>\n"
    )


def _mvnx(path: Path, rng: np.random.Generator) -> None:
    path.write_text(mvnx_text(rng.normal(size=(5, 4, 3)), random_rotations(rng, 5, 4)), "utf-8")


def _compact_csv(path: Path, rng: np.random.Generator) -> None:
    compact = some_compact(rng)
    write(compact.skeleton, path.with_name("skeleton.json"))
    write_compact_csv(path, compact)


def _npy(path: Path, rng: np.random.Generator) -> None:
    np.save(path, rng.normal(scale=0.4, size=(5, 17, 4)))


def _keypoint_csv(path: Path, rng: np.random.Generator) -> None:
    rows = rng.normal(scale=400.0, size=(5, 12))
    names = ("nose", "left_hip", "right_hip", "left_knee")
    header = ",".join(f"{name}_{axis}" for name in names for axis in "xyz")
    path.write_text(
        "\n".join([header, *(",".join(f"{x:.3f}" for x in row) for row in rows)]) + "\n"
    )


def _keypoint_json(path: Path, rng: np.random.Generator) -> None:
    frames = rng.normal(scale=0.4, size=(5, 17, 3)).round(4).tolist()
    path.write_text(json.dumps({"fps": 50, "frames": frames}))


SEEDS: dict[str, Callable[[Path, np.random.Generator], None]] = {
    "Motive CSV": _motive,
    "TRB": _trb,
    "Mokka CSV": _mokka,
    "QTM TSV": _qtm_tsv,
    "QTM MAT": _qtm_mat,
    "Polhemus matrices": _polhemus,
    "MVNX": _mvnx,
    "compact CSV": _compact_csv,
    "NPY": _npy,
    "keypoint CSV": _keypoint_csv,
    "keypoint JSON": _keypoint_json,
}
"""How to make a file of a format that osteon reads and does not write."""


def make_seed(form: Format, folder: Path, rng: np.random.Generator) -> Path:
    """A small file of this format."""
    path = folder / f"sample{form.suffixes[0]}"
    if form.write is None:
        SEEDS[form.name](path, rng)
    else:
        write(some_value(sorted(form.holds)[0], rng), path)
    return path


READABLE = [form for form in FORMATS if form.read is not None]
WRITABLE = [
    (form, kind) for form in READABLE if form.write is not None for kind in sorted(form.holds)
]
"""What can be written and read again."""
