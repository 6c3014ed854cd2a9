"""The FORCE_PLATFORM group: plates in the floor, and how their channels become forces.

Whatever the kind of plate, a matrix leads from its channels to force and moment; kind 1 alone tells
the centre of pressure itself. The group is often wrong about itself: origins with the wrong sign,
moments in another unit, forces on the plate instead of those on the person, "unloaded" frames with
somebody on the plate. What the loads show decides, and is said: they point up on who is carried,
and their centre lies on the plate.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from osteon.formats.c3d.parameters import C3dParameters
from osteon.formats.shared.units import METRES
from osteon.typing import Array
from osteon.values import Analog, ForcePlate, GroundReaction, plate_axes

CHANNEL_COUNTS = {1: 6, 2: 6, 3: 8, 4: 6, 5: 8, 6: 12, 7: 8}
"""Counts of channels by kind of plate, defined by C3D; 5 to 7 by Visual3D."""
ON_PLATE_SHARE = 0.8
"""Share of the loaded samples whose centre of pressure lies on the plate, at least, where the group
is right about itself. Chosen: the first and last moments of a step are noisy."""
EDGE_DISTANCE = 0.03
"""Metres beyond the plate's edge at which a centre of pressure counts as on it. Chosen: corners are
measured by hand."""
OFFSET_SHARE = 0.2
"""Share of the largest load that an unloaded plate shows at most. Chosen: amplifiers drift by less,
and who stands there weighs more."""

DRIFT_FORCE = 10.0
"""Newtons that an unloaded plate may show and nothing is taken off. Chosen: half of what tells that
somebody is on it."""
QUIET_FORCE = 3.0
"""Newtons about the least load that count as the same. Chosen: a few times the noise of plates."""
LOW_SHARE = 0.05
"""Share of the samples that may lie below the least load. Chosen: feet that leave make plates
swing."""


@dataclass(frozen=True)
class Platform:
    """One plate as the group tells it, in metres and our axes."""

    number: int
    kind: int
    channels: tuple[int, ...]
    corners: Array
    origin: Array
    """(3,) metres, as stated."""
    matrix: Array | None
    """(rows, channels) what calibrates the channels."""
    lengths: tuple[float, ...]
    """Metres of the unit that moments, or places, are told in: as stated, then others."""

    def readings(self) -> Iterator[ForcePlate]:
        """The plate by all that the group may mean, the most likely first."""
        origins = [-self.origin] if self.origin[2] > 0.0 else [self.origin]
        if np.abs(self.origin[:2]).max() > np.abs(self.origin[2]) and self.kind in (2, 4, 5):
            origins.append(
                -origins[0]
            )  # a treadmill's is off its middle, and may lie at its height
        for origin, length in itertools.product(origins, self.lengths):
            axes = plate_axes(self.corners)
            local = self._local(origin, length)
            gains = np.concatenate([axes @ local[:3], axes @ local[3:]])
            zeros = np.zeros(len(self.channels))
            yield ForcePlate(self.corners, self.channels, gains, zeros, self.kind == 1)

    def _local(self, origin: Array, length: float) -> Array:
        """(6, channels) to force and moment about the middle of the surface, plate's own axes."""
        if self.kind in (3, 6, 7):
            gains = _at_sensors(self.kind, np.abs(origin))
            gains = gains if self.matrix is None else gains @ self.matrix
            origin = np.array([0.0, 0.0, -abs(origin[2])])
        else:
            gains = np.eye(6) if self.matrix is None else self.matrix
            gains = gains * np.repeat([1.0, length], 3)[:, None]
        if self.kind == 1:
            gains[5, 5] = self.lengths[0]
            return gains
        return np.concatenate([gains[:3], gains[3:] + np.cross(gains[:3].T, origin).T])


def _at_sensors(kind: int, half: Array) -> Array:
    """(6, channels): force and moment by sensors at four corners, half a side from the middle."""
    if kind == 6:
        forces = np.tile(np.eye(3), 4)
        moments = np.concatenate([_moment(place) for place in _SIGNS * half[:2]], axis=1)
        return np.concatenate([forces, moments])
    x, y, z = np.eye(3)
    forces = np.stack([x, x, y, y, z, z, z, z], axis=1)
    pairs = [(0, 1), (0, -1), (1, 0), (-1, 0), *_SIGNS]  # x12 x34 y14 y23 z1 z2 z3 z4
    arms = [np.array([*(np.array(pair) * half[:2]), 0.0]) for pair in pairs]
    moments = np.stack([np.cross(arm, force) for arm, force in zip(arms, forces.T, strict=True)])
    return np.concatenate([forces, moments.T])


_SIGNS = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
"""Corners 1 to 4 of a plate along its own x and y."""


def _moment(place: Array) -> Array:
    """(3, 3) of a force at (x, y, 0)."""
    x, y = place
    return np.array([[0.0, 0.0, y], [0.0, 0.0, -x], [-y, x, 0.0]])


