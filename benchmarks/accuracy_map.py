"""How well mapping does; prints what docs/numbers/accuracy.md says. Sections: see the end.

Sections about recordings want the folder that holds them as DATA=… in the environment.
"""

import itertools
import os
import sys
import time
from pathlib import Path

import numpy as np

import osteon as ost
from osteon import synth
from osteon.human import figure_at_rest
from osteon.maths import quat
from osteon.pipeline import MapOptions, map_to
from osteon.posing import find_soles, find_standing, sole_paths
from osteon.retargeting import Simulation, slide_and_depth
from osteon.synth import scaled

SCRIPTS = {"walk": synth.walk, "kicks": synth.kicks}


def on_own(take, **options):
    recording = ost.Take(recordings=(take.recording,))
    return map_to(recording, take.truth.skeleton, options=MapOptions(**options))


TAKES = {
    "CMU 02_01 → 02.asf": ("cmu-02/02_01.c3d", "cmu-02/02.asf"),
    "CMU 01_01 → 01.asf": ("cmu-01/01_01.c3d", "cmu-01/01.asf"),
    "CMU 02_01 → 01.asf": ("cmu-02/02_01.c3d", "cmu-01/01.asf"),
    "CMU 01_01 → average figure": ("cmu-01/01_01.c3d", "figure"),
    "opencap-2 walk → average figure": ("anatomical-truth/opencap-2-walking1/real.trc", "figure"),
    "opencap-4 drop jump → average figure": ("anatomical-truth/opencap-4-DJ1/real.trc", "figure"),
    "hamner-01 run → average figure": ("anatomical-truth/hamner-01-run200/real.trc", "figure"),
    "arnold-02 walk → average figure": ("anatomical-truth/arnold-02-walk2/real.trc", "figure"),
    "tennis serve → average figure": ("kineticstoolkit/kinematics_tennis_serve.c3d", "figure"),
}
"""Only the first two were looked at while the simulation learnt to stand on its own."""
OTHER_POSE = 10.0
"""Degrees between the two modes from which on a frame rests in another pose."""


def modes() -> None:
    print("| take | frames | ° rms | frames elsewhere | ° rms of the others | mm mean | f/s |")
    for name, script in SCRIPTS.items():
        take = synth.perform(synth.human(), script(3.0), noise=0.001, seed=1)
        compared(name, ost.Take(recordings=(take.recording,)), take.truth.skeleton)
    for name, (source, skeleton) in TAKES.items():
        data = Path(os.environ["DATA"])
        compared(name, data / source, skeleton if skeleton == "figure" else data / skeleton)


def compared(name: str, source, skeleton) -> None:
    """One take in both modes; frames per second of processor, without what both do alike."""
    began, whole = Simulation.__call__, [0.0]

    def timed(self, *given, **more):
        start = time.process_time()
        found = began(self, *given, **more)
        whole[0] += time.process_time() - start
        return found

    Simulation.__call__ = timed
    still, moved = (
        map_to(source, skeleton, options=MapOptions(mode=mode))
        for mode in ("equilibrium", "dynamics")
    )
    Simulation.__call__ = began
    turn = np.degrees(quat.angle(quat.between(still.motion.rotations, moved.motion.rotations)))
    apart = 1e3 * np.linalg.norm(still.motion.world()[1] - moved.motion.world()[1], axis=-1)
    other = turn.max(axis=1) > OTHER_POSE
    print(
        f"| {name} | {len(turn)} | {rms(turn):.3f} | {other.sum()} | {rms(turn[~other]):.3f} | "
        f"{apart.mean():.3f} | {len(turn) / whole[0]:.0f} |",
        flush=True,
    )


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
    published = ost.read(data / "02_01.amc").motion()
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
    solved = ost.solve(file)[0]
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


def figure() -> None:
    """Onto the average figure: do limbs stretch, does anything flip."""
    print(
        "| motion | markers, mm rms | largest turn a frame, ° | own rig's | limbs less straight "
        "than the own rig's where that is within 5°, ° mean (most), frames |"
    )
    scripts = SCRIPTS | {"exercise": synth.exercise}
    for name, script in scripts.items():
        seconds = 30.0 if name == "exercise" else 4.0
        for seed in range(3, 8):
            performer = synth.human(1.5 + 0.05 * seed, variation=0.05, seed=seed)
            take = synth.perform(performer, script(seconds), noise=0.001, seed=seed + 1)
            on_figure(f"{name} {seed}", ost.Take(recordings=(take.recording,)))
    for name in ("cmu-02/02_01.c3d", "cmu-01/01_01.c3d"):
        on_figure(name, ost.read(Path(os.environ["DATA"]) / name))


