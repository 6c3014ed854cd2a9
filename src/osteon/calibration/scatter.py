"""How far markers and joints are from where a rigid model has them, found from the fit itself.

Three things keep a model from its recording, and each has a size of its own (docs/methods.md §4):
white noise of the cameras, per marker, told by the recording alone; skin that follows posture, per
body; and joints that glide, or seem to because a segment's skin moves as one, per joint. Of the
last two every new frame of an old posture says the same again: they count by the postures that a
joint shows, not by frames.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from osteon.calibration.frame_choice import angles_from_middle, count_postures
from osteon.calibration.subject_model import SubjectModel
from osteon.maths import weighted_median, white_noise
from osteon.typing import Array

if TYPE_CHECKING:
    from osteon.calibration.adjustment import Adjustment

START_MARKER_SIGMA, START_GAP_SIGMA = 0.010, 0.020
"""Metres. Skin and gaps that a fit starts from: skin as large as real skin [Cereatti 2017], gaps
twice that (chosen). So bodies are first where their own markers have them, and a joint that glides
shows its gap: with 5 mm the skin of a thigh took over what a knee glides by."""
RIGID_GAP_SIGMA = 0.001
"""Metres. Of joints that are taken to hold: chosen, a tenth of what markers are taken to do."""
LEAST_NOISE, MOST_NOISE = 0.0002, 0.005
"""Metres. White noise of a marker, chosen: cameras are not better, and worse is a swap."""
LEAST_GAP, LEAST_SKIN = 0.0001, 0.00001
"""Metres. Chosen: far below any noise, and the equations stay sound."""
REST_SIGMA = 5.0
"""Radians. How far bodies are from the rest pose relative to their parents: decides only where
markers are silent. At 1 the hanging arms of a walk pulled shoulders 40 mm inwards on synthetic
performers, for the rest pose stretches the arms out; from 3 to 10 the pull is lost in the noise
(simulated)."""
GIRDLE_RATIO, LEAST_GIRDLE_SIGMA = 0.17, 0.02
"""How far a collar bone turns about each axis, as a ratio to what the arm turns on the chest, and
radians at the least. The shoulder blade turns by 0.30 of it: 0.43 for each degree between blade and
arm, by pins in bones [Braman 2009]; over three axes 0.17. The least is chosen, 3 mm at the
shoulder. One marker cannot tell a collar bone's turns from those of the chest."""
CLOSED_GIRDLE_SIGMA = 1.0
"""Radians. A collar bone's turn that weighs as 10 mm at a marker where joints hold: derived, as
``posing`` weighs them, 0.1 rad as 1 mm."""
ALIGNED_SIGMA = 0.12
"""Radians. How far a knee's axis in the thigh is from the one in the shin: chosen, 7°, what knees
abduct and twist in gait."""
ALONG_SIGMA = 0.05
"""Metres. How far motion leaves open where on its axis a joint lies. A forearm turns over about a
line through the outer end of the elbow, so its motion does not show the middle; 0.05 leaves the
word to the markers beside the joint (chosen: far beyond what they are wrong by)."""
OUTLIER_RATIO, LEAST_OUTLIER = 5.0, 0.02
"""Residuals beyond this many deviations, and this many metres, lose weight: chosen, an honest
marker is beyond once in a million."""
FIRST_OUTLIER = 0.2
"""Metres. The same while poses are rough: a limb that starts the wrong way round because a gap hid
half of its markers must still be turned by the other half (chosen: half a limb)."""
MOST_SKIN_RATIO = 3.0
"""Ratio of the largest skin to the usual: thighs of up to 26 mm were seen, 9 is the median
[Cereatti 2017]. What is beyond is a marker that lies about, and must not be taken for skin."""
SHARED_SKIN = 1.7
"""Ratio of the variance of skin that a segment's markers have in common to that of each one alone.
On bones half of it is shared [Cereatti 2017], and poses follow a part of the other half, which no
residual shows: chosen on seven takes of four people with bones known; at 1 knees are 0.4 mm farther
off, at 3 hips 0.7."""
SKIN_COUNT, GAP_COUNT, GIRDLE_COUNT = 6.0, 2.0, 1.5
"""Count of independent numbers that the usual skin, gap and girdle are worth against what the take
shows: chosen, no more than those of one posture, so that two postures outweigh it."""


