"""How accurate joints and hierarchies are, on data whose truth is known.

    python benchmarks/accuracy_joints.py             all sections
    python benchmarks/accuracy_joints.py walk events some of them
    python benchmarks/accuracy_joints.py functional FOLDER
                                                     right_hip.c3d and right_knee.c3d of biobuddy

Each section replaces its own in docs/numbers/accuracy.md.
"""

import sys
from dataclasses import replace
from pathlib import Path

import accuracy_page as page
import numpy as np
import skin_models

import osteon as ost
from osteon import synth
from osteon.articulation import (
    JointStatistics,
    PoseNoise,
    cluster_noise,
    fit_pairs,
    in_doubt,
    joints,
    limb_table,
    segment,
    solve,
    track,
)
from osteon.articulation.finish import noise_covariance
from osteon.articulation.refine import refine_hinge, refine_joint
from osteon.maths import quat
from osteon.values import Attachment, Bodies, Connection, Joints, Skeleton, Slip

Row = list[object]

SIDES = ("left", "right")
DEGREE = np.radians(1.0)
MAGNETIC = {"noise": 0.004, "moving_noise": 0.007, "orientation_noise": DEGREE}
QUIET = {"noise": 0.001, "orientation_noise": 0.3 * DEGREE}


def tree(skeleton: Skeleton) -> set[frozenset[str]]:
    return {frozenset((body.name, body.parent)) for body in skeleton.bodies if body.parent}


def centre_errors(found: Joints, worn: synth.SensorPerformance) -> tuple[np.ndarray, np.ndarray]:
    """Errors (n_joints, 6) of [in child, in parent], metres, and their covariances."""
    skeleton, place = worn.truth.skeleton, worn.truth.placement
    errors, covariances = [], []
    for link in found.connections:
        up = skeleton.body(link.child).parent == link.parent
        child = link.child if up else link.parent
        if not up and skeleton.body(child).parent != link.child:
            continue
        ends = {child: skeleton.body(child).joint.in_body}
        ends[link.parent if up else link.child] = skeleton.body(child).joint.in_parent
        truth = [
            _in_sensor(place, skeleton, name, ends[name]) for name in (link.child, link.parent)
        ]
        errors.append(np.concatenate([link.in_child, link.in_parent]) - np.concatenate(truth))
        covariances.append(link.covariance)
    return np.array(errors), np.array(covariances)


def _in_sensor(place, skeleton: Skeleton, name: str, point: np.ndarray) -> np.ndarray:
    index = skeleton.index(name)
    away = point - place.positions[index]
    return quat.rotate(quat.inverse(place.rotations[index]), away)


def row(label: str, values, unit: str, digits: int = 2) -> Row:
    """Median, 95th percentile and worst of several errors, and how many they are."""
    values = np.asarray(values, dtype=float)
    sizes = (np.median(values), np.percentile(values, 95), values.max())
    return [label, *(f"{size:.{digits}f}" for size in sizes), unit, len(values)]


def count(label: str, right: int, seeds: int) -> Row:
    return [label, right, seeds]


def exact(seeds: int = 10) -> tuple[list[Row], list[Row]]:
    worst, right = [], 0
    for seed in range(seeds):
        worn = synth.sense(synth.human(), synth.exercise(20, rate=60, together=True), seed=seed)
        found = joints(worn.bodies)
        right += tree(found.skeleton()) == tree(worn.truth.skeleton)
        known = [link.kind == "ball" for link in found.connections]
        worst.append(np.abs(centre_errors(found, worn)[0][known]).max())
    label = f"human of 48 degrees of freedom, no noise (worst joint {max(worst):.0e} m)"
    return [], [count(label, right, seeds)]


