"""Solved takes → their gait, by person; and the takes that it is compared with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.anatomy import ClinicalAngles
from osteon.errors import NotEnoughData, OsteonError
from osteon.gait import GaitTake, gait_of
from osteon.pipeline.analyses import angles, shown
from osteon.pipeline.solve_take import solve
from osteon.pipeline.solved import Solved, SolveOptions
from osteon.posing import FEET
from osteon.threads import one_thread
from osteon.typing import Progress, Step, unheard


@dataclass(frozen=True, eq=False)
class Walks:
    """Takes of one person in one session, at least one of which has steps."""

    solved: tuple[Solved, ...]
    angles: tuple[ClinicalAngles, ...]
    takes: tuple[GaitTake, ...]

    @property
    def has_cycles(self) -> bool:
        return any(take.cycles for take in self.takes)


@dataclass(frozen=True, eq=False)
class GaitComparison:
    """What a person's gait is held against."""

    other: tuple[GaitTake, ...] = ()
    """Takes of another session."""
    name: str = ""
    """What the other session is called."""
    people: tuple[tuple[GaitTake, ...], ...] = ()
    """Controls, each with their takes."""
    notes: tuple[str, ...] = ()
    """Takes that could not be used, and why."""


@one_thread()
def gait(solved: Solved, told: ClinicalAngles) -> GaitTake:
    """Return foot events and cycles of a solved take, and its angles over them."""
    recording = solved.recording
    name = recording.source.file or recording.subject
    reactions = recording.ground_reactions()
    return gait_of(solved.motion, told, name, recording.marks, reactions, feet_seen(solved))


def feet_seen(solved: Solved) -> np.ndarray:
    """(n_frames,) whether a marker of each foot, or of its toes, was seen; true of feet without
    any."""
    bodies = solved.skeleton.bodies
    carriers = [[b for b in bodies if foot in (b.name, b.parent)] for foot in FEET]
    return np.logical_and.reduce([shown(solved.recording, each) for each in carriers])


def gaits(solved: Sequence[Solved], told: Sequence[ClinicalAngles]) -> dict[str, Walks]:
    """Return the gait of all who take a step; the name is empty where there is one person."""
    people = list(dict.fromkeys(one.recording.subject for one in solved))
    found = {}
    for person in people:
        own = [i for i, one in enumerate(solved) if one.recording.subject == person]
        takes = []
        for i in own:
            try:
                takes.append(gait(solved[i], told[i]))
            except NotEnoughData:  # no two feet: a hand, an animal
                break
        if len(takes) == len(own) and any(take.events for take in takes):
            picked = tuple(solved[i] for i in own), tuple(told[i] for i in own)
            found[person if len(people) > 1 else ""] = Walks(*picked, tuple(takes))
    return found


def compare_with(
    against: Sequence[Path] = (),
    controls: Path | None = None,
    convention: str = "isb",
    options: SolveOptions | None = None,
    progress: Progress = unheard,
) -> GaitComparison:
    """Solve the takes of another session, and those of controls.

    Parameters
    ----------
    against
        Files of the other session; they calibrate together.
    controls
        A folder of takes of other people, each in a file; those of one subject count as one.
    options
        Of the solve; what it says about the person holds for nobody else.
    """
    asked = options or SolveOptions()
    general = SolveOptions(
        template=asked.template, own_set=asked.own_set, hips=asked.hips, smooth=asked.smooth
    )
    other: list[GaitTake] = []
    if against:
        for one in solve(*against, options=general, progress=progress):
            other.append(gait(one, angles(one, convention)))
        if not any(take.cycles for take in other):
            names = ", ".join(path.name for path in against)
            raise NotEnoughData(f"{names}: no gait cycle to compare with; give takes of walking")
    people, notes = ({}, [])
    if controls is not None:
        people, notes = _people_in(controls, convention, general, progress)
    name = ", ".join(path.stem for path in against)
    return GaitComparison(tuple(other), name, tuple(map(tuple, people.values())), tuple(notes))


def _people_in(
    folder: Path, convention: str, options: SolveOptions, progress: Progress
) -> tuple[dict[str, list[GaitTake]], list[str]]:
    """Every person's takes with gait cycles, and a word about files that were of no use."""
    people: dict[str, list[GaitTake]] = {}
    notes = []
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] != ".")
    for path in files:
        progress(Step("controls", f"solving {path.name} of the controls"))
        try:
            for one in solve(path, options=options):
                take = gait(one, angles(one, convention))
                if take.cycles:
                    people.setdefault(one.recording.subject or path.name, []).append(take)
                else:
                    notes.append(f"controls: {path.name} has no gait cycle and was left out")
        except OsteonError as error:
            notes.append(f"controls: {path.name} was left out: {error}")
    if not people:
        raise NotEnoughData(f"{folder} holds no take with a gait cycle; put walking takes there")
    return people, notes
