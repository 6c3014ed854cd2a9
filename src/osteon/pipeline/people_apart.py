"""Several subjects under labels that no set knows: told apart by who keeps together.

Markers of one body, and of bodies that share a joint, are near each other for all of a take, while
those of two people are not, even if these touch each other for a while. What keeps together is
somebody of their own if a human is among them: parts of one person are no human each.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.cleaning import prepare
from osteon.human import Recognition, recognise, recognise_shape
from osteon.maths import distances_between
from osteon.pipeline.solved import SolveOptions
from osteon.pipeline.subjects_in_files import Subject
from osteon.values import Recording

NEAR_DISTANCE = 0.6
"""Metres within which neighbours on one person are. Chosen, as in ``labelling``: a knee is 0.45 m
from ankle and hip on tall people, who may wear nothing between."""
STEADY_SHARE = 0.98
"""Share of the frames in which neighbours must be near. Chosen: spikes are fewer."""
LOOKED_AT = 200
"""Count of frames looked at, spread evenly. Chosen: two of a second in most takes."""
FEWEST_WORN = 12
"""Count of markers from which a group may be somebody. Chosen: props carry fewer, and humans whose
bodies are told wear more."""


def people_apart(name: str, subject: Subject, options: SolveOptions) -> dict[str, Subject]:
    """Return a subject whose labels nobody knows as several, where several are in its takes."""
    fullest = max(subject.takes, key=lambda take: (take.n_markers, take.n_frames))
    known = options.skeleton, options.passport, options.own_set
    if options.template != "auto" or any(known) or recognise(fullest.names):
        return {name: subject}
    groups = [group for group in keeping_together(fullest) if len(group) >= FEWEST_WORN]
    if len(groups) < 2 or not any(_is_human(fullest, group) for group in groups):
        return {name: subject}
    stray = set(fullest.names).difference(*groups)
    names = [f"{name or 'subject'}_{number}" for number in range(1, len(groups) + 1)]
    return {
        one: _part(subject, one, group, stray) for one, group in zip(names, groups, strict=True)
    }


def keeping_together(take: Recording) -> list[list[str]]:
    """Return groups of markers that neighbours link, largest first."""
    rows = np.unique(np.linspace(0, take.n_frames - 1, LOOKED_AT).astype(int))
    near, together = np.zeros((2, take.n_markers, take.n_markers))
    for points in take.positions[rows]:
        apart = distances_between(points, points)
        together += np.isfinite(apart)
        near += apart < NEAR_DISTANCE
    linked = near >= STEADY_SHARE * np.maximum(together, 1.0)
    left, groups = np.ones(take.n_markers, dtype=bool), []
    while left.any():
        group = np.arange(take.n_markers) == np.argmax(left)
        while (wider := linked[group].any(axis=0) | group).sum() > group.sum():
            group = wider
        left &= ~group
        groups.append([take.names[column] for column in np.flatnonzero(group)])
    return sorted(groups, key=len, reverse=True)


def _is_human(take: Recording, group: Sequence[str]) -> bool:
    cleaned, _ = prepare(take.select(group), {}, repair=True)
    return isinstance(recognise_shape(cleaned), Recognition)


def _part(subject: Subject, name: str, group: Sequence[str], stray: set[str]) -> Subject:
    """Return what one group shows of all takes, with a word about who is beside."""
    told = f"labels of no known set, of several who keep apart: {len(group)} markers are {name}'s"
    if stray:
        told += f"; near nobody, and left out: {', '.join(sorted(stray))}"
    shown = [
        (own, path)
        for take, path in zip(subject.takes, subject.paths, strict=True)
        if (own := _of(take, group, name)).n_markers
    ]
    stills = [own for still in subject.stills if (own := _of(still, group, name)).n_markers]
    takes, paths = map(list, zip(*shown, strict=True))
    return Subject(takes, paths, stills, [*subject.notes, told])


def _of(take: Recording, group: Sequence[str], name: str) -> Recording:
    own = take.select([label for label in take.names if label in group])
    return replace(own, subject=name)
