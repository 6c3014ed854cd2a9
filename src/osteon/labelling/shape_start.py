"""Labels of a marker set by the shape and the motion of a whole take.

One frame of an average human leaves open who wears clusters and no knees or ankles. How the markers
mostly stand, and which of them move together, then tells the bodies they are on, as it does where
no set is known (``human.recognise_shape``); only that markers are on landmarks of the set.
"""

import numpy as np

from osteon.human import MarkerSet, Recognition, Unlike, human, recognise_shape
from osteon.labelling.average_human import average_wearer
from osteon.labelling.courses import Chains
from osteon.labelling.figure_search import Found
from osteon.labelling.first_frame import Start
from osteon.labelling.pieces import relabelled
from osteon.labelling.wearer import Wearer
from osteon.typing import Indices

SURE_DOUBT = 0.02
"""Metres rms that a landmark may be another, up to which its label is given. Chosen: half of what
landmarks of one body are apart."""

WORN_SHARE = 0.9
"""Share of a set's labels that must be seen for all to count as worn: then markers are on its own
landmarks only; else on any, for those of others keep markers of clusters from the set's. Chosen:
one in ten is hidden."""


def start_by_shape(marker_set: MarkerSet, chains: Chains) -> Start | None:
    """Return who wears a set, by the whole take; None where they are not like a human."""
    words = _words(marker_set)
    tracks = tuple(f"track{number}" for number in range(len(chains)))
    cloud = relabelled(chains.pieces, chains.number, tracks)
    shape: Recognition | Unlike = Unlike("not looked at")
    if _are_all_worn(marker_set, chains):
        shape = recognise_shape(cloud, frozenset(words.values()))
    if isinstance(shape, Unlike):
        shape = recognise_shape(cloud)
    if isinstance(shape, Unlike):
        return None
    wearer = average_wearer(marker_set.markers, shape.size)
    label = {word: wearer.names.index(name) for name, word in words.items()}
    marks = human().landmarks
    on = {
        tracks.index(track): marks[word].body if word in marks and word not in label else word
        for track, word in shape.words.items()
    }
    held = np.full(len(wearer.names), -1)
    for chain, word in on.items():
        if word in label:
            held[label[word]] = chain
    doubts = {chain: shape.doubts[tracks[chain]] for chain, word in on.items() if word in label}
    _give_others(wearer, held, on)
    n_bodies = len(wearer.parents)
    nowhere = np.full((n_bodies, 3, 3), np.nan), np.full((n_bodies, 3), np.nan)
    answer = Found(0.0, *nowhere, held)
    return Start(
        shape.confidence,
        wearer,
        0,
        answer,
        np.arange(len(chains)),
        undecided=_undecided(wearer, held, doubts),
        by_shape=True,
    )


def _are_all_worn(marker_set: MarkerSet, chains: Chains) -> bool:
    """Whether about as many points are seen at once as the set has labels."""
    return chains.pieces.recording.seen.sum(axis=1).max() > WORN_SHARE * len(marker_set.markers)


def _words(marker_set: MarkerSet) -> dict[str, str]:
    """Return the landmarks of a set's labels, of which a place is known."""
    word = {id(mark): word for word, mark in human().landmarks.items()}
    return {label: word[id(m)] for label, m in marker_set.markers.items() if id(m) in word}


def _give_others(wearer: Wearer, held: Indices, on: dict[int, str]) -> None:
    """Give what is somewhere on a body to its labels without a place, in any order; or to the one
    label that is left where one marker is."""
    for index, body in enumerate(wearer.skeleton.names):
        own = [chain for chain, word in on.items() if word == body]
        labels = wearer.labels_of(index)
        loose = labels[wearer.loose[labels]]
        held[loose[: len(own)]] = own[: len(loose)]
        left = labels[held[labels] < 0]
        if len(left) == len(own) == 1 and not len(loose):
            held[left] = own


def _undecided(wearer: Wearer, held: Indices, doubts: dict[int, float]) -> frozenset[int]:
    """Return labels that nobody holds, or in doubt: ``doubts`` are metres, by chain."""
    doubt = np.array([doubts.get(int(chain), 0.0) if chain >= 0 else np.inf for chain in held])
    return frozenset(np.flatnonzero((doubt > SURE_DOUBT) & ~wearer.loose).tolist())
