"""How near ``solve`` comes to the joints of people that this project did not make.

    python benchmarks/accuracy_anatomy.py [seconds]
    python benchmarks/accuracy_anatomy.py blind

Experts' OpenSim models moved by recorded motions (OSTEON_DATA/anatomical-truth). Their markers are
solved with 0.5 mm of noise, as they are and with skin of real size; with ``seconds`` only the
middle of each take. Writes the table of docs/numbers/anatomy.md, and prints how often notes tell
of uncertain joints. With ``blind`` labels are not looked at (`--template none`), and joints are
those between bodies that carry markers of one segment only.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from accuracy_page import table
from scipy.stats import chi2

from osteon import formats, pipeline
from osteon.human import words_for_joint
from osteon.maths import quat
from osteon.values import Recording, Take

DATA = Path(os.environ.get("OSTEON_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAGE = Path(__file__).parent.parent / "docs" / "numbers" / "anatomy.md"
MARK, BLIND_MARK = "<!-- table -->", "<!-- blind -->"
CHOSEN = ("arnold-01", "hamner-01", "hamner-03", "opencap-4")
"""People who were in view while constants were chosen."""
JOINTS = {
    "hip": ("thigh", "femur", "pelvis"),
    "knee": ("shin", "tibia", "femur"),
    "ankle": ("foot", "talus", "tibia"),
    "shoulder": ("upper_arm", "humerus", "torso"),
    "elbow": ("forearm", "ulna", "humerus"),
}
SKIN = {"pelvis": 5, "femur": 9, "tibia": 4, "torso": 5, "humerus": 7, "ulna": 4, "radius": 4}
"""Millimetres rms [Cereatti 2017]; feet and hands 3."""
ONE_BODY = {"talus": "foot", "calcn": "foot", "toes": "foot", "radius": "ulna", "hand": "ulna"}
"""Segments that markers cannot tell apart."""
INSIDE = float(chi2.ppf(0.95, 3))
TO_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


ERROR_HEAD = ("error, mm", "95 %", "across the axis", "z rms", "inside")


class Person(NamedTuple):
    """The bodies of a model over a take, z up."""

    names: list[str]
    places: np.ndarray
    turns: np.ndarray

    def between(self, body: str, parent: str) -> np.ndarray:
        """(n_frames, 3) rotation vectors of a body from its parent, about their middle."""
        above = np.swapaxes(self.turns[:, self.names.index(parent)], -1, -2)
        bent = above @ self.turns[:, self.names.index(body)]
        vectors = quat.log(quat.from_matrix(bent @ bent[len(bent) // 2].T))
        return vectors - vectors.mean(axis=0)


class Error(NamedTuple):
    """Of one joint of one take, millimetres."""

    whole: float
    across: float
    z: float
    noted: bool
    """Whether a note tells that the joint is uncertain."""


def main() -> None:
    if sys.argv[1:] == ["blind"]:
        write_table(BLIND_MARK, BLIND_HEAD, list(blind_rows()))
        return
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else np.inf
    rows, notes = [], []
    for title, skin in (("0.5 mm noise", False), ("and skin of real size", True)):
        found: dict[tuple[bool, str], list[Error]] = {}
        sentences = []
        for folder in sorted((DATA / "anatomical-truth").glob("*/")):
            errors, told_of = trial(folder, skin=skin, seconds=seconds)
            sentences.append(told_of)
            for joint, error in errors:
                found.setdefault((folder.name.startswith(CHOSEN), joint), []).append(error)
        for chosen, who in ((True, "in view"), (False, "left out")):
            rows += [[title, who, joint, *told(found[chosen, joint])] for joint in JOINTS]
        every = [error for errors in found.values() for error in errors]
        notes.append([title, *noted(every, sentences)])
    print(table(NOTES, notes))
    head = ("markers", "people", "joint", *ERROR_HEAD)
    if np.isfinite(seconds):
        print(table(head, rows))
    else:
        write_table(MARK, head, rows)


def write_table(mark: str, head: tuple[str, ...], rows: list[list[str]]) -> None:
    before, _, after = PAGE.read_text(encoding="utf-8").split(mark)
    PAGE.write_text(mark.join((before, f"\n{table(head, rows)}\n\n", after)), encoding="utf-8")


def told(errors: list[Error]) -> list[str]:
    whole, across, z, _ = np.array(errors).T
    inside = np.mean(3.0 * z**2 < INSIDE)
    return [
        f"{np.median(whole):.1f}",
        f"{np.percentile(whole, 95):.1f}",
        f"{np.median(across):.1f}",
        f"{np.sqrt(np.mean(z**2)):.2f}",
        f"{100 * inside:.0f} %",
    ]


NOTES = ("markers", "takes with a note", "sentences", "joints noted", "beyond", "farthest, radii")


def noted(errors: list[Error], sentences: list[list[str]]) -> list[str]:
    """Of all takes: how many are told of, and how far joints are off in radii of 95 % regions."""
    radii = [np.sqrt(3.0 * error.z**2 / INSIDE) for error in errors]
    return [
        f"{sum(map(bool, sentences))}",
        f"{sum(map(len, sentences))}",
        f"{sum(error.noted for error in errors)} of {len(errors)}",
        f"{sum(each > 1.0 for each in radii)}",
        f"{max(radii):.2f}",
    ]


def is_named(body: str, sentences: list[str]) -> bool:
    names = (words_for_joint(body, both=both) for both in (False, True))
    return any(words and words.name in told for words in names for told in sentences)


def wear(folder: Path, skin: float) -> tuple[Person, Recording]:
    """A model's bodies, and its markers with 0.5 mm of noise and so many times real skin."""
    stored = np.load(folder / "truth.npz")
    places = stored["positions"].astype(float) @ TO_Z_UP.T
    person = Person(list(stored["body_names"]), places, TO_Z_UP @ stored["rotations"].astype(float))
    (recording,) = formats.read(folder / "markers.trc").recordings
    rng = np.random.default_rng(3)
    positions = recording.positions + 0.0005 * rng.normal(size=recording.positions.shape)
    if skin:
        positions = positions + skin * sliding(person, recording, rng)
    return person, Recording(positions, recording.names, recording.rate)