def on_figure(name: str, take: ost.Take) -> None:
    mapped, performer = map_to(take, "figure"), ost.solve(take)[0].motion
    balls = [body.name for body in mapped.skeleton.bodies if body.joint.kind == "ball"]
    shared = [part for part in balls if part in performer.skeleton.names]
    turns = [largest_turn(motion, shared) for motion in (mapped.motion, performer)]
    own, other = bends(performer), bends(mapped.motion)
    told = []
    for limb, straight in zip(("knees", "elbows"), np.split(own < 5.0, 2, axis=1), strict=True):
        columns = slice(0, 2) if limb == "knees" else slice(2, 4)
        if straight.any():
            short = (other - own)[:, columns][straight]
            told.append(f"{limb} {short.mean():.1f} ({short.max():.1f}), {straight.sum()}")
    nearest = np.abs(other - own)[np.argsort(own, axis=0)[: len(own) // 20], np.arange(4)]
    told.append(f"straightest twentieth {nearest.mean(axis=0).max():.1f}")
    print(
        f"| {name} | {1e3 * mapped.rms:.1f} | {turns[0]:.1f} | {turns[1]:.1f} | {'; '.join(told)} |"
    )


def largest_turn(motion: ost.Motion, names: list[str]) -> float:
    """Degrees that any of these joints turns from one frame to the next."""
    columns = [motion.skeleton.index(name) for name in names]
    rotations = motion.rotations[:, columns]
    return float(np.degrees(quat.angle(quat.between(rotations[:-1], rotations[1:]))).max())


def bends(motion: ost.Motion) -> np.ndarray:
    """(n_frames, 4) degrees by which knees and elbows are not straight."""
    parts, joints, found = figure_at_rest(motion.skeleton).parts, motion.world()[1], []
    for limb in (("thigh", "shin", "foot"), ("upper_arm", "forearm", "hand")):
        for side in ("left", "right"):
            bodies = [motion.skeleton.index(parts[f"{side}_{part}"]) for part in limb]
            upper, middle, lower = (joints[:, body] for body in bodies)
            found.append(quat.angle(quat.shortest(middle - upper, lower - middle)))
    return np.degrees(np.stack(found, axis=-1))


def motion() -> None:
    """Finished motions onto other characters."""
    print("| from → onto | knees and elbows off, ° rms (worst) | slide, mm a frame, 95 % | own |")
    walk, data = synth.act(synth.human(), synth.walk(3.0), seed=4).motion, Path(os.environ["DATA"])
    recorded = ost.read(data / "cmu-02" / "02_01.amc").motion()
    on_character("walk → its own skeleton", walk, synth.human())
    for size in (1.3, 0.7):
        on_character(f"→ {size} times", walk, grown(size, size))
    on_character("→ average figure", walk, "figure")
    on_character("→ thighs 1.15, shins 0.9", walk, grown(1.15, 0.9, 1.0))
    on_character("CMU 02_01 → its own skeleton", recorded, recorded.skeleton)
    for file in ("cmu-01/01.asf", "bvhtoolbox/test_freebvh.bvh"):
        on_character(f"→ {file}", recorded, data / file)


def grown(thigh: float, shin: float, rest: float | None = None) -> ost.Skeleton:
    """The synthetic performer with other bones; the rest as the thighs where not given."""
    sizes, figure = {"thigh": thigh, "shin": shin}, synth.human()
    usual = thigh if rest is None else rest
    return scaled(figure, {n: sizes.get(n.rpartition("_")[2], usual) for n in figure.names})


def on_character(name: str, source: ost.Motion, character: ost.Skeleton | Path | str) -> None:
    mapped = map_to(ost.Take(motions=(source,)), character).motion
    off = np.abs(bends(mapped) - bends(source))
    slides = [np.quantile(steps(source, each), 0.95) for each in (mapped, source)]
    print(
        f"| {name} | {np.sqrt(np.mean(off**2, axis=0)).max():.2f} ({off.max():.2f}) | "
        f"{slides[0]:.2f} | {slides[1]:.2f} |"
    )


def steps(source: ost.Motion, mapped: ost.Motion) -> np.ndarray:
    """Millimetres a frame that points of the soles move while the source's stand."""
    own, other = figure_at_rest(source.skeleton), figure_at_rest(mapped.skeleton)
    soles = {mapped.skeleton.names[sole.body]: sole for sole in find_soles(other)}
    feet = {own.parts[part]: other.parts[part] for part in ("left_foot", "right_foot")}
    found = []
    for plant in find_standing(source, find_soles(own)).plants:
        path = sole_paths(mapped, soles[feet[plant.body]])[:, plant.point, :2]
        stood = path[plant.frames[0] + 1 : plant.frames[1]]
        found.append(1e3 * np.linalg.norm(np.diff(stood, axis=0), axis=-1))
    return np.concatenate(found)


def long() -> None:
    """135 s of 41 markers through the simulation."""
    for rate in (30.0, 60.0, 120.0, 240.0):
        script = synth.walk(135.0, rate=rate)
        take = synth.perform(synth.human(), script, noise=0.001, seed=1)
        begin = time.process_time()
        solved = on_own(take, mode="dynamics")
        seconds = time.process_time() - begin
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
    "figure": figure,
    "motion": motion,
    "long": long,
}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or SECTIONS:
        print(f"[{chosen}]")
        SECTIONS[chosen]()
