"""A recording onto a given skeleton."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from ossature.anatomy.naming import name_parts
from ossature.clean import find_swaps, remove_spikes, repair_swaps
from ossature.errors import BadValue, FormatError, NotEnoughData
from ossature.formats import read
from ossature.maths import quat
from ossature.pipeline.take import Progress, Solved, SolveOptions, Stopwatch, solve
from ossature.pose.attach import (
    Attachments,
    check_size,
    figure_at_rest,
    find_bends,
    own_attachments,
    refine,
    transfer,
)
from ossature.pose.average import average_figure, checked_height, estimated_height
from ossature.pose.bends import Bends, bent_posture
from ossature.pose.bounds import hold_within
from ossature.pose.contacts import Ground, Standing, find_soles, find_standing
from ossature.pose.dynamics import Simulated, simulate
from ossature.pose.equilibrium import (
    Pulls,
    equilibrium,
    firm_bounds,
    let_go_and_settle,
    posture_weights,
)
from ossature.pose.frames import PoseResult
from ossature.pose.masses import body_masses
from ossature.pose.pins import (
    Hold,
    Keep,
    Pins,
    pin_holds,
    pin_keeps,
    slide_and_depth,
    stand,
    with_pins,
)
from ossature.pose.retarget import alike, carry_poses, points_of, pose_points
from ossature.values import Marker, Motion, Recording, Skeleton, Take
from ossature.values.arrays import Array

T = TypeVar("T")

FOLLOW = ("auto", "markers", "poses")
MODES = ("equilibrium", "dynamics")
"""How the model is brought to rest."""
FIGURE = "figure"
"""In place of a skeleton: the average figure, as tall as the performer."""


@dataclass(frozen=True)
class Corrections:
    """What a user says about character and markers; see ``read_corrections``."""

    bodies: Mapping[str, str] = field(default_factory=dict)
    """Human part → body of the character."""
    markers: Mapping[str, tuple[str, tuple[float, float, float]]] = field(default_factory=dict)
    """Marker → body and place in the body's frame, metres."""
    holds: tuple[Hold, ...] = ()
    keeps: tuple[Keep, ...] = ()


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


def map_to(
    source: str | Path | Take,
    skeleton: str | Path | Take | Skeleton,
    *,
    subject: str | None = None,
    options: MapOptions | None = None,
    solving: SolveOptions | None = None,
    progress: Progress = lambda saying: None,
) -> Solved:
    """Move a given skeleton by a recording's markers.

    Parameters
    ----------
    source
        A recording with markers.
    skeleton
        The character, or ``figure`` for the average one. Where it carries the recording's markers
        they are used; otherwise the performer is calibrated first and the markers are carried
        over, part by part.
    subject
        Whose markers, where the recording has several subjects'.
    solving
        How the performer is calibrated.
    """
    options, watch = options or MapOptions(), Stopwatch(progress)
    with watch.stage("read", "reading"):
        take = source if isinstance(source, Take) else read(source)
        character = None if skeleton == FIGURE else _character(skeleton)
    recording = take.recording(subject).markers()
    if character is not None and _carries(character, recording):
        with watch.stage("clean", "looking for swapped labels and spikes"):
            recording = remove_spikes(repair_swaps(recording, find_swaps(recording)))
        own = own_attachments(character, recording.names)
        points = _corrected(own, character, options.corrections)
        if options.corrections.keeps:
            raise BadValue("[[keeps]] are for another character; here markers lead every part")
        targets = _targets(recording, points)
        check_size(character, points, targets)
        job = _Job(recording, points.on(character), points, targets)
    else:
        performer = solve(Take(recordings=(recording,)), options=solving, progress=progress)[0]
        watch.seconds.update(performer.seconds)
        with watch.stage("attach", "placing the markers on the character"):
            if character is None:
                character = average_figure(options.height or estimated_height(performer.skeleton))
            job = _attach(performer, character, options)
    return _mapped(job, options, watch)


def fix_feet(
    source: str | Path | Take,
    *,
    options: MapOptions | None = None,
    progress: Progress = lambda saying: None,
) -> Solved:
    """Clean a motion's feet: they stay where they stand and above the ground, all else follows.

    The result's recording holds the joints as they were, its errors how far each has moved.
    """
    options, watch = options or MapOptions(), Stopwatch(progress)
    with watch.stage("read", "reading"):
        motion = (source if isinstance(source, Take) else read(source)).motion()
    joints = motion.world()[1]
    recording = Recording(
        joints, motion.skeleton.names, motion.rate, motion.skeleton.subject, source=motion.source
    )
    points = pose_points(motion.skeleton)
    bodies = [
        replace(body, markers=(Marker(body.name, body.joint.in_body),))
        for body in motion.skeleton.bodies
    ]
    shown = replace(motion.skeleton, bodies=tuple(bodies))
    start = np.array(motion.rotations), np.array(motion.root)
    return _mapped(_Job(recording, shown, points, points_of(motion, points), start), options, watch)


