"""A recognised marker set → a first guess of the subject, and what to believe about it."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from osteon.calibration.guess import TOES, Ball, Guess
from osteon.calibration.pose_start import start_poses
from osteon.calibration.priors import BeliefRows, Beliefs, Near
from osteon.calibration.scatter import Usual
from osteon.calibration.subject_model import SubjectModel, mirror_pairs
from osteon.errors import NotEnoughData
from osteon.human import (
    MARKER_STANDOFF,
    Human,
    Landmark,
    TemplateBody,
    hip_centres,
    human,
    scale_of,
)
from osteon.maths import fit_rigid, generalised_procrustes, quat
from osteon.typing import Array

PLACE_SIGMA = 0.10
"""Metres. A marker's place on its body, template against subject: chosen, wider than any bone."""
SHAPE_SIGMA = 0.01
"""Metres. The same on a pelvis whose hips are known by regression: its shape was measured, and the
hips hold only as far as the frame holds to the markers they were computed from. Chosen: skin's size
there."""
HIP_SIGMA = np.array([0.0093, 0.0070, 0.0091])
"""Metres forward, sideways and up. How far regressed hip centres are off: 13.2 ± 6.5 mm in space on
people whose bones were seen [Fiorentino 2016], which is 14.7 rms, spread over the axes as what
regressions leave of 158 pelves: 4.8, 3.6 and 4.7 mm [Hara 2016]."""
BREADTH_SIGMA = 0.004
"""Metres along the axis of a hinge, from the marker beside it or from the middle of two: what half
of a bone's breadth differs by at one stature, and skin over it. Chosen: 3 mm each; knees, ankles
and elbows of four people with bones known are 3 mm off along their axes."""
NEAR_JOINT_REACH = 0.06
"""Metres, chosen. Markers this near to a joint say where it is: the one on the bone beside it, not
those half a limb away, whose places are anybody's choice."""
DRIFT_RATIO, ALONG_DRIFT_RATIO, BESIDE = 0.2, 0.1, 0.06
"""A joint guessed from markers farther away than beside it, metres, is unsure by this share of the
rest: lengths of limbs at one stature scatter by a tenth, and forearms turn (chosen: twice that).
Along a hinge's axis, which lies across the limb, by half of it: what turns there is the hinge."""
TWIN_SIGMA = 0.01
"""Metres. How alike left and right are, and how far joints of the trunk are from the middle: who
bends forwards only shows nothing of it, and skin then moves the joint sideways at its will.
Chosen."""
SIZE_FRAMES = 500
"""Frames that the subject's size and the shapes of clusters are taken from, evenly spread: chosen,
more change neither."""