@dataclass(frozen=True)
class Usual:
    """What is usual for each body of a rig, before a take tells."""

    skin: Array
    """(n_bodies,) deviation of skin against bone, metres per axis."""
    glide: Array
    """(n_bodies,) deviation of the joint's own gliding, metres per axis."""
    axes: Array
    """(n_bodies, 3) the axis along which motion does not tell the joint's place; zero: none."""
    aligned: np.ndarray
    """(n_bodies,) whether body and parent have that axis in common."""
    girdles: np.ndarray
    """(n_bodies,) whether the body turns but little, and its markers are too few to tell."""

    @classmethod
    def of_any_body(cls, n_bodies: int, skin: float, glide: float) -> "Usual":
        """Return what is usual where nothing is known of the bodies."""
        none = np.zeros(n_bodies, dtype=bool)
        axes = np.zeros((n_bodies, 3))
        return cls(np.full(n_bodies, skin), np.full(n_bodies, glide), axes, none, none)


@dataclass(frozen=True)
class Scatter:
    """What the fit weighs by. Precisions are of single frames, 1/metre² and 1/radian²."""

    precisions: Array
    """(n_markers,) of a marker's coordinates."""
    outliers: Array
    """(n_markers,) metres beyond which a marker loses weight."""
    gap_precisions: Array
    """(n_bodies, 3, 3) of joints' gaps in the parent's frame."""
    lean_precisions: Array
    """(n_bodies,) of turns from the parent."""
    axes: Array
    """(n_bodies, 3) axes that body and parent have in common, and how firmly."""
    axis_precisions: Array

    @classmethod
    def of_rigid(cls, rig: SubjectModel, girdles: np.ndarray | None = None) -> "Scatter":
        """Return what holds where joints are firm and markers ride on skin; ``girdles``
        (n_bodies,) says which bodies turn but little."""
        bodies, markers = rig.n_bodies, rig.n_markers
        leans = np.full(bodies, REST_SIGMA**-2)
        if girdles is not None:
            leans[girdles] = CLOSED_GIRDLE_SIGMA**-2
        return cls(
            np.full(markers, START_MARKER_SIGMA**-2),
            np.full(markers, 4.0 * START_MARKER_SIGMA),
            np.tile(np.eye(3) * RIGID_GAP_SIGMA**-2, (bodies, 1, 1)),
            leans,
            np.zeros((bodies, 3)),
            np.zeros(bodies),
        )


@dataclass(frozen=True)
class Deviations:
    """Deviations of noise, skin and joints, as far as they are known."""

    noise: Array
    """(n_markers,) white, metres per axis."""
    skin: Array
    """(n_bodies,) of each marker for itself, metres per axis."""
    gaps: Array
    """(n_bodies,) of joints, metres per axis."""
    girdles: Array
    """(n_bodies,) of turns, radians per axis."""
    postures: Array
    """(n_bodies,) how many different ones each joint shows."""


def first_deviations(rig: SubjectModel, usual: Usual, observed: Array) -> Deviations:
    """Return what to start from.

    Parameters
    ----------
    observed : (n_frames, n_markers, 3)
        Whole takes; NaN where not seen.
    """
    noise = np.clip(white_noise(observed), LEAST_NOISE, MOST_NOISE)
    ones = np.ones(rig.n_bodies)
    return Deviations(noise, usual.skin, START_GAP_SIGMA * ones, REST_SIGMA * ones, 2.0 * ones)


def first_scatter(rig: SubjectModel, usual: Usual, n_frames: int) -> Scatter:
    """Return the weights of the first fit, whose poses are rough."""
    known = Deviations(
        np.full(rig.n_markers, START_MARKER_SIGMA),
        np.zeros(rig.n_bodies),
        np.full(rig.n_bodies, START_GAP_SIGMA),
        np.full(rig.n_bodies, REST_SIGMA),
        np.full(rig.n_bodies, float(n_frames)),
    )
    rough = scatter_of(rig, usual, known, n_frames)
    return replace(rough, outliers=np.full(rig.n_markers, FIRST_OUTLIER))


