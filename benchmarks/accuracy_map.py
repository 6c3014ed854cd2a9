"""How well mapping does; prints what docs/accuracy.md says. Sections: see the end.

Sections about recordings want the folder that holds them as DATA=… in the environment.
"""

import itertools
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import ossature as oss
from ossature import synth
from ossature.maths import quat
from ossature.pipeline.mapping import MapOptions, map_to
from ossature.pose.attach import figure_at_rest
from ossature.pose.contacts import find_soles, find_standing
from ossature.pose.pins import slide_and_depth
from ossature.synth.performers import scaled

SCRIPTS = {"walk": synth.walk, "kicks": synth.kicks}


def on_own(take, **options):
    recording = oss.Take(recordings=(take.recording,))
    return map_to(recording, take.truth.skeleton, options=MapOptions(**options))


def modes() -> None:
    print("| motion | angles apart, ° rms | joints apart, mm rms | worst, mm |")
    for name, script in SCRIPTS.items():
        take = synth.perform(synth.human(), script(3.0), noise=0.001, seed=1)
        still, moved = (on_own(take, mode=mode) for mode in ("equilibrium", "dynamics"))
        turn = np.degrees(quat.angle(quat.between(still.motion.rotations, moved.motion.rotations)))
        lag = 1e3 * np.linalg.norm(still.motion.world()[1] - moved.motion.world()[1], axis=-1)
        print(f"| {name} | {rms(turn):.3f} | {rms(lag):.3f} | {lag.max():.2f} |")


def own() -> None:
    print("| motion | noise in space, mm | markers, mm rms | with 5 % outliers, good ones |")
    for name, script in SCRIPTS.items():
        values = []
        for share in (0.0, 0.05):
            take = synth.perform(synth.human(), script(6.0), noise=0.001, outliers=share, seed=1)
            good = ~np.any(take.truth.outliers, axis=-1)
            values.append(1e3 * np.sqrt(np.nanmean(on_own(take).marker_error[good] ** 2)))
        print(f"| {name} | 1.73 | {values[0]:.2f} | {values[1]:.2f} |")


def feet() -> None:
    take = synth.perform(synth.human(), synth.walk(10.0), noise=0.001, seed=1)
    alone = on_own(take, contacts=False).motion.world()[1]
    for name, contacts in (("markers alone", False), ("with contacts", True)):
        solved = on_own(take, contacts=contacts)
        joints = solved.motion.world()[1]
        slides, free = [], np.ones((solved.motion.n_frames, 2), dtype=bool)
        for contact in take.truth.contacts:
            span = slice(contact.frames[0], contact.frames[1] + 1)
            ankle = joints[span, solved.skeleton.index(contact.body)]
            slides.append(np.linalg.norm(ankle - ankle.mean(axis=0), axis=-1))
            free[span, int(contact.body.startswith("right"))] = False
        columns = [solved.skeleton.index(f"{side}_foot") for side in ("left", "right")]
        off = np.linalg.norm((joints - take.truth.joints)[:, columns], axis=-1)[free]
        moved = np.linalg.norm((joints - alone)[:, columns], axis=-1)[free]
        print(
            f"| {name} | slide {1e3 * rms(np.concatenate(slides)):.3f} mm rms | foot in the air "
            f"{1e3 * off.mean():.2f} mm from the truth, at most {1e3 * off.max():.2f}; from the "
            f"markers' foot {1e3 * moved.mean():.2f} mm, at most {1e3 * moved.max():.2f} |"
        )
        print("  ", *solved.warnings)


def cmu() -> None:
    data = Path(os.environ["DATA"]) / "cmu-02"
    published = oss.read(data / "02_01.amc").motion()
    names = ["ltibia", "rtibia", "lfoot", "rfoot", "lradius", "rradius"]
    for contacts in (False, True):
        solved = map_to(data / "02_01.c3d", data / "02.asf", options=MapOptions(contacts=contacts))
        standing = find_standing(solved.motion, find_soles(figure_at_rest(solved.skeleton)))
        slide, depth = slide_and_depth(solved.motion, standing)
        columns = [solved.skeleton.index(name) for name in names]
        apart = solved.motion.world()[1][:, columns] - published.world()[1][:, columns]
        print(
            f"contacts {contacts}: slide {1e3 * slide:.2f} mm rms, depth {1e3 * depth:.2f} mm, "
            f"markers {1e3 * solved.rms:.2f} mm, published joints "
            f"{1e3 * np.linalg.norm(apart, axis=-1).mean():.1f} mm away"
        )


def gait() -> None:
    """Contacts on a treadmill against the file's own events, those of its inner strides."""
    (file,) = sorted((Path(os.environ["DATA"]) / "gaitalytics").glob("*.c3d"))[:1]
    solved = oss.solve(file)[0]
    rate, n_frames = solved.motion.rate, solved.motion.n_frames
    hits, misses, starts, ends = 0, 0, [], []
    for side in ("Left", "Right"):
        marks = sorted((m.time, m.label) for m in solved.motion.marks if m.context == side)
        said = np.zeros(n_frames, dtype=bool)
        own = [c.frames for c in solved.contacts if c.body == f"{side.lower()}_foot"]
        for first, last in own:
            said[first : last + 1] = True
        for (begin, what), (end, then) in itertools.pairwise(marks):
            span = slice(round(begin * rate), round(end * rate))
            stands = (what, then) == ("Foot Strike", "Foot Off")
            hits += int(said[span].sum()) if stands else 0
            misses += int((said[span] != stands).sum())
            if stands and (near := [c for c in own if c[0] < span.stop and c[1] > span.start]):
                starts.append(near[0][0] - span.start)
                ends.append(near[-1][1] - span.stop)
    print(
        f"F1 {2 * hits / (2 * hits + misses):.3f} frame by frame; starts {np.median(starts):+.0f}, "
        f"ends {np.median(ends):+.0f} frames from the events, {len(starts)} steps at {rate:g} Hz"
    )


def others() -> None:
    """The same walk on a child of 1.2 m and on long arms."""
    take = synth.perform(synth.human(), synth.walk(4.0), noise=0.001, seed=1)
    names = synth.human().names
    arms = {name: 1.6 if "arm" in name else 1.0 for name in names}
    for title, factors in (("child", dict.fromkeys(names, 1.2 / 1.75)), ("long arms", arms)):
        other = scaled(synth.human(), factors)
        bare = replace(other, bodies=tuple(replace(body, markers=()) for body in other.bodies))
        solved = map_to(oss.Take(recordings=(take.recording,)), bare)
        print(f"{title}: {len(solved.contacts)} contacts,", *solved.warnings)


def long() -> None:
    """135 s of 41 markers through the simulation."""
    for rate in (30.0, 120.0):
        script = synth.walk(135.0, rate=rate)
        take = synth.perform(synth.human(), script, noise=0.001, seed=1)
        begin = time.perf_counter()
        solved = on_own(take, mode="dynamics")
        seconds = time.perf_counter() - begin
        frames, worst = solved.motion.n_frames, 1e3 * np.nanmax(solved.marker_error)
        print(
            f"{rate:g} Hz: {frames} frames, {len(solved.motion.held)} held, markers "
            f"{1e3 * solved.rms:.2f} mm rms, largest {worst:.1f} mm, "
            f"{frames / seconds:.0f} frames/s"
        )


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


SECTIONS = {
    "modes": modes,
    "own": own,
    "feet": feet,
    "cmu": cmu,
    "gait": gait,
    "others": others,
    "long": long,
}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or SECTIONS:
        print(f"[{chosen}]")
        SECTIONS[chosen]()
