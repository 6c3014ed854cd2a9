"""Joints that turn faster than their markers justify; prints what docs/numbers/animation.md says.

DATA=… python accuracy_pops.py [takes] [gaps] [long]
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import osteon as ost
from osteon.maths import quat, runs
from osteon.posing import (
    PoseOptions,
    PoseProblem,
    all_sudden_turns,
    compile_rig,
    limbs_of,
    solve,
    solve_frames,
    whole_take,
)
from osteon.values import Motion, Recording, Skeleton

DATA = Path(os.environ.get("DATA", Path(__file__).parents[2] / "shared" / "data"))
CMU = ("cmu-02/02_01.c3d", "cmu-01/01_01.c3d")
OTHERS = (
    "nimble-c3d/nick_freeform_001.c3d", "nimble-c3d/squat.c3d",
    "kineticstoolkit/kinematics_tennis_serve.c3d", "unlabelled-tactical/KneeltoProne01.c3d",
    "gaitalytics/treadmill_events.c3d",
    "clinical-gait-auckland/AUC/dynamic/CB_Dynamic0003.c3d",
    "clinical-gait-auckland/RCH/dynamic/RCH.08.c3d", "pycgm/Test_Files/Movement_trial.c3d",
    "nimble-opencap-s4/walking1.trc", "nimble-opencap-s4/squats1.trc", "nimble-opencap-s4/DJ1.trc",
    *(f"anatomical-truth/{name}/real.trc" for name in (
        "arnold-01-walk2", "arnold-02-walk2", "hamner-01-run200", "hamner-01-run400",
        "hamner-02-run200", "hamner-03-run400", "opencap-11-walking2", "opencap-2-squats1",
        "opencap-2-walking1", "opencap-4-DJ1", "opencap-4-squats1", "opencap-4-walking1")),
)  # fmt: skip
MISSING, GAP_FRAMES = 0.12, 40
"""Share of samples taken out of the CMU takes, in gaps of up to so many frames."""
DRAWS = 3
LONG_FRAMES = 10_000
AS_SOLVE = PoseOptions(loss="geman-mcclure")


def takes() -> None:
    """Every take frame by frame and smoothed, and frames alone as the kernel gives them."""
    heading()
    for name in (*CMU, *OTHERS):
        solved = ost.solve(DATA / name)[0]
        row(name, solved.recording.markers(), solved.skeleton)


def gaps() -> None:
    """CMU takes with samples taken out, on the skeleton of the whole take."""
    heading()
    for name in CMU:
        whole = ost.solve(DATA / name)[0]
        for seed in range(DRAWS):
            recording = with_gaps(whole.recording.markers(), seed)
            row(f"{name}, {100 * MISSING:.0f} % taken out, draw {seed}", recording, whole.skeleton)


def heading() -> None:
    print("| take | frames × Hz | frames alone: sudden turns, largest ° in 1/120 s | `solve` | "
          "`--smooth` | markers, mm rms: alone, `solve`, `--smooth` |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|")


def row(name: str, recording: Recording, skeleton: Skeleton) -> None:
    carried = [each for each in recording.names if each in skeleton.marker_names]
    rig, seen = compile_rig(skeleton, carried), recording.select(carried)
    alone = solve_frames(PoseProblem(rig, seen.positions), options=AS_SOLVE)
    motions = {"alone": Motion(skeleton, alone.rotations, alone.root, recording.rate)}
    errors = [alone.marker_error]
    for smooth in (False, True):
        found = solve(recording, skeleton, smooth=smooth, options=AS_SOLVE)
        motions["smooth" if smooth else "solve"] = found.motion
        errors.append(found.marker_error)
    told = [f"{len(all_sudden_turns(each))}, {largest(each):.0f}" for each in motions.values()]
    off = ", ".join(f"{1e3 * np.sqrt(np.nanmean(each**2)):.2f}" for each in errors)
    size = f"{recording.n_frames} × {recording.rate:.4g}"
    print(f"| {name} | {size} | {' | '.join(told)} | {off} |", flush=True)
    for how in ("solve", "smooth"):
        for line in explained(motions[how], seen):
            print(f"    {how}: {line}")


def largest(motion: Motion) -> float:
    turns = quat.angle(quat.between(motion.rotations[:-1], motion.rotations[1:]))
    return float(np.degrees(turns[:, 1:]).max()) * motion.rate / 120.0


def explained(motion: Motion, seen: Recording) -> Iterator[str]:
    """Each sudden turn with what the markers of its limb do there."""
    skeleton = motion.skeleton
    limbs = limbs_of(skeleton.parents)
    for turn in all_sudden_turns(motion):
        limb = limbs[skeleton.index(turn.body)]
        own = [
            marker.name
            for body in np.flatnonzero(limbs == limb)
            for marker in skeleton.bodies[body].markers
            if marker.name in seen.names
        ]
        paths = seen.select(own).positions
        around = paths[max(0, turn.first - 3) : turn.last + 3]
        jerk = np.linalg.norm(np.diff(around, 2, axis=0), axis=-1)
        told = [
            f"{marker} {1e3 * jerk[:, i].max():.0f} mm" if np.isfinite(jerk[:, i]).any()
            else f"{marker} unseen" for i, marker in enumerate(own)
        ]  # fmt: skip
        lost = [
            f"{marker} unseen {a}–{b}"
            for i, marker in enumerate(own)
            for a, b in runs(np.isnan(paths[:, i, 0]))
            if a <= turn.last + 1 and b >= turn.first - 2
        ]
        where = f"{turn.first}–{turn.last}" if turn.last > turn.first else str(turn.first)
        yield (
            f"{turn.body} {np.degrees(turn.angle):.0f}° at {where}; second differences of "
            f"markers: {', '.join(told)}; {'; '.join(lost) or 'all seen'}"
        )


def with_gaps(recording: Recording, seed: int) -> Recording:
    rng = np.random.default_rng(seed)
    positions = np.array(recording.positions)
    lost, wanted = 0, MISSING * positions.shape[0] * positions.shape[1]
    while lost < wanted:
        marker, first = rng.integers(positions.shape[1]), rng.integers(len(positions))
        span = slice(first, first + rng.integers(1, GAP_FRAMES + 1))
        lost += np.isfinite(positions[span, marker, 0]).sum()
        positions[span, marker] = np.nan
    return replace(recording, positions=positions)


def long() -> None:
    """10 000 frames, in windows as always and at once: 01_01 there and back again."""
    solved = ost.solve(DATA / CMU[1])[0]
    recording, skeleton = solved.recording.markers(), solved.skeleton
    n_frames = recording.n_frames
    there = np.concatenate([np.arange(n_frames), np.arange(n_frames - 2, 0, -1)])
    order = np.resize(there, LONG_FRAMES)
    positions = recording.positions[order]
    whole = replace(recording, positions=positions, residuals=None)
    smooth = solve(whole, skeleton, smooth=True, options=AS_SOLVE)
    n_turns = len(all_sudden_turns(smooth.motion))
    print(
        f"{len(order)} frames smoothed: {n_turns} sudden turns, "
        f"largest {largest(smooth.motion):.1f}° in 1/120 s, markers {1e3 * smooth.rms:.2f} mm"
    )
    seams = np.arange(whole_take.WINDOW_FRAMES, len(order), whole_take.WINDOW_FRAMES)
    rotations = smooth.motion.rotations
    steps = np.degrees(quat.angle(quat.between(rotations[:-1], rotations[1:])))[:, 1:].max(axis=1)
    print(f"largest turn at the {len(seams)} ends of windows: {steps[seams - 1].max():.2f}°")
    whole_take.WINDOW_FRAMES = len(order)
    at_once = solve(whole, skeleton, smooth=True, options=AS_SOLVE).motion.rotations
    off = np.degrees(quat.angle(quat.between(at_once, rotations))).max(axis=1)
    near = np.abs(np.arange(len(order))[:, None] - seams).min(axis=1) <= 3
    print(
        f"from the whole take at once: {off.max():.4f}° at most, median {np.median(off):.1e}; "
        f"within 3 frames of an end {off[near].max():.4f}°, median {np.median(off[near]):.1e}"
    )


SECTIONS = {"takes": takes, "gaps": gaps, "long": long}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or SECTIONS:
        print(f"[{chosen}]")
        SECTIONS[chosen]()