def guess_from_template(
    found: dict[str, Landmark],
    observed: dict[str, Array],
    hips: str = "harrington",
    *,
    wanted: Collection[str] = (),
) -> Guess:
    """Scale the average human to a recording.

    Parameters
    ----------
    found
        The recording's labels on the template's landmarks.
    observed : label → (n_frames, 3)
        Metres; NaN where not seen.
    hips
        Regression for the hip centres: ``harrington``, ``davis`` or ``seidel``.
    wanted
        Bodies to have even without markers.
    """
    figure = human()
    found, bodies = _worn(figure, found, wanted)
    stride = max(1, len(next(iter(observed.values()))) // SIZE_FRAMES)
    sampled = {label: observed[label][::stride] for label in found}
    scale = scale_of(found, sampled)
    rest = _scaled_rig(figure, bodies, found, scale)
    placed = np.array([found[label].at is not None for label in rest.marker_names], dtype=bool)
    rig = _with_found_places(_with_measured_shapes(rest, placed, sampled), placed, sampled)
    beliefs = _beliefs(figure, rest, rig, found, hips)
    tips = {
        name: scale * (end - _rest_joint(figure, name, parent))
        for name, parent in bodies.items()
        if (end := _end(figure, name)) is not None
    }
    heights = np.array([_height(found[label], scale) for label in rig.marker_names])
    firm = placed & ~np.array([found[label].soft for label in rest.marker_names], dtype=bool)
    ends = {name: _near(rest, firm, rest.names.index(name), tip) for name, tip in tips.items()}
    balls = {
        parent: _ball(figure, rest, placed, name, scale)
        for name, toes in figure.bodies.items()
        if name.endswith(TOES) and name not in bodies and (parent := toes.parent) in bodies
    }
    return Guess(rig, beliefs, rest.offsets, tips, heights, _usual(figure, rig.names), ends, balls)


def _ball(figure: Human, rest: SubjectModel, placed: np.ndarray, name: str, scale: float) -> Ball:
    """Where toes without markers begin on the template at the subject's size."""
    toes = figure.bodies[name]
    assert toes.parent is not None
    foot = rest.names.index(toes.parent)
    at = scale * (toes.at - figure.bodies[toes.parent].at)
    near = _near(rest, placed, foot, at)
    known = np.zeros(rest.n_markers)
    sigma = 4 * toes.sigma
    if near is not None:
        sigma = _beside_sigma(toes.sigma, DRIFT_RATIO, near, known)
    farther = figure.tips[name] - figure.tips[toes.parent]
    return Ball(name, at, near, scale * float(toes.at[2]), scale * float(farther[0]), sigma)


def rest_model(found: dict[str, Landmark], scale: float) -> SubjectModel:
    """Return the average human at a size, with labels on the landmarks that are given."""
    figure = human()
    found, bodies = _worn(figure, found)
    return _scaled_rig(figure, bodies, found, scale)


def beliefs_about(
    found: dict[str, Landmark], rig: SubjectModel, rest: SubjectModel, hips: str
) -> Beliefs:
    """Return what to believe about a subject that was fitted: ``rest`` is the average human with
    the same bodies and markers."""
    return _beliefs(human(), rest, rig, found, hips)


def _worn(
    figure: Human, found: dict[str, Landmark], wanted: Collection[str] = ()
) -> tuple[dict[str, Landmark], dict[str, str | None]]:
    """The labels on bodies that have enough of them, and these bodies with their parents."""
    found = _settled(figure, found)
    return found, _supported(figure, {mark.body for mark in found.values()} | set(wanted))


def _usual(figure: Human, names: tuple[str, ...]) -> Usual:
    """What skin and joints of these bodies mostly do."""
    bodies = [figure.bodies[name] for name in names]
    return Usual(
        np.array([body.skin for body in bodies]) / np.sqrt(3.0),
        np.array([body.glide for body in bodies]),
        np.array([[float(body.axis == axis) for axis in "xyz"] for body in bodies]),
        np.array([body.aligned for body in bodies]),
        np.array([body.girdle for body in bodies]),
    )


def _end(figure: Human, name: str) -> Array | None:
    """(3,) where a bone ends that nothing continues: at the template's tip, or at the joint of the
    body that would hang there, as a forearm without a hand at its wrist."""
    below = [body.at for body in figure.bodies.values() if body.parent == name]
    return figure.tips.get(name, below[0] if below else None)


def _height(landmark: Landmark, scale: float) -> float:
    """Above the floor that the template stands on, metres."""
    return np.nan if landmark.at is None else scale * float(landmark.at[2])


def _settled(figure: Human, found: dict[str, Landmark]) -> dict[str, Landmark]:
    """Markers of bodies that have too few of them go to the body that stands in."""
    for name in reversed(list(figure.bodies)):
        body = figure.bodies[name]
        count = Counter(landmark.body for landmark in found.values())
        if body.instead is not None and count[name] < body.needs:
            found = {
                label: replace(landmark, body=body.instead) if landmark.body == name else landmark
                for label, landmark in found.items()
            }
    return found


def _supported(figure: Human, touched: set[str]) -> dict[str, str | None]:
    """The bodies that the markers can move, each with its parent among them."""
    carries = set(touched)
    for name in reversed(list(figure.bodies)):
        parent = figure.bodies[name].parent
        if name in carries and parent is not None:
            carries.add(parent)
    kept: dict[str, str | None] = {}
    for name, body in figure.bodies.items():
        if name in touched or (name in carries and body.instead is None):
            parent = body.parent
            while parent is not None and parent not in kept:
                parent = figure.bodies[parent].parent
            kept[name] = parent
    return _without_silent_root(kept, touched)


def _without_silent_root(kept: dict[str, str | None], touched: set[str]) -> dict[str, str | None]:
    """Drop roots that carry nothing and hold one child only, as a pelvis without markers."""
    while True:
        roots = [name for name, parent in kept.items() if parent is None]
        if len(roots) != 1:
            raise NotEnoughData("the markers found do not share a trunk to hang the limbs on")
        below = [name for name, parent in kept.items() if parent == roots[0]]
        if roots[0] in touched or len(below) != 1:
            return kept
        kept = {
            name: None if name == below[0] else parent
            for name, parent in kept.items()
            if name != roots[0]
        }


def _scaled_rig(
    figure: Human, bodies: dict[str, str | None], found: dict[str, Landmark], scale: float
) -> SubjectModel:
    """The template at the subject's size."""
    names = tuple(bodies)
    parents = tuple(-1 if parent is None else names.index(parent) for parent in bodies.values())
    joints = np.stack([_rest_joint(figure, name, parent) for name, parent in bodies.items()])
    offsets = np.array(
        [joints[b] - joints[p] if p >= 0 else np.zeros(3) for b, p in enumerate(parents)]
    )
    labels = tuple(label for label, landmark in found.items() if landmark.body in bodies)
    carriers = np.array([names.index(found[label].body) for label in labels], dtype=int)
    places = np.zeros((len(labels), 3))
    for row, (label, carrier) in enumerate(zip(labels, carriers, strict=True)):
        at = found[label].at
        places[row] = 0.0 if at is None else at - joints[carrier]
    return SubjectModel(names, parents, scale * offsets, labels, carriers, scale * places)


def _rest_joint(figure: Human, name: str, parent: str | None) -> Array:
    body = figure.bodies[name]
    return body.at if parent == body.parent else body.alone


def _with_measured_shapes(
    rig: SubjectModel, placed: np.ndarray, observed: dict[str, Array]
) -> SubjectModel:
    """Clusters of three and more markers take their measured shape, laid on the template's."""
    places = rig.places.copy()
    for body in range(rig.n_bodies):
        markers = np.flatnonzero((rig.marker_bodies == body) & placed)
        if len(markers) < 3:
            continue
        points = np.stack([observed[rig.marker_names[m]] for m in markers], axis=1)
        try:
            shape = generalised_procrustes(points).template
        except NotEnoughData:
            continue
        fit = fit_rigid(shape, rig.places[markers][None])
        if np.isfinite(fit.positions).all():
            places[markers] = fit.positions[0] + quat.rotate(fit.rotations[0], shape)
    return replace(rig, places=places)


def _with_found_places(
    rig: SubjectModel, placed: np.ndarray, observed: dict[str, Array]
) -> SubjectModel:
    """Markers of which only the body is known take their middle place on the bodies as posed."""
    if placed.all():
        return rig
    points = np.stack([observed[label] for label in rig.marker_names], axis=1)
    known = np.where(placed[:, None], points, np.nan)
    poses = start_poses(rig, known)
    joints, places = poses.positions, rig.places.copy()
    for marker in np.flatnonzero(~placed):
        body = rig.marker_bodies[marker]
        away = points[:, marker] - joints[:, body]
        local = np.einsum("fji,fj->fi", poses.rotations[:, body], away)
        local = local[np.isfinite(local[:, 0])]
        if len(local):
            places[marker] = np.median(local, axis=0)
    return replace(rig, places=places)


def _beliefs(
    figure: Human, rest: SubjectModel, rig: SubjectModel, found: dict[str, Landmark], hips: str
) -> Beliefs:
    rows = BeliefRows(rig)
    marks = [found[label] for label in rig.marker_names]
    placed = np.array([mark.at is not None for mark in marks], dtype=bool)
    firm = placed & ~np.array([mark.soft for mark in marks], dtype=bool)
    doubts = np.array([mark.doubt for mark in marks])
    regressed = _hips(rest, rig, found, hips)
    pelvis = rig.parents[min(regressed)] if regressed else -1
    for marker in range(rig.n_markers):
        sure = SHAPE_SIGMA if regressed and rig.marker_bodies[marker] == pelvis else PLACE_SIGMA
        rows.marker_at(marker, rig.places[marker], sure if placed[marker] else 0.3)
    for body in range(1, rig.n_bodies):
        name, parent = rig.names[body], rig.parents[body]
        if body in regressed:
            pelvic = doubts[rig.marker_bodies == pelvis]
            rows.joint_at(body, regressed[body], np.hypot(HIP_SIGMA, pelvic.mean()))
        elif near := _near(rest, firm, parent, rest.offsets[body]):
            rows.joint_beside(body, near, _beside_sigmas(figure.bodies[name], near, doubts))
        if near := _near(rest, firm, body, np.zeros(3)):
            rows.origin_beside(near, _beside_sigmas(figure.bodies[name], near, doubts))
        rows.joint_at(body, rest.offsets[body], 4 * figure.bodies[name].sigma)
    for left, right in mirror_pairs(rig.names):
        if min(left, right) > 0:
            rows.twins(left, right, TWIN_SIGMA)
    for body in range(1, rig.n_bodies):
        if not rig.names[body].startswith(("left_", "right_")):
            rows.midway(body, TWIN_SIGMA)
    return rows.beliefs()


def _beside_sigma(sigma: float, drift: float, near: Near, doubts: Array) -> float:
    """Metres that a joint seen from the markers around it is unsure by: ``sigma`` beside them, and
    the share ``drift`` of what they are farther away; ``doubts`` (n_markers,) that these sit on
    other landmarks."""
    drifting = sigma + drift * max(near.distance - BESIDE, 0.0)
    return float(np.hypot(drifting, np.linalg.norm(near.shares * doubts[near.markers])))


def _beside_sigmas(body: TemplateBody, near: Near, doubts: Array) -> Array:
    """(3,) the same in each direction: along a hinge's axis breadths of bones tell."""
    along = np.array([body.axis == axis for axis in "xyz"], dtype=bool)
    across = _beside_sigma(body.sigma, DRIFT_RATIO, near, doubts)
    breadth = _beside_sigma(BREADTH_SIGMA, ALONG_DRIFT_RATIO, near, doubts)
    return np.where(along, breadth, across)


def _near(rest: SubjectModel, placed: np.ndarray, body: int, joint: Array) -> Near | None:
    """The markers of ``body`` around a joint, nearer ones counting more."""
    markers = np.flatnonzero((rest.marker_bodies == body) & placed)
    away = np.linalg.norm(rest.places[markers] - joint, axis=-1)
    shares = np.exp(-0.5 * (away / NEAR_JOINT_REACH) ** 2)
    if shares.sum() < 1e-6:
        return None
    shares /= shares.sum()
    return Near(markers, shares, joint - shares @ rest.places[markers], float(shares @ away))


def _hips(
    rest: SubjectModel, rig: SubjectModel, found: dict[str, Landmark], method: str
) -> dict[int, Array]:
    """Hip joints by regression, where the pelvis's bony points are marked."""
    figure = human()
    spots = {
        name: rig.places[m]
        for m, label in enumerate(rig.marker_names)
        for name in ("left_asis", "right_asis", "left_psis", "right_psis", "sacrum")
        if found[label].at is figure.landmarks[name].at
    }
    back = [spots[name] for name in ("left_psis", "right_psis", "sacrum") if name in spots]
    legs = [rig.names.index(n) for n in ("left_thigh", "right_thigh") if n in rig.names]
    if not {"left_asis", "right_asis"} <= spots.keys() or not back or len(legs) < 2:
        return {}
    if "pelvis" not in rig.names or rig.parents[legs[0]] != rig.names.index("pelvis"):
        return {}
    scale = float(np.linalg.norm(rest.offsets[legs[0]])) / 0.085
    back_middle = np.mean(back[:2] if len(back) > 1 else back, axis=0)
    asis = figure.landmarks["left_asis"].at
    assert asis is not None
    leg = scale * float(asis[2] - figure.bodies["left_foot"].at[2])
    centres = hip_centres(
        spots["left_asis"], spots["right_asis"], back_middle, leg, method, MARKER_STANDOFF
    )
    return dict(zip(legs, centres, strict=True))
