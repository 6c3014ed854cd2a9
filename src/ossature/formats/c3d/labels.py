"""Whose point is it, what is it called, and is it a marker at all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ossature.formats.c3d.parameters import Parameters
from ossature.formats.subjects import bare_label, label_prefixes, owner_of
from ossature.formats.text_table import unique_labels

OUTPUT_LISTS = (
    *("ANGLES", "FORCES", "MOMENTS", "POWERS", "REACTIONS", "SCALARS"),
    *("MODELED_MARKERS", "SYMBOLICS", "OUTPUTS"),
)
"""Parameters of POINT that list the labels of results of other software."""


@dataclass(frozen=True)
class Subject:
    """The points of one subject: their columns in the file and their names there."""

    name: str
    columns: tuple[int, ...]
    names: tuple[str, ...]
    outputs: frozenset[str]


def split_subjects(parameters: Parameters, n_points: int, problems: list[str]) -> list[Subject]:
    """One subject per label prefix; all points in one where there are not several."""
    labels = _labels(parameters, "POINT", "LABELS", n_points)
    outputs = _outputs(parameters)
    known = _prefixes(parameters, labels)
    owners = [owner_of(label, known) for label in labels]
    present = [name for name in dict.fromkeys(known.values()) if name in owners]
    if len(present) <= 1:
        name = present[0] if present else parameters.text("SUBJECTS", "NAMES")
        owners = [name] * n_points
        present = [name]
    elif "" in owners:
        present.append("")
    return [_subject(name, labels, owners, known, outputs, problems) for name in present]


def body_names(parameters: Parameters, n_bodies: int) -> dict[str, list[tuple[int, str]]]:
    """Columns and names of the ROTATION group's bodies, by subject."""
    labels = _labels(parameters, "ROTATION", "LABELS", n_bodies)
    known = _prefixes(parameters, labels)
    owners = [owner_of(label, known) for label in labels]
    bare = [re.sub(r"_4x4$", "", bare_label(label, known), flags=re.IGNORECASE) for label in labels]
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


def _labels(parameters: Parameters, group: str, name: str, count: int) -> list[str]:
    labels = parameters.texts(group, name)[:count]
    labels += [""] * (count - len(labels))
    return [label or f"unlabelled_{column + 1}" for column, label in enumerate(labels)]


def _prefixes(parameters: Parameters, labels: Sequence[str]) -> dict[str, str]:
    """Subject by label prefix. Without a list of subjects, the labels' own colons tell."""
    names = parameters.texts("SUBJECTS", "NAMES")
    prefixes = parameters.texts("SUBJECTS", "LABEL_PREFIXES")
    prefixes += [""] * (len(names) - len(prefixes))
    pairs = zip(prefixes, names, strict=False)
    known = {prefix or f"{name}:": name or prefix.rstrip(":") for prefix, name in pairs if name}
    if any(label.startswith(tuple(known)) for label in labels if known):
        return known
    return label_prefixes(labels)


def _outputs(parameters: Parameters) -> set[str]:
    lists = dict.fromkeys((*OUTPUT_LISTS, *parameters.texts("POINT", "TYPE_GROUPS")))
    markers = {"", "LABELS", "DESCRIPTIONS", "UNITS", "TYPE_GROUPS", "X_SCREEN", "Y_SCREEN"}
    return {
        label for name in lists if name not in markers for label in parameters.texts("POINT", name)
    } - {""}


def _subject(
    subject: str,
    labels: Sequence[str],
    owners: Sequence[str],
    known: dict[str, str],
    outputs: set[str],
    problems: list[str],
) -> Subject:
    columns = tuple(column for column, owner in enumerate(owners) if owner == subject)
    bare = [bare_label(labels[column], known) for column in columns]
    names = make_unique(bare, problems)
    listed = {
        name
        for name, short, column in zip(names, bare, columns, strict=True)
        if labels[column] in outputs or short in outputs
    }
    return Subject(subject, columns, names, frozenset(listed))
