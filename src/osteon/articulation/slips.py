"""Slippage: a sensor moves on its body and stays there. Which one, when, and how far.

Every joint of the slipped sensor steps at the same frame. A step is looked for in the residuals
(sharp against everything else the joint does), its frame is the best split in two means, and the
sensor is the one whose single shift explains most of all its joints' residuals. docs/methods.md §2.
"""

from dataclasses import dataclass, replace

import numpy as np

from osteon.articulation.centre import Link, normal_equations, residual_vectors
from osteon.articulation.statistics import JointStatistics
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies, Slip

WINDOWS = (0.12, 0.5, 2.0)
"""Seconds averaged on either side of a supposed step, shortest first. Chosen: 2 cm are sharp in the
first where noise is 1 mm; of a magnetic tracker's 7 mm and 1° the last, 120 frames at 60 Hz, leaves
less than 1 mm."""
SHARPEST_RATIO = 2.0
"""Ratio of a slip's step to what 99 of 100 other instants do. Chosen."""
SURE_RATIO = 2.0
"""Ratio to the size that would just stand out of one that is surely seen. Chosen: a slip disturbs
the fit of joints and skin, which hides a part of it."""
SMALLEST_SLIP = 0.005
"""Metres. Chosen: what slides by less is skin."""
LASTING_SECONDS = 0.6
"""Seconds that must lie before and after a slip, and one window of any length. Chosen: a step near
either end cannot be told from a passing disturbance."""
FINEST_STEP = 1e-4
"""Metres: residuals below this are all the same. Chosen."""
MOST_SLIPS = 8
"""Count. Chosen: a take with more slips needs another strap, not another fit."""


@dataclass(frozen=True, slots=True, eq=False)
class SlipStep:
    """A slip as it was found, before it is told."""

    body: int
    frame: int
    shift: Array
    """(3,) how far the sensor moved, in its own frame, metres."""


def find_slip(bodies: Bodies, links: list[Link]) -> SlipStep | None:
    """The clearest slip of the take, if there is one."""
    for half, margin in _windows(bodies):
        best, frame = 0.0, -1
        for link in links:
            steps = _steps(_in_frame(bodies, link, link.first), half, margin)
            peak = int(np.argmax(steps))
            if max(best, SMALLEST_SLIP) < steps[peak] and _stands_out(steps, peak, half):
                best, frame = float(steps[peak]), peak
        step = None if frame < 0 else _blame(bodies, links, frame, half, best)
        if step is not None:
            return step
    return None


def smallest_slips(bodies: Bodies, links: list[Link]) -> dict[str, float]:
    """From which size on a slip of each body would stand out, metres; none where the take is too
    short for any."""
    found: dict[str, float] = {}
    for half, margin in _windows(bodies):
        for link in links:
            steps = _steps(_in_frame(bodies, link, link.first), half, margin)
            steps = steps[steps > 0.0]
            if len(steps) <= 2 * half:
                continue
            size = SURE_RATIO * SHARPEST_RATIO * float(np.percentile(steps, 99))
            size = max(SMALLEST_SLIP, size)
            for body in (link.first, link.second):
                name = bodies.names[body]
                found[name] = min(size, found.get(name, np.inf))
    return found


def _windows(bodies: Bodies) -> list[tuple[int, int]]:
    """Frames that are averaged on either side of a step, and that must lie before and after it."""
    halves = [max(4, round(window * bodies.rate)) for window in WINDOWS]
    lasting = round(LASTING_SECONDS * bodies.rate)
    pairs = [(half, max(half, lasting)) for half in halves]
    return [(half, margin) for half, margin in pairs if bodies.n_frames >= 3 * margin]