def trial(
    folder: Path, *, skin: bool, seconds: float, labels: bool = True
) -> tuple[list[tuple[str, Error]], list[str]]:
    """The errors of a take's joints, and the notes about them; without ``labels`` these are
    nonsense."""
    person, recording = wear(folder, float(skin))
    positions = recording.positions
    left = int(max(0.0, recording.n_frames - seconds * recording.rate)) // 2
    middle = slice(left, recording.n_frames - left)
    person = person._replace(places=person.places[middle], turns=person.turns[middle])
    worn = Recording(positions[middle], recording.names, recording.rate)
    if not labels:
        order = np.random.default_rng(1).permutation(worn.names).tolist()
        worn = replace(worn.select(order), names=tuple(f"X{i:02d}Q" for i in range(len(order))))
    (solved,) = pipeline.solve(Take(recordings=(worn,)))
    sentences = [note for note in solved.warnings if "joints lie is uncertain" in note]
    found = []
    for joint, (ours, body, parent) in JOINTS.items():
        for side in ("left", "right"):
            above = parent if parent in ("pelvis", "torso") else f"{parent}_{side[0]}"
            names = solved.skeleton.names
            if f"{side}_{ours}" in names and f"{body}_{side[0]}" in person.names:
                index = names.index(f"{side}_{ours}")
                truth = true_joint(person, f"{body}_{side[0]}", above, glides=joint == "knee")
                error = error_of(solved, index, truth)
                found.append((joint, error._replace(noted=is_named(names[index], sentences))))
    return found, sentences


def error_of(solved: pipeline.Solved, index: int, truth: tuple[np.ndarray, np.ndarray]) -> Error:
    """How far the joint of a body is from ``truth``, its place and axis in the world."""
    place, axis = truth
    rotations, joints = solved.motion.world()
    off = joints[: len(place), index] - place
    along = np.sum(off * axis, axis=-1, keepdims=True) * axis
    turn = rotations[: len(off), solved.skeleton.parents[index]]
    mean = quat.rotate(quat.inverse(turn), off).mean(axis=0)
    covariance = solved.skeleton.bodies[index].joint.covariance
    assert covariance is not None
    z = float(np.sqrt(mean @ np.linalg.solve(covariance, mean) / 3.0))
    whole = 1e3 * float(np.median(np.linalg.norm(off, axis=-1)))
    across = 1e3 * float(np.median(np.linalg.norm(off - along, axis=-1)))
    return Error(whole, across, z, noted=False)


BLIND_HEAD = (
    "markers",
    "joint",
    "found",
    "error, mm",
    "95 %",
    "across the axis",
    "z rms",
    "inside",
)


