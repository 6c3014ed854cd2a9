"""How often a passport is right: same person, other person, a marker put elsewhere.

    python benchmarks/accuracy_passport.py

Synthetic people (and, where OSSATURE_DATA or shared/data beside the project has them, CMU's takes
cut in parts). Writes its section of docs/accuracy.md.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from accuracy_page import put_section, table

from ossature import synth
from ossature.calibrate.replaced import Places, find_replaced
from ossature.calibrate.same_person import compare
from ossature.formats import read
from ossature.pipeline import SolveOptions, calibrate_subject, prepared, set_of
from ossature.values import Recording, Skeleton

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from archives import moved, person

DATA = Path(
    os.environ.get("OSSATURE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
PEOPLE = 8
MOVED = 5
"""Markers put elsewhere for each person, one at a time."""
SHIFT = 0.015
OPTIONS = SolveOptions()


def take(figure: Skeleton, script, seed: int) -> Recording:
    return synth.perform(
        figure, script, noise=0.001, soft_tissue=0.006, gaps=0.01, seed=seed
    ).recording


def calibrated(*takes: Recording) -> Skeleton:
    return calibrate_subject(takes, set_of(takes, OPTIONS), OPTIONS).skeleton


def direction(rng: np.random.Generator) -> np.ndarray:
    way = rng.normal(size=3)
    return way / np.linalg.norm(way)


class Tally:
    """Verdicts, counted."""

    def __init__(self) -> None:
        self.rows: list[list[object]] = []

    def markers(self, name: str, found: list[Places], wanted: list[str]) -> None:
        n = len(found)
        named = [{one.marker for one in places.replaced} for places in found]
        hit = sum(
            bool(marker) and marker in names for marker, names in zip(wanted, named, strict=True)
        )
        wrong = sum(bool(names - {marker}) for marker, names in zip(wanted, named, strict=True))
        anew = sum(places.all_anew for places in found)
        told = f"{hit} of {n}" if any(wanted) else "–"
        self.rows.append([name, n, told, f"{wrong} of {n}", f"{anew} of {n}"])


def synthetic(rng: np.random.Generator) -> tuple[str, str]:
    """Tables of marker verdicts and of person verdicts."""
    none, shifted, stranger = [], [], []
    names: list[str] = []
    alone: list[tuple[int, Skeleton]] = []
    for seed in range(PEOPLE):
        figure = person(seed)
        first = take(figure, synth.exercise(seconds=20), 10 * seed)
        known = calibrated(first, take(figure, synth.walk(seconds=6), 10 * seed + 1))
        none += [find_replaced(known, each) for each in later(figure, seed)]
        for marker, figure_moved in moves(figure, rng):
            names.append(marker)
            shifted.append(
                find_replaced(known, take(figure_moved, synth.chicken_walk(seconds=8), seed))
            )
        other = take(person(seed + 100), synth.walk(seconds=6), seed)
        stranger.append(find_replaced(known, other))
        alone += [(seed, calibrated(first)), (seed, suit_anew(figure, seed, rng))]
    tally = Tally()
    tally.markers("same person, same markers, other motion", none, [""] * len(none))
    tally.markers("one marker 15 mm elsewhere, any direction", shifted, names)
    tally.markers("another person", stranger, [""] * len(stranger))
    head = ["take", "takes", "marker named", "another accused", "all put on anew"]
    return table(head, tally.rows), people(alone)


def later(figure: Skeleton, seed: int) -> list[Recording]:
    scripts = (synth.chicken_walk(seconds=8), synth.walk(seconds=6), synth.kicks(seconds=6))
    return [take(figure, script, 1000 + 10 * seed + i) for i, script in enumerate(scripts)]


def moves(figure: Skeleton, rng: np.random.Generator) -> Iterator[tuple[str, Skeleton]]:
    names = [marker.name for body in figure.bodies for marker in body.markers]
    for name in rng.choice(names, MOVED, replace=False):
        yield str(name), moved(figure, {str(name): SHIFT * direction(rng)})


def suit_anew(figure: Skeleton, seed: int, rng: np.random.Generator) -> Skeleton:
    """Calibrated on another day: every marker 15 mm elsewhere, another exercise."""
    names = [marker.name for body in figure.bodies for marker in body.markers]
    worn = moved(figure, {name: SHIFT * direction(rng) for name in names})
    return calibrated(take(worn, synth.exercise(seconds=20), 5000 + seed))


def people(alone: list[tuple[int, Skeleton]]) -> str:
    """Bones of every two calibrations: of one person in two suits, of two people."""
    odds: dict[str, list[float]] = {"same person, suit put on anew": [], "two people": []}
    for i, (who, first) in enumerate(alone):
        for whom, second in alone[:i]:
            kind = "same person, suit put on anew" if who == whom else "two people"
            odds[kind].append(compare(first, second).log_odds)
    rows = []
    for kind, values in odds.items():
        told = np.array(values)
        wrong = told < -2.0 if kind.startswith("same") else told > 2.0
        rows.append(
            [
                kind,
                len(told),
                f"{np.median(told):.1f}",
                f"{int(wrong.sum())} of {len(told)}",
                f"{int((np.abs(told) <= 2.0).sum())} of {len(told)}",
            ]
        )
    return table(["pair", "pairs", "log odds, median", "wrong", "open"], rows)


def real() -> str:
    """CMU's two takes: parts of one against the other part, and one against the other."""
    files = {"02_01": "cmu-02/02_01.c3d", "01_01": "cmu-01/01_01.c3d"}
    if not all((DATA / file).exists() for file in files.values()):
        return ""
    takes = {}
    for name, file in files.items():
        raw = read(DATA / file).recording().markers()
        takes[name] = prepared(raw, set_of([raw], OPTIONS), OPTIONS)[0]
    rows = []
    for name, whole in takes.items():
        halves = [part(whole, 0.0, 0.5), part(whole, 0.5, 1.0)]
        known = [calibrated(half) for half in halves]
        for i in (0, 1):
            found = find_replaced(known[i], halves[1 - i])
            odds = compare(known[i], known[1 - i]).log_odds
            rows.append(verdict(f"{name}, half {i + 1} against the other", found, odds))
    first, second = (calibrated(whole) for whole in takes.values())
    found = find_replaced(first, takes["01_01"])
    rows.append(verdict("01_01 against 02_01", found, compare(first, second).log_odds))
    return table(["CMU", "markers named", "all put on anew", "log odds of one person"], rows)


def verdict(name: str, found: Places, odds: float) -> list[object]:
    named = ", ".join(one.marker for one in found.replaced) or "none"
    return [name, named, "yes" if found.all_anew else "no", f"{odds:.1f}"]


def part(recording: Recording, start: float, stop: float) -> Recording:
    frames = slice(int(start * recording.n_frames), int(stop * recording.n_frames))
    residuals = recording.residuals
    return replace(
        recording,
        positions=recording.positions[frames],
        residuals=None if residuals is None else residuals[frames],
    )


def main() -> None:
    markers, pairs = synthetic(np.random.default_rng(5))
    text = f"""\
`python benchmarks/accuracy_passport.py`: {PEOPLE} synthetic people, each calibrated on an exercise
and a walk (1 mm noise, 6 mm of soft tissue, 1 % missing), then held against new takes. A marker on
a limb that went in a direction which a pose imitates is to be seen in no recording; most of those
not named are of this kind.

{markers}

By bones alone, each calibration from one exercise of 20 s, beyond ±2 settled:

{pairs}

Real takes, parts of one file against another:

{real()}
"""
    put_section("Passports", text)


if __name__ == "__main__":
    main()
