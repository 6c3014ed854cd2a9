"""Values of the stages → what the page is told about them."""

from collections.abc import Sequence

import numpy as np

from osteon.edits import compact_of
from osteon.posing import Contact
from osteon.report import Span, body_rows
from osteon.studio.messages import RigRow, SliderRow
from osteon.values import Motion, Skeleton

SLIDER_MARGIN = 0.35
"""Radians that a slider goes beyond what the take shows. Chosen: 20 degrees."""


def rig_row(motion: Motion) -> RigRow:
    """Return the rig of a motion; sliders where its movement axes are known."""
    skeleton = motion.skeleton
    return RigRow(body_rows(skeleton), slider_rows(motion), skeleton.subject)


def slider_rows(motion: Motion) -> tuple[SliderRow, ...]:
    if not knows_axes(motion.skeleton) or not motion.n_frames:
        return ()
    compact = compact_of(motion)
    lows, highs = np.nanmin(compact.angles, axis=0), np.nanmax(compact.angles, axis=0)
    rows = zip(compact.names, lows.tolist(), highs.tolist(), strict=True)
    return tuple(
        SliderRow(name, low - SLIDER_MARGIN, high + SLIDER_MARGIN) for name, low, high in rows
    )


def knows_axes(skeleton: Skeleton) -> bool:
    """Return whether every limb's movement axes have been found."""
    return len(skeleton.bodies) > 1 and all(b.movement is not None for b in skeleton.bodies[1:])


def contact_spans(contacts: Sequence[Contact], skeleton: Skeleton) -> list[Span]:
    places = {name: index for index, name in enumerate(skeleton.names)}
    return [
        Span("contact", f"{each.body} on the ground", *each.frames, places[each.body])
        for each in contacts
    ]
