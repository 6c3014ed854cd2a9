"""What the stages found → what the report page shows."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from osteon.anatomy import AnomalyFindings
from osteon.errors import OsteonError, counted
from osteon.human import figure_at_rest
from osteon.maths import fit_bodies, quat
from osteon.pipeline import Analyses, Solved
from osteon.posing import Contact, find_soles, find_standing
from osteon.report import (
    PLACE_STEP,
    Ground,
    ReportData,
    Residuals,
    Span,
    body_rows,
    distances,
    event_spans,
    gap_spans,
    held_spans,
    mark_spans,
    marker_rows,
    pack,
    poses_of,
    skin_row,
    stride_for,
)
from osteon.typing import Array
from osteon.values import Motion, Recording, Skeleton

BODY_NUMBERS = 3
"""Numbers per frame that a body's turn takes."""
MARKER_NUMBERS = 4
"""Numbers per frame that a marker's place and residual take."""
FLOOR_FRAMES = (600, 3_000)
"""Frames before and after the first contact that tell where the floor is; chosen: some seconds."""
EVEN_SLOPE = 0.03
"""Slope below which the floor is drawn level: a long way makes much of little."""
CLUSTER_MARKERS = 3
"""Markers that show how a body is turned."""


def report_of(
    solved: Solved,
    analyses: Analyses,
    summary: Mapping[str, Any],
    measured: Mapping[str, float] | None = None,
) -> ReportData:
    """Gather the page of a solved take.

    Parameters
    ----------
    analyses
        Of its motion.
    summary
        What summary.json holds; the page shows the same numbers.
    measured
        Lengths of bodies by hand, metres.
    """
    recording, motion = solved.recording, solved.motion
    n_numbers = MARKER_NUMBERS * recording.n_markers + BODY_NUMBERS * len(motion.skeleton.bodies)
    stride = stride_for(recording.n_frames, n_numbers)
    fitted = distances(f"{solved.points} and model", recording.names, solved.fit_error, stride)
    apart = _joint_distances(recording, motion.skeleton, stride)
    return ReportData(
        title=title_of(recording.subject or recording.source.file, recording.n_frames),
        subject=recording.subject,
        rate=recording.rate,
        frames=recording.n_frames,
        stride=stride,
        bodies=body_rows(motion.skeleton, seen=analyses.seen, measured=measured, apart=apart),
        markers=marker_rows(recording.names, recording.seen, recording.measured, motion.skeleton),
        poses=poses_of(motion, stride),
        points=pack(recording.positions[::stride], PLACE_STEP),
        cloud=solved.points,
        skin=skin_row(motion, analyses.skin) if analyses.skin else None,
        ground=ground_of(motion, solved.contacts),
        residuals=[fitted, apart] if apart else [fitted],
        spans=[
            *motion_spans(motion, solved.contacts, analyses.improbable),
            *gap_spans(recording.names, recording.seen),
        ],
        facts=_facts(summary, solved.points),
        advice=[*map(str, solved.next_markers), *analyses.advice],
        history=history_of(recording.history, motion.history),
        warnings=[*solved.warnings, *analyses.problems, *thinned(stride)],
    )


def title_of(name: str, n_frames: int) -> str:
    return " · ".join(filter(None, (name, counted(n_frames, "frame"))))


def thinned(stride: int) -> list[str]:
    """Say so where the page leaves frames out."""
    if stride == 1:
        return []
    return [f"the page shows one frame of every {stride}; the files hold all of them"]


