"""Whose marker it is, where a label says so by a prefix: ``Ann:LASI``."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from osteon.formats.shared.text_table import unique_labels
from osteon.values import Recording

NOBODY = re.compile(r"un-?label|unnamed|uname|\*|(l|r|left|right)$", re.IGNORECASE)
"""Prefixes that mean "nobody's" or a side, not a subject."""


def label_prefixes(labels: Iterable[str]) -> dict[str, str]:
    """Subject by prefix, as the labels' own colons tell."""
    found = [label.partition(":")[0] for label in labels if ":" in label[1:]]
    return {f"{name}:": name for name in dict.fromkeys(found) if not NOBODY.match(name)}


def split_labels(labels: Iterable[str], known: Mapping[str, str]) -> list[tuple[str, str]]:
    """Of each label the subject, by its longest prefix, and the name that is left.

    The subject is empty where there is no prefix.
    """
    sizes = sorted({len(prefix) for prefix in known}, reverse=True)
    found = []
    for label in labels:
        size = next((size for size in sizes if label[:size] in known), 0)
        found.append((known[label[:size]], label[size:].strip() or label) if size else ("", label))
    return found


def by_subject(recording: Recording) -> tuple[Recording, ...]:
    """One recording for each of several subjects; labels without a prefix are nobody's."""
    known = label_prefixes(recording.names)
    if len(known) < 2:
        return (recording,)
    parted = split_labels(recording.names, known)
    columns: dict[str, list[int]] = {subject: [] for subject in (*known.values(), "")}
    for column, (subject, _) in enumerate(parted):
        columns[subject].append(column)
    return tuple(
        _part(recording, own, [parted[column][1] for column in own], subject)
        for subject, own in columns.items()
        if own
    )


def _part(recording: Recording, columns: list[int], labels: list[str], subject: str) -> Recording:
    names, _ = unique_labels(labels)
    told = zip(names, columns, strict=True)
    return replace(
        recording,
        positions=recording.positions[:, columns],
        names=names,
        subject=subject,
        residuals=None if recording.residuals is None else recording.residuals[:, columns],
        outputs=frozenset(n for n, column in told if recording.names[column] in recording.outputs),
    )
