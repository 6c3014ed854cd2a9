"""Recording + Skeleton → Motion, with the evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import NotEnoughData
from osteon.joint_limits import hold_within, make_bounds
from osteon.posing.per_frame import PoseOptions, Status, solve_frames
from osteon.posing.problem import PoseProblem
from osteon.posing.rig import compile_rig
from osteon.posing.steady_limbs import steady
from osteon.posing.whole_take import smooth_frames
from osteon.typing import Array, Indices, Share, unheard
from osteon.values import Motion, Recording, Skeleton

LIMIT_WEIGHT = 10.0
"""Pull back into the limits, square metres per square radian: beside 3 mm of marker error it leaves
about a hundredth of a degree, which is then cut off."""


def rms_per_marker(names: Sequence[str], errors: Array) -> dict[str, float]:
    """RMS of errors (n_frames, n_markers) of each marker that was seen, metres, worst first."""
    pairs = zip(names, errors.T, strict=True)
    known = [(name, rms) for name, of_one in pairs if (rms := rms_of_seen(of_one)) is not None]
    return dict(sorted(known, key=lambda pair: -pair[1]))


def rms_of_seen(errors: Array) -> float | None:
    """RMS of those that are not NaN; None where all are."""
    seen = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(seen**2))) if len(seen) else None


@dataclass(frozen=True, slots=True, eq=False)
class SolveResult:
    """The motion found, and how well it explains the recording."""

    motion: Motion
    marker_error: Array
    """(n_frames, n_markers) distance from model to data, metres; NaN = not seen."""
    marker_names: tuple[str, ...]
    status: Indices
    """(n_frames,) a Status each."""
    iterations: Indices
    """(n_frames,)"""

    @property
    def rms(self) -> float:
        """Over all markers and frames, metres."""
        return float(np.sqrt(np.nanmean(self.marker_error**2)))

    def rms_per_marker(self) -> dict[str, float]:
        return rms_per_marker(self.marker_names, self.marker_error)

    def __str__(self) -> str:
        worst, error = next(iter(self.rms_per_marker().items()))
        counts = ", ".join(
            f"{count} frames: {Status(code).text}"
            for code, count in enumerate(np.bincount(self.status))
            if count
        )
        return f"RMS {1e3 * self.rms:.1f} mm, worst marker {worst} {1e3 * error:.1f} mm; {counts}"


def solve(
    recording: Recording,
    skeleton: Skeleton,
    *,
    weights: ArrayLike = 1.0,
    smooth: bool = False,
    limits: str = "none",
    options: PoseOptions | None = None,
    progress: Share = unheard,
) -> SolveResult:
    """Fit a skeleton whose lengths and marker places are known to every frame of a recording.

    Markers that the skeleton does not carry are left out. Limbs that jump where their markers do
    not are held by time; see ``steady``. Frames with too little evidence repeat
    the nearest frame that has it and are listed in ``motion.held``.

    Parameters
    ----------
    weights : (n_markers,) or (n_frames, n_markers)
        Trust in each of the recording's markers that the skeleton carries, in their order.
    smooth
        Fit the whole clip instead of frame by frame; see ``smooth_frames``.
    limits : str
        Keep joints within the skeleton's limits: ``auto``, ``ellipse`` or ``zyz``, as in ``reach``.
    """
    carried = skeleton.marker_names
    names = tuple(name for name in recording.names if name in carried)
    if len(names) < 3:
        raise NotEnoughData(
            f"recording and skeleton share {len(names)} markers; a pose needs 3 or more"
        )
    bounds = None
    if limits != "none":
        bounds = make_bounds(skeleton, limits)._replace(weight=np.array([LIMIT_WEIGHT]))
    rig, observed = compile_rig(skeleton, names), recording.select(names).positions
    problem = PoseProblem(rig, observed, np.asarray(weights, dtype=float), bounds=bounds)
    result = solve_frames(problem, options=options, progress=progress)
    if len(result.held) == problem.n_frames:
        raise NotEnoughData("no frame shows three markers off a line; there is no pose to find")
    result = steady(problem, result, rate=recording.rate, options=options)
    found = smooth_frames(problem, result, rate=recording.rate) if smooth else result
    rotations = (
        found.rotations if bounds is None else hold_within(skeleton, found.rotations, limits)
    )
    motion = Motion(
        skeleton,
        rotations,
        found.root,
        recording.rate,
        marks=recording.marks,
        held=result.held,
        history=(*recording.history, "solved over the clip" if smooth else "solved frame by frame"),
        source=recording.source,
    )
    return SolveResult(motion, found.marker_error, names, result.status, result.iterations)
