"""What a user should know of a skeleton that was moved by others' markers or poses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.errors import counted
from osteon.human import StandingFigure, figure_at_rest
from osteon.maths import white_noise
from osteon.pipeline.solved import Solved
from osteon.posing import (
    FEET,
    FootSlide,
    Stance,
    Standing,
    farthest_slides,
    feet_without_length,
    find_stances,
    slides_of,
    standing_of,
)
from osteon.retargeting import proportions, slide_and_depth, without_partner
from osteon.typing import Array
from osteon.values import Motion, Skeleton

FAR_OFF_RATIO = 2.0
"""Times their distance on the performer's own bones at which a user is told of the markers'."""
STANDING_MM = 5.0
"""Millimetres that a foot may get while it stands. Chosen: nobody sees it."""
ROLLING_MM = 11.0
"""Millimetres that points of feet which roll over the ground without sliding go up to while they
carry. Simulated: walks of generated performers."""
SLIDE_MM = 15.0
"""Millimetres a step from which on a sole is a finding. Chosen: more than ``ROLLING_MM``."""
OWN_MARKER_ERROR = 0.015
"""Metres that a marker is off on the performer's own skeleton at most: skin moves."""


def far_off(mapped: Solved, performer: Solved, parts: Mapping[str, str]) -> tuple[str, ...]:
    """Note where the markers are much farther off than on the performer's own bones."""
    if mapped.rms < FAR_OFF_RATIO * performer.rms:
        return ()
    one = figure_at_rest(performer.skeleton)
    other = figure_at_rest(mapped.skeleton, parts)
    ratios = proportions(one, other)
    worst = max(ratios, key=lambda name: abs(np.log(ratios[name])))
    return (
        f"markers are {1e3 * mapped.rms:.1f} mm rms off, on the performer's own bones "
        f"{1e3 * performer.rms:.1f} mm: the character has other proportions, most of all "
        f"{worst}, {ratios[worst]:.2f} times the performer's",
    )


def off_by_itself(mapped: Solved) -> tuple[str, ...]:
    """Note where markers are far off a skeleton that carries them, and noise is not why."""
    noise = np.sqrt(3.0) * float(np.median(white_noise(mapped.recording.positions)))
    off = float(np.nanmedian(mapped.marker_error))  # strays that were let go say nothing here
    if off < max(OWN_MARKER_ERROR, 3.0 * noise):
        return ()
    return (
        f"markers are {1e3 * off:.1f} mm off (median) and shake by {1e3 * noise:.1f} mm: the "
        "skeleton is another performer's, or its markers were put elsewhere since",
    )


def left_out(performer: StandingFigure, character: StandingFigure) -> tuple[str, ...]:
    """Note bodies that have no partner."""
    (still, left), notes = without_partner(performer, character), []
    if still:
        notes.append(f"as at rest, for the motion has no partner for them: {_some(still)}")
    if left:
        notes.append(f"left out, for the character has no partner for them: {_some(left)}")
    return tuple(notes)


def feet_notes(
    figure: StandingFigure | None, standing: Standing, motion: Motion
) -> tuple[str, ...]:
    """Tell what is not known of the feet that are to be kept where they stand."""
    if figure is None:
        ends = [motion.skeleton.names[sole.body] for sole in standing.soles]
        return (f"no human's parts are known by their names; it stands on {_some(ends)}",)
    if not set(FEET) & set(figure.parts):
        return ("no foot is known by its name, so none is kept where it stands; name them in a "
                'mapping file: [bodies] left_foot = "…"',)  # fmt: skip
    if short := feet_without_length(figure):
        return (f"nothing says where {_some(short)} end; their soles are taken to be as long as "
                "people's with such legs",)  # fmt: skip
    return ()


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a motion as it was given, by which it is told how far soles slide."""

    given: Motion
    standing: Standing
    stances: Sequence[Stance]

    @classmethod
    def of(cls, given: Motion) -> "Steps":
        standing = standing_of(given)
        return cls(given, standing, find_stances(given, standing))

    def slid(self, motion: Motion) -> Array:
        """(n_steps,) millimetres that the sole goes in ``motion`` during each step."""
        return 1e3 * slides_of(motion, self.stances, self.standing.ground.belt)

    def slides(self, mended: Motion) -> tuple[FootSlide, ...]:
        """Return the steps in which a point of the sole goes farther in ``mended`` than a standing
        foot does; also those that are too fast for a step in the motion as given."""
        standing, names = standing_of(mended), mended.skeleton.names
        down = {name: np.zeros(mended.n_frames, dtype=bool) for name in names}
        for step in self.stances:
            down[names[step.sole.body]][step.span] = True
        more = find_stances(mended, standing)
        more = [step for step in more if not down[names[step.sole.body]][step.span].any()]
        found = farthest_slides(mended, [*self.stances, *more], self.standing.ground.belt)
        told = [slide for slide in found if 1e3 * slide.length > STANDING_MM]
        return tuple(sorted(told, key=lambda slide: slide.frames))

    def off(self, motion: Motion) -> tuple[int, float]:
        """How many of them slide by more than a standing foot does, and how far one does at the
        most, millimetres: smaller is better."""
        slid = self.slid(motion)
        return int((slid > STANDING_MM).sum()), float(slid.max(initial=0.0))


def slid_notes(steps: Steps, mended: Motion, slides: Sequence[FootSlide]) -> tuple[str, ...]:
    """Tell how far soles slid before and slide now, and which are not mended."""
    if not len(steps.stances):
        return ("no foot is on the ground long enough to tell whether it slides",)
    before, after = steps.slid(steps.given), steps.slid(mended)
    said = [
        f"soles slid up to {before.max():.0f} mm a step, {np.median(before):.0f} mm usually; now "
        f"up to {after.max():.0f} mm, {np.median(after):.0f} mm usually"
    ]
    if slides:
        worst = sorted(slides, key=lambda slide: -slide.length)
        named = [f"{s.body} {s.frames[0]}–{s.frames[1]} {1e3 * s.length:.0f} mm" for s in worst]
        said.append(
            f"in {counted(len(slides), 'step')} some point of the sole goes farther than "
            f"{STANDING_MM:.0f} mm while it touches the ground; soles that roll do so by up to "
            f"{ROLLING_MM:.0f} mm, what is more turns or slides: {_some(named)}"
        )
    return tuple(said)


def settled_notes(motion: Motion, standing: Standing, released: int) -> tuple[str, ...]:
    """Tell of springs that let go, feet on the ground and limits that are not kept."""
    said = []
    if released:
        said.append(f"{released} marker samples were too far off and have let go")
    if standing.plants:
        slide, depth = slide_and_depth(motion, standing)
        said.append(
            f"pinned soles stray {1e3 * slide:.2f} mm rms, at most {1e3 * max(depth, 0.0):.2f} mm "
            "below the ground"
        )
    if free := _unbounded(motion.skeleton):
        said.append(f"ranges of Euler angles are not enforced: {_some(free)}")
    return tuple(said)


def _unbounded(skeleton: Skeleton) -> list[str]:
    """Bodies whose joints have ranges of Euler angles, and no other limits."""
    limits = [(body.name, body.joint.limits) for body in skeleton.bodies]
    return [
        name
        for name, each in limits
        if each is not None and each.euler and each.hinge is None and each.cone is None
    ]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return f"{', '.join(names[:6])}{more}"
