"""Whose point is it, what is it called, and is it a marker at all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from osteon.formats.c3d.parameters import C3dParameters
from osteon.formats.shared.text_table import label_prefixes, split_labels, unique_labels

OUTPUT_LISTS = (
    *("ANGLES", "FORCES", "MOMENTS", "POWERS", "REACTIONS", "SCALARS"),
    *("MODELED_MARKERS", "SYMBOLICS", "OUTPUTS"),
)
"""C3dParameters of POINT that list the labels of results of other software."""

AXIS_STARTS = ("ORIGIN", "AXISX", "AXISY", "AXISZ")


@dataclass(frozen=True)
class C3dSubject:
    """The points of one subject: their columns in the file and their names there."""

    name: str
    columns: tuple[int, ...]
    names: tuple[str, ...]
    outputs: frozenset[str]


def split_subjects(
    parameters: C3dParameters, n_points: int, problems: list[str]
) -> list[C3dSubject]:
    """One subject per label prefix; all points in one where there are not several."""
    labels = _labels(parameters, "POINT", "LABELS", n_points)
    outputs = {label for labels in output_lists(parameters).values() for label in labels} - {""}
    known = _prefixes(parameters, labels)
    parted = split_labels(labels, known)
    owners = [owner for owner, _ in parted]
    there = set(owners)
    present = [name for name in dict.fromkeys(known.values()) if name in there]
    if len(present) <= 1:
        name = present[0] if present else parameters.text("SUBJECTS", "NAMES")
        owners = [name] * n_points
        present = [name]
    elif "" in there:
        present.append("")
    columns: dict[str, list[int]] = {name: [] for name in present}
    for column, owner in enumerate(owners):
        columns[owner].append(column)
    bare = [name for _, name in parted]
    return [_subject(name, columns[name], labels, bare, outputs, problems) for name in present]


def body_names(parameters: C3dParameters, n_bodies: int) -> dict[str, list[tuple[int, str]]]:
    """Columns and names of the ROTATION group's bodies, by subject."""
    labels = _labels(parameters, "ROTATION", "LABELS", n_bodies)
    known = _prefixes(parameters, labels)
    parted = split_labels(labels, known)
    owners = [owner for owner, _ in parted]
    bare = [re.sub(r"_4x4$", "", name, flags=re.IGNORECASE) for _, name in parted]
    if len(set(owners)) <= 1 or len({name for name in owners if name}) == 1:
        one = next((name for name in owners if name), parameters.text("SUBJECTS", "NAMES"))
        owners = [one] * n_bodies
    found: dict[str, list[tuple[int, str]]] = {}
    for column, (owner, name) in enumerate(zip(owners, bare, strict=True)):
        found.setdefault(owner, []).append((column, name))
    return found


def make_unique(names: Sequence[str], problems: list[str]) -> tuple[str, ...]:
    """Names of which no two are the same: the second ``T8`` becomes ``T8_2``."""
    unique, _ = unique_labels(names)
    twice = {name for name, new in zip(names, unique, strict=True) if name != new}
    if twice:
        told = ", ".join(sorted(twice)[:8])
        problems.append(f"labels used more than once, told apart by a number: {told}")
    return unique


def _labels(parameters: C3dParameters, group: str, name: str, count: int) -> list[str]:
    labels = parameters.texts(group, name)[:count]
    labels += [""] * (count - len(labels))
    return [label or f"unlabelled_{column + 1}" for column, label in enumerate(labels)]


def _prefixes(parameters: C3dParameters, labels: Sequence[str]) -> dict[str, str]:
    """C3dSubject by label prefix. Without a list of subjects, the labels' own colons tell."""
    names = parameters.texts("SUBJECTS", "NAMES")
    prefixes = parameters.texts("SUBJECTS", "LABEL_PREFIXES")
    prefixes += [""] * (len(names) - len(prefixes))
    pairs = zip(prefixes, names, strict=False)
    known = {prefix or f"{name}:": name or prefix.rstrip(":") for prefix, name in pairs if name}
    if any(owner for owner, _ in split_labels(labels, known)):
        return known
    return label_prefixes(labels)


def output_lists(parameters: C3dParameters) -> dict[str, list[str]]:
    """Labels of results of other software, by the parameter of POINT that lists them."""
    names = dict.fromkeys((*OUTPUT_LISTS, *parameters.texts("POINT", "TYPE_GROUPS")))
    markers = {"", "LABELS", "DESCRIPTIONS", "UNITS", "TYPE_GROUPS", "X_SCREEN", "Y_SCREEN"}
    lists = {name: parameters.texts("POINT", name) for name in names if name not in markers}
    return {name: labels for name, labels in lists.items() if labels}


def axis_points(names: Sequence[str]) -> set[str]:
    """Points that show the axes of a model's segment, which files list nowhere as results.

    Plug-in Gait writes an origin and a point along each axis, ``LFEO``, ``LFEA``, ``LFEL``,
    ``LFEP``; models for Vicon's BodyBuilder call them ``ORIGINPelvis``, ``AXISXPelvis``, ….
    """
    there = set(names)
    stems = [name[:-1] for name in there if name.endswith("O") and len(name) > 1]
    segments = [name.removeprefix("ORIGIN") for name in there if name.startswith("ORIGIN")]
    found = [{stem + end for end in "OALP"} for stem in stems]
    found += [{start + each for start in AXIS_STARTS} for each in segments]
    return {name for four in found if four <= there for name in four}


def _subject(
    subject: str,
    columns: Sequence[int],
    labels: Sequence[str],
    bare: Sequence[str],
    outputs: set[str],
    problems: list[str],
) -> C3dSubject:
    own = [bare[column] for column in columns]
    names = make_unique(own, problems)
    axes = axis_points(own)
    listed = {
        name
        for name, short, column in zip(names, own, columns, strict=True)
        if labels[column] in outputs or short in outputs or short in axes
    }
    return C3dSubject(subject, tuple(columns), names, frozenset(listed))
