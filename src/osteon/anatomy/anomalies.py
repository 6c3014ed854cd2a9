"""Poses that a body does not take: learned from clean takes, found in others, mended on request.

A limb's pose is its rotation against its parent, told by three numbers about the middle of the
clean takes; its parent's pose goes with it, so that it is the combination that must be known. The
density of such poses is judged by the distance to the nearest known ones. How far clean poses lie
from those of *other* clean takes says what is improbable; a pose that a clean take has, be it for
one frame, never is. Wrong poses that happen to look right betray themselves as they come and go: no
limb jumps away and back. Where the recording is at hand its markers bear witness too.
[002] §4 and §5.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.maths import NORMAL_RATIO, Nearest, quat, rotations
from osteon.typing import Array, Mask
from osteon.values import Motion, Recording

NEIGHBOUR_COUNT = 3
"""Count of nearest known poses whose distance tells the density; chosen: one or two may be wrong
frames of a take that nobody vouches for."""
KNOWN_POSES = 12000
"""Count of poses kept of each limb, beside those that stand alone; chosen: two minutes at 100
frames per second, and still quick to search."""
PARENT_WEIGHT = 0.5
"""Ratio of the parent's say to the limb's own; chosen: the combination counts, the limb's own pose
more; how often it is right: docs/numbers/accuracy.md."""
BLOCK_COUNT = 8
"""Count of parts into which a single clean take is cut to be judged against itself; chosen: each is
still unlike the others, and most of the take is left to compare with."""
USUAL_SHARE = 0.998
"""Share of clean poses that the threshold lies above; chosen, how often it is right:
docs/numbers/accuracy.md."""
THRESHOLD_MARGIN = 1.3
"""Ratio of the threshold to what is usual; chosen, how often it is right:
docs/numbers/accuracy.md."""
LEAST_DISTANCE = np.radians(6.0)
"""Radians (6°): least distance that is improbable. Chosen: noise and skin are less, and no
error."""
LEAST_JUMP = np.radians(8.0)
"""Radians (8°): least step between two frames that is a jump; chosen: above what noise makes of two
frames."""
SAME_RATIO = 1.01
"""Ratio to the longest known step up to which another is no longer; chosen: room for rounding
only."""
AWAY_SECONDS = 1.0
"""Seconds that a limb may be away after a jump and come back by another; chosen: swaps are shorter,
and after longer ones nobody can say which side was right."""
UNUSUAL_RATIO = 8.0
"""Standard deviations (of a normal law) above a marker's median distance from which it may be
misplaced; chosen: skin slides further than a normal law allows, how often it is right:
docs/numbers/accuracy.md."""
LEAST_MISFIT = 0.012
"""Metres by which a misplaced marker is further off than usual; chosen: where skin begins, see
below."""
STRAY_DISTANCE = 0.04
"""Metres by which a marker counts as misplaced even where no other belongs. Chosen, for there is no
gap in what was measured: skin was 0.012 to 0.03 off in a real walk, drop jump and squats; in a
vigorous take distances run on from there to 0.1."""


@dataclass(frozen=True, eq=False)
class AnomalyFindings:
    """What is improbable in a take."""

    names: tuple[str, ...]
    """Limbs that were watched."""
    scores: Array
    """(n_frames, n_limbs) above 1: the pose is improbable."""
    misfits: Array
    """(n_frames, n_limbs) above 1: the limb's markers do not lie as they do in the rest of the
    take; NaN where no recording was shown."""

    @property
    def worst(self) -> Array:
        """(n_frames, n_limbs) the larger of both."""
        return np.fmax(self.scores, self.misfits)

    @property
    def flagged(self) -> np.ndarray:
        """(n_frames,) whether any limb's pose or markers are improbable."""
        return np.asarray((self.worst > 1.0).any(axis=1))

    @property
    def blamed(self) -> tuple[str | None, ...]:
        """For each frame the limb to blame, None where all is well."""
        worst = np.argmax(np.nan_to_num(self.worst), axis=1)
        pairs = zip(self.flagged, worst, strict=True)
        return tuple(self.names[limb] if bad else None for bad, limb in pairs)

    def runs(self) -> list[tuple[str, int, int]]:
        """Blamed limb, first and last frame of every run of improbable frames."""
        found: list[tuple[str, int, int]] = []
        for frame, limb in enumerate(self.blamed):
            if limb is None:
                continue
            if found and found[-1][0] == limb and found[-1][2] == frame - 1:
                found[-1] = (limb, found[-1][1], frame)
            else:
                found.append((limb, frame, frame))
        return found


