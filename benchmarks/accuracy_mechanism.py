"""Mechanical hinges and ball joints: ours against plain SCoRE and SARA on the same markers.

    python benchmarks/accuracy_mechanism.py joints [DRAWS]   every row; 16 draws, close ones 100
    python benchmarks/accuracy_mechanism.py blind [DRAWS]    `solve --template none` of some

Each replaces its own section in docs/numbers/mechanism.md.
"""

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import accuracy_page as page
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import mechanism
import osteon as ost
from osteon.errors import NotEnoughData
from osteon.values import Take

PAGE = page.PAGE.with_name("mechanism.md")
KINDS = ("hinge", "ball")
FILTERS = {"raw": 0.0, "filtered": 0.05}
"""Seconds over which noise is smoothed; 0.05 is what a low-pass of 6 Hz leaves."""
DEGREES = (20, 40, 60, 90, 140)
MARKERS = (3, 5, 9)
NOISES = (0.0002, 0.0005, 0.001, 0.002)
"""Metres."""
CLOSE_RATIO = 0.98
"""Ratio of two places' rms above which a row is drawn again; chosen: the ratio of few draws,
alike in both, is some per cent off."""
CLOSE_DRAWS = (100, 400)
"""Draws of such a row, and of one that these leave above 1."""


BLIND_DEGREES, BLIND_MARKERS, BLIND_NOISES = (20, 60, 140), (3, 9), (0.0002, 0.002)
BLIND = ost.SolveOptions(template="none")


class Row(NamedTuple):
    """One set-up of the table."""

    kind: str
    filtered: str
    degrees: int
    n_markers: int
    noise: float

    def takes(self, draws: int) -> Iterator[mechanism.Mechanism]:
        for seed in range(draws):
            yield mechanism.mechanism(
                self.kind,
                self.degrees,
                self.n_markers,
                self.noise,
                smoothed=FILTERS[self.filtered],
                seed=seed,
                n_frames=400,
            )

    def label(self) -> list[object]:
        return [self.kind, self.filtered, f"{self.degrees}°", self.n_markers]


class Compared(NamedTuple):
    """Rms errors of a row, ours and theirs; metres and radians."""

    place: tuple[float, float]
    axis: tuple[float, float]
    free: int
    """How often the joint was called free."""
    unnamed: int
    """How often a hinge was not called one; its axis is not told then, and counts in no mean."""
    draws: int

    @property
    def ratio(self) -> float:
        return self.place[0] / self.place[1]

    @property
    def tilt(self) -> float:
        return self.axis[0] / self.axis[1]

    @property
    def worst(self) -> float:
        """The ratio that decides whether a row is open; axes of few draws are nearly SARA's."""
        return float(np.nanmax([self.ratio, CLOSE_RATIO * self.tilt]))


def compare(row: Row, draws: int) -> Compared:
    places, axes, kinds = [], [], []
    for take in row.takes(draws):
        names = take.recording.names
        groups = (names[: row.n_markers], names[row.n_markers :])
        tracked, link = mechanism.joined(take.recording, groups)
        place, line = mechanism.in_world(tracked, link)
        kinds.append(link.kind)
        places.append([off(take, row, place), off(take, row, mechanism.score(take))])
        if row.kind == "hinge" and line is not None:
            tilts = [mechanism.off_axis(take, each) for each in (line, mechanism.sara(take))]
            axes.append(tilts)
    unnamed = draws - kinds.count("hinge") if row.kind == "hinge" else 0
    tilt = rms(axes or [[np.nan, np.nan]])
    return Compared(rms(places), tilt, kinds.count("free"), unnamed, draws)


def off(take: mechanism.Mechanism, row: Row, place: np.ndarray) -> float:
    return mechanism.off_joint(take, row.kind, place)


def rms(errors: list[list[float]]) -> tuple[float, float]:
    ours, theirs = np.sqrt(np.mean(np.square(errors), axis=0))
    return float(ours), float(theirs)


def joints(draws: int) -> str:
    found = {}
    for row in map(Row._make, product(KINDS, FILTERS, DEGREES, MARKERS, NOISES)):
        found[row] = compare(row, draws)
        if found[row].worst > CLOSE_RATIO:
            found[row] = compare(row, CLOSE_DRAWS[0])
        if found[row].worst > 1.0:
            found[row] = compare(row, CLOSE_DRAWS[1])
        print(row, found[row], flush=True)
    return joints_text(found, draws)