def blind_rows() -> Iterator[list[str]]:
    folders = sorted((DATA / "anatomical-truth").glob("*/"))
    for title, skin in (("0.5 mm noise", 0.0), ("and skin of real size", 1.0)):
        found: dict[str, list[Error]] = {joint: [] for joint in JOINTS}
        for folder in folders:
            for joint, error in blind_trial(folder, skin):
                found[joint].append(error)
        for joint, errors in found.items():
            yield [title, joint, f"{len(errors)} of {2 * len(folders)}", *told(errors)]


def blind_trial(folder: Path, skin: float) -> Iterator[tuple[str, Error]]:
    """The errors of joints between bodies that carry markers of one segment only."""
    person, worn = wear(folder, skin)
    segments = segments_of(person, wear(folder, 0.0)[1])
    (solved,) = pipeline.solve(
        Take(recordings=(worn,)), options=pipeline.SolveOptions(template="none")
    )
    skeleton = solved.skeleton
    carried = [frozenset(segments[mark.name] for mark in body.markers) for body in skeleton.bodies]
    for index, above in enumerate(skeleton.parents):
        for joint, (_, body, parent) in JOINTS.items():
            for side in "lr":
                high = parent if parent in ("pelvis", "torso") else f"{parent}_{side}"
                ends = {frozenset((whole_segment(f"{body}_{side}"),)), frozenset((high,))}
                if above >= 0 and {carried[index], carried[above]} == ends:
                    truth = true_joint(person, f"{body}_{side}", high, glides=joint == "knee")
                    yield joint, error_of(solved, index, truth)


def segments_of(person: Person, clean: Recording) -> dict[str, str]:
    """Label → the segment that the marker moves with."""
    found = {}
    for marker, label in enumerate(clean.names):
        away = clean.positions[:, marker, None] - person.places
        local = np.einsum("fbji,fbj->fbi", person.turns, away)
        body = int(np.argmin(local.std(axis=0).sum(axis=-1)))
        found[label] = whole_segment(person.names[body])
    return found


def whole_segment(name: str) -> str:
    body, _, side = name.partition("_")
    body = ONE_BODY.get(body, body)
    return f"{body}_{side}" if side else body


def true_joint(
    person: Person, body: str, parent: str, *, glides: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(n_frames, 3) a joint in the world, and the axis about which it mostly turns.

    A knee that glides has no fixed point: meant is the point nearest to one, at the height of the
    shin's origin along the axis.
    """
    low, high = person.names.index(body), person.names.index(parent)
    axis = np.linalg.svd(person.between(body, parent), full_matrices=False)[2][0]
    above = person.turns[:, high]
    away = person.places[:, low] - person.places[:, high]
    at = np.einsum("fji,fj->fi", above, away).mean(axis=0)
    if glides:
        both = np.concatenate([above, -person.turns[:, low]], axis=-1).reshape(-1, 6)
        fixed = np.linalg.lstsq(both, away.reshape(-1), rcond=0.05)[0][:3]
        at = fixed + ((at - fixed) @ axis) * axis
    return person.places[:, high] + above @ at, above @ axis


def sliding(person: Person, recording: Recording, rng: np.random.Generator) -> np.ndarray:
    """(n_frames, n_markers, 3) what skin does: linear in the turns of the joints beside a marker,
    half of its variance common to a body's markers."""
    pairs = [
        (f"{body}_{side}", parent if parent in ("pelvis", "torso") else f"{parent}_{side}")
        for _, body, parent in JOINTS.values()
        for side in "lr"
    ] + [("torso", "pelvis")]
    angles = {pair: person.between(*pair) for pair in pairs if set(pair) <= set(person.names)}
    common: dict[int, np.ndarray] = {}
    moved = np.zeros_like(recording.positions)
    for marker in range(recording.n_markers):
        away = recording.positions[:, marker, None] - person.places
        local = np.einsum("fbji,fbj->fbi", person.turns, away)
        body = int(np.argmin(local.std(axis=0).sum(axis=-1)))
        name = person.names[body]
        beside = [each for pair, each in angles.items() if name in pair] or [*angles.values()][:1]
        drive = np.concatenate(beside, axis=1)

        def flow(drive: np.ndarray = drive) -> np.ndarray:
            path = drive @ rng.normal(size=(drive.shape[1], 3))
            return path / np.sqrt(np.mean(np.sum(path**2, axis=-1)))

        common.setdefault(body, flow())
        size = 1e-3 * SKIN.get(name.split("_")[0], 3) * rng.uniform(0.6, 1.4)
        both = (common[body] + flow()) / np.sqrt(2.0)
        moved[:, marker] = size * np.einsum("fij,fj->fi", person.turns[:, body], both)
    return moved


if __name__ == "__main__":
    main()
