"""Values of the stages → what the page is told about them."""

from collections.abc import Sequence

import numpy as np

from osteon.edits import compact_of
from osteon.pipeline import Solved
from osteon.posing import Contact
from osteon.report import Span
from osteon.studio.messages import (
    Figure,
    FigureBody,
    FigureCone,
    FigureMarker,
    FigureParameter,
    TakeMarker,
)
from osteon.typing import Array
from osteon.values import Body, Cone, Motion, Skeleton

BEYOND = 0.35
"""Radians that a slider goes beyond what the take shows."""


def figure_of(motion: Motion) -> Figure:
    """The rig of a motion; sliders where its movement axes are known."""
    skeleton = motion.skeleton
    offsets, parents = skeleton.offsets, skeleton.parents
    bodies = tuple(
        _body(body, parent, offset)
        for body, parent, offset in zip(skeleton.bodies, parents, offsets, strict=True)
    )
    return Figure(bodies, parameters_of(motion), skeleton.subject)


def parameters_of(motion: Motion) -> tuple[FigureParameter, ...]:
    if not knows_axes(motion.skeleton) or not motion.n_frames:
        return ()
    compact = compact_of(motion)
    lows, highs = np.nanmin(compact.angles, axis=0), np.nanmax(compact.angles, axis=0)
    rows = zip(compact.names, lows.tolist(), highs.tolist(), strict=True)
    return tuple(FigureParameter(name, low - BEYOND, high + BEYOND) for name, low, high in rows)


def knows_axes(skeleton: Skeleton) -> bool:
    """Whether every limb's movement axes have been found."""
    return len(skeleton.bodies) > 1 and all(b.movement is not None for b in skeleton.bodies[1:])


def _body(body: Body, parent: int, offset: Array) -> FigureBody:
    joint, limits = body.joint, body.joint.limits
    cone = None if limits is None or limits.cone is None else _cone(limits.cone)
    return FigureBody(
        name=body.name,
        parent=parent,
        kind=joint.kind,
        offset=_tuple(offset),
        in_body=_tuple(joint.in_body),
        tip=None if (tip := body.tip_from_joint) is None else _tuple(tip),
        length=body.length,
        rms=joint.rms,
        sigma=joint.deviation,
        axes=tuple(_tuple(axis) for axis in joint.axes),
        rest=_tuple(joint.rest),
        hinge=None if limits is None else limits.hinge,
        cone=cone,
        markers=tuple(
            FigureMarker(marker.name, _tuple(marker.position - joint.in_body))
            for marker in body.markers
        ),
    )


def _cone(cone: Cone) -> FigureCone:
    return FigureCone(
        centre=_tuple(cone.centre),
        axis=_tuple(cone.axis),
        across=(_tuple(cone.across[0]), _tuple(cone.across[1])),
        radii=_tuple(cone.radii),
        polygon=tuple(_tuple(corner) for corner in cone.polygon),
        twist=cone.twist,
    )


def _tuple(values: Array) -> tuple:
    return tuple(values.tolist())


def take_markers(
    names: Sequence[str], seen: np.ndarray, solved: Solved | None, chosen: Sequence[int]
) -> tuple[TakeMarker, ...]:
    """Some of the recording's markers; ``seen`` is (n_frames, n_markers)."""
    bodies = {}
    for body in () if solved is None else solved.skeleton.bodies:
        bodies.update({marker.name: (body.name, marker.rms) for marker in body.markers})
    missing = 1.0 - seen[:, list(chosen)].mean(axis=0) if len(seen) else np.ones(len(chosen))
    return tuple(
        TakeMarker(names[column], float(share), *bodies.get(names[column], ("", None)))
        for column, share in zip(chosen, missing, strict=True)
    )


def contact_spans(contacts: Sequence[Contact], skeleton: Skeleton) -> list[Span]:
    places = {name: index for index, name in enumerate(skeleton.names)}
    return [
        Span("contact", f"{each.body} on the ground", *each.frames, places[each.body])
        for each in contacts
    ]