def joints_text(found: dict[Row, Compared], draws: int) -> str:
    lines = []
    for first in (row for row in found if row.noise == NOISES[0]):
        same = [found[first._replace(noise=noise)] for noise in NOISES]
        lines.append(first.label() + [cell for one in same for cell in _cells(one)])
    head = ["joint", "noise is", "turns", "markers"]
    head += [
        f"{1000 * noise:g} mm: {what}" for noise in NOISES for what in ("ours", "ratio", "axis")
    ]
    ratios = [one.ratio for one in found.values()]
    tilts = [one.tilt for row, one in found.items() if row.kind == "hinge"]
    free = sum(one.free for one in found.values())
    hinges = sum(one.draws for row, one in found.items() if row.kind == "hinge")
    unnamed = sum(one.unnamed for one in found.values())
    again = sum(one.draws > draws for one in found.values())
    return f"""\
`python benchmarks/accuracy_mechanism.py joints`: two clusters 4 cm wide, 20 cm from a mechanical
joint, 400 frames at 100 Hz; {draws} draws a row, {CLOSE_DRAWS[0]} or {CLOSE_DRAWS[1]} where that
left the row open ({again} of {len(found)}). *Ours*: rms error of the joint's place, mm (of a
hinge: across its axis). *Ratio*: to plain SCoRE's on the same markers. *Axis*: ratio of our axis'
error to SARA's.

Over all rows the places are {min(ratios):.2f}–{max(ratios):.2f} of SCoRE's (mean of logarithms
{np.exp(np.mean(np.log(ratios))):.2f}), the axes {min(tilts):.2f}–{max(tilts):.2f} of SARA's;
called free: {free}; hinges not called so: {unnamed} of {hinges}.

{page.table(head, lines)}"""


def _cells(one: Compared) -> list[str]:
    tilt = "" if np.isnan(one.axis[0]) else f"{one.tilt:.2f}"
    return [f"{1000 * one.place[0]:.2f}", f"{one.ratio:.2f}", tilt]


class Blind(NamedTuple):
    """Of the draws of a row that gave two whole bodies."""

    draws: int
    kinds: list[str]
    errors: list[list[float]]
    """Ours and SCoRE's of the place, metres."""
    offs: list[float]
    """Ours in the deviations that were stated."""

    @property
    def ratio(self) -> float:
        ours, theirs = rms(self.errors)
        return ours / theirs

    def cells(self) -> list[str]:
        hinges = self.kinds.count("hinge")
        cells = [f"{len(self.kinds)} of {self.draws}", str(hinges)]
        if not self.errors:
            return [*cells, "", "", ""]
        ours = f"{1000 * rms(self.errors)[0]:.2f}"
        return [*cells, ours, f"{self.ratio:.2f}", f"{np.sqrt(np.mean(np.square(self.offs))):.2f}"]


def blind(draws: int) -> str:
    found = {}
    for row in map(Row._make, product(KINDS, FILTERS, BLIND_DEGREES, BLIND_MARKERS, BLIND_NOISES)):
        found[row] = compare_blind(row, draws)
        if found[row].errors and found[row].ratio > CLOSE_RATIO:
            found[row] = compare_blind(row, CLOSE_DRAWS[0])
        print(row, found[row].cells(), flush=True)
    lines = [[*row.label(), f"{1000 * row.noise:g} mm", *one.cells()] for row, one in found.items()]
    ratios = [one.ratio for one in found.values() if one.errors]
    offs = [off for one in found.values() for off in one.offs]
    head = ["joint", "noise is", "turns", "markers", "noise", "two bodies", "hinge"]
    return f"""\
`python benchmarks/accuracy_mechanism.py blind`: the same takes, {draws} draws a row,
{CLOSE_DRAWS[0]} where that left the row open, solved without template or groups
(`solve --template none`). *Two bodies*: draws in which the markers came apart as they should.
*Hinge*: how many of those were called one. *Ours*: rms error of the place in those, mm; *ratio* to
SCoRE's, which is told the groups; *z*: rms of the error in the deviations stated.

Over all rows the places are {min(ratios):.2f}–{max(ratios):.2f} of SCoRE's (mean of logarithms
{np.exp(np.mean(np.log(ratios))):.2f}); z is {np.sqrt(np.mean(np.square(offs))):.2f} over all draws.

{page.table([*head, "ours", "ratio", "z"], lines)}"""


def compare_blind(row: Row, draws: int) -> Blind:
    found = Blind(draws, [], [], [])
    for take in row.takes(draws):
        try:
            (solved,) = ost.solve(Take(recordings=(take.recording,)), options=BLIND)
        except NotEnoughData:
            continue
        groups = {frozenset(m.name for m in body.markers) for body in solved.skeleton.bodies}
        names = take.recording.names
        if groups != {frozenset(names[: row.n_markers]), frozenset(names[row.n_markers :])}:
            continue
        place = solved.motion.world()[1][:, 1]
        found.errors.append([off(take, row, place), off(take, row, mechanism.score(take))])
        found.kinds.append(solved.skeleton.bodies[1].joint.kind)
        found.offs.append(mechanism.off_in_deviations(take, row.kind, solved.motion))
    return found


SECTIONS = {
    "joints": ("Joints against SCoRE and SARA", joints, 16),
    "blind": ("Without template or groups", blind, 16),
}

if __name__ == "__main__":
    chosen, *rest = sys.argv[1:] or ["joints"]
    heading, work, usual = SECTIONS[chosen]
    page.put_section(heading, work(int(rest[0]) if rest else usual), PAGE)