def linkage(seeds: int = 5) -> tuple[list[Row], list[Row]]:
    names = {
        "torso:head:left_upper_arm": "neck–left shoulder",
        "torso:head:right_upper_arm": "neck–right shoulder",
        "torso:left_upper_arm:right_upper_arm": "between shoulders",
        "right_upper_arm": "right upper arm",
        "left_upper_arm": "left upper arm",
    }
    measured = {limb: synth.TABLE_1[label] for limb, label in names.items()}
    errors, right = [], 0
    for seed in range(seeds):
        for take in range(6):
            worn = synth.placement(6, seed=100 * seed + (take == 5))
            script = synth.exercise(45, rate=60, together=True)
            sensed = synth.sense(
                synth.linkage(), script, seed=10 * seed + take, worn=worn, **MAGNETIC
            )
            found = joints(sensed.bodies)
            right += tree(found.skeleton()) == tree(sensed.truth.skeleton)
            table = limb_table(found, measured)
            errors += [abs(limb.difference) for limb in table if limb.difference is not None]
    mean = 1000 * np.mean(errors)
    label = f"length of Table 1's linkage, 4 / 7 mm and 1° noise, 45 s; mean {mean:.2f} mm"
    tally = count("linkage, sensors moved before every sixth take", right, 6 * seeds)
    return [row(label, 1000 * np.array(errors), "mm")], [tally]


def clusters(seen: synth.Performance) -> tuple[Bodies, PoseNoise]:
    """The bodies of a performance, each from its own markers."""
    groups = [[marker.name for marker in body.markers] for body in seen.truth.skeleton.bodies]
    tracked = track(seen.recording, groups)
    return tracked.bodies, cluster_noise(tracked)


def ball(seeds: int = 30) -> tuple[list[Row], list[Row]]:
    rows = []
    for reach in (10, 20, 45):
        refined, plain, said = [], [], []
        for seed in range(seeds):
            script = synth.exercise(10, rate=100, together=True)
            seen = synth.perform(synth.ball(reach * DEGREE), script, seed=seed, noise=0.001)
            bodies, noise = clusters(seen)
            found = joints(bodies, noise=noise)
            link = found.connections[0]
            refined.append(_error(seen, bodies, link.parent, link.in_parent))
            said.append(link.ellipsoid[0][0])
            fits = fit_pairs(JointStatistics.of(bodies))
            plain.append(_error(seen, bodies, bodies.names[0], fits.centres[0, :3]))
        label = f"ball joint ±{reach}°, 1 mm markers"
        rows += [
            row(f"{label}: plain fit (SCoRE)", 1000 * np.array(plain), "mm"),
            row(f"{label}: ours", 1000 * np.array(refined), "mm"),
            row("… largest standard deviation it states", 1000 * np.array(said), "mm"),
        ]
    return rows, []


def _error(seen: synth.Performance, bodies, name: str, point) -> float:
    """Distance between a found joint, carried by its body, and the true one, mean vector."""
    index = bodies.index(name)
    world = quat.rotate(bodies.rotations[:, index], point) + bodies.positions[:, index]
    apart = world - seen.truth.joints[:, 1]
    return float(np.linalg.norm(np.nanmean(_turn_back(bodies, index, apart), axis=0)))


def _turn_back(bodies, index: int, vectors):
    return quat.rotate(quat.inverse(bodies.rotations[:, index]), vectors)


def hinge(seeds: int = 40) -> tuple[list[Row], list[Row]]:
    tilt, off = [], []
    for seed in range(seeds):
        script = synth.exercise(10, rate=100, together=True)
        seen = synth.perform(synth.hinge(), script, seed=seed, noise=0.001)
        bodies, noise = clusters(seen)
        link = joints(bodies, noise=noise).connections[0]
        if link.axis_in_parent is None:
            tilt.append(90.0)
            continue
        rotations, places = seen.truth.motion.world()
        axis = quat.rotate(rotations[:, 0], np.array([1.0, 0.0, 0.0]))
        index = bodies.index(link.parent)
        found = quat.rotate(bodies.rotations[:, index], np.asarray(link.axis_in_parent))
        mean = np.mean(quat.rotate(quat.inverse(rotations[:, 0]), found), axis=0)
        tilt.append(np.degrees(np.arctan2(np.linalg.norm(mean[1:]), abs(mean[0]))))
        world = quat.rotate(bodies.rotations[:, index], link.in_parent) + bodies.positions[:, index]
        apart = world - places[:, 1]
        apart = apart - np.sum(apart * axis, axis=-1, keepdims=True) * axis
        off.append(np.linalg.norm(np.mean(_turn_back(bodies, index, apart), axis=0)))
    return [
        row("hinge of 90°, 1 mm markers: direction of the axis", tilt, "°"),
        row("hinge of 90°, distance from the axis", 1000 * np.array(off), "mm"),
    ], []