@dataclass(frozen=True, eq=False)
class LimbWatch:
    """What is known of one limb."""

    name: str
    middle: Array
    """(4,) mean rotation in the clean takes."""
    known: Nearest
    """Poses of the clean takes, with the parent's."""
    threshold: float
    """Distance from the known poses that is improbable, radians."""
    leap: float
    """Step between frames that is improbable, radians per second."""


@dataclass(frozen=True, eq=False)
class Watch:
    """Knows how the limbs of one body move; made by :func:`learn`."""

    limbs: tuple[LimbWatch, ...]
    parents: dict[str, str] = field(default_factory=dict)
    vouched: bool = True
    """Whether a single known pose is enough to know it."""

    def check(self, motion: Motion, recording: Recording | None = None) -> AnomalyFindings:
        """Return how improbable every limb's pose is in every frame.

        Parameters
        ----------
        recording
            What the motion was solved from: markers that exchange their labels may leave the pose
            as it was, but not their distances from the model.
        """
        poses = _poses(motion, {limb.name: limb.middle for limb in self.limbs})
        scores = {limb.name: self._score(limb, motion, poses) for limb in self.limbs}
        for name, parent in self.parents.items():
            # the parent's pose goes into the limb's score: it alone is to blame if it is worse
            excused = (scores[parent] > 1.0) & (scores[parent] >= scores[name])
            scores[name] = np.where(excused, np.minimum(scores[name], 1.0), scores[name])
        misfits = {} if recording is None else marker_misfits(motion, recording)
        nothing = np.full(motion.n_frames, np.nan)
        names = tuple(dict.fromkeys((*scores, *misfits)))
        return AnomalyFindings(
            names,
            np.stack([scores.get(name, nothing) for name in names], axis=-1),
            np.stack([misfits.get(name, nothing) for name in names], axis=-1),
        )

    def mended(self, motion: Motion, findings: AnomalyFindings | None = None) -> Motion:
        """Return the motion with improbable limb poses bridged from the good ones before and after.

        Frames in which only the markers are wrong keep their poses.
        """
        findings = self.check(motion) if findings is None else findings
        turned = motion.rotations.copy()
        for column, name in enumerate(findings.names):
            bad = _with_neighbours(findings.scores[:, column] > 1.0)  # errors fade in and out
            if bad.any() and not bad.all():
                index = motion.skeleton.index(name)
                turned[:, index] = _bridged(turned[:, index], bad)
        n = int((findings.scores > 1.0).any(axis=1).sum())
        return replace(
            motion, rotations=turned, history=(*motion.history, f"mended {n} improbable frames")
        )

    def _score(self, limb: LimbWatch, motion: Motion, poses: dict[str, Array]) -> Array:
        features = _features(limb.name, poses, self.parents)
        score = np.full(len(features), np.nan)
        seen = np.isfinite(features).all(axis=1)
        if seen.any():
            far = limb.known.distances(features[seen], NEIGHBOUR_COUNT)
            score[seen] = far[:, -1] / limb.threshold
            if self.vouched:
                score[seen] = np.minimum(score[seen], far[:, 0] / LEAST_DISTANCE)
        q = motion.rotations[:, motion.skeleton.index(limb.name)]
        away = _away(q, max(limb.leap / motion.rate, LEAST_JUMP), round(AWAY_SECONDS * motion.rate))
        # a limb that came by a jump is wrong, however usual its pose
        return np.where(away, np.maximum(score, 1.0 + score), score)


