"""Values of the stages → rows of the page, arrays short enough to live inside it, and the page: one
HTML file with script, style and data inside."""

import base64
import html
import zlib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike

from osteon.errors import OsteonError
from osteon.formats import whole_file
from osteon.maths import blocks, quat, rotations, runs
from osteon.report.data import (
    BodyRow,
    ConeRow,
    FrameRow,
    GlideRow,
    HingeRow,
    MarkerRow,
    Packed,
    Poses,
    ReportData,
    Residuals,
    SkinRow,
    Span,
)
from osteon.typing import Array
from osteon.values import (
    Attachment,
    Body,
    Cone,
    Connection,
    Event,
    Joint,
    Mark,
    Motion,
    Region,
    Skeleton,
    SkinnedMesh,
    Slip,
)

MOST_NUMBERS = 36_000_000
"""Numbers a page may carry: 20 minutes of 41 markers. Longer takes are thinned, and say so."""
PLACE_STEP, TURN_STEP, DISTANCE_STEP = 1e-4, 1e-4, 0.01
"""Steps in which the page tells metres, radians and millimetres of distance. Chosen: a tenth of a
millimetre, the turn that moves a point at one metre by as much, and a hundredth for distances,
which are shown to a tenth."""
RIM_CORNERS = 48
"""Corners of an elliptic limit as drawn. Chosen: every 7.5 degrees looks round."""
MOST_NAMED = 4
"""Count of markers of a gap that are named; more are counted. Chosen: one line of text."""
DEFLATE_LEVEL = 6
"""Of deflate: higher ones take twice the time for one per cent."""
LARGEST_INTEGER = 2**31 - 2
"""Largest integer that is no sign of something missing."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1></header>
<main></main>
<script type="application/json" id="osteon-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""The browser itself keeps the page from asking anybody for anything."""


