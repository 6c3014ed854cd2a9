"""How often labels are right: real takes without their labels, tracks cut into pieces.

    python benchmarks/accuracy_label.py [--seeds 3] [--by KINDS] [TAKE …]

KINDS are some of skeleton, set, worn, motion, rig and people, with commas between.
Every track is cut into pieces of 0.5 to 6 s, with up to 0.1 s lost at each cut, and all names are
taken away. Who is known by skeleton was calibrated on the first half of the same take. By set is by
the whole set as it is shipped, which may have labels that nobody wears at once; worn is by those of
its labels that the take has, as a laboratory's own list would say. By motion nothing is repaired
beforehand. Samples that lie 5 cm and more
from their place by the file's own labels do not count: some files have labels exchanged. Takes of
``CHOSEN`` were looked at while thresholds were chosen, those of ``KEPT`` not.
By people, two takes lie in one cloud, turned about and moved so that both pass as near to each
other as markers 5 cm apart allow (``PAIRS``).
"""

import argparse
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from osteon.calibration import calibrate_blind
from osteon.cleaning import prepare
from osteon.errors import OsteonError
from osteon.formats import read
from osteon.human import MarkerSet, recognise
from osteon.labelling import Labelled, label
from osteon.maths import runs
from osteon.pipeline import SolveOptions, calibrate_subject, prepare_take, set_of
from osteon.posing import PoseOptions, solve
from osteon.values import Recording, Skeleton