def read_plates(
    parameters: C3dParameters,
    analog: Analog | None,
    frames: tuple[int, int],
    metres: float,
    turn: Array,
    problems: list[str],
) -> tuple[ForcePlate, ...]:
    """Plates whose place and channels the file tells.

    Parameters
    ----------
    frames
        Number of the first frame, and how many there are.
    turn
        (3, 3) rotation to our world from the file's.
    """
    if analog is None:
        return ()
    platforms = list(_platforms(parameters, analog, metres, turn, problems))
    zeros = [_baseline(parameters, each, analog, frames, problems) for each in platforms]
    read = [
        [replace(reading, zeros=baseline) for reading in each.readings()]
        for each, baseline in zip(platforms, zeros, strict=True)
    ]
    signs = _signs([_heaviest(each[0], analog) for each in read])
    return tuple(
        _chosen(platform.number, [_against(reading, sign) for reading in each], analog, problems)
        for platform, each, sign in zip(platforms, read, signs, strict=True)
    )


def _platforms(
    parameters: C3dParameters, analog: Analog, metres: float, turn: Array, problems: list[str]
) -> Iterator[Platform]:
    used = parameters.count("FORCE_PLATFORM", "USED") or 0
    kinds, channels, corners, origins, matrices = (
        parameters.numbers("FORCE_PLATFORM", name)
        for name in ("TYPE", "CHANNEL", "CORNERS", "ORIGIN", "CAL_MATRIX")
    )
    n = min(used, len(kinds), len(corners) // 12, len(channels))
    if n < used:
        problems.append(f"{used} force plates are announced, {n} described")
    per_plate, per_matrix = len(channels) // max(n, 1), len(matrices) // max(n, 1)
    origins = np.concatenate([origins, np.zeros(max(0, 3 * n - len(origins)))])
    for i in range(n):
        own = channels[i * per_plate : (i + 1) * per_plate]
        platform = Platform(
            i + 1,
            int(kinds[i]) if abs(kinds[i]) < 100 else 0,
            tuple(int(c) - 1 for c in own[: CHANNEL_COUNTS.get(int(kinds[i]), 0)] if abs(c) < 1e6),
            metres * corners[12 * i : 12 * i + 12].reshape(4, 3) @ turn.T,
            metres * origins[3 * i : 3 * i + 3],
            None,
            (metres,),
        )
        wrong = _wrong(platform, len(analog.names))
        if wrong:
            problems.append(f"force plate {i + 1} {wrong}: its forces are left out")
            continue
        matrix = _matrix(platform, matrices[i * per_matrix : (i + 1) * per_matrix])
        yield replace(platform, matrix=matrix, lengths=_lengths(platform, analog, metres))


def _wrong(plate: Platform, n_channels: int) -> str:
    """Why a plate cannot be read; empty where it can."""
    if plate.kind not in CHANNEL_COUNTS:
        return f"is of type {plate.kind}, known are 1 to 7"
    if len(plate.channels) < CHANNEL_COUNTS[plate.kind]:
        return f"of type {plate.kind} has {len(plate.channels)} channels"
    if not all(0 <= channel < n_channels for channel in plate.channels):
        return f"names a channel that is not among the {n_channels} there are"
    if not (np.isfinite(plate_axes(plate.corners)).all() and np.isfinite(plate.origin).all()):
        return "has no place: its corners span no surface"
    if plate.kind in (3, 6, 7) and not np.abs(plate.origin[:2]).min() > 0.0:
        return "does not tell in its origin how far apart its sensors are"
    return ""


def _matrix(plate: Platform, numbers: Array) -> Array | None:
    """Calibration, stored column after column; None where the kind of plate has none."""
    n = CHANNEL_COUNTS[plate.kind]
    rows = {4: 6, 5: 6, 6: n, 7: n}.get(plate.kind, 0)
    if not rows or len(numbers) < rows * n or not np.abs(numbers[: rows * n]).max() > 0.0:
        return None
    return numbers[: rows * n].reshape(n, rows).T


def _lengths(plate: Platform, analog: Analog, metres: float) -> tuple[float, ...]:
    """The unit of moments: as their channel says, else the file's; then metres and millimetres."""
    said = analog.units[plate.channels[3]].lower().replace(" ", "")
    stated = next((METRES[unit] for unit in ("mm", "cm", "m") if said.endswith(unit)), metres)
    first = metres if plate.kind in (1, 4, 5) else stated
    return tuple(dict.fromkeys((first, stated, metres, 1.0, METRES["mm"])))


def _baseline(
    parameters: C3dParameters,
    plate: Platform,
    analog: Analog,
    frames: tuple[int, int],
    problems: list[str],
) -> Array:
    """(n_channels,) what the channels show while nobody is on the plate.

    The mean over the frames that ZERO names, unless somebody was on the plate; where the quiet part
    of the take is far from that, over this part.
    """
    values = analog.values[:, list(plate.channels)]
    reading = next(plate.readings())
    across = reading.normal @ reading.gains[:3]
    baseline = _mean(values[_named(parameters, frames, len(values))])
    if not _is_offset(np.dot(baseline, across), (values - baseline) @ across):
        baseline = np.zeros(len(plate.channels))
    quiet = _mean(values[_quiet((values - baseline) @ across)])
    offset = np.dot(quiet - baseline, across)
    if abs(offset) < DRIFT_FORCE or not _is_offset(offset, (values - quiet) @ across):
        return baseline
    told = f"{abs(offset):.0f} N while nobody is on it, which are taken off"
    problems.append(f"force plate {plate.number} shows {told}")
    return quiet


def _named(parameters: C3dParameters, frames: tuple[int, int], n_samples: int) -> slice:
    """Samples of the frames of ZERO; they count from 1 where the file's first is later."""
    named = parameters.numbers("FORCE_PLATFORM", "ZERO")[:2]
    if len(named) < 2 or not (np.abs(named) < 1e6).all() or named[1] < max(named[0], 1):
        return slice(0)
    first, n_frames = frames
    start, last = (int(number) - (first if number >= first > 0 else 1) for number in named)
    per_frame = n_samples // max(n_frames, 1)
    return slice(max(start, 0) * per_frame, (last + 1) * per_frame)


def _quiet(loads: Array) -> np.ndarray:
    """(n_samples,) which are near the least load, where the take stays there for long."""
    heaviest = np.nanmax(np.abs(loads - np.nanmedian(loads)), initial=0.0)
    levels = np.nanquantile(loads, (LOW_SHARE, 1.0 - LOW_SHARE)) if heaviest else [0.0, 0.0]
    least = min(levels, key=abs)
    near = np.abs(loads - least) < QUIET_FORCE
    return near if near.mean() > 2.0 * LOW_SHARE else np.zeros(len(loads), bool)


def _mean(values: Array) -> Array:
    """(n_channels,) over samples (n_samples, n_channels); NaN where there are none."""
    return values.mean(axis=0) if len(values) else np.full(values.shape[1], np.nan)


def _is_offset(offset: np.floating, loads: Array) -> bool:
    """Whether a plate may show so much without a load; not where it is NaN."""
    return bool(abs(offset) <= OFFSET_SHARE * np.nanmax(np.abs(loads), initial=0.0))


def _heaviest(plate: ForcePlate, analog: Analog) -> float:
    """The usual load across the plate while it is heavy; below 0 where it points down."""
    values = analog.values[:, list(plate.channels)] - plate.zeros
    loads = values @ (plate.normal @ plate.gains[:3])
    heavy = np.abs(loads) > 0.5 * np.nanmax(np.abs(loads), initial=0.0)
    return float(np.median(loads[heavy])) if heavy.any() else 0.0


def _signs(loads: list[float]) -> list[float]:
    """Per plate −1 where loads press on it, instead of carrying a person.

    Plates of little load follow the heaviest: who steps beside one may lift it.
    """
    most = max(loads, key=abs, default=0.0)
    return [
        -1.0 if (load if 2.0 * abs(load) > abs(most) else most) < 0.0 else 1.0 for load in loads
    ]


def _chosen(number: int, read: list[ForcePlate], analog: Analog, problems: list[str]) -> ForcePlate:
    """The reading that the loads bear out."""
    shares = [_on_plate(each, analog) for each in read]
    if np.isnan(shares[0]):  # nobody stepped on it
        return read[0]
    right = [i for i, share in enumerate(shares) if share >= ON_PLATE_SHARE]
    # moments in a unit too small by a thousand always end in the plate's middle
    best = max(right, key=lambda i: (_lever(read[i]), -i)) if right else 0
    if not right:
        aside = f"{100 * (1 - shares[0]):.0f} % of the loaded samples"
        problems.append(f"force plate {number}: the centre of pressure lies beside it in {aside}")
    elif best and shares[0] < ON_PLATE_SHARE:
        problems.append(
            f"force plate {number}: its origin or the unit of its moments is not as stated; "
            "read so that the centre of pressure lies on it"
        )
    return read[best]


def _against(plate: ForcePlate, sign: float) -> ForcePlate:
    """The plate with all forces the other way round where ``sign`` is −1."""
    if sign > 0.0:
        return plate
    gains = -plate.gains
    if plate.tells_centre:  # the place stays, the free moment turns round
        across = np.outer(plate.normal, plate.normal)
        gains[3:] = plate.gains[3:] - 2.0 * across @ plate.gains[3:]
    return replace(plate, gains=gains)


def _on_plate(plate: ForcePlate, analog: Analog) -> float:
    """Share of loaded samples whose centre of pressure lies on the plate; NaN without any."""
    reaction = plate.reaction(analog.values, analog.rate)
    if not reaction.loaded.any():
        return np.nan
    return float(_is_on(reaction).mean())


def _is_on(reaction: GroundReaction) -> np.ndarray:
    axes = plate_axes(reaction.corners)[:, :2]
    middle = reaction.corners.mean(axis=0)
    half = np.abs((reaction.corners - middle) @ axes).max(axis=0) + EDGE_DISTANCE
    return (np.abs((reaction.centre[reaction.loaded] - middle) @ axes) <= half).all(axis=1)


def _lever(plate: ForcePlate) -> float:
    return float(np.abs(plate.gains[3:]).max())