def walk(seeds: int = 100) -> str:
    """The paper's failing walk: only the pelvis pack loose, and every other sensor by 2 mm / 1°."""
    rows = []
    for others in (None, (0.002, DEGREE)):
        for off, mm, degrees in ((8, 8, 3), (15, 15, 6), (3, 8, 3), (3, 15, 6)):
            loose = {} if others is None else dict.fromkeys(synth.human().names, others)
            loose["pelvis"] = (mm / 1000, degrees * DEGREE)
            label = f"±{off}°, {mm} mm / {degrees}°"
            told = "tight" if others is None else "2 mm / 1°"
            rows.append([label, told, *_walks(off, loose, seeds)])
            print(rows[-1], flush=True)
    head = ["hips off axis, pelvis pack", "others", "whole tree", "both hips"]
    head += ["certain", "in doubt", "edges"]
    return f"""\
The walk that failed in [000], {seeds} seeds each. *Certain* counts the takes in which every
edge that is not called ambiguous is right; *in doubt* the takes with at least one such edge, and
their mean number out of 16.

{page.table(head, rows)}

In the first four rows only the pelvis pack is loose; in the others every other sensor wobbles by
2 mm / 1° as well. Wrong trees at ±8° then hang a hand on the upper arm or a collar bone on the
other: those joints turn by less than 3° off axis, the sensors by 1°, and the edge is called
ambiguous every time. At ±3° the take is called ambiguous, but not each of its wrong edges is:
there, do not trust the rest of such a tree either."""


def _walks(off: float, loose: dict[str, tuple[float, float]], seeds: int) -> Row:
    performer = synth.human()
    truth = tree(performer)
    right, hips, certain, doubtful, doubts = 0, 0, 0, 0, []
    for seed in range(seeds):
        script = synth.swing_walk(25, off_axis=off * DEGREE, rate=60)
        worn = synth.sense(performer, script, seed=seed, wobble=loose, **QUIET)
        solution = solve(worn.bodies)
        names, fits = worn.bodies.names, solution.fits
        found = [
            frozenset((names[fits.first[k]], names[fits.second[k]])) for k in solution.tree.edges
        ]
        doubt = in_doubt(solution.tree, fits)
        right += set(found) == truth
        hips += all(frozenset(("pelvis", f"{side}_thigh")) in found for side in SIDES)
        certain += all(edge in truth for edge, open_ in zip(found, doubt, strict=True) if not open_)
        doubtful += bool(doubt.any())
        doubts.append(doubt.sum())
    return [right, hips, certain, doubtful, f"{np.mean(doubts):.1f}"]


def slip(noise: dict[str, float], told: str, seeds: int = 30) -> list[Row]:
    performer = synth.human()
    named, late, false = 0, [], 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        body = performer.names[rng.integers(len(performer.names))]
        frame = int(rng.integers(300, 900))
        way = rng.normal(size=3)
        shift = tuple(0.02 * way / np.linalg.norm(way))
        script = synth.exercise(20, rate=60, together=bool(seed % 2))
        slipped = (synth.Slipped(body, frame, shift),)
        worn = synth.sense(performer, script, seed=seed, slips=slipped, **noise)
        events = [e for e in joints(worn.bodies).events if isinstance(e, Slip)]
        hit = [e for e in events if e.body == body and abs(e.frame - frame) <= 15]
        named += len(hit) == 1 and len(events) == 1
        late += [abs(e.frame - frame) for e in hit]
        clean = synth.sense(performer, script, seed=seed, **noise)
        false += any(isinstance(e, Slip) for e in joints(clean.bodies).events)
    label = f"2 cm slip, {told}: right sensor, within 15 frames (in fact {max(late)}), nothing else"
    return [count(label, named, seeds), count(f"clean take, {told}: no slip", seeds - false, seeds)]


