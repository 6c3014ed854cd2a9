"""How near ``solve`` comes to joints that a markerless system would see through noise.

    python benchmarks/accuracy_keypoints.py

True joint centres of people that this project did not make become OpenCap's 20 keypoints, with
15 mm of white noise per axis and 3 % of samples on jumps of 0.1 to 0.4 m for 1 to 6 frames; once
more with every keypoint off for all of the take, by as much as such systems are, each for itself or
alike on both sides, turning with the person. Experts' OpenSim
models (OSTEON_DATA/anatomical-truth) were in view while constants were chosen, the CMU archive's
skeletons (OSTEON_DATA/cmu-…) were not. Writes the table of docs/numbers/keypoints.md.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from accuracy_page import table
from scipy.stats import chi2

from osteon import fixed_lengths, formats, pipeline
from osteon.errors import OsteonError
from osteon.keypoints.lasting_errors import DEEP_ERROR, SYSTEMATIC_ERROR
from osteon.maths import quat
from osteon.values import Recording, Take

DATA = Path(os.environ.get("OSTEON_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAGE = Path(__file__).parent.parent / "docs" / "numbers" / "keypoints.md"
MARK = "<!-- table -->"
NOISE, JUMPED = 0.015, 0.03
JUMP_REACH, LONGEST_JUMP = (0.1, 0.4), 6
INSIDE = float(chi2.ppf(0.95, 3))
LASTING = {
    "noise and jumps": "",
    "and off for all of a take": "each",
    "and off alike on both sides": "alike",
}
TO_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
JOINTS = {
    "Hip": ("thigh", "femur", "femur"),
    "Knee": ("shin", "tibia", "tibia"),
    "Ankle": ("foot", "talus", "foot"),
    "Shoulder": ("upper_arm", "humerus", "humerus"),
    "Elbow": ("forearm", "ulna", "radius"),
    "Wrist": ("hand", "hand", "wrist"),
}
"""Keypoint → our body, the OpenSim model's, the CMU skeleton's, whose joint it is."""
FOOT = {"Heel": (0.0, 0.01, 0.0), "BigToe": (0.22, -0.005, -0.03), "SmallToe": (0.17, -0.005, 0.05)}
"""On the right calcaneus, metres."""


class Person(NamedTuple):
    """Keypoints of a take as they are, z up."""

    name: str
    labels: tuple[str, ...]
    points: np.ndarray
    rate: float


class Error(NamedTuple):
    """Of one joint of one take."""

    off: np.ndarray
    """Metres, per frame."""
    z: float
    """Of its mean over the take, in stated deviations; NaN where none is stated."""


def main() -> None:
    rows = []
    for who, people in (("in view", models()), ("left out", archive())):
        known = list(people)
        for title, lasting in LASTING.items():
            found: dict[str, list[Error]] = {}
            for person in known:
                for way, joint, error in trial(person, lasting=lasting):
                    found.setdefault(f"{way}|{joint}", []).append(error)
                    found.setdefault(f"{way}|all", []).append(error)
            for way in ("as they come", "fit", "solve"):
                rows.append([title, who, way, "all", *told(found[f"{way}|all"])])
            for joint in JOINTS:
                rows.append([title, who, "solve", joint, *told(found[f"solve|{joint}"])])
    head = ("keypoints", "people", "way", "joint", "error, mm", "95 %", "z rms", "inside")
    before, _, after = PAGE.read_text(encoding="utf-8").split(MARK)
    PAGE.write_text(MARK.join((before, f"\n{table(head, rows)}\n\n", after)), encoding="utf-8")


def told(errors: list[Error]) -> list[str]:
    off = 1e3 * np.concatenate([error.off for error in errors])
    z = np.array([error.z for error in errors])
    spread = [f"{np.median(off):.1f}", f"{np.percentile(off, 95):.1f}"]
    if np.isnan(z).all():
        return [*spread, "", ""]
    return [*spread, f"{np.sqrt(np.mean(z**2)):.2f}", f"{100 * np.mean(3.0 * z**2 < INSIDE):.0f} %"]


def models() -> Iterator[Person]:
    for folder in sorted((DATA / "anatomical-truth").glob("*/")):
        stored = np.load(folder / "truth.npz")
        names = list(stored["body_names"])
        places = stored["positions"].astype(float) @ TO_Z_UP.T
        turns = TO_Z_UP @ stored["rotations"].astype(float)
        found = {
            f"{side}{key}": places[:, names.index(f"{body}_{side.lower()}")]
            for key, (_, body, _) in JOINTS.items()
            for side in "LR"
        }
        for side, sense in (("R", 1.0), ("L", -1.0)):
            heel = names.index(f"calcn_{side.lower()}")
            for key, (ahead, up, out) in FOOT.items():
                away = turns[:, heel] @ np.array([ahead, up, sense * out])
                found[f"{side}{key}"] = places[:, heel] + away
        yield completed(folder.name, found, 1.0 / float(np.median(np.diff(stored["time"]))))


def archive() -> Iterator[Person]:
    for file in ("cmu-01/01_01.amc", "cmu-02/02_01.amc", "cmu-asfamc-variants/35_01.amc"):
        motion = formats.read(DATA / file).motion()
        names, (turns, joints) = motion.skeleton.names, motion.world()
        found = {
            f"{side}{key}": joints[:, names.index(f"{side.lower()}{bone}")]
            for key, (_, _, bone) in JOINTS.items()
            for side in "LR"
        }
        for side in "LR":
            foot, toes = (names.index(f"{side.lower()}{bone}") for bone in ("foot", "toes"))
            along = quat.normalise(joints[:, toes] - joints[:, foot])
            across = quat.rotate(turns[:, foot], np.array([0.0, 1.0, 0.0]))
            found[f"{side}Heel"] = joints[:, foot] - 0.06 * along
            found[f"{side}BigToe"] = joints[:, toes] + 0.05 * along
            found[f"{side}SmallToe"] = joints[:, toes] + 0.02 * along + 0.05 * across
        yield completed(Path(file).stem, found, motion.rate)


def completed(name: str, found: dict[str, np.ndarray], rate: float) -> Person:
    found["Neck"] = 0.5 * (found["LShoulder"] + found["RShoulder"])
    found["midHip"] = 0.5 * (found["LHip"] + found["RHip"])
    return Person(name, tuple(found), np.stack(list(found.values()), axis=1), rate)


def seen(person: Person, *, lasting: str) -> Recording:
    rng = np.random.default_rng(list(person.name.encode()))
    points = person.points + NOISE * rng.normal(size=person.points.shape)
    if lasting:
        size = [
            DEEP_ERROR if k.endswith(("Hip", "Knee")) else SYSTEMATIC_ERROR for k in person.labels
        ]
        away = np.array(size)[:, None] * rng.normal(size=person.points.shape[1:])
        points += away if lasting == "each" else turning(person, away)
    left = JUMPED * points.shape[0] * points.shape[1]
    while left > 0:
        frame, point = rng.integers(points.shape[0]), rng.integers(points.shape[1])
        away = quat.normalise(rng.normal(size=3)) * rng.uniform(*JUMP_REACH)
        there = slice(frame, frame + rng.integers(1, LONGEST_JUMP + 1))
        points[there, point] += away
        left -= len(points[there])
    return Recording(points, person.labels, person.rate)


def turning(person: Person, away: np.ndarray) -> np.ndarray:
    """Ahead, to the side and up of the person (n_points, 3), both sides as the left one, in the
    world (n_frames, n_points, 3)."""
    for column, label in enumerate(person.labels):
        if label.startswith("R"):
            left = away[person.labels.index("L" + label[1:])]
            away[column] = left * np.array([1.0, -1.0, 1.0])
    hips = [person.points[:, person.labels.index(label)] for label in ("LHip", "RHip")]
    up = np.array([0.0, 0.0, 1.0])
    ahead = quat.normalise(np.cross(hips[0] - hips[1], up))
    axes = np.stack([ahead, np.cross(up, ahead), np.broadcast_to(up, ahead.shape)], axis=-1)
    return np.einsum("fij,pj->fpi", axes, away)


def trial(person: Person, *, lasting: str) -> Iterator[tuple[str, str, Error]]:
    recording = seen(person, lasting=lasting)
    (solved,) = pipeline.solve(Take(recordings=(recording,)))
    fitted = fixed_lengths.fit(recording)
    turns, joints = solved.motion.world()
    points = fitted.motion.world()[1]
    for joint, (ours, _, _) in JOINTS.items():
        for side in ("left", "right"):
            label = f"{side[0].upper()}{joint}"
            column = person.labels.index(label)
            truth = person.points[:, column]
            body = solved.skeleton.index(f"{side}_{ours}")
            off = joints[:, body] - truth
            mean = quat.rotate(quat.inverse(turns[:, solved.skeleton.parents[body]]), off).mean(
                axis=0
            )
            covariance = solved.skeleton.bodies[body].joint.covariance
            assert covariance is not None
            z = float(np.sqrt(mean @ np.linalg.solve(covariance, mean) / 3.0))
            yield "solve", joint, Error(np.linalg.norm(off, axis=-1), z)
            at = points[:, fitted.names.index(label)]
            yield "fit", joint, Error(np.linalg.norm(at - truth, axis=-1), np.nan)
            raw = recording.positions[:, column]
            yield "as they come", joint, Error(np.linalg.norm(raw - truth, axis=-1), np.nan)


if __name__ == "__main__":
    try:
        main()
    except OsteonError as error:
        raise SystemExit(str(error)) from error