def read_corrections(path: str | Path) -> Corrections:
    """A TOML file with ``[bodies]``, as ``left_thigh = "LeftUpLeg"``, and ``[markers]``, as
    ``LKNE = { body = "LeftUpLeg", at = [0.05, 0.0, -0.4] }``, metres in the body's frame. Each
    ``[[holds]]`` pins a point: ``body``, ``at`` in its frame, ``to`` in the world, ``frames``. Each
    ``[[keeps]]`` names a ``part`` that stays where the performer has it, and ``frames``."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormatError(path, f"cannot be read as TOML: {error}") from None
    bodies, markers = table.get("bodies", {}), {}
    if not isinstance(bodies, dict) or not all(isinstance(name, str) for name in bodies.values()):
        raise FormatError(path, '[bodies] must hold lines such as left_thigh = "LeftUpLeg"')
    for label, entry in table.get("markers", {}).items():
        markers[label] = _marker_entry(Path(path), label, entry)
    holds = _entries(Path(path), table, "holds", Hold, "body, at, to and frames")
    keeps = _entries(Path(path), table, "keeps", Keep, "part and may have frames")
    return Corrections(bodies, markers, holds, keeps)


def _entries(
    path: Path, table: dict[str, Any], key: str, kind: type[T], needs: str
) -> tuple[T, ...]:
    try:
        return msgspec.convert(table.get(key, []), tuple[kind, ...])
    except msgspec.ValidationError as error:
        raise FormatError(path, f"[[{key}]] needs {needs}: {error}") from None


def _marker_entry(path: Path, label: str, entry: Any) -> tuple[str, tuple[float, float, float]]:
    match entry:
        case {"body": str(body), "at": [int() | float() as x, int() | float() as y, z]} if (
            isinstance(z, int | float)
        ):
            return body, (float(x), float(y), float(z))
    raise FormatError(
        path, f'marker {label} must be {{ body = "…", at = [x, y, z] }}, got {entry!r}'
    )


def _character(source: str | Path | Take | Skeleton) -> Skeleton:
    if isinstance(source, Skeleton):
        return source
    return (source if isinstance(source, Take) else read(source)).skeleton()


def _carries(character: Skeleton, recording: Recording) -> bool:
    """Whether the character has markers of the recording's names, enough for a pose."""
    own = {marker.name for body in character.bodies for marker in body.markers}
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

    @property
    def rest(self) -> Array:
        """(n_bodies, 4) local rotations of the character's rest pose."""
        return np.stack([body.joint.rest for body in self.character.bodies])


def _attach(performer: Solved, character: Skeleton, options: MapOptions) -> _Job:
    """The performer's markers on the character, or its poses where the two are not alike."""
    if not performer.marker_set:
        raise NotEnoughData(
            f"the recording's labels ({', '.join(performer.recording.names[:6])}, …) are no "
            "marker set that ossature knows, and the skeleton carries none of them; give a "
            "skeleton.json of this performer, or the set with --own-set"
        )
    given = options.corrections.bodies
    one, other = figure_at_rest(performer.skeleton), figure_at_rest(character, given)
    points = _corrected(transfer(one, other), character, options.corrections)
    recording, set_name = performer.recording, performer.marker_set
    follow, keeps = options.follow, options.corrections.keeps
    if follow == "poses" or (follow == "auto" and not alike(one, other)):
        scale = other.size() / one.size()
        poses = carry_poses(one, other, performer.motion, scale=scale)
        moved = Motion(character, *poses, recording.rate)
        scaled = recording.with_positions(
            scale * recording.positions, did=f"scaled by {scale:.3f} to the character's legs"
        )
        shown, points = points.on(character), pose_points(character)
        kept = pin_keeps(keeps, performer.motion, character, other.parts, scale)
        return _Job(scaled, shown, points, points_of(moved, points), poses, set_name, kept)
    start = carry_poses(one, other, performer.motion, points.rig(character))
    bends = find_bends(other, start[0])
    if options.fit_markers:
        observed, posture = _targets(recording, points), options.posture
        points = refine(character, points, observed, start, bends=bends, posture=posture)
        points = _corrected(points, character, options.corrections)
    targets = _targets(recording, points)
    kept = pin_keeps(keeps, performer.motion, character, other.parts)
    return _Job(recording, points.on(character), points, targets, start, set_name, kept, bends)


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
    pulls = Pulls(rig, job.targets, weights, stiffness, job.rest, firm_bounds(character))
    with watch.stage("solve", f"solving {recording.n_frames} frames"):
        poses, holds = let_go_and_settle(pulls, options.let_go, recording.rate, job.start)
        _check_posed(poses, recording)
        pulls = replace(pulls, weights=weights * holds)
        if job.bends is not None:
            rest, stiffness = bent_posture(job.bends, poses.rotations, job.rest, stiffness)
            pulls = replace(pulls, rest=rest, rest_weights=stiffness)
            poses = equilibrium(pulls, (poses.rotations, poses.root))
        motion = _as_motion(recording, character, poses)
    with watch.stage("contacts", "looking for feet on the ground"):
        standing = _standing(motion, options)
        pulls = _pinned(pulls, motion, standing, _held(job, options))
    if options.mode == "dynamics":
        with watch.stage("simulate", "simulating until every frame rests"):
            begin = motion.rotations[0], motion.root[0]
            poses = simulate(pulls, character, _masses(character, options), begin)
            motion = _as_motion(recording, motion.skeleton, poses)
    elif pulls.rig.tree.n_markers > len(points.names):
        with watch.stage("solve", "keeping the feet where they stand"):
            poses = equilibrium(pulls, (motion.rotations, motion.root))
            motion = _as_motion(recording, motion.skeleton, poses)
    errors = marker_errors(recording, motion)
    said = _said(motion, standing, int((~holds).sum()))
    return Solved(
        recording, motion, errors, job.marker_set, said, dict(watch.seconds), standing.contacts()
    )


