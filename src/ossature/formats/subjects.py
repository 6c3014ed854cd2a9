"""Whose marker it is, where a label says so by a prefix: ``Ann:LASI``."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ossature.formats.text_table import unique_labels
from ossature.values import Recording

NOBODY = re.compile(r"un-?label|unnamed|uname|\*|(l|r|left|right)$", re.IGNORECASE)
"""Prefixes that mean "nobody's" or a side, not a subject."""


def label_prefixes(labels: Iterable[str]) -> dict[str, str]:
    """Subject by prefix, as the labels' own colons tell."""
    found = [label.partition(":")[0] for label in labels if ":" in label[1:]]
    return {f"{name}:": name for name in dict.fromkeys(found) if not NOBODY.match(name)}


def owner_of(label: str, known: Mapping[str, str]) -> str:
    """The subject of a label by its longest prefix; empty where it has none."""
    return known.get(_prefix_of(label, known), "")


def bare_label(label: str, known: Mapping[str, str]) -> str:
    """A label without its subject's prefix."""
    prefix = _prefix_of(label, known)
    return (label.removeprefix(prefix).strip() if prefix else label) or label


def _prefix_of(label: str, known: Iterable[str]) -> str:
    return max((prefix for prefix in known if label.startswith(prefix)), key=len, default="")


def by_subject(recording: Recording) -> tuple[Recording, ...]:
    """One recording for each of several subjects; labels without a prefix are nobody's."""
    known = label_prefixes(recording.names)
    if len(known) < 2:
        return (recording,)
    owners = {name: owner_of(name, known) for name in recording.names}
    parts = []
    for subject in (*known.values(), ""):
        own = [name for name in recording.names if owners[name] == subject]
        if own:
            names, _ = unique_labels([bare_label(name, known) for name in own])
            part, outputs = recording.select(own), recording.outputs
            short = {new for new, name in zip(names, own, strict=True) if name in outputs}
            named = replace(part, names=names, subject=subject, outputs=frozenset(short))
            parts.append(named)
    return tuple(parts)
