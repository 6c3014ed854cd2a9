"""A recording, or a motion, onto a given skeleton."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from osteon.errors import BadValue, NotEnoughData, counted
from osteon.formats import character_ending, read
from osteon.human import StandingFigure, body_masses, figure_at_rest, name_parts
from osteon.joint_limits import hold_within
from osteon.maths import quat
from osteon.pipeline.carried_motion import carry_motion, lift_between, lifted
from osteon.pipeline.map_notes import (
    Steps,
    far_off,
    feet_notes,
    left_out,
    off_by_itself,
    settled_notes,
    slid_notes,
)
from osteon.pipeline.solve_take import prepare_take, solve
from osteon.pipeline.solved import Solved, SolveOptions, Stopwatch
from osteon.posing import (
    GroundPlane,
    PoseProblem,
    Standing,
    ends_on_ground,
    find_soles,
    find_standing,
)
from osteon.retargeting import (
    Attachments,
    Bends,
    Corrections,
    Keep,
    Pins,
    Rest,
    Settle,
    Simulation,
    alike,
    average_figure,
    bent_posture,
    carry_poses,
    check_size,
    checked_height,
    equilibrium,
    estimated_height,
    find_bends,
    firm_bounds,
    height_by_legs,
    let_go_and_settle,
    neck_and_head,
    own_attachments,
    pin_holds,
    pin_keeps,
    pose_points,
    posture_weights,
    refine,
    size_ratio,
    stand,
    transfer,
    unslid,
    with_pins,
    without_flips,
)
from osteon.threads import one_thread
from osteon.typing import Array, Progress, unheard
from osteon.values import Marker, Motion, Recording, Skeleton, Take

FOLLOW = ("auto", "markers", "poses")
MODES = ("equilibrium", "dynamics")
"""How the model is brought to rest."""
FIGURE = "figure"
"""In place of a skeleton: the average figure, as tall as the performer."""


@dataclass(frozen=True)
class MapOptions:
    """What a user may ask of ``map_to``."""

    mode: str = "equilibrium"
    """``equilibrium`` solves for the rest of the model, ``dynamics`` simulates until it rests."""
    posture: float = 1e-4
    """Stiffness of a joint's pull to the neutral posture against a marker's spring, square metres
    per square radian: small, for it biases joints that markers determine."""
    let_go: float = 0.02
    """Springs stretched less than this never let go, metres; beyond it they do where it is far
    more than usual."""
    follow: str = "auto"
    """What leads the character: ``markers`` pull it; ``poses`` turn its parts as the performer's,
    for other proportions, and its path is scaled to its legs; ``auto`` chooses by the bones."""
    fit_markers: bool = True
    """Find the markers' places on the character from the recording, near the automatic guess."""
    contacts: bool = True
    """Find planted feet and keep them where they stand, and all soles above the ground."""
    height: float | None = None
    """Of the average figure, metres; None: as tall as the performer's bones say."""
    corrections: Corrections = field(default_factory=Corrections)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise BadValue(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if self.follow not in FOLLOW:
            raise BadValue(f"follow must be one of {', '.join(FOLLOW)}, got {self.follow!r}")
        if not (self.posture > 0.0 and self.let_go > 0.0):
            raise BadValue("posture and let_go must be above zero")
        if self.height is not None:
            checked_height(self.height)


@one_thread()
def map_to(
    source: str | Path | Take,
    skeleton: str | Path | Take | Skeleton,
    *,
    subject: str | None = None,
    options: MapOptions | None = None,
    solving: SolveOptions | None = None,
    progress: Progress = unheard,
) -> Solved:
    """Move a given skeleton by a recording's markers, or by the poses of another's motion.

    Parameters
    ----------
    source
        A recording with markers, or a motion without.
    skeleton
        The character, or ``figure`` for the average one. Where it carries the recording's markers
        they are used; otherwise the performer is calibrated first and the markers are carried
        over, part by part. Of a motion the poses are, on a path scaled to the character's legs.
    subject
        Whose markers or motion, where the source has several subjects'.
    solving
        How the performer is calibrated.
    """
    options, watch = options or MapOptions(), Stopwatch(progress)
    with watch.stage("read", "reading"):
        take = source if isinstance(source, Take) else read(source)
        character = None if skeleton == FIGURE else _character(skeleton)
        fleshed = isinstance(skeleton, str | Path) and _has_flesh(skeleton)
    if not take.recordings:
        with watch.stage("attach", "carrying the poses to the character"):
            job = _lead(_motion_of(take, subject), character, options)
        return _mapped(job, options, watch)
    recording = take.recording(subject).markers()
    if character is not None and _carries(character, recording):
        with watch.stage("clean", "looking for swapped labels and spikes"):
            recording, _ = prepare_take(recording, solving or SolveOptions())
        mapped = _mapped(_own_markers(recording, character, options), options, watch)
        notes = off_by_itself(mapped)
    else:
        if character is not None:  # refused before minutes of work
            figure_at_rest(character, options.corrections.bodies)
        performer = solve(Take(recordings=(recording,)), options=solving, progress=progress)[0]
        watch.seconds.update(performer.seconds)
        with watch.stage("attach", "placing the markers on the character"):
            if character is None:
                character = average_figure(options.height or estimated_height(performer.skeleton))
            job = _attach(performer, character, options, fleshed=fleshed)
        mapped = _mapped(job, options, watch)
        notes = far_off(mapped, performer, options.corrections.bodies)
    return replace(mapped, warnings=(*mapped.recording.source.problems, *notes, *mapped.warnings))


def fix_feet(
    source: str | Path | Take,
    *,
    subject: str | None = None,
    options: MapOptions | None = None,
    progress: Progress = unheard,
) -> Solved:
    """Clean a motion's feet: they stay where they stand and above the ground, all else follows.

    The result's recording holds the joints as they were, its errors how far each has moved.
    """
    options, watch = options or MapOptions(), Stopwatch(progress)
    with watch.stage("read", "reading"):
        motion = (source if isinstance(source, Take) else read(source)).motion(subject)
    job = _led_by(motion, motion.skeleton.subject)
    mended, steps = _mapped(job, options, watch), Steps.of(motion)
    # setting feet down by whole steps mends walks, and moves jumps and turns that pins hold
    if options.contacts and (off := steps.off(mended.motion))[0]:
        with watch.stage("unslide", "setting sliding feet down"):
            led = _led_by(unslid(motion, steps.standing), motion.skeleton.subject)
        stepped = _mapped(replace(led, recording=job.recording), options, watch)
        if steps.off(stepped.motion) < off:
            mended = stepped
    slides = steps.slides(mended.motion)
    notes = slid_notes(steps, mended.motion, slides)
    return replace(mended, warnings=(*notes, *mended.warnings), slides=slides)


def _character(source: str | Path | Take | Skeleton) -> Skeleton:
    if isinstance(source, str | Path):
        source = read(source)
    skeleton = source if isinstance(source, Skeleton) else source.skeleton()
    return replace(skeleton, events=())  # what happened in the take that it was made from


def _has_flesh(character: str | Path) -> bool:
    """Whether it is a character in its mesh, whose soles are known by it."""
    return character != FIGURE and character_ending(Path(character)) is not None


def _motion_of(take: Take, subject: str | None) -> Motion:
    if not take.motions and not take.compacts:
        held = " and ".join(take.kinds) or "nothing"
        raise NotEnoughData(
            f"the file holds {held}, but neither markers nor a motion that could move a character"
        )
    return take.motion(subject)


def _carries(character: Skeleton, recording: Recording) -> bool:
    """Whether the character has markers of the recording's names, enough for a pose."""
    own = character.marker_names
    return len(own & set(recording.names)) >= 3


@dataclass(frozen=True, eq=False)
class _Job:
    """What is to be brought to rest."""

    recording: Recording
    character: Skeleton
    """With the markers that are reported on."""
    points: Attachments
    targets: Array
    """(n_frames, n_points, 3) what pulls each point."""
    start: tuple[Array, Array] | None = None
    marker_set: str = ""
    kept: Pins | None = None
    """End effectors that are led where the performer has them."""
    bends: Bends | None = None
    """How much the performer's knees and elbows bend."""
    led: bool = False
    """Whether poses lead, those of the start, and no markers."""
    like: Standing | None = None
    """When the performer's feet stand, where poses lead."""
    notes: tuple[str, ...] = ()
    """What a user should know of how it was made."""

    @property
    def rest(self) -> Array:
        """Local rotations of the neutral posture: (n_bodies, 4) the character's rest pose, or
        (n_frames, n_bodies, 4) the poses that lead."""
        if self.led and self.start is not None:
            return self.start[0]
        return self.character.rest


def _own_markers(recording: Recording, character: Skeleton, options: MapOptions) -> _Job:
    """The markers that the character carries itself."""
    if options.corrections.keeps:
        raise BadValue("[[keeps]] are for another character; here markers lead every part")
    own = own_attachments(character, recording.names)
    points = _corrected(own, character, options.corrections)
    targets = _targets(recording, points)
    check_size(character, points, targets)
    return _Job(recording, points.on(character), points, targets)


def _attach(performer: Solved, character: Skeleton, options: MapOptions, *, fleshed: bool) -> _Job:
    """The performer's markers on the character, or its poses where the two are not alike. Who has
    flesh stands on the performer's ground, all markers lifted by as much."""
    if not performer.marker_set:
        raise NotEnoughData(
            f"the recording's labels ({', '.join(performer.recording.names[:6])}, …) are no "
            "marker set that osteon knows, and the skeleton carries none of them; give a "
            "skeleton.json of this performer, or the set with `own_set`"
        )
    given = options.corrections.bodies
    one, other = figure_at_rest(performer.skeleton), figure_at_rest(character, given)
    points = _corrected(transfer(one, other), character, options.corrections)
    recording, set_name = performer.recording, performer.marker_set
    follow, keeps = options.follow, options.corrections.keeps
    if follow == "poses" or (follow == "auto" and not alike(one, other)):
        scale = size_ratio(one, other)
        scaled = recording.with_positions(
            scale * recording.positions, did=f"scaled by {scale:.3f} to the character's legs"
        )
        led = _led_like(one, other, performer.motion, keeps)
        shown = points.on(character)
        return replace(led, recording=scaled, character=shown, marker_set=set_name)
    start = carry_poses(one, other, performer.motion, points.rig(character))
    like = carry_motion(one, other, performer.motion, 1.0)[1] if fleshed else None
    bends = find_bends(other, start[0])
    if options.fit_markers:
        observed, posture = _targets(recording, points), options.posture
        led = neck_and_head(other)
        points = refine(character, points, observed, start, bends=bends, posture=posture, led=led)
        points = _corrected(points, character, options.corrections)
    targets = _targets(recording, points)
    kept = pin_keeps(keeps, one, other, performer.motion)
    shown = points.on(character)
    return _Job(recording, shown, points, targets, start, set_name, kept, bends, like=like)


def _lead(motion: Motion, character: Skeleton | None, options: MapOptions) -> _Job:
    """A motion's poses on the character, or on the average figure."""
    said = options.corrections
    if options.follow == "markers" or said.markers:
        raise BadValue("the file holds a motion and no markers; its poses lead, no markers can")
    one = figure_at_rest(motion.skeleton, said.performer, table="performer")
    if character is None:
        character = average_figure(options.height or height_by_legs(one))
    other = figure_at_rest(character, said.bodies)
    led = _led_like(one, other, motion, said.keeps)
    return replace(led, notes=left_out(one, other))


def _led_like(
    one: StandingFigure, other: StandingFigure, motion: Motion, keeps: Sequence[Keep]
) -> _Job:
    """The character led by the performer's poses, on a path scaled to its legs."""
    scale = size_ratio(one, other)
    moved, like = carry_motion(one, other, motion, scale)
    kept = pin_keeps(keeps, one, other, motion, scale)
    bends = find_bends(other, moved.rotations)
    led = _led_by(moved, motion.skeleton.subject)
    return replace(led, kept=kept, bends=bends, like=like)


def _led_by(motion: Motion, subject: str) -> _Job:
    """A motion that its character keeps, but for feet and limits; its joints are reported on."""
    skeleton = motion.skeleton
    recording = Recording(
        motion.world()[1],
        skeleton.names,
        motion.rate,
        subject,
        marks=motion.marks,
        history=motion.history,
        source=motion.source,
    )
    points = pose_points(skeleton)
    bodies = [
        replace(body, markers=(Marker(body.name, body.joint.in_body),)) for body in skeleton.bodies
    ]
    shown = replace(skeleton, bodies=tuple(bodies))
    start = np.array(motion.rotations), np.array(motion.root)
    paths = motion.points(points.bodies, points.places)
    return _Job(recording, shown, points, paths, start, led=True)


def _corrected(points: Attachments, character: Skeleton, said: Corrections) -> Attachments:
    """With the markers that the user placed where the user placed them."""
    if not said.markers:
        return points
    kept = [i for i, name in enumerate(points.names) if name not in said.markers]
    placed = [(character.index(body), at) for body, at in said.markers.values()]
    joints = [character.bodies[body].joint.in_body for body, _ in placed]
    own = [np.array(at) - joint for (_, at), joint in zip(placed, joints, strict=True)]
    return Attachments(
        (*(points.names[i] for i in kept), *said.markers),
        np.array([*points.bodies[kept], *(body for body, _ in placed)]),
        np.array([*points.places[kept], *own]),
        np.array([*points.weights[kept], *np.ones(len(placed))]),
    )


def _targets(recording: Recording, points: Attachments) -> Array:
    """(n_frames, n_points, 3) what pulls each point."""
    return recording.positions[:, [recording.index(name) for name in points.names]]


def _mapped(job: _Job, options: MapOptions, watch: Stopwatch) -> Solved:
    recording, character, points = job.recording, job.character, job.points
    weights = np.broadcast_to(points.weights, job.targets.shape[:2])
    rig = points.rig(character)
    stiffness = posture_weights(rig, options.posture)
    pulls = PoseProblem(rig, job.targets, weights, stiffness, job.rest, firm_bounds(character))
    settle, start = _settler(job, options)
    with watch.stage("solve", f"solving {counted(recording.n_frames, 'frame')}"):
        if job.led:
            poses, holds = settle(pulls, start), np.ones(weights.shape, dtype=bool)
        else:
            poses, holds = let_go_and_settle(pulls, options.let_go, recording.rate, start, settle)
        _check_posed(poses, recording)
        pulls = replace(pulls, weights=weights * holds)
        if job.bends is not None:
            rest, stiffness = bent_posture(job.bends, poses.rotations, job.rest, stiffness)
            pulls = replace(pulls, rest=rest, rest_weights=stiffness)
            poses = settle(pulls, (poses.rotations, poses.root))
        motion = _as_motion(recording, character, poses)
    with watch.stage("contacts", "looking for feet on the ground"):
        figure = _footed(motion, options)
        standing = _standing(motion, figure, options, job.like)
        if job.like is not None and not job.led:
            lift = lift_between(job.like, standing)
            recording, pulls = (
                lifted(recording, lift),
                replace(pulls, targets=pulls.targets + lift),
            )
            motion = replace(motion, root=motion.root + lift)
            standing = _standing(motion, figure, options, job.like)
        pulls = _pinned(pulls, motion, standing, _held(job, options), settle)
    if pulls.rig.tree.n_markers > len(points.names):
        with watch.stage("solve", "keeping the feet where they stand"):
            poses = settle(pulls, (motion.rotations, motion.root))
            if job.led:
                poses = without_flips(pulls, settle, poses, job.rest, recording.rate)
            motion = _as_motion(recording, motion.skeleton, poses)
    errors = marker_errors(recording, motion)
    feet = feet_notes(figure, standing, motion) if options.contacts else ()
    said = (*job.notes, *feet, *settled_notes(motion, standing, int((~holds).sum())))
    return Solved(
        recording, motion, errors, job.marker_set, said, dict(watch.seconds), standing.contacts
    )


def _settler(job: _Job, options: MapOptions) -> tuple[Settle, tuple[Array, Array] | None]:
    """What brings the model to rest, and where from: a simulation that markers pull begins in its
    neutral posture."""
    if options.mode == "equilibrium":
        return equilibrium, job.start
    simulation = Simulation(job.character, _masses(job.character, options))
    return simulation, job.start if job.led else None


def _as_motion(recording: Recording, skeleton: Skeleton, poses: Rest) -> Motion:
    # markers that pull hard bend limits by 0.7°; the simulation knows ranges of axes only
    held_in = hold_within(skeleton, poses.rotations), poses.root
    did = f"mapped onto {skeleton.subject or 'a skeleton'}"
    return Motion.found_in(recording, skeleton, held_in, did, poses.held)


def _footed(motion: Motion, options: MapOptions) -> StandingFigure | None:
    """The skeleton at rest; None where nobody asks for its feet, or it is no human's."""
    if not options.contacts:
        return None
    try:
        return figure_at_rest(motion.skeleton, options.corrections.bodies)
    except NotEnoughData:
        return None


def _standing(
    motion: Motion, figure: StandingFigure | None, options: MapOptions, like: Standing | None
) -> Standing:
    """Feet and ground; what is no human stands on the ends of its limbs."""
    if not options.contacts:
        return Standing((), (), GroundPlane(0.0, np.zeros(2), np.zeros(2)))
    soles = ends_on_ground(motion) if figure is None else find_soles(figure)
    return find_standing(motion, soles, like)


def _held(job: _Job, options: MapOptions) -> tuple[Pins, ...]:
    """What the user wants held or kept."""
    rate, n_frames = job.recording.rate, job.recording.n_frames
    holds = pin_holds(options.corrections.holds, job.character, n_frames, rate)
    return tuple(pins for pins in (holds, job.kept) if pins is not None and len(pins.bodies))


def _pinned(
    pulls: PoseProblem,
    motion: Motion,
    standing: Standing,
    hands: tuple[Pins, ...],
    settle: Settle,
) -> PoseProblem:
    """Pulled by the ground, by planted soles and by what the user names."""
    if standing.plants:
        return stand(pulls, standing, motion, hands, settle)
    return with_pins(pulls, *hands) if hands else pulls


def _masses(character: Skeleton, options: MapOptions) -> Array:
    """Of the bodies; by volume where the character is no person."""
    try:
        parts = name_parts(character, options.corrections.bodies)
    except NotEnoughData:
        return body_masses(character, None)
    return body_masses(character, parts)


def _check_posed(poses: Rest, recording: Recording) -> None:
    if len(poses.held) == recording.n_frames:
        raise NotEnoughData("no frame shows three markers off a line; there is no pose to find")


def marker_errors(recording: Recording, motion: Motion) -> Array:
    """Return distances (n_frames, n_markers) of the skeleton's markers to the recording's; NaN
    where not seen or not carried."""
    rotations, joints = motion.world()
    errors = np.full((recording.n_frames, recording.n_markers), np.nan)
    for index, body in enumerate(motion.skeleton.bodies):
        for marker in body.markers:
            if marker.name in recording.names:
                column = recording.index(marker.name)
                arm = quat.rotate(rotations[:, index], marker.position - body.joint.in_body)
                lack = recording.positions[:, column] - joints[:, index] - arm
                errors[:, column] = np.linalg.norm(lack, axis=-1)
    return errors