def _as_motion(recording: Recording, skeleton: Skeleton, poses: PoseResult | Simulated) -> Motion:
    return Motion(
        skeleton,
        # markers that pull hard bend limits by 0.7°; the simulation knows ranges of axes only
        hold_within(skeleton, poses.rotations),
        poses.root,
        recording.rate,
        marks=recording.marks,
        held=poses.held,
        history=(*recording.history, f"mapped onto {skeleton.subject or 'a skeleton'}"),
        source=recording.source,
    )


def _standing(motion: Motion, options: MapOptions) -> Standing:
    """Feet and ground; nothing stands where the skeleton has no feet."""
    nothing = Standing((), (), Ground(0.0, np.zeros(2), np.zeros(2)))
    if not options.contacts:
        return nothing
    try:
        figure = figure_at_rest(motion.skeleton, options.corrections.bodies)
    except NotEnoughData:
        return nothing
    return find_standing(motion, find_soles(figure))


def _held(job: _Job, options: MapOptions) -> tuple[Pins, ...]:
    """What the user wants held or kept."""
    rate, n_frames = job.recording.rate, job.recording.n_frames
    holds = pin_holds(options.corrections.holds, job.character, n_frames, rate)
    return tuple(pins for pins in (holds, job.kept) if pins is not None and len(pins.bodies))


def _pinned(pulls: Pulls, motion: Motion, standing: Standing, hands: tuple[Pins, ...]) -> Pulls:
    """Pulled by the ground, by planted soles and by what the user names."""
    if standing.plants:
        return stand(pulls, standing, motion, hands)
    return with_pins(pulls, *hands) if hands else pulls


def _said(motion: Motion, standing: Standing, released: int) -> tuple[str, ...]:
    """What a user should know."""
    said = []
    if released:
        said.append(f"{released} marker samples were too far off and have let go")
    if standing.plants:
        slide, depth = slide_and_depth(motion, standing)
        said.append(
            f"planted soles slide {1e3 * slide:.2f} mm rms, at most {1e3 * max(depth, 0.0):.2f} mm "
            "below the ground"
        )
    if free := _unbounded(motion.skeleton):
        more = f" and {len(free) - 6} more" if len(free) > 6 else ""
        said.append(f"ranges of Euler angles are not enforced: {', '.join(free[:6])}{more}")
    return tuple(said)


def _unbounded(skeleton: Skeleton) -> list[str]:
    """Bodies whose joints have ranges of Euler angles, and no other limits."""
    limits = [(body.name, body.joint.limits) for body in skeleton.bodies]
    return [
        name
        for name, each in limits
        if each is not None and each.euler and each.hinge is None and each.cone is None
    ]


def _masses(character: Skeleton, options: MapOptions) -> Array:
    """Of the bodies; by volume where the character is no person."""
    try:
        parts = name_parts(character, options.corrections.bodies)
    except NotEnoughData:
        return body_masses(character, None)
    return body_masses(character, parts)


def _check_posed(poses: PoseResult, recording: Recording) -> None:
    if len(poses.held) == recording.n_frames:
        raise NotEnoughData("no frame shows three markers off a line; there is no pose to find")


def marker_errors(recording: Recording, motion: Motion) -> Array:
    """(n_frames, n_markers) distance from the skeleton's markers to the recording's; NaN where not
    seen or not carried."""
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
