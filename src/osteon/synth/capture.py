"""A performer who wears markers or magnetic sensors, a script and a list of troubles → a recording,
and the truth about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.maths import quat
from osteon.synth import disturb
from osteon.synth.curves import stream
from osteon.synth.disturb import Jump, Slipped
from osteon.synth.motions import Act, Script, TrueContact, clasp_hands
from osteon.typing import Array, Mask
from osteon.values import (
    Attachment,
    Bodies,
    MarkerPlaces,
    Motion,
    Recording,
    Skeleton,
    Swap,
    frozen,
)


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the sensors sit, one on every body."""

    positions: Array
    """(n_bodies, 3) in the body's frame, from its origin."""
    rotations: Array
    """(n_bodies, 4) to the body's frame from the sensor's."""

    def __post_init__(self) -> None:
        positions = frozen(self.positions, ("n_bodies", 3), "sensor positions")
        rotations = frozen(self.rotations, (len(positions), 4), "sensor rotations")
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "rotations", rotations)


def placement(n_bodies: int, offset: float = 0.08, seed: int = 0) -> Placement:
    """Sensors anywhere: ``offset`` metres (standard deviation per axis), turned at random."""
    rng = stream(seed, "placement")
    turns = quat.normalise(rng.standard_normal((n_bodies, 4)))
    return Placement(offset * rng.standard_normal((n_bodies, 3)), turns)


def markers(motion: Motion, displaced: Array | None = None) -> Recording:
    """The skeleton's markers as perfect cameras see them.

    Parameters
    ----------
    displaced : (n_frames, n_markers, 3), optional
        How far each marker is from its place, in its body's frame.
    """
    names, wearers, places = worn_markers(motion)
    local = places if displaced is None else places + displaced
    positions = motion.points(wearers, local)
    return Recording(positions, names, motion.rate, subject=motion.skeleton.subject)


def sensors(
    motion: Motion, worn: Placement, displaced: Array | None = None, turned: Array | None = None
) -> Bodies:
    """The sensors as a perfect tracker sees them, named like the bodies that wear them.

    Parameters
    ----------
    displaced : (n_frames, n_bodies, 3), optional
        How far each sensor is from its place, in its body's frame.
    turned : (n_frames, n_bodies, 4), optional
        How far each sensor is turned on its body, in its body's frame.
    """
    local = worn.positions - motion.skeleton.joints_in_bodies
    local = local if displaced is None else local + displaced
    on_body = worn.rotations if turned is None else quat.multiply(turned, worn.rotations)
    q_world, p_world = motion.world()
    positions = p_world + quat.rotate(q_world, local)
    rotations = quat.multiply(q_world, on_body)
    skeleton = motion.skeleton
    return Bodies(positions, rotations, skeleton.names, motion.rate, subject=skeleton.subject)


def worn_markers(motion: Motion) -> MarkerPlaces:
    """Return every marker of the performer, who must wear some."""
    worn = motion.skeleton.marker_places()
    if not worn.names:
        raise NotEnoughData(f"performer {motion.skeleton.subject!r} wears no markers")
    return worn


@dataclass(frozen=True, eq=False)
class Truth:
    """Everything that a solver would like to know. Arrays are read-only."""

    motion: Motion
    contacts: tuple[TrueContact, ...]
    """Feet that stand still."""
    clasps: tuple[Attachment, ...]
    """Hands that hold one another."""
    displaced: Array
    """(n_frames, n_worn, 3) how far each marker or sensor is from its place on the body, in the
    body's frame: soft tissue, looseness and slips together, metres."""
    missing: Mask
    """(n_frames, n_worn) whether the sample was taken away."""
    seed: int
    noise: float = 0.0
    """Standard deviation per axis, metres; of moving sensors up to ``moving_noise``."""
    moving_noise: float = 0.0
    orientation_noise: float = 0.0
    """Standard deviation per axis, radians."""
    scale: float = 1.0
    """By which every coordinate was multiplied."""
    slips: tuple[Slipped, ...] = ()
    swaps: tuple[Swap, ...] = ()
    jumps: tuple[Jump, ...] = ()
    outliers: Array | None = None
    """(n_frames, n_markers, 3) shift of single samples in the world; zero for the good ones."""
    placement: Placement | None = None
    """Where sensors sit; None for markers, whose places are the skeleton's."""
    turned: Array | None = None
    """(n_frames, n_bodies, 4) how far sensors are turned from their placement, in the body's
    frame; None for markers."""

    def __post_init__(self) -> None:
        for array in (self.displaced, self.missing, self.outliers, self.turned):
            if array is not None:
                array.flags.writeable = False

    @property
    def skeleton(self) -> Skeleton:
        return self.motion.skeleton

    @property
    def joints(self) -> Array:
        """(n_frames, n_bodies, 3) every joint in the world."""
        return self.motion.world()[1]