def scatter_of(rig: SubjectModel, usual: Usual, known: Deviations, n_frames: int) -> Scatter:
    """Return the weights of single frames: what repeats with posture is weighed so that all frames
    together count as often as there are postures."""
    repeats = _repeats(known, n_frames)
    own = rig.marker_bodies
    skin = (_body_repeats(rig, known, n_frames) * known.skin**2)[own]
    gaps = np.zeros((rig.n_bodies, 3, 3))
    for body in range(1, rig.n_bodies):
        axis, across = usual.axes[body], known.gaps[body]
        along = max(across, ALONG_SIGMA) if axis.any() else across
        part = np.outer(axis, axis)
        gaps[body] = ((np.eye(3) - part) / across**2 + part / along**2) / repeats[body]
    leans = np.where(usual.girdles, repeats * known.girdles**2, REST_SIGMA**2)
    held = np.where(usual.aligned, 1.0 / (repeats * ALIGNED_SIGMA**2), 0.0)
    alone = np.sqrt(known.noise**2 + known.skin[own] ** 2)
    return Scatter(
        1.0 / (known.noise**2 + skin),
        np.maximum(OUTLIER_RATIO * alone, LEAST_OUTLIER),
        gaps,
        1.0 / leans,
        usual.axes,
        held,
    )


def _repeats(known: Deviations, n_frames: int) -> Array:
    """(n_bodies,) how many frames show each posture of a joint."""
    return np.maximum(n_frames / known.postures, 1.0)


def _body_repeats(rig: SubjectModel, known: Deviations, n_frames: int) -> Array:
    """(n_bodies,) the same for a body's skin, which follows the joints at both of its ends."""
    postures = known.postures.copy()
    for body in range(rig.n_bodies - 1, 0, -1):
        parent = rig.parents[body]
        postures[parent] = max(postures[parent], known.postures[body])
    return np.maximum(n_frames / postures, 1.0)


def _count_postures(rig: SubjectModel, rotations: Array) -> Array:
    """(n_bodies,) how many postures each joint shows; one more, for there is no less than two."""
    found = np.full(rig.n_bodies, 2.0)
    for body in range(1, rig.n_bodies):
        above = np.swapaxes(rotations[:, rig.parents[body]], -1, -2)
        found[body] = 1.0 + count_postures(above @ rotations[:, body])
    return found


def estimate_deviations(fit: "Adjustment", usual: Usual, known: Deviations) -> Deviations:
    """Return the deviations that a fit's residuals, gaps and turns show, each drawn towards what is
    usual as far as few postures show it."""
    n_frames = len(fit.residuals)
    skin = _skin(fit, usual, known, n_frames)
    return replace(
        known,
        skin=skin,
        gaps=_gaps(fit, usual, replace(known, skin=skin)),
        girdles=_girdles(fit, usual, known, n_frames),
        postures=_count_postures(fit.rig, fit.poses.rotations),
    )


def _skin(fit: "Adjustment", usual: Usual, known: Deviations, n_frames: int) -> Array:
    """(n_bodies,) what markers of one body do against each other beyond their noise."""
    rig, own = fit.rig, fit.rig.marker_bodies
    repeats = _body_repeats(rig, known, n_frames)
    variance = known.noise**2 + (repeats * known.skin**2)[own]
    left = np.clip(3.0 - fit.variances.markers / variance, 0.0, 3.0)
    squares = np.sum(fit.weights * np.sum(fit.residuals**2, axis=-1), axis=0)
    freedom = np.sum(fit.weights * left, axis=0)
    excess = np.bincount(own, squares - freedom * known.noise**2, rig.n_bodies)
    freedom = np.bincount(own, freedom, rig.n_bodies)
    # a marker's place takes the mean of its postures
    freedom *= 1.0 - repeats / n_frames
    count = freedom / repeats
    found = np.minimum(excess / np.maximum(freedom, 1e-9), (MOST_SKIN_RATIO * usual.skin) ** 2)
    # a forearm that turns over shows no skin: one body's misfit is not lent to the others
    scale = weighted_median(found / usual.skin**2, count)
    common = max(scale, 0.0) * usual.skin**2
    variance = (count * np.maximum(found, 0.0) + SKIN_COUNT * common) / (count + SKIN_COUNT)
    return np.maximum(np.sqrt(variance), LEAST_SKIN)