def stride_for(n_frames: int, numbers_per_frame: int) -> int:
    """Show every how many-th frame, so that the page stays small enough to open."""
    return max(1, -(-n_frames * numbers_per_frame // MOST_NUMBERS))


def body_rows(
    skeleton: Skeleton,
    *,
    seen: Skeleton | None = None,
    measured: Mapping[str, float] | None = None,
    connections: Sequence[Connection] = (),
    apart: Residuals | None = None,
) -> list[BodyRow]:
    """Return every body with what is known of its joint.

    Parameters
    ----------
    seen
        The same bodies with the ranges and frames that the motion shows, where the skeleton has
        none of its own.
    measured
        Lengths by hand, metres.
    connections
        What the joint stage found: margins and rivals.
    apart
        Distances at joints, which stand in where the skeleton tells no rms of its own.
    """
    found = {connection.child: connection for connection in connections}
    rms = dict(zip(apart.names, apart.rms_mm, strict=True)) if apart else {}
    known = measured or {}
    told = zip(
        skeleton.bodies,
        (seen or skeleton).bodies,
        skeleton.parents,
        skeleton.offsets,
        strict=True,
    )
    rows = [
        _body_row(body, shown, parent, offset, known.get(body.name), found.get(body.name))
        for body, shown, parent, offset in told
    ]
    return [
        structs.replace(row, rms_mm=rms.get(row.name)) if row.rms_mm is None else row
        for row in rows
    ]


def _body_row(
    body: Body,
    shown: Body,
    parent: int,
    offset: Array,
    measured: float | None,
    connection: Connection | None,
) -> BodyRow:
    joint = body.joint
    decided = connection is not None and np.isfinite(connection.margin)
    return BodyRow(
        name=body.name,
        parent=parent,
        kind=joint.kind,
        offset=_floats(offset),
        in_body=_floats(joint.in_body),
        tip=None if (tip := body.tip_from_joint) is None else _floats(tip),
        length_mm=_mm(body.length),
        measured_mm=_mm(measured),
        sigma_mm=_mm(joint.deviation),
        rms_mm=_mm(joint.rms),
        gap_mm=_mm(joint.gap),
        glide_mm=_mm(joint.glide),
        glide_path=_glide(joint),
        skin_mm=_mm(body.skin),
        ellipsoid=_half_axes(joint),
        margin=connection.margin if connection is not None and decided else None,
        rival=connection.rival if connection is not None and decided else None,
        ambiguous=connection is not None and connection.ambiguous,
        cone=_cone(body) or _cone(shown),
        hinge=_hinge(body) or _hinge(shown),
        frame=_limb_frame(body) or _limb_frame(shown),
        movement=[] if body.movement is None else list(body.movement.labels),
    )


def _glide(joint: Joint) -> GlideRow | None:
    path = joint.glide_path
    if path is None:
        return None
    return GlideRow(low=path.shown[0], high=path.shown[1], travel_mm=1e3 * path.travel)


def _half_axes(joint: Joint) -> Any:
    """Return (3, 3) rows: principal directions times their standard deviations."""
    if joint.ellipsoid is None:
        return None
    deviations, directions = joint.ellipsoid
    return _floats(directions * deviations[:, None])


def _cone(body: Body) -> ConeRow | None:
    cone = None if body.joint.limits is None else body.joint.limits.cone
    if cone is None:
        return None
    around = np.linspace(0.0, 2.0 * np.pi, RIM_CORNERS, endpoint=False)
    ellipse = cone.radii * np.stack([np.cos(around), np.sin(around)], axis=-1)
    rim = cone.polygon if len(cone.polygon) >= 3 else ellipse
    return ConeRow(
        centre=_floats(cone.centre),
        axis=_floats(cone.axis),
        across=_floats(cone.across),
        radii=_floats(cone.radii),
        rim=_floats(rim),
        twist=cone.twist,
        seen=_seen_poses(cone, body.joint.limits.region) if body.joint.limits else [],
    )


def _seen_poses(cone: Cone, region: Region | None) -> Any:
    """Return swing, along both directions, and twist of poses that were seen."""
    if region is None:
        return []
    turns = quat.between(cone.centre, quat.normalise(region.poses))
    twist = rotations.wrap(rotations.twist_angle(turns, cone.axis))
    swing = quat.multiply(turns, quat.from_axis_angle(cone.axis, -twist))
    across = quat.log(swing) @ cone.across.T
    return _floats(np.round(np.column_stack([across, twist]), 3))


def _hinge(body: Body) -> HingeRow | None:
    joint = body.joint
    if joint.limits is None or joint.limits.hinge is None or len(joint.axes) != 1:
        return None
    low, high = joint.limits.hinge
    return HingeRow(_floats(joint.axes[0]), _floats(joint.rest), low, high)


def _limb_frame(body: Body) -> FrameRow | None:
    if body.frame is None:
        return None
    return FrameRow(_floats(body.frame.origin - body.joint.in_body), _floats(body.frame.rotation))


def _floats(values: Array) -> Any:
    """Nested plain floats, which msgspec can write."""
    return np.asarray(values, dtype=float).tolist()


def _mm(metres: float | None) -> float | None:
    return None if metres is None or not np.isfinite(metres) else 1e3 * metres


def marker_rows(
    names: Sequence[str], seen: np.ndarray, measured: np.ndarray, skeleton: Skeleton | None
) -> list[MarkerRow]:
    """Return markers in their order, each with the body that carries it.

    ``seen`` and ``measured`` are (n_frames, n_markers).
    """
    carriers = {
        marker.name: (index, marker.rms, tuple((marker.position - body.joint.in_body).tolist()))
        for index, body in enumerate(skeleton.bodies if skeleton else ())
        for marker in body.markers
    }
    missing = (~seen).sum(axis=0) / max(len(seen), 1)
    filled = (seen & ~measured).sum(axis=0) / max(len(seen), 1)
    rows = []
    for name, gone, made in zip(names, missing.tolist(), filled.tolist(), strict=True):
        body, rms, place = carriers.get(name, (-1, None, None))
        rows.append(MarkerRow(name, body, _mm(rms), gone, made, place))
    return rows


def poses_of(motion: Motion, stride: int) -> Poses:
    """Pack every ``stride``-th pose."""
    shown = motion.frames(0, motion.n_frames - 1, stride)
    turns, n_bodies = np.empty((*shown.rotations.shape[:2], 3)), len(motion.skeleton.bodies)
    for part in blocks(shown.n_frames, 7 * n_bodies):
        turns[part] = quat.log(shown.frames(part.start, part.stop - 1).world()[0])
    stretched = None if motion.offsets is None else pack(shown.world()[1], PLACE_STEP)
    return Poses(pack(turns, TURN_STEP), pack(shown.root, PLACE_STEP), stretched)


def skin_row(motion: Motion, skin: SkinnedMesh | None = None) -> SkinRow | None:
    """Return a skin for the motion's skeleton, or the one given; None without bones to put it
    on."""
    from osteon.skinning import make_skin_for

    if len(motion.skeleton.bodies) < 2:
        return None
    skin = make_skin_for(motion) if skin is None else skin
    return SkinRow(
        vertices=pack(skin.vertices, 0.2 * PLACE_STEP),
        triangles=pack_whole(skin.triangles),
        bodies=pack_whole(skin.bodies),
        weights=pack(skin.weights, 1e-4),
        joints=_floats(skin.joints),
        turns=_floats(skin.rotations),
    )


def distances(what: str, names: Sequence[str], values: Array, stride: int) -> Residuals:
    """Return distances (n_frames, n_names) in metres, NaN where unknown."""
    known = np.asarray(np.isfinite(values).any(axis=0))
    squares = np.nanmean(np.where(known, values, 0.0) ** 2, axis=0)
    rms = [_mm(float(r)) if k else None for r, k in zip(np.sqrt(squares), known, strict=True)]
    return Residuals(what, list(names), pack(1e3 * values[::stride], DISTANCE_STEP), rms)


def event_spans(events: Sequence[Event], bodies: Sequence[str] = ()) -> list[Span]:
    place = {name: index for index, name in enumerate(bodies)}
    return [_event_span(event, place) for event in events]


def _event_span(event: Event, place: Mapping[str, int]) -> Span:
    if isinstance(event, Slip):
        what = f"{event.body} moved {1e3 * event.size:.0f} mm on its body"
        return Span("slip", what, event.frame, event.frame, place.get(event.body, -1))
    if isinstance(event, Attachment):
        what = " held by ".join(event.bodies)
        return Span("attachment", what, *event.frames, place.get(event.bodies[0], -1))
    mended = "exchanged labels" + (", repaired" if event.repaired else "")
    return Span("swap", f"{' and '.join(event.markers)} {mended}", *event.frames)


def gap_spans(names: Sequence[str], seen: np.ndarray, most: int | None = None) -> list[Span]:
    """Return runs of frames in which markers are missing, with their names.

    Parameters
    ----------
    seen : (n_frames, n_markers)
    most
        Where there are more runs than this, those that are close together are told as one.
    """
    gone = ~seen
    found = runs(np.asarray(gone.any(axis=1)))
    if most is not None and len(found) > most:
        found = _merge_runs(found, len(seen) // most)
    spans = []
    for first, last in found:
        columns = np.flatnonzero(gone[first : last + 1].any(axis=0)).tolist()
        named = ", ".join(names[column] for column in columns[:MOST_NAMED])
        more = f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
        spans.append(Span("gap", f"{named}{more} not seen", first, last))
    return spans


def _merge_runs(found: Sequence[tuple[int, int]], apart: int) -> list[tuple[int, int]]:
    """Runs, with those that are no more than ``apart`` frames apart made one."""
    merged = [found[0]]
    for first, last in found[1:]:
        if first - merged[-1][1] <= apart:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged


def mark_spans(marks: Sequence[Mark], rate: float, n_frames: int) -> list[Span]:
    """Return instants that somebody marked in the file."""
    spans = []
    for mark in marks:
        frame = round(mark.time * rate)
        if 0 <= frame < n_frames:
            spans.append(
                Span("mark", " ".join(filter(None, (mark.context, mark.label))), frame, frame)
            )
    return spans


def held_spans(motion: Motion) -> list[Span]:
    held = np.zeros(motion.n_frames, dtype=bool)
    held[list(motion.held)] = True
    return [Span("held", "no evidence: the pose is held", *run) for run in runs(held)]


def pack(values: ArrayLike, step: float) -> Packed:
    """Pack numbers rounded to multiples of ``step``, or to coarser ones where 32 bits do not do;
    NaN
    stays.

    Motion is smooth: the differences from frame to frame are small, and few bits tell them.
    """
    values = np.asarray(values, dtype=np.float64)
    seen = np.isfinite(values)
    low = np.min(values, initial=np.inf, where=seen) if seen.any() else 0.0
    high = np.max(values, initial=-np.inf, where=seen) if seen.any() else 0.0
    origin = 0.5 * float(low) + 0.5 * float(high)
    step = max(step, (float(high) - origin) / LARGEST_INTEGER)
    whole = np.empty(values.shape, dtype=np.int32)
    for part in blocks(len(values), values[:1].size):  # of a long take they are large
        whole[part] = np.rint((np.where(seen[part], values[part], origin) - origin) / step)
    largest = max(int(whole.max(initial=0)), -int(whole.min(initial=0)))
    missing = int(np.iinfo(np.int16 if largest < 2**15 else np.int32).min)
    whole[~seen] = missing
    return _pack_integers(whole, origin, step, missing)


def pack_whole(values: ArrayLike) -> Packed:
    """Pack whole numbers, exactly."""
    return _pack_integers(
        np.asarray(values).astype(np.int32), 0.0, 1.0, int(np.iinfo(np.int32).min)
    )


def _pack_integers(whole: np.ndarray, origin: float, step: float, missing: int) -> Packed:
    folded = np.array(whole, dtype="<i4", order="C")
    folded[1:] -= whole[:-1]
    sign = np.right_shift(folded, 31)
    folded <<= 1  # small ones of either sign stay small
    folded ^= sign
    del sign
    planes = folded.view(np.uint8).reshape(-1, 4).T
    used = 4 - next((n for n, plane in enumerate(planes[::-1]) if plane.any()), 3)
    squeezed = zlib.compress(np.ascontiguousarray(planes[:used]).data, DEFLATE_LEVEL)
    return Packed(base64.b64encode(squeezed).decode("ascii"), whole.shape, origin, step, missing)


def write_report(path: Path, data: ReportData) -> None:
    """Write the page; it appears whole or not at all."""
    page = PAGE.format(
        title=html.escape(data.title),
        policy=POLICY,
        style=_bundled("report.css"),
        script=_bundled("report.js").replace("</script", "<\\/script"),
        # "<" never stands in the data as such, so no text in it can end the element
        data=msgspec.json.encode(data).decode().replace("<", "\\u003c"),
    )
    with whole_file(path) as partial:
        partial.write_text(page, encoding="utf-8")


def _bundled(name: str) -> str:
    file = resources.files("osteon.report") / "bundle" / name
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OsteonError(
            f"the front end ({name}) is missing from this installation; "
            "install it from its source again, so that its build step runs"
        ) from None
