"""Qualisys MATLAB files, up to version 7: the labelled trajectories with their residuals.

Millimetres; z up, which the file does not say; the residual of a gap-filled point is 0.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ossature.errors import FormatError, WrongContent
from ossature.formats.registry import Format
from ossature.formats.text_table import positive_number, unique_labels
from ossature.values import Recording, Source, Take

MILLIMETRE = 1e-3
MEASURED = 1
"""What ``Type`` says of a point that cameras saw; 0 is missing, all others are made by software."""


def sniff(head: bytes) -> bool:
    return head.startswith(b"MATLAB 5.0 MAT-file")


def read_qtm_mat(path: Path) -> Take:
    measurement = _measurement(path, _variables(path))
    labelled = _field(path, _field(path, measurement, "Trajectories"), "Labeled")
    data = np.atleast_3d(np.asarray(_field(path, labelled, "Data"), dtype=float))
    labels = [str(np.squeeze(label)) for label in np.ravel(_field(path, labelled, "Labels"))]
    if data.shape[:2] != (len(labels), 4):
        raise FormatError(
            path, f"expected x, y, z, residual of {len(labels)} markers, found shape {data.shape}"
        )
    promised = int(np.ravel(_field(path, measurement, "Frames"))[0])
    if promised != data.shape[2]:
        raise FormatError(path, f"the file promises {promised} frames, found {data.shape[2]}")
    names, renamed = unique_labels(labels)
    rate = np.ravel(_field(path, measurement, "FrameRate"))[0]
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
        positive_number(path, str(rate), "FrameRate"),
        residuals=_residuals(data[..., 3], labelled),
        source=source,
    )
    return Take(recordings=(recording,))


def _residuals(residuals: np.ndarray, labelled: Any) -> np.ndarray:
    """(n_frames, n_markers), 0 where software filled the point in."""
    if "Type" not in labelled.dtype.names:
        return residuals
    kinds = np.asarray(labelled["Type"]).T
    if kinds.shape != residuals.shape:
        return residuals
    return np.where((kinds != MEASURED) & np.isfinite(residuals), 0.0, residuals)


def _variables(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    try:
        return loadmat(path)
    except Exception as error:  # whatever a broken file leads SciPy to, MemoryError too
        raise FormatError(path, f"is a broken MATLAB file ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:80]


def _measurement(path: Path, variables: dict[str, Any]) -> Any:
    """The structure that QTM writes, whatever it is called."""
    for value in variables.values():
        if isinstance(value, np.ndarray) and "Trajectories" in (value.dtype.names or ()):
            return value.ravel()[0] if value.size else value
    shown = ", ".join(name for name in variables if not name.startswith("__")) or "nothing"
    raise WrongContent(
        path,
        f"MATLAB file that QTM did not write (it holds {shown[:60]}): no marker names, rate or "
        "units that ossature could know; write the points as plain CSV (frame,marker,x,y,z)",
    )


def _field(path: Path, structure: Any, name: str) -> Any:
    names = getattr(getattr(structure, "dtype", None), "names", None) or ()
    if name not in names:
        raise FormatError(path, f"the QTM structure lacks {name!r}; export it again from QTM")
    value = structure[name]
    # a structure inside a structure is an array of one
    while isinstance(value, np.ndarray) and value.dtype.names and value.size == 1:
        value = value.ravel()[0]
    return value


QTM_MAT = Format(
    name="QTM MAT",
    suffixes=(".mat",),
    sniff=sniff,
    read=read_qtm_mat,
    holds=frozenset({"markers"}),
)