def _steps(vectors: Array, half: int, margin: int) -> Array:
    """(n_frames,) length of the mean after each frame minus the mean before it; 0 near the ends."""
    seen = np.isfinite(vectors[:, 0])
    sums = np.cumsum(np.vstack([np.zeros(3), np.where(seen[:, None], vectors, 0.0)]), axis=0)
    counts = np.cumsum(np.concatenate([[0], seen]))
    steps = np.zeros(len(vectors))
    at = np.arange(margin, len(vectors) - margin)
    before, after = counts[at] - counts[at - half], counts[at + half] - counts[at]
    enough = (before >= half // 2) & (after >= half // 2)
    at, before, after = at[enough], before[enough, None], after[enough, None]
    change = (sums[at + half] - sums[at]) / after - (sums[at] - sums[at - half]) / before
    steps[at] = np.linalg.norm(change, axis=-1)
    return steps


def _stands_out(steps: Array, peak: int, half: int) -> bool:
    """Whether a step is sharp against all others, of which there must be some."""
    away = np.abs(np.arange(len(steps)) - peak) > 2 * half
    others = steps[away & (steps > 0.0)]
    return len(others) > 2 * half and bool(steps[peak] > SHARPEST_RATIO * np.percentile(others, 99))


def _in_frame(bodies: Bodies, link: Link, body: int) -> Array:
    """(n_frames, 3) residual of a joint in the frame of one of its bodies."""
    vectors = residual_vectors(bodies, (link.first, link.second), link.centres)
    return quat.rotate(quat.inverse(bodies.rotations[:, body]), vectors)


def _blame(
    bodies: Bodies, links: list[Link], frame: int, half: int, size: float
) -> SlipStep | None:
    """The body whose shift explains most, if the shift lasts as long as the take does."""
    suspects = {body for link in links for body in (link.first, link.second)}
    explained = {
        body: _explained(bodies, [k for k in links if body in (k.first, k.second)], body, frame)
        for body in suspects
    }
    body = max(explained, key=lambda suspect: explained[suspect][0])
    mine = [link for link in links if body in (link.first, link.second)]
    frame = _split(bodies, mine, body, frame, half)
    shift = _explained(bodies, mine, body, frame)[1]
    if not 0.5 * size < np.linalg.norm(shift) < 2.0 * size:
        return None
    return SlipStep(body, frame, shift)


def _explained(bodies: Bodies, links: list[Link], body: int, frame: int) -> tuple[float, Array]:
    """What one shift δ of the body's sensor at ``frame`` explains of all its joints' residuals.

    Returns the drop of Σ‖r‖² in units of each joint's own mean square, and the shift (3,).
    """
    curvature, slope = np.zeros((3, 3)), np.zeros(3)
    for link in links:
        other = link.second if body == link.first else link.first
        pair = bodies.select([bodies.names[body], bodies.names[other]])
        bend, pull, variance = _shift_equations(pair, frame)
        curvature += bend / variance
        slope += pull / variance
    shift = np.linalg.lstsq(curvature, slope, rcond=1e-9)[0]
    # the joint seems to move by −δ in a sensor that moved by δ
    return float(slope @ shift), -shift


def _shift_equations(pair: Bodies, frame: int) -> tuple[Array, Array, float]:
    """Normal equations (3×3, 3) of a shift of the first body after ``frame``, and the joint's
    mean square once it is allowed.

    After the frame ``c + δ`` stands for ``c``; the joint itself, c and l, is eliminated.
    """
    early, late = (
        normal_equations(JointStatistics.of(cut_take(pair, part)), np.array([0]), np.array([1]))
        for part in (slice(None, frame), slice(frame, None))
    )
    normal, side = early[0][0] + late[0][0], early[1][0] + late[1][0]
    square, count = early[2][0] + late[2][0], early[3][0] + late[3][0]
    shared, own = late[0][0][:, :3], late[0][0][:3, :3]
    solved = np.linalg.lstsq(normal, np.column_stack([shared, side]), rcond=1e-9)[0]
    bend = own - shared.T @ solved[:, :3]
    pull = late[1][0][:3] - shared.T @ solved[:, 3]
    left = square - side @ solved[:, 3] - pull @ np.linalg.lstsq(bend, pull, rcond=1e-9)[0]
    return bend, pull, max(float(left / count), FINEST_STEP**2)


def cut_take(bodies: Bodies, part: slice) -> Bodies:
    """The poses of some frames."""
    return replace(bodies, positions=bodies.positions[part], rotations=bodies.rotations[part])


def _split(bodies: Bodies, links: list[Link], body: int, frame: int, half: int) -> int:
    """The frame that best parts the residuals around ``frame`` in two means."""
    window = slice(max(0, frame - 2 * half), frame + 2 * half)
    stacked = np.concatenate([_in_frame(bodies, link, body)[window] for link in links], axis=1)
    stacked = stacked[:, np.isfinite(stacked).all(axis=0)]
    n = len(stacked)
    if stacked.shape[1] == 0:
        return frame
    sums = np.cumsum(stacked, axis=0)
    at = np.arange(2, n - 1)
    before, after = sums[at - 1], sums[-1] - sums[at - 1]
    between = np.sum(before**2, axis=1) / at + np.sum(after**2, axis=1) / (n - at)
    return int(window.start + at[np.argmax(between)])


def undo_slip(bodies: Bodies, step: SlipStep) -> Bodies:
    """The take as if the sensor had stayed where it was first."""
    positions = bodies.positions.copy()
    turned = quat.rotate(bodies.rotations[step.frame :, step.body], step.shift)
    positions[step.frame :, step.body] -= turned
    did = f"undid a slip of {bodies.names[step.body]} at frame {step.frame}"
    return replace(bodies, positions=positions, history=(*bodies.history, did))


def as_event(bodies: Bodies, step: SlipStep) -> Slip:
    return Slip(bodies.names[step.body], step.frame, float(np.linalg.norm(step.shift)))