def history_of(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """List what was done, once: a later value often tells what its maker told already."""
    known = list(after[: len(before)]) == list(before)
    return list(after) if known else [*before, *after]


def ground_of(motion: Motion, contacts: Sequence[Contact]) -> Ground:
    """Find the plane that the feet stand on from the first contact on.

    Where none do z = 0, or lower, under whatever goes below that: a rig at rest hangs there by its
    root.
    """
    if contacts:
        first = contacts[0].frames[0]
        part = motion.frames(max(0, first - FLOOR_FRAMES[0]), first + FLOOR_FRAMES[1] - 1)
        with suppress(OsteonError):
            ground = find_standing(part, find_soles(figure_at_rest(motion.skeleton))).ground
            if np.linalg.norm(ground.slope) < EVEN_SLOPE:
                return Ground(float(ground.height(np.nanmean(part.root, axis=0))))
            return Ground(float(ground.offset), (float(ground.slope[0]), float(ground.slope[1])))
    return Ground(min(0.0, _lowest(motion)))


def _lowest(motion: Motion) -> float:
    """Height of the lowest joint or tip in any frame, metres; 0 where no frame has a pose."""
    turns, places = motion.world()
    tips = [
        places[:, index] + quat.rotate(turns[:, index], tip)
        for index, body in enumerate(motion.skeleton.bodies)
        if (tip := body.tip_from_joint) is not None
    ]
    heights = np.stack([*np.moveaxis(places, 1, 0), *tips])[..., 2]
    return float(np.min(heights, initial=0.0, where=np.isfinite(heights)))


def motion_spans(
    motion: Motion, contacts: Sequence[Contact], improbable: AnomalyFindings | None
) -> list[Span]:
    """List what happened to the motion, whatever it was made from."""
    names = motion.skeleton.names
    return [
        *held_spans(motion),
        *event_spans(motion.skeleton.events, names),
        *improbable_spans(improbable, names),
        *mark_spans(motion.marks, motion.rate, motion.n_frames),
        *contact_spans(contacts, names),
    ]


def contact_spans(contacts: Sequence[Contact], bodies: Sequence[str]) -> list[Span]:
    return [
        Span(
            "contact", f"{contact.body} on the ground", *contact.frames, bodies.index(contact.body)
        )
        for contact in contacts
    ]


def improbable_spans(findings: AnomalyFindings | None, bodies: Sequence[str]) -> list[Span]:
    if findings is None:
        return []
    return [
        Span("improbable", f"{limb} takes an improbable pose", first, last, bodies.index(limb))
        for limb, first, last in findings.runs()
    ]


def _facts(summary: Mapping[str, Any], points: str) -> list[tuple[str, str]]:
    worst = next(iter(summary["per_marker_rms_mm"].items()), ("–", float("nan")))
    worn = points == "markers"
    return [
        (f"{points} to model", f"{summary['marker_rms_mm']:.2f} mm rms"),
        (f"worst of the {points}", f"{worst[0]}, {worst[1]:.1f} mm"),
        ("largest distance", f"{summary['marker_max_mm']:.1f} mm"),
        ("frames", f"{summary['frames']} at {summary['rate']:g} per second"),
        (points, f"{summary['markers']}, {100 * summary['missing']:.1f} % of samples missing"),
        *([("marker set", summary["marker_set"] or "none: found by motion alone")] if worn else ()),
        ("bone lengths vary", f"{summary['bone_length_spread_mm']:.4f} mm"),
        ("held frames", str(len(summary["held_frames"]))),
    ]


def _joint_distances(recording: Recording, skeleton: Skeleton, stride: int) -> Residuals | None:
    """How far two neighbouring bodies, each fitted to its own markers, put their joint apart."""
    columns = [
        [recording.names.index(m.name) for m in body.markers if m.name in recording.names]
        for body in skeleton.bodies
    ]
    held = [index for index, own in enumerate(columns) if len(own) >= CLUSTER_MARKERS]
    pairs = [(p, c) for c, p in enumerate(skeleton.parents) if p in held and c in held]
    if not pairs:
        return None
    templates = [
        np.array([m.position for m in skeleton.bodies[index].markers if m.name in recording.names])
        for index in held
    ]
    fit = fit_bodies(templates, [columns[index] for index in held], recording.positions)
    gaps = np.full((recording.n_frames, len(pairs)), np.nan)
    for column, (parent, child) in enumerate(pairs):
        joint = skeleton.bodies[child].joint
        above = _point(fit.rotations, fit.positions, held.index(parent), joint.in_parent)
        below = _point(fit.rotations, fit.positions, held.index(child), joint.in_body)
        gaps[:, column] = np.linalg.norm(above - below, axis=-1)
    names = [skeleton.names[child] for _, child in pairs]
    return distances("both bodies' ideas of a joint", names, gaps, stride)


def _point(rotations: Array, positions: Array, body: int, point: Array) -> Array:
    return positions[:, body] + quat.rotate(rotations[:, body], point)