@dataclass(frozen=True, eq=False)
class Performance:
    """What the cameras saw, and what was true."""

    recording: Recording
    truth: Truth


@dataclass(frozen=True, eq=False)
class SensorPerformance:
    """What the magnetic tracker saw, and what was true."""

    bodies: Bodies
    truth: Truth


def act(
    performer: Skeleton, script: Script, *, seed: int = 0, clasp: tuple[int, int] | None = None
) -> Act:
    """The undisturbed motion, with hands clasped from the first to the last frame of ``clasp``."""
    done = script(performer, stream(seed, "motion"))
    return done if clasp is None else clasp_hands(done, clasp, seed)


def perform(
    performer: Skeleton,
    script: Script,
    *,
    seed: int = 0,
    noise: float = 0.0,
    skin: float = 0.0,
    suit: int | None = None,
    slips: Sequence[Slipped] = (),
    scale: float = 1.0,
    outliers: float = 0.0,
    furthest: float = 0.5,
    swaps: int = 0,
    gaps: float = 0.0,
    clasp: tuple[int, int] | None = None,
) -> Performance:
    """Record a performer's markers.

    Equal arguments give equal bits, and each trouble has random numbers of its own: switching one
    on leaves the others as they were (gaps keep clear of swaps).

    Parameters
    ----------
    noise : float
        White noise, standard deviation per axis, metres.
    skin : float
        How far skin slides on the bones: 1 as the median person's, whose thigh's does by 9 mm rms.
    suit : int
        Whose skin, and where on it things are worn: in takes with one number equal postures shift
        it equally. Another in every take (``seed``) where not given.
    slips
        Markers that move on their body and stay there.
    scale : float
        Multiplies every coordinate; 0.94 is the tracker of [000].
    outliers : float
        Share of samples that are up to ``furthest`` metres elsewhere.
    swaps : int
        How often two neighbours exchange labels.
    gaps : float
        Share of samples that are missing.
    clasp
        First and last frame of clasped hands.
    """
    _check_sizes(noise=noise, skin=skin, furthest=furthest)
    done = act(performer, script, seed=seed, clasp=clasp)
    motion = done.motion
    names, wearers, places = worn_markers(motion)
    displaced = disturb.slip(motion.n_frames, names, slips) + disturb.soft_tissue(
        motion, wearers, places, skin, _flesh(seed, suit)
    )
    recording = markers(motion, displaced)
    shape = recording.positions.shape
    astray = disturb.choose_outliers(shape[:2], outliers, furthest, stream(seed, "outliers"))
    white = noise * stream(seed, "noise").standard_normal(shape)
    positions = scale * recording.positions + white + astray
    exchanged = disturb.choose_swaps(recording.positions, names, swaps, stream(seed, "swaps"))
    positions = disturb.swap(positions, names, exchanged)
    missing = disturb.choose_gaps(
        shape[:2], gaps, motion.rate, _near(exchanged, names, shape[:2]), stream(seed, "gaps")
    )
    positions[missing] = np.nan
    truth = Truth(
        motion,
        done.contacts,
        done.clasps,
        displaced,
        missing,
        seed,
        noise=noise,
        scale=scale,
        slips=tuple(slips),
        swaps=exchanged,
        outliers=astray,
    )
    said = f"generated: {', '.join(motion.history)}, seed {seed}"
    return Performance(replace(recording, positions=positions, history=(said,)), truth)


