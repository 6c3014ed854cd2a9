"""Qualisys MATLAB files, up to version 7: the labelled trajectories with their residuals.

Millimetres; z up, which the file does not say; the residual of a gap-filled point is 0.
"""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from osteon.errors import FormatError, WrongContent
from osteon.formats.registry import Format
from osteon.formats.shared.matlab import Matlab
from osteon.formats.shared.text_table import unique_labels
from osteon.values import Recording, Source, Take

MILLIMETRE = 1e-3
MEASURED = 1
"""What ``Type`` says of a point that cameras saw; 0 is missing, all others are made by software."""


def sniff(head: bytes) -> bool:
    return head.startswith(b"MATLAB 5.0 MAT-file")


def read_qtm_mat(path: Path) -> Take:
    measurement = _measurement(path, _variables(path))
    labelled = _field(path, _field(path, measurement, "Trajectories", dict), "Labeled", dict)
    data = np.atleast_3d(_field(path, labelled, "Data", np.ndarray)).astype(float)
    labels = labelled.get("Labels")
    labels = [str(label) for label in (labels if isinstance(labels, list) else [labels])]
    if data.shape[:2] != (len(labels), 4):
        raise FormatError(
            path, f"expected x, y, z, residual of {len(labels)} markers, found shape {data.shape}"
        )
    promised = _number(path, measurement, "Frames")
    if promised != data.shape[2]:
        raise FormatError(path, f"the file promises {promised:g} frames, found {data.shape[2]}")
    names, renamed = unique_labels(labels)
    data = np.moveaxis(data, -1, 0) * MILLIMETRE
    source = Source(
        file=path.name,
        format="QTM MAT",
        software="Qualisys Track Manager",
        unit="mm",
        first_frame=1,
        problems=renamed,
    )
    recording = Recording(
        data[..., :3],
        names,
        _number(path, measurement, "FrameRate"),
        residuals=_residuals(data[..., 3], labelled.get("Type")),
        source=source,
    )
    return Take(recordings=(recording,))


def _residuals(residuals: np.ndarray, kinds: Any) -> np.ndarray:
    """(n_frames, n_markers), 0 where software filled the point in."""
    if not isinstance(kinds, np.ndarray) or kinds.T.shape != residuals.shape:
        return residuals
    return np.where((kinds.T != MEASURED) & np.isfinite(residuals), 0.0, residuals)


def _variables(path: Path) -> dict[str, Any]:
    try:
        return Matlab(path.read_bytes()).variables
    except (ValueError, struct.error, zlib.error) as error:
        raise FormatError(path, f"is a broken MATLAB file: {error}") from None


def _measurement(path: Path, variables: dict[str, Any]) -> dict[str, Any]:
    """The structure that QTM writes, whatever it is called."""
    for value in variables.values():
        if isinstance(value, dict) and "Trajectories" in value:
            return value
    shown = ", ".join(variables)[:60] or "nothing"
    raise WrongContent(
        path,
        f"MATLAB file that QTM did not write (it holds {shown!r}): no marker names, rate or "
        "units that osteon could know; write the points as plain CSV (frame,marker,x,y,z)",
    )


def _field(path: Path, structure: dict[str, Any], name: str, kind: type) -> Any:
    value = structure.get(name)
    if not isinstance(value, kind):
        raise FormatError(path, f"the QTM structure lacks {name!r}; export it again from QTM")
    return value


def _number(path: Path, structure: dict[str, Any], name: str) -> float:
    value = _field(path, structure, name, np.ndarray)
    if value.size != 1:
        raise FormatError(path, f"{name} must be one number, found {value.size}")
    return float(value.ravel()[0])


QTM_MAT = Format(
    name="QTM MAT",
    suffixes=(".mat",),
    sniff=sniff,
    read=read_qtm_mat,
    holds=frozenset({"markers"}),
)