def flip(seeds: int = 30) -> tuple[list[Row], list[Row]]:
    right, errors = 0, []
    for seed in range(seeds):
        script = synth.exercise(20, rate=60, together=True)
        worn = synth.sense(synth.human(), script, seed=seed, jumps=3, **QUIET)
        found = joints(worn.bodies)
        right += tree(found.skeleton()) == tree(worn.truth.skeleton)
        known = [link.kind == "ball" for link in found.connections]
        errors.append(np.abs(centre_errors(found, worn)[0][known]).max())
    label = "human with three 64 cm flips: worst coordinate of a take"
    return [row(label, 1000 * np.array(errors), "mm")], [count("three flips", right, seeds)]


def clasp(seeds: int = 80) -> list[Row]:
    """The performer's wrists are stiff while clasped, so forearm and hand move as one."""
    part, whole, named = 0, 0, 0
    hands = frozenset(("left_hand", "right_hand"))
    for seed in range(seeds):
        script = synth.exercise(20, rate=60, together=True)
        worn = synth.sense(synth.human(), script, seed=seed, clasp=(400, 900), **QUIET)
        held = [e for e in joints(worn.bodies).events if isinstance(e, Attachment)]
        part += len(held) == 1 and frozenset(held[0].bodies) == hands
        worn = synth.sense(synth.human(), script, seed=seed, clasp=(0, 1199), **QUIET)
        loops = [frozenset(loop.bodies) for loop in joints(worn.bodies).loops]
        named += loops == [hands]
        whole += len(loops) == 1 and {_hand(body) for body in loops[0]} == hands
    return [
        count("hands clasped for a part of the take: the one event, both hands", part, seeds),
        count("hands clasped for the whole take: the one loop, at the hands", whole, seeds),
        count("… and both named (wrists are stiff; else a forearm for its hand)", named, seeds),
    ]


def _hand(body: str) -> str:
    return body.replace("forearm", "hand")


def basics() -> str:
    parts = [exact(), linkage(), ball(), hinge(), flip()]
    sizes = [line for rows, _ in parts for line in rows]
    tallies = [line for _, rows in parts for line in rows]
    return f"""\
`python benchmarks/accuracy_joints.py basics`. Generated takes; the truth is exact.

{page.table(["what", "median", "95 %", "worst", "unit", "values"], sizes)}

{page.table(["hierarchy", "right", "of"], tallies)}"""


def events() -> str:
    slips = [*slip(QUIET, "1 mm and 0.3°"), *slip(MAGNETIC, "4–7 mm and 1°")]
    return page.table(["what happened", "right", "of"], [*slips, *clasp()])


def honesty(seeds: int = 4) -> str:
    """Errors in units of the stated deviation; nothing was set on these seeds."""
    return honesty_text([honesty_row(label, seeds) for label in skin_models.SCENES], seeds)


def honesty_row(label: str, seeds: int) -> Row:
    scene = skin_models.SCENES[label]
    takes = [skin_models.scores(scene, seed) for seed in range(900, 900 + seeds)]
    rest, mean = ([score for take in takes for score in take[k]] for k in (0, 1))
    return [label, *_told(rest), *_told(mean), len(mean)]


def honesty_text(rows: list[Row], seeds: int) -> str:
    head = ["scene", "z rms", "median", "95 %", "z rms, mean place", "median", "95 %", "joints"]
    return f"""\
`python benchmarks/accuracy_joints.py honesty`: distance of the joints from their true places in
units of the stated deviation (six coordinates, so 1 is honest and less is cautious), {seeds} takes
each, hierarchy given, on seeds that nothing was set on. The first three columns compare with the
place in the sensor as it was strapped on, the others with its mean over the take: skin also moves
a sensor for good. Skin of size 1 is the median person's (thigh 9 mm rms, and a radian per 0.1 m):
it follows the angles of the joints beside it; *squares* follow their squares, *jelly* swings after
accelerations, *straps* wander at random.

{page.table(head, rows)}"""


def _told(scores: list[float]) -> list[str]:
    if not scores:
        return ["", "", ""]
    z = np.array(scores)
    return [f"{v:.2f}" for v in (np.sqrt(np.mean(z**2)), np.median(z), np.percentile(z, 95))]