@dataclass(frozen=True)
class GapShown:
    """What frames show of the gap of one joint, across its axis."""

    squares: float
    """Metres², summed over what counts; noise is counted out."""
    count: float
    """Of independent numbers: postures in each direction."""
    doubt: float
    """Metres², one deviation: how well frames tell what noise has in the squares."""


def gap_shown(fit: "Adjustment", usual: Usual, known: Deviations, body: int) -> GapShown:
    """Return how far a joint's ends are apart beyond what noise explains."""
    n_frames = len(fit.gaps)
    repeats = _repeats(known, n_frames)[body]
    assumed = repeats * known.gaps[body] ** 2
    across = np.abs(usual.axes[body]) < 0.5
    # a gap is told as far as the poses do not leave it open; the rest of it is markers' noise
    told = 1.0 - np.clip(fit.variances.gaps[:, body, across] / assumed, 0.0, 1.0)
    noise = told * (1.0 - told) * assumed
    squares = np.sum(fit.gaps[:, body, across] ** 2 - noise)
    count = np.sum(told**2) / repeats * (1.0 - repeats / n_frames)
    doubt = np.sqrt(2.0 * np.sum(noise**2))  # of a sum of squares of normal numbers
    return GapShown(max(float(squares), 0.0) / repeats, float(count), float(doubt) / repeats)


def shared_skin(rig: SubjectModel, known: Deviations, body: int) -> float:
    """Return the variance of a joint's gap, metres² per axis, that skin explains: what markers of
    both bodies have in common."""
    return SHARED_SKIN * (known.skin[body] ** 2 + known.skin[rig.parents[body]] ** 2)


def _gaps(fit: "Adjustment", usual: Usual, known: Deviations) -> Array:
    """(n_bodies,) how far the ends of joints are apart, across their axes."""
    rig = fit.rig
    gaps = known.gaps.copy()
    for body in range(1, rig.n_bodies):
        shown = gap_shown(fit, usual, known, body)
        expected = shared_skin(rig, known, body) + usual.glide[body] ** 2
        variance = (shown.squares + GAP_COUNT * expected) / (shown.count + GAP_COUNT)
        gaps[body] = max(np.sqrt(variance), LEAST_GAP)
    return gaps


def _girdles(fit: "Adjustment", usual: Usual, known: Deviations, n_frames: int) -> Array:
    """(n_bodies,) how far collar bones turn about their mean."""
    repeats, girdles = _repeats(known, n_frames), known.girdles.copy()
    for body in np.flatnonzero(usual.girdles):
        leans = fit.leans[:, body] - fit.leans[:, body].mean(axis=0)
        assumed = repeats[body] * known.girdles[body] ** 2
        count = float(np.sum(np.clip(3.0 - fit.variances.leans[:, body] / assumed, 0.0, 3.0)))
        count /= repeats[body]
        usually = GIRDLE_RATIO * _arm_turn(fit, int(body))
        shown = float(np.sum(leans**2)) / repeats[body] + GIRDLE_COUNT * usually**2
        girdles[body] = max(np.sqrt(shown / (count + GIRDLE_COUNT)), LEAST_GIRDLE_SIGMA)
    return girdles


def _arm_turn(fit: "Adjustment", girdle: int) -> float:
    """How far the body on a girdle turns about its mean on the body below the girdle, radians rms;
    0 where there is none."""
    rig, turned = fit.rig, fit.poses.rotations
    if girdle not in rig.parents:
        return 0.0
    below = np.swapaxes(turned[:, rig.parents[girdle]], -1, -2)
    angles = angles_from_middle(below @ turned[:, rig.parents.index(girdle)])
    return float(np.sqrt(np.mean(angles**2)))


def measured_gaps(fit: "Adjustment", known: Deviations, body: int) -> tuple[Array, Array]:
    """Return a joint's gap in each frame as the bodies' own markers show it, and its variance along
    the axes of the parent's frame, skin that its markers share included; (n_frames, 3) both."""
    repeats = _repeats(known, len(fit.gaps))[body]
    left_open = fit.variances.gaps[:, body] / (repeats * known.gaps[body] ** 2)
    told = np.maximum(1.0 - left_open, 1e-6)
    skin = repeats * shared_skin(fit.rig, known, body)
    return fit.gaps[:, body] / told, fit.variances.gaps[:, body] / told + skin
