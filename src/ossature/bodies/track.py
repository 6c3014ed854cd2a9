"""Where bodies are: poses of marker groups, from all frames and all their markers at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ossature.errors import NotEnoughData
from ossature.maths.procrustes import generalised_procrustes
from ossature.maths.quat import Array
from ossature.values import Bodies, Recording

NARROWEST = 0.1
"""Least ratio of a shape's second extent to its first that still shows an orientation."""


@dataclass(frozen=True, slots=True, eq=False)
class TrackedBodies:
    """Poses of marker groups and the shapes behind them."""

    bodies: Bodies
    markers: tuple[tuple[str, ...], ...]
    """The markers of every body."""
    templates: tuple[Array, ...]
    """(n_markers, 3) of every body, in its own frame, metres."""
    marker_noise: Array
    """(n_bodies,) standard deviation per axis of a marker about its body, metres."""
    left_out: tuple[str, ...]
    """Markers of groups that show no orientation: fewer than three, or all in a line."""


def track(recording: Recording, groups: Sequence[Sequence[str]]) -> TrackedBodies:
    """Poses of every group of at least three markers that are not in a line."""
    kept, poses, left_out = [], [], []
    for group in groups:
        columns = [recording.index(name) for name in group]
        shape = generalised_procrustes(recording.positions[:, columns]) if len(group) >= 3 else None
        if shape is None or not _shows_orientation(shape.template):
            left_out += group
            continue
        kept.append(tuple(group))
        poses.append(shape)
    if not poses:
        raise NotEnoughData(
            "no group of three or more markers keeps its shape: there are no bodies to follow"
        )
    bodies = Bodies(
        np.stack([shape.fit.positions for shape in poses], axis=1),
        np.stack([shape.fit.rotations for shape in poses], axis=1),
        body_names(kept),
        recording.rate,
        subject=recording.subject,
        marks=recording.marks,
        history=(*recording.history, f"{len(kept)} bodies from groups of markers"),
        source=recording.source,
    )
    noise = [_noise(shape.marker_rms) for shape in poses]
    return TrackedBodies(
        bodies,
        tuple(kept),
        tuple(shape.template for shape in poses),
        np.array(noise),
        tuple(left_out),
    )


def body_names(groups: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """What the markers' names have in common where that tells bodies apart, else a number."""
    common = [_shared_start(group).rstrip("_-.: 0123456789") for group in groups]
    return tuple(
        name if len(name) > 1 and common.count(name) == 1 else f"body_{number:02d}"
        for number, name in enumerate(common, 1)
    )


def _shared_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    same = [a == b for a, b in zip(first, last, strict=False)]
    return first[: same.index(False)] if False in same else first[: len(same)]


def _shows_orientation(template: Array) -> bool:
    extents = np.linalg.svd(template - template.mean(axis=0), compute_uv=False)
    return bool(extents[1] > NARROWEST * extents[0])


def _noise(marker_rms: Array) -> float:
    """Noise of a single coordinate: what is left after six degrees of freedom were fitted."""
    known = marker_rms[np.isfinite(marker_rms)]
    freedom = max(3 * len(known) - 6, 1)
    return float(np.sqrt(np.sum(known**2) / freedom))