def functional(folder: str) -> str:
    """Real hip and knee, groups of markers found: first half of the take against the second."""
    rows = []
    for trial, ends in (("right_hip", ("LASIS", "RTHI1")), ("right_knee", ("RTHI1", "RLEG1"))):
        recording = ost.read(Path(folder) / f"{trial}.c3d").recording().markers()
        tracked = track(recording, segment(recording))
        noise = cluster_noise(tracked)
        pair = {
            name
            for name, markers in zip(tracked.bodies.names, tracked.markers, strict=True)
            if set(markers) & set(ends)
        }
        whole = joints(tracked.bodies, noise=noise)
        parents = {link.child: link.parent for link in whole.connections}
        half = tracked.bodies.n_frames // 2
        halves = []
        for part in (slice(0, half), slice(half, None)):
            cut = replace(
                tracked.bodies,
                positions=tracked.bodies.positions[part],
                rotations=tracked.bodies.rotations[part],
            )
            found = joints(cut, noise=noise, parents=parents)
            link = next(k for k in found.connections if {k.child, k.parent} == pair)
            halves.append((link, _noise_alone(cut, link, noise)))
        rows += _halves_apart(trial, *halves)
    head = ["biobuddy's trial", "kind", "apart, mm", "stated for noise", "z", "stated in all", "z"]
    return f"""\
`python benchmarks/accuracy_joints.py functional FOLDER`; groups of markers found, not named.
Joint of the first half of the take against that of the second; of the hinge, across its axis.
*Stated*: the standard deviation of that difference, all directions together; *z* the difference in
its units, per coordinate (1 is expected). Skin does the same to both halves, so what they show is
the noise alone, and what skin does differently because the motion does; *in all* also holds what
skin may do to both.

{page.table(head, rows)}

ART-Human (c3d-org sample_37): hierarchy of all 21 bodies right for both persons, largest joint
residual 0.62 mm (`tests/articulation/test_joints.py`)."""


def _noise_alone(bodies: Bodies, link: Connection, noise: PoseNoise) -> np.ndarray:
    """(6, 6) the part of a joint's covariance that is the noise's, child's half first."""
    ends = bodies.index(link.child), bodies.index(link.parent)
    centres = np.concatenate([link.in_child, link.in_parent])
    if link.axis_in_parent is None:
        fit = refine_joint(bodies, ends, centres, noise)
    else:
        axes = np.stack([link.axis_in_child, link.axis_in_parent])
        fit = refine_hinge(bodies, ends, centres, axes, noise)
    assert fit is not None
    return fit.free @ noise_covariance(fit) @ fit.free.T


Half = tuple[Connection, np.ndarray]


def _halves_apart(trial: str, first: Half, second: Half) -> list[Row]:
    """Rows of the joint in the parent and in the child."""
    (one, its), (other, others) = first, second
    rows = []
    for end, part in (("parent", slice(3, 6)), ("child", slice(0, 3))):
        apart = getattr(one, f"in_{end}") - getattr(other, f"in_{end}")
        axis = getattr(one, f"axis_in_{end}")
        across = np.eye(3) if axis is None else np.linalg.svd(np.array([axis]))[2][1:]
        apart, cells = across @ apart, []
        for spread in (its + others, one.covariance + other.covariance):
            spread = across @ spread[part, part] @ across.T
            z = np.sqrt(apart @ np.linalg.solve(spread, apart) / len(apart))
            cells += [f"{1000 * np.sqrt(np.trace(spread)):.1f}", f"{z:.2f}"]
        far = f"{1000 * np.linalg.norm(apart):.1f}"
        rows.append([f"{trial}, in the {end}", one.kind, far, *cells])
    return rows


SECTIONS = {
    "basics": ("Joints from moving bodies", basics),
    "events": ("Joints: slips, flips and clasped hands", events),
    "walk": ("Joints: the hierarchy of a walk", walk),
    "honesty": ("Joints: how honest the deviations are", honesty),
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["functional"]:
        page.put_section("Joints: real recordings", functional(sys.argv[2]))
    else:
        for chosen in sys.argv[1:] or SECTIONS:
            heading, work = SECTIONS[chosen]
            page.put_section(heading, work())
