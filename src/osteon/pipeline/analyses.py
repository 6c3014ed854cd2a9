"""What a motion shows besides its poses: limits, limb frames, improbable poses, skin, advice.

Made once, for the report, the files that wear the skin and the passport. None of them changes the
motion, and none may keep it from being written: what cannot be found is said in ``problems``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from osteon.anatomy import (
    AnomalyFindings,
    ClinicalAngles,
    WornMarkers,
    find_angles,
    learn,
    normalise,
)
from osteon.articulation import advise_motion
from osteon.errors import OsteonError
from osteon.formats import leg_measures
from osteon.joint_limits import LimitOptions, limits
from osteon.kinetics import CUTOFF_RATE, JointMoments, find_moments
from osteon.pipeline.cleaned_markers import clean_take
from osteon.pipeline.solved import Solved
from osteon.skinning import make_skin_for
from osteon.threads import one_thread
from osteon.values import Body, Motion, Recording, Skeleton, SkinnedMesh

MOST_WATCHED_FRAMES = 20_000
"""Frames up to which every pose is held against the others; more would take minutes."""
ENOUGH_FRAMES = 6_000
"""Frames that tell of a long take what ranges it goes through; the rest only costs time."""


@dataclass(frozen=True, eq=False)
class Analyses:
    """What a motion shows besides its poses."""

    seen: Skeleton
    """The motion's skeleton with the limits and limb frames that it shows, where it shows any."""
    judged: Skeleton | None
    """With the joints as ``limits`` finds them by itself; None where it finds none, and for long
    motions, of which ``seen`` tells by other samples."""
    improbable: AnomalyFindings | None
    """Poses that stand alone in the motion, and limbs that jump away and back; None where they
    were not looked for."""
    skin: SkinnedMesh | None
    advice: tuple[str, ...]
    """Which motion would help most to know the joints, worst joint first."""
    problems: tuple[str, ...]
    """What could not be found, and why."""


@one_thread()
def analyse(motion: Motion, *, advise: bool = True) -> Analyses:
    """Look at a motion for all that a report shows of it.

    Parameters
    ----------
    advise
        Also say which motion would help: for skeletons that were calibrated.
    """
    problems: list[str] = []
    few = _thin(motion)
    found, skin = None, None
    with _telling("limits of joints", problems):
        found = limits([few], options=_sampling(few))
    seen = found or motion.skeleton
    with _telling("frames of limbs", problems):
        frames = {body.name: body.frame for body in normalise(few).skeleton.bodies}
        bodies = [replace(body, frame=frames.get(body.name)) for body in seen.bodies]
        seen = replace(seen, bodies=tuple(bodies))
    with _telling("a skin", problems):
        skin = make_skin_for(motion)
    return Analyses(
        seen,
        found if _sampling(motion) is None else None,
        watch_poses(motion, problems),
        skin,
        tuple(each.text for each in advise_motion(few)) if advise else (),
        tuple(problems),
    )


@one_thread()
def angles(solved: Solved, convention: str = "isb") -> ClinicalAngles:
    """Return the joint angles of a solved take with a convention's names, order and signs.

    Parameters
    ----------
    convention
        ``isb``, ``pig`` (Plug-in Gait) or ``opensim``.
    """
    worn = None
    if convention == "pig" and solved.points == "markers":
        worn = WornMarkers(clean_take(solved), leg_measures(solved.recording))
    return find_angles(solved.motion, solved.landmarks, convention, worn)


@one_thread()
def moments(
    solved: Solved, told: ClinicalAngles, mass: float | None = None, cutoff: float = CUTOFF_RATE
) -> JointMoments:
    """Return the moments and powers of a solved take's joints, by the file's force plates.

    Parameters
    ----------
    told
        Its angles, whose names and axes the moments have.
    mass
        Of the person, kilograms; weighed by the plates, else by height, where not given.
    cutoff
        Low-pass of motion and forces, Hz.
    """
    reactions = solved.recording.ground_reactions()
    seen = [shown(solved.recording, [body]) for body in solved.skeleton.bodies]
    return find_moments(solved.motion, told, reactions, mass, cutoff, seen=np.stack(seen, axis=1))


def shown(recording: Recording, bodies: Sequence[Body]) -> np.ndarray:
    """Return (n_frames,) whether a marker of any of these bodies was seen; true where none has
    any."""
    named = {marker.name for body in bodies for marker in body.markers}
    columns = [i for i, name in enumerate(recording.names) if name in named]
    if not columns:
        return np.ones(recording.n_frames, dtype=bool)
    return np.any(recording.seen[:, columns], axis=1)


def watch_poses(motion: Motion, problems: list[str]) -> AnomalyFindings | None:
    """Look for poses that stand alone in their own take, and limbs that jump away and back.

    Where that fails, ``problems`` grows by the reason.
    """
    if 2 < motion.n_frames <= MOST_WATCHED_FRAMES:
        with _telling("improbable poses", problems):
            return learn([motion], vouched=False).check(motion)
    return None


@contextmanager
def _telling(what: str, problems: list[str]) -> Iterator[None]:
    """Go on where something cannot be found, and say so."""
    try:
        yield
    except OsteonError as error:
        problems.append(f"{what} cannot be shown: {error}")


def _sampling(motion: Motion) -> LimitOptions | None:
    """Every frame of a motion that stands for a longer one, or would be thinned by time."""
    return LimitOptions(samples=motion.n_frames) if motion.n_frames > ENOUGH_FRAMES / 2 else None


def _thin(motion: Motion) -> Motion:
    """Every so many-th frame of a long motion."""
    every = -(-motion.n_frames // ENOUGH_FRAMES)
    if every <= 1:
        return motion
    return motion.frames(0, motion.n_frames - 1, every)