DATA = Path(os.environ.get("OSTEON_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SHORTEST, LONGEST, LOST = 0.5, 6.0, 0.1
"""Seconds: pieces are as long, and so much is lost at most between two."""
MISLABELLED = 0.05
"""Metres from its place, median of a piece, beyond which the file's own label is not believed."""
NEAREST = 0.05
"""Metres between markers of two people where they pass each other."""
OPTIONS = SolveOptions()
PAIRS = (
    ("cmu-02/02_01.c3d", "cmu-01/01_01.c3d"),
    ("kineticstoolkit/kinematics_tennis_serve.c3d", "pycgm/Test_Files/Movement_trial.c3d"),
    (
        "anatomical-truth/arnold-01-walk2/markers.trc",
        "anatomical-truth/arnold-02-walk2/markers.trc",
    ),
)
"""The first was looked at while several people were made to work, the others not."""
EXCHANGED = {
    "nimble-c3d/squat.c3d": (("LMT1", "LMT5"), ("RMT1", "RMT5")),
    "nimble-c3d/nick_freeform_001.c3d": (("LFSH", "LBSH"), ("RFSH", "RBSH")),
    "biobuddy/functional_trials/right_hip.c3d": (
        ("LLHE", "LMHE"),
        ("RLHE", "RMHE"),
        ("RLFE", "RMFE"),
    ),
}
"""Labels that a file has the wrong way round, by what they say of the body: squat.c3d has the fifth
metatarsals inside of toe and heel and the first ones outside, nick_freeform_001.c3d the shoulders'
front markers 10 cm behind the joint; the other file of the pair has both as they are called.
right_hip.c3d has the inner markers of both elbows and the right knee 40 to 50 mm nearer to the
clusters, which are outside, than the outer ones; the same person's right_knee.c3d has them 35 to 50
mm farther, and so has right_hip.c3d the left knee's."""
CHOSEN = (
    "nimble-c3d/squat.c3d",
    "anatomical-truth/hamner-01-run400/markers.trc",
    "cmu-01/01_01.c3d",
    "cmu-02/02_01.c3d",
    "nimble-c3d/nick_freeform_001.c3d",
    "kineticstoolkit/kinematics_tennis_serve.c3d",
    "pycgm/Test_Files/Movement_trial.c3d",
    "gaitalytics/treadmill_events.c3d",
    "clinical-gait-auckland/AUC/dynamic/CB_Dynamic0003.c3d",
    "biobuddy/functional_trials/right_knee.c3d",
    "anatomical-truth/hamner-01-run400/real.trc",
    "anatomical-truth/opencap-2-squats1/real.trc",
    "anatomical-truth/arnold-01-walk2/real.trc",
    "biobuddy/functional_trials/right_hip.c3d",
    "clinical-gait-auckland/RCH/dynamic/RCH.08.c3d",
    "opensim-core/walking5.c3d",
    "anatomical-truth/hamner-02-run200/real.trc",
    "anatomical-truth/hamner-03-run400/real.trc",
    "anatomical-truth/hamner-03-run400/markers.trc",
    "unlabelled-tactical/KneeltoProne01.c3d",
    "opensim-core/walking2.c3d",
)
KEPT = (
    "anatomical-truth/opencap-4-squats1/real.trc",
    "anatomical-truth/opencap-4-squats1/markers.trc",
    "anatomical-truth/opencap-4-DJ1/real.trc",
    "anatomical-truth/opencap-11-walking2/real.trc",
    "anatomical-truth/arnold-02-walk2/real.trc",
    "anatomical-truth/arnold-02-walk2/markers.trc",
    "anatomical-truth/hamner-01-run200/real.trc",
    "anatomical-truth/hamner-02-run200/markers.trc",
    "anatomical-truth/opencap-2-walking1/real.trc",
)


@dataclass(frozen=True)
class Truth:
    """A take with labels, and who wears them."""

    take: Recording
    half: Skeleton
    """Calibrated on the first half."""
    whole: Skeleton
    marker_set: MarkerSet | None
    error: np.ndarray
    """(n_frames, n_markers) metres from their places by the file's own labels."""


def truth_of(path: Path) -> Truth:
    take = put_right(path, read(path).recordings[0].markers())
    known = recognise(take.names)
    if known is not None:
        take = take.select([name for name in take.names if name in known[1]])
    take, _ = prepare_take(take, OPTIONS)
    early = (np.arange(take.n_frames) < take.n_frames // 2)[:, None, None]
    first = take.with_positions(np.where(early, take.positions, np.nan), "first half")
    half, whole = (calibrated(each) for each in (first, take))
    worn = half.marker_names & whole.marker_names
    take = take.select([name for name in take.names if name in worn])
    fit = solve(take, whole, options=PoseOptions(loss="geman-mcclure"))
    return Truth(take, half, whole, None if known is None else known[0], fit.marker_error)


def as_recorded(path: Path, truth: Truth) -> Truth:
    """The same take before anything was repaired, as somebody who knows no label has it."""
    take = put_right(path, read(path).recordings[0].markers()).select(truth.take.names)
    take, _ = prepare(take, repair=False)
    fit = solve(take, truth.whole, options=PoseOptions(loss="geman-mcclure"))
    return replace(truth, take=take, error=fit.marker_error)


def put_right(path: Path, take: Recording) -> Recording:
    """Return a take without the exchanges that its file is known to have."""
    others = dict(EXCHANGED.get(path.relative_to(DATA).as_posix(), ()))
    others |= {b: a for a, b in others.items()}
    return replace(take, names=tuple(others.get(name, name) for name in take.names))


def calibrated(take: Recording) -> Skeleton:
    chosen = set_of([take], OPTIONS)
    if chosen is None:
        return calibrate_blind([take]).skeleton
    return calibrate_subject([take], chosen, OPTIONS).skeleton


def scattered(take: Recording, seed: int) -> tuple[Recording, list[int]]:
    """The take in nameless pieces, and the marker that each is of."""
    rng, pieces = np.random.default_rng(seed), []
    for marker in range(take.n_markers):
        for first, last in runs(take.seen[:, marker]):
            at = first
            while at <= last:
                end = min(last, at + round(rng.uniform(SHORTEST, LONGEST) * take.rate) - 1)
                pieces.append((marker, at, end))
                at = end + 1 + round(rng.uniform(0.0, LOST) * take.rate)
    order = rng.permutation(len(pieces))
    positions = np.full((take.n_frames, len(pieces), 3), np.nan)
    for column, (marker, first, last) in enumerate(pieces[each] for each in order):
        positions[first : last + 1, column] = take.positions[first : last + 1, marker]
    names = tuple(f"*{column}" for column in range(len(pieces)))
    return Recording(positions, names, take.rate), [pieces[each][0] for each in order]


def judged(truth: Truth, found: Labelled, markers: list[int]) -> tuple[float, float, float]:
    """Shares of samples labelled right, wrong, and left open; of labels whose place is known."""
    placed = None
    if truth.marker_set is not None and found.by != "skeleton":
        worn = truth.marker_set.match(truth.take.names)
        placed = {name for name, landmark in worn.items() if landmark.at is not None}
    count = np.zeros(3)
    for piece in found.pieces:
        marker = markers[int(piece.track[1:])]
        own = truth.take.names[marker]
        far = np.median(truth.error[piece.first : piece.last + 1, marker]) > MISLABELLED
        if far or (placed is not None and own not in placed and not piece.label):
            continue
        count[2 if not piece.label else 0 if _same(truth, piece.label, own) else 1] += (
            piece.n_frames
        )
    right, wrong, left_open = count / count.sum()
    return float(right), float(wrong), float(left_open)


def _same(truth: Truth, given: str, own: str) -> bool:
    """Sets may spell a label otherwise than the file."""
    if given == own or truth.marker_set is None:
        return given == own
    return own in MarkerSet("", {given: truth.marker_set.markers[given]}).match([own])


def joined(truth: Truth, found: Labelled, markers: list[int]) -> tuple[float, float]:
    """Share of neighbouring pieces of a marker that have one name; of samples under a name that is
    mostly another marker's. Pieces whose label in the file is not believed do not count."""
    by_marker, by_name = defaultdict(list), defaultdict(lambda: defaultdict(int))
    for piece in found.pieces:
        marker = markers[int(piece.track[1:])]
        if np.median(truth.error[piece.first : piece.last + 1, marker]) > MISLABELLED:
            continue
        by_marker[marker].append(piece)
        by_name[piece.label][marker] += piece.n_frames
    by_name.pop("", None)
    links = [a.label == b.label != "" for own in by_marker.values() for a, b in pairwise(own)]
    mixed = sum(sum(held.values()) - max(held.values()) for held in by_name.values())
    total = sum(piece.n_frames for piece in found.pieces)
    return float(np.mean(links)) if links else 1.0, mixed / total


def rig_distance(truth: Truth, found: Labelled) -> float:
    """Median distance of joints between the rig of the labels found and the true one, metres."""
    ours = calibrated(found.recording)
    take = truth.take
    names = [name for name in found.recording.names if name in ours.marker_names]
    a = solve(take, truth.whole, options=PoseOptions(loss="geman-mcclure")).motion
    b = solve(found.recording.select(names), ours, options=PoseOptions(loss="geman-mcclure")).motion
    both = [name for name in truth.whole.names if name in ours.names]
    joints = [
        motion.world()[1][:, [motion.skeleton.index(name) for name in both]] for motion in (a, b)
    ]
    return float(np.median(np.linalg.norm(joints[0] - joints[1], axis=-1)))


def rows(path: str, seeds: int, kinds: set[str]) -> Iterator[str]:
    repaired = truth_of(DATA / path)
    recorded = as_recorded(DATA / path, repaired) if "motion" in kinds else repaired
    for seed in range(seeds):
        for kind in ("skeleton", "set", "worn", "motion"):
            if kind not in kinds or (kind in ("set", "worn") and repaired.marker_set is None):
                continue
            truth = recorded if kind == "motion" else repaired
            cut, markers = scattered(truth.take, seed)
            start = time.process_time()
            try:
                found = labelled(truth, cut, kind)
            except OsteonError as error:
                yield f"{path} seed {seed} by {kind}: {error}"
                continue
            took, lasts = time.process_time() - start, truth.take.n_frames / truth.take.rate
            told = verdict(truth, found, markers, kind)
            if "rig" in kinds and kind == "skeleton" and seed == 0:
                told += f", joints {1e3 * rig_distance(truth, found):.2f} mm apart"
            yield f"{path} seed {seed} by {kind}: {told}, {took:.1f} s for {lasts:.1f} s"


def labelled(truth: Truth, cut: Recording, kind: str) -> Labelled:
    if kind == "skeleton":
        return label(cut, skeleton=truth.half)
    if kind == "worn" and truth.marker_set is not None:
        return label(cut, marker_set=worn_of(truth, truth.marker_set))
    return label(cut, marker_set="none" if kind == "motion" else truth.marker_set or "none")


def worn_of(truth: Truth, marker_set: MarkerSet) -> MarkerSet:
    """Return the labels of a set that a take has."""
    worn = {
        name: mark
        for name, mark in marker_set.markers.items()
        if any(_same(truth, name, own) for own in truth.take.names)
    }
    return MarkerSet(marker_set.name, worn)


def verdict(truth: Truth, found: Labelled, markers: list[int], kind: str) -> str:
    if kind == "motion":
        links, mixed = joined(truth, found, markers)
        return f"joined {100 * links:.2f} %, mixed {100 * mixed:.3f} %"
    right, wrong, left = (100.0 * share for share in judged(truth, found, markers))
    return f"right {right:.2f} wrong {wrong:.2f} open {left:.2f} %"


def passing(one: Recording, other: Recording) -> Recording:
    """Two people in one cloud who pass each other closely, under ``a:label`` and ``b:label``."""
    n, rate = min(one.n_frames, round(other.n_frames * one.rate / other.rate)), one.rate
    at = np.round(np.arange(n) * other.rate / rate).astype(int).clip(max=other.n_frames - 1)
    first, second = one.positions[:n], other.positions[at] * [-1.0, -1.0, 1.0]
    meet = n // 2
    ways = [np.nanmean(each, axis=1) for each in (first, second)]
    level = np.array([1.0, 1.0, 0.0])
    second = second + level * (ways[0][meet] - ways[1][meet])
    walked = level * (ways[0][-1] - ways[0][0])
    aside = np.array([-walked[1], walked[0], 0.0]) / np.linalg.norm(walked)
    moved = second
    for step in np.arange(0.0, 2.0, 0.02):
        moved = second + step * aside
        apart = np.linalg.norm(first[::3, :, None] - moved[::3, None], axis=-1)
        if np.nanmin(apart) >= NEAREST:
            break
    names = [f"{who}:{name}" for who, take in (("a", one), ("b", other)) for name in take.names]
    return Recording(np.concatenate([first, moved], axis=1), tuple(names), rate)


def people_rows(paths: tuple[str, str], seeds: int) -> Iterator[str]:
    """Two people in one cloud, by both skeletons and by their set."""
    truths = [truth_of(DATA / path) for path in paths]
    both = passing(truths[0].take, truths[1].take)
    known = [replace(truth.half, subject=who) for who, truth in zip("ab", truths, strict=True)]
    one_set = truths[0].marker_set
    asked = {"skeleton": {"skeleton": known}, "set": {"marker_set": one_set}}
    if one_set is None or one_set != truths[1].marker_set:
        del asked["set"]
    for seed in range(seeds):
        cut, markers = scattered(both, seed)
        for kind, given in asked.items():
            start = time.process_time()
            try:
                told = people_verdict(both, label(cut, **given), markers)
            except OsteonError as error:
                told = str(error)
            took, lasts = time.process_time() - start, both.n_frames / both.rate
            told = f"{told}, {took:.1f} s for {lasts:.1f} s"
            yield f"{' + '.join(paths)} seed {seed} by {kind}: {told}"


def people_verdict(both: Recording, found: Labelled, markers: list[int]) -> str:
    """Shares of each person's samples that are right, wrong and open; who is who is what most of
    the labels of a person say."""
    own = [both.names[markers[int(piece.track[1:])]] for piece in found.pieces]
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for piece, name in zip(found.pieces, own, strict=True):
        votes[piece.label.partition(":")[0]][name[0]] += piece.n_frames
    who = {name: count.most_common(1)[0][0] for name, count in votes.items()}
    told = [f"{len(found.people) or 1} people"]
    for person in "ab":
        count = Counter[str]()
        for piece, name in zip(found.pieces, own, strict=True):
            if name[0] == person:
                given = f"{who[piece.label.partition(':')[0]]}:{piece.label.partition(':')[2]}"
                kind = "open" if not piece.label else "right" if given == name else "wrong"
                count[kind] += piece.n_frames
        shares = [100.0 * count[kind] / count.total() for kind in ("right", "wrong", "open")]
        told.append("{}: right {:.2f} wrong {:.2f} open {:.2f} %".format(person, *shares))
    return ", ".join(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("takes", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--by", default="skeleton,set,worn,motion,rig")
    asked = parser.parse_args()
    if "people" in asked.by.split(","):
        for pair in PAIRS:
            for row in people_rows(pair, asked.seeds):
                print(row, flush=True)
        if asked.by == "people":
            return
    groups = {"asked": asked.takes} if asked.takes else {"chosen": CHOSEN, "kept": KEPT}
    for group, takes in groups.items():
        print(f"## {group}")
        for path in takes:
            for row in rows(path, asked.seeds, set(asked.by.split(","))):
                print(row, flush=True)


if __name__ == "__main__":
    main()
