"""A recognised marker set → a first guess of the subject, and what to believe about it."""

from dataclasses import dataclass

import numpy as np

from ossature.calibrate.adjust import Beliefs
from ossature.calibrate.marker_sets import Human, Landmark, human
from ossature.calibrate.rig import Rig, mirror_pairs
from ossature.errors import NotEnoughData
from ossature.maths.quat import Array

PLACE_SIGMA = 0.10
"""Metres. A marker's place on its body, template against subject."""
REACH = 0.12
"""Metres. Markers this near to a joint say where it is."""
DRIFT = 0.10
"""A joint guessed from a marker one metre away is unsure by this many metres more."""
TWIN_SIGMA = 0.01
"""Metres. How alike left and right are."""
STEADY = 0.06
"""Pairs of markers whose distance varies by less than this share measure the subject's size."""


@dataclass(frozen=True)
class Guess:
    """A rig to start from, and the beliefs that hold it where motion is silent."""

    rig: Rig
    beliefs: Beliefs
    tips: dict[str, Array]
    scale: float
    """The subject's size against the template's."""


def guess_from_template(found: dict[str, Landmark], observed: dict[str, Array]) -> Guess:
    """Scale the average human to a recording.

    Parameters
    ----------
    found
        The recording's labels on the template's landmarks.
    observed : label → (n_frames, 3)
        Metres; NaN where not seen.
    """
    figure = human()
    bodies = _supported(figure, {landmark.body for landmark in found.values()})
    labels = tuple(label for label in found if found[label].body in bodies)
    scale = _scale(figure, {label: found[label] for label in labels}, observed)
    rig = _scaled_rig(figure, bodies, labels, found, scale)
    tips = {
        name: scale * (figure.tips[name] - figure.bodies[name].at)
        for name in bodies
        if name in figure.tips
    }
    return Guess(rig, _beliefs(figure, rig, found), tips, scale)


def _supported(figure: Human, touched: set[str]) -> dict[str, str | None]:
    """The bodies that a set can move, each with its parent among them.

    A body without markers stays when it is no option and something below it has markers.
    """
    carries = set(touched)
    for name in reversed(list(figure.bodies)):
        parent = figure.bodies[name].parent
        if name in carries and parent is not None:
            carries.add(parent)
    kept: dict[str, str | None] = {}
    for name, body in figure.bodies.items():
        if name in touched or (name in carries and not body.optional):
            parent = body.parent
            while parent is not None and parent not in kept:
                parent = figure.bodies[parent].parent
            kept[name] = parent
    roots = [name for name, parent in kept.items() if parent is None]
    while len(roots) == 1 and roots[0] not in touched:  # a root that nothing shows moves nothing
        below = [name for name, parent in kept.items() if parent == roots[0]]
        if len(below) != 1:
            break
        del kept[roots[0]]
        kept[below[0]] = None
        roots = below
    if len(roots) != 1:
        raise NotEnoughData("the markers found do not share a trunk to hang the limbs on")
    return kept