def sense(
    performer: Skeleton,
    script: Script,
    *,
    seed: int = 0,
    offset: float = 0.08,
    worn: Placement | None = None,
    noise: float = 0.0,
    moving_noise: float | None = None,
    orientation_noise: float = 0.0,
    skin: float = 0.0,
    suit: int | None = None,
    wobble: Mapping[str, tuple[float, float]] | None = None,
    slips: Sequence[Slipped] = (),
    scale: float = 1.0,
    jumps: int = 0,
    jump_size: float = 0.64,
    gaps: float = 0.0,
    clasp: tuple[int, int] | None = None,
) -> SensorPerformance:
    """Track a performer's bodies with one magnetic sensor each.

    As ``perform``, and:

    Parameters
    ----------
    offset : float
        How far from the joint sensors are strapped on, standard deviation per axis, metres.
    worn
        Sensors placed by hand, or as in another take; instead of ``offset``.
    moving_noise : float
        Noise at 0.5 m/s and above, metres; as ``noise`` if not given.
    orientation_noise : float
        Standard deviation per axis, radians.
    skin : float
        Also turns the sensors, by one radian per 0.1 m.
    wobble
        Body → (metres, radians): sensors that hang loose.
    jumps : int
        How often a sensor jumps by ``jump_size`` metres and comes back.
    """
    moving = noise if moving_noise is None else moving_noise
    _check_sizes(skin=skin, offset=offset, noise=noise, moving_noise=moving)
    _check_sizes(orientation_noise=orientation_noise)
    done = act(performer, script, seed=seed, clasp=clasp)
    motion, names = done.motion, performer.names
    worn = placement(len(names), offset, seed) if worn is None else worn
    displaced, turned = _loosely(motion, worn, skin, _flesh(seed, suit), wobble or {}, seed)
    displaced = displaced + disturb.slip(motion.n_frames, names, slips, "body")
    tracked = sensors(motion, worn, displaced, turned)
    shape = tracked.positions.shape
    level = disturb.noise_level(tracked.positions, motion.rate, noise, moving)
    leaps = disturb.choose_jumps(shape[0], names, jumps, jump_size, stream(seed, "jumps"))
    white = level * stream(seed, "noise").standard_normal(shape)
    positions = scale * tracked.positions + white + disturb.jump(shape[0], names, leaps)
    shaken = orientation_noise * stream(seed, "orientation noise").standard_normal(shape)
    none = np.zeros(shape[:2], dtype=bool)
    missing = disturb.choose_gaps(shape[:2], gaps, motion.rate, none, stream(seed, "gaps"))
    positions[missing] = np.nan
    truth = Truth(
        motion,
        done.contacts,
        done.clasps,
        displaced,
        missing,
        seed,
        scale=scale,
        slips=tuple(slips),
        jumps=leaps,
        placement=worn,
        turned=turned,
        noise=noise,
        moving_noise=moving,
        orientation_noise=orientation_noise,
    )
    rotations = quat.multiply(tracked.rotations, quat.exp(shaken))
    said = (f"generated: {', '.join(motion.history)}, seed {seed}",)
    bodies = replace(tracked, positions=positions, rotations=rotations, history=said)
    return SensorPerformance(bodies, truth)


def _loosely(
    motion: Motion,
    worn: Placement,
    skin: float,
    flesh: np.random.Generator,
    loose: Mapping[str, tuple[float, float]],
    seed: int,
) -> tuple[Array, Array]:
    """Shift (n_frames, n_bodies, 3) and turn (n_frames, n_bodies, 4) of sensors on flesh."""
    bodies = motion.skeleton.bodies
    places = worn.positions - motion.skeleton.joints_in_bodies
    slid, leant = (
        disturb.soft_tissue(motion, range(len(bodies)), places, skin, flesh) for _ in range(2)
    )
    swung, twisted = disturb.wobble(motion, loose, stream(seed, "wobble"))
    turned = quat.multiply(quat.exp(twisted), quat.exp(leant / disturb.SOFT_LEVER))
    return slid + swung, turned


def _flesh(seed: int, suit: int | None) -> np.random.Generator:
    return stream(seed if suit is None else suit, "soft tissue")


def _near(swaps: Sequence[Swap], names: Sequence[str], shape: tuple[int, int]) -> Mask:
    """(n_frames, n_markers) samples that are swapped, or within five frames of it."""
    near = np.zeros(shape, dtype=bool)
    for each in swaps:
        pair = [names.index(name) for name in each.markers]
        near[max(each.frames[0] - 5, 0) : each.frames[1] + 6, pair] = True
    return near


def _check_sizes(**sizes: float) -> None:
    for name, size in sizes.items():
        if not (np.isfinite(size) and size >= 0.0):
            raise BadValue(f"{name} must be a number of at least 0, got {size}")