def learn(motions: Sequence[Motion], *, vouched: bool = True) -> Watch:
    """Learn from clean takes of one body which poses its limbs take.

    Parameters
    ----------
    motions
        Clean takes whose skeletons have the same bodies, about as varied as what will be watched.
    vouched
        Whether somebody says that they are clean; else poses that stand alone in them, and steps
        far beyond the usual ones, are held to be wrong.
    """
    if not motions:
        raise NotEnoughData("there is no clean take to learn from")
    skeleton = motions[0].skeleton
    for motion in motions[1:]:
        if motion.skeleton.names != skeleton.names:
            raise BadValue("clean takes must be of one skeleton; their bodies differ")
    names = [body.name for body in skeleton.bodies if body.parent is not None]
    parents = {
        body.name: body.parent
        for body in skeleton.bodies
        if body.parent is not None and skeleton.body(body.parent).parent is not None
    }
    every = np.concatenate([motion.rotations for motion in motions])
    thin = every[:: max(1, len(every) // KNOWN_POSES)]
    middles = {name: rotations.frechet_mean(thin[:, skeleton.index(name)]) for name in names}
    poses = [_poses(motion, middles) for motion in motions]
    limbs = []
    for name in names:
        takes = [_features(name, take, parents) for take in poses]
        takes = [take[np.isfinite(take).all(axis=1)] for take in takes]
        leap = max(_fastest(motion, skeleton.index(name), vouched=vouched) for motion in motions)
        known = Nearest(_known(takes) if vouched else _thinned(takes))
        limbs.append(LimbWatch(name, middles[name], known, _threshold(takes), leap))
    if not limbs:
        raise NotEnoughData("a skeleton of one body has no limb to watch")
    return Watch(tuple(limbs), parents, vouched)


def _poses(motion: Motion, middles: dict[str, Array]) -> dict[str, Array]:
    """Rotation vectors (n_frames, 3) of limbs about their middles."""
    return {
        name: quat.log(quat.between(middle, motion.rotations[:, motion.skeleton.index(name)]))
        for name, middle in middles.items()
    }


def _features(name: str, poses: dict[str, Array], parents: dict[str, str]) -> Array:
    own = poses[name]
    if name not in parents:
        return own
    return np.concatenate([own, PARENT_WEIGHT * poses[parents[name]]], axis=-1)


def _thinned(takes: Sequence[Array]) -> Array:
    every = np.concatenate(list(takes))
    return every[:: max(1, -(-len(every) // KNOWN_POSES))]


def _known(takes: Sequence[Array]) -> Array:
    """Return the thinned poses, and those of which thinning would leave nothing near."""
    every, kept = np.concatenate(list(takes)), _thinned(takes)
    if len(kept) == len(every):
        return kept
    return np.concatenate([kept, every[Nearest(kept).distances(every)[:, 0] > LEAST_DISTANCE]])


def _with_neighbours(mask: Mask) -> Mask:
    """Return a mask of frames with the frame before and the frame after each run of it."""
    wider = mask.copy()
    wider[1:] |= mask[:-1]
    wider[:-1] |= mask[1:]
    return wider


def _threshold(takes: Sequence[Array]) -> float:
    """Return what clean poses keep from those of the other takes, or of the rest of the only
    one."""
    parts = list(takes)
    if len(parts) == 1:
        parts = np.array_split(parts[0], BLOCK_COUNT)
    far = []
    for left_out, part in enumerate(parts):
        others = [other for k, other in enumerate(parts) if k != left_out and len(other)]
        if len(part) and others:
            some = part[:: max(1, len(part) // KNOWN_POSES)]
            far.append(Nearest(_thinned(others)).distances(some, NEIGHBOUR_COUNT)[:, -1])
    usual = float(np.quantile(np.concatenate(far), USUAL_SHARE)) if far else 0.0
    return max(THRESHOLD_MARGIN * usual, LEAST_DISTANCE)


def _fastest(motion: Motion, index: int, *, vouched: bool) -> float:
    """Return what the limb hardly turns faster than, radians per second: twice all but the fastest
    steps of a take, and at least the fastest where somebody vouches for it."""
    q = motion.rotations[:, index]
    steps = quat.angle(quat.between(q[:-1], q[1:]))
    steps = steps[np.isfinite(steps)]
    if not len(steps):
        return 0.0
    usual = 2.0 * float(np.quantile(steps, 0.999))
    return max(usual, SAME_RATIO * float(steps.max()) if vouched else 0.0) * motion.rate


def _away(q: Array, leap: float, longest: int) -> np.ndarray:
    """Return (n_frames,) frames between a jump and the jump back to where the limb was."""
    away = np.zeros(len(q), dtype=bool)
    jumps = np.flatnonzero(quat.angle(quat.between(q[:-1], q[1:])) > leap) + 1
    back = 0
    for place, start in enumerate(jumps):
        if start <= back:  # the jump that brought it back does not take it away again
            continue
        size = quat.angle(quat.between(q[start - 1], q[start]))
        for end in jumps[place + 1 :]:
            if end - start > longest:
                break
            if quat.angle(quat.between(q[start - 1], q[end])) < 0.5 * size:
                away[start:end], back = True, end
                break
    return away


def _bridged(q: Array, bad: np.ndarray) -> Array:
    """Rotations (n, 4) with the bad ones turned evenly from the good one before to that after."""
    good = np.flatnonzero(~bad & np.isfinite(q[:, 0]))
    mended = q.copy()
    mended[bad] = quat.between_known(q, good, np.flatnonzero(bad))
    return mended


def carried_markers(motion: Motion, recording: Recording) -> tuple[Array, Array, tuple[str, ...]]:
    """Return where a recording's markers are, NaN where not seen, and where the skeleton carries
    them, both (n_frames, n_markers, 3); and the body of each."""
    if recording.n_frames != motion.n_frames:
        raise BadValue(
            f"the recording has {recording.n_frames} frames, the motion {motion.n_frames}; "
            "give the recording that the motion was solved from"
        )
    carried = motion.skeleton.marker_places(recording.names)
    if not carried.names:
        raise NotEnoughData(
            "the skeleton carries none of the recording's markers; "
            "give motion.glb or motion.osteon, which keep them, and not BVH"
        )
    columns = [recording.names.index(name) for name in carried.names]
    model = motion.points(carried.bodies, carried.places)
    names = motion.skeleton.names
    return recording.positions[:, columns], model, tuple(names[body] for body in carried.bodies)


def marker_misfits(motion: Motion, recording: Recording) -> dict[str, Array]:
    """Body → (n_frames,) how unusual the worst of its markers is; above 1: misplaced.

    What is usual for a marker is what it does in most of the take. One that is unusually far off
    is misplaced where it lies nearer to another's place than to its own, as swapped ones do, or
    is as far off as ``STRAY_DISTANCE``.
    """
    found: dict[str, Array] = {}
    points, model, bodies = carried_markers(motion, recording)
    for column, body in enumerate(bodies):
        away = np.linalg.norm(points[:, column] - model[:, column], axis=-1)
        seen = away[np.isfinite(away)]
        if not len(seen):
            continue
        usual = np.median(seen)
        spread = NORMAL_RATIO * np.median(np.abs(seen - usual))
        misfit = (away - usual) / max(UNUSUAL_RATIO * spread, LEAST_MISFIT)
        slid = np.flatnonzero((misfit > 1.0) & (away - usual < STRAY_DISTANCE))
        nearest = np.linalg.norm(points[slid, column, None] - model[slid], axis=-1).argmin(axis=-1)
        misfit[slid[nearest == column]] = 1.0
        found[body] = np.fmax(found.get(body, np.full(len(away), np.nan)), misfit)
    return found
