"""What a file holds, as plain facts; for lists of files without reading it whole."""

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from osteon.errors import OsteonError
from osteon.formats.catalogue import FORMATS, read
from osteon.formats.glb import GLB
from osteon.formats.glb.schema import MAGIC
from osteon.formats.own.store import STORE
from osteon.formats.registry import find_format
from osteon.formats.shared.units import stance_of
from osteon.values import Bodies, CompactMotion, Motion, Recording, Skeleton, Source, Take

SMALL_BYTES = 1 << 20
"""Bytes up to which a store is read to see what it holds; chosen: a larger one holds more than
bones."""


def describe(take: Take, path: str | Path) -> dict[str, Any]:
    """Return facts about a take that can be printed or written as JSON."""
    sources = [
        value.source for value in (*take.recordings, *take.bodies, *take.motions, *take.compacts)
    ]
    source = sources[0] if sources else Source(file=Path(path).name)
    entries = {
        "markers": [_markers(recording) for recording in take.recordings],
        "bodies": [_bodies(bodies) for bodies in take.bodies],
        "motion": [_motion(motion) for motion in take.motions],
        "skeleton": [_skeleton(skeleton) for skeleton in take.skeletons],
        "compact": [_compact(compact) for compact in take.compacts],
    }
    subjects = [entry["subject"] for found in entries.values() for entry in found]
    return {
        "file": Path(path).name,
        "format": source.format,
        "detail": source.detail,
        "vendor": source.software,
        "kinds": list(take.kinds),
        "subjects": list(dict.fromkeys(subject for subject in subjects if subject)),
        "unit": source.unit,
        "up": source.up,
        "up_known": source.up_known,
        "first_frame": source.first_frame,
        "problems": list(dict.fromkeys(text for each in sources for text in each.problems)),
        **{kind: found for kind, found in entries.items() if found},
    }


def _time(value: Recording | Bodies | Motion) -> dict[str, Any]:
    return {
        "frames": value.n_frames,
        "rate": value.rate,
        "seconds": round(value.n_frames / value.rate, 6),
        "marks": [{"label": m.label, "time": m.time, "context": m.context} for m in value.marks],
    }


def _markers(recording: Recording) -> dict[str, Any]:
    analog, markers = recording.analog, recording.markers()
    stance = stance_of(markers.positions)
    return {
        "subject": recording.subject,
        "count": recording.n_markers,
        **_time(recording),
        "span": None if stance is None else [round(float(axis), 4) for axis in stance.height],
        "outputs": sorted(recording.outputs),
        "analog": None
        if analog is None
        else {"channels": list(analog.names), "rate": analog.rate, "samples": len(analog.values)},
        **_gaps(markers.names, markers.seen),
    }


def _bodies(bodies: Bodies) -> dict[str, Any]:
    return {
        "subject": bodies.subject,
        "count": bodies.n_bodies,
        **_time(bodies),
        **_gaps(bodies.names, bodies.seen),
    }


def _motion(motion: Motion) -> dict[str, Any]:
    return {**_skeleton(motion.skeleton), **_time(motion), "held": list(motion.held)}


def _compact(compact: CompactMotion) -> dict[str, Any]:
    return {
        **_skeleton(compact.skeleton),
        "frames": compact.n_frames,
        "rate": compact.rate,
        "seconds": round(compact.n_frames / compact.rate, 6),
        "marks": [],
        "parameters": list(compact.names),
    }


def _skeleton(skeleton: Skeleton) -> dict[str, Any]:
    return {
        "subject": skeleton.subject,
        "count": len(skeleton.bodies),
        "parents": {body.name: body.parent for body in skeleton.bodies},
    }


def _gaps(names: tuple[str, ...], seen: np.ndarray) -> dict[str, Any]:
    """Return missing samples: their share of all, and per name how many in how many gaps."""
    per_name = {}
    for name, column in zip(names, seen.T, strict=True):
        edges = np.diff(np.concatenate([[1], column, [1]]).astype(int))
        lengths = np.flatnonzero(edges == 1) - np.flatnonzero(edges == -1)
        per_name[name] = {
            "missing": int(lengths.sum()),
            "gaps": len(lengths),
            "longest": int(lengths.max(initial=0)),
        }
    return {"missing": round(1.0 - float(seen.mean()), 6) if seen.size else 0.0, "gaps": per_name}


def held_by(path: Path) -> frozenset[str]:
    """Return kinds as ``Take.kinds`` has them; nothing where the file is of no format that is read.

    Where only the whole file tells, all that its format can hold.
    """
    try:
        form = find_format(path, FORMATS)
        if form.read is None:
            return frozenset()
        return frozenset(PEEKS[form.name](path)) if form.name in PEEKS else form.holds
    except (OsteonError, OSError):
        return frozenset()


class _Moving(msgspec.Struct):
    animations: tuple[msgspec.Raw, ...] = ()


def _in_glb(path: Path) -> frozenset[str]:
    """Return what a GLB holds. It begins with its document; the arrays behind it are left alone."""
    with path.open("rb") as file:
        head = file.read(20)
        whole = not head.startswith(MAGIC) or len(head) < 20
        text = head + file.read() if whole else file.read(struct.unpack_from("<I", head, 12)[0])
    try:
        moves = bool(msgspec.json.decode(text, type=_Moving).animations)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return frozenset()
    return GLB.holds if moves else GLB.holds - {"motion"}


def _in_store(path: Path) -> frozenset[str]:
    return frozenset(read(path).kinds) if path.stat().st_size <= SMALL_BYTES else STORE.holds


PEEKS: Mapping[str, Callable[[Path], frozenset[str]]] = {GLB.name: _in_glb, STORE.name: _in_store}
"""Formats that may hold motion, or a skeleton alone."""