def _scale(figure: Human, found: dict[str, Landmark], observed: dict[str, Array]) -> float:
    """The subject's size: distances that hardly vary, against the template's."""
    labels = [label for label, landmark in found.items() if landmark.at is not None]
    template = np.array([found[label].at for label in labels])
    if len(labels) < 2:
        return 1.0
    stride = max(1, len(observed[labels[0]]) // 500)
    points = np.stack([observed[label][::stride] for label in labels], axis=1)
    ratios, weights = [], []
    for first in range(len(labels)):
        gaps = np.linalg.norm(points[:, first + 1 :] - points[:, first : first + 1], axis=-1)
        wanted = np.linalg.norm(template[first + 1 :] - template[first], axis=-1)
        enough = np.isfinite(gaps).sum(axis=0) > 10
        for gap, want in zip(gaps.T[enough], wanted[enough], strict=True):
            mean, spread = np.nanmean(gap), np.nanstd(gap)
            if spread < STEADY * mean and want > 0.08:
                ratios.append(mean / want)
                weights.append(want)
    if not ratios:
        return 1.0
    order = np.argsort(ratios)
    middle = np.searchsorted(np.cumsum(np.array(weights)[order]), 0.5 * np.sum(weights))
    return float(np.array(ratios)[order][middle])


def _scaled_rig(
    figure: Human,
    bodies: dict[str, str | None],
    labels: tuple[str, ...],
    found: dict[str, Landmark],
    scale: float,
) -> Rig:
    names = tuple(bodies)
    parents = tuple(-1 if parent is None else names.index(parent) for parent in bodies.values())
    joints = np.array([figure.bodies[name].at for name in names])
    offsets = np.array(
        [joints[b] - joints[p] if p >= 0 else np.zeros(3) for b, p in enumerate(parents)]
    )
    carriers = np.array([names.index(found[label].body) for label in labels], dtype=int)
    places = np.array(
        [
            np.zeros(3) if found[label].at is None else found[label].at - joints[carrier]
            for label, carrier in zip(labels, carriers, strict=True)
        ]
    ).reshape(-1, 3)
    return Rig(names, parents, scale * offsets, labels, carriers, scale * places)


def _beliefs(figure: Human, rig: Rig, found: dict[str, Landmark]) -> Beliefs:
    rows = _Rows(rig)
    placed = np.array([found[label].at is not None for label in rig.marker_names], dtype=bool)
    for marker in range(rig.n_markers):
        sigma = PLACE_SIGMA if placed[marker] else 3 * PLACE_SIGMA
        rows.add({("marker", marker): 1.0}, rig.places[marker], sigma)
    for body in range(1, rig.n_bodies):
        sigma = figure.bodies[rig.names[body]].sigma
        parent = rig.parents[body]
        _near_markers(rows, rig, placed, parent, rig.offsets[body], body, sigma)
        _near_markers(rows, rig, placed, body, np.zeros(3), None, sigma)
        rows.add({("joint", body): 1.0}, rig.offsets[body], 4 * sigma)
    for left, right in mirror_pairs(rig.names):
        if min(left, right) > 0:
            rows.add_twins(left, right, TWIN_SIGMA)
    return rows.beliefs()


def _near_markers(
    rows: "_Rows",
    rig: Rig,
    placed: np.ndarray,
    body: int,
    joint: Array,
    unknown: int | None,
    sigma: float,
) -> None:
    """A joint lies beside the markers near it as it does on the template.

    ``unknown`` is the body whose joint it is, or None where it is the origin of ``body`` itself.
    """
    near = np.flatnonzero((rig.marker_bodies == body) & placed)
    if not len(near):
        return
    away = np.linalg.norm(rig.places[near] - joint, axis=-1)
    share = np.exp(-0.5 * (away / REACH) ** 2)
    if share.sum() < 1e-6:
        return
    share /= share.sum()
    terms: dict[tuple[str, int], float] = {
        ("marker", int(marker)): -float(part) for marker, part in zip(near, share, strict=True)
    }
    if unknown is not None:
        terms["joint", unknown] = 1.0
    rows.add(terms, joint - share @ rig.places[near], sigma + DRIFT * float(share @ away))


class _Rows:
    """Collects beliefs, three rows at a time."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.matrix: list[Array] = []
        self.target: list[Array] = []
        self.sigma: list[Array] = []

    def add(self, terms: dict[tuple[str, int], float], target: Array, sigma: float) -> None:
        block = np.zeros((3, self.rig.n_shared))
        for (kind, index), factor in terms.items():
            columns = self._columns(kind, index)
            block[:, columns] += factor * np.eye(3)
        self._append(block, target, sigma)

    def add_twins(self, left: int, right: int, sigma: float) -> None:
        """Left and right joints mirror each other."""
        block = np.zeros((3, self.rig.n_shared))
        block[:, self.rig.joint_columns(left)] = np.eye(3)
        block[:, self.rig.joint_columns(right)] = -np.diag([1.0, -1.0, 1.0])
        self._append(block, np.zeros(3), sigma)

    def beliefs(self) -> Beliefs:
        return Beliefs(
            np.concatenate(self.matrix), np.concatenate(self.target), np.concatenate(self.sigma)
        )

    def _columns(self, kind: str, index: int) -> slice:
        rig = self.rig
        return rig.joint_columns(index) if kind == "joint" else rig.marker_columns(index)

    def _append(self, block: Array, target: Array, sigma: float) -> None:
        self.matrix.append(block)
        self.target.append(target)
        self.sigma.append(np.full(3, sigma))
