"""Labels of a marker set by the shape and the motion of a whole take.

One frame of an average human leaves open who wears clusters and no knees or ankles. How the markers
mostly stand, and which of them move together, then tells the bodies they are on, as it does where
no set is known (``human.recognise_shape``); only that markers are on landmarks of the set. What
shape is sure of on one side tells the other.
"""

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from osteon.human import MarkerSet, Recognition, Unlike, human, recognise_shape
from osteon.labelling.average_human import average_wearer, is_taken_off
from osteon.labelling.courses import Chains
from osteon.labelling.figure_search import STEADY_RMS, Found
from osteon.labelling.first_frame import Start
from osteon.labelling.following import median_of_seen
from osteon.labelling.pieces import relabelled
from osteon.labelling.wearer import Wearer
from osteon.typing import Array, Indices
from osteon.values import Recording

SURE_DOUBT = 0.02
"""Metres rms that a landmark may be another, up to which its label is given. Chosen: half of what
landmarks of one body are apart."""
WORN_SHARE = 0.9
"""Share of a set's labels that must be seen for all to count as worn: then markers are on its own
landmarks only; else on any, for those of others keep markers of clusters from the set's. Chosen:
one in ten is hidden."""
ALIKE_DISTANCE, ALIKE_RATIO = 0.025, 2.0
"""Metres rms that distances between markers of a body may differ from the other side's, and the
ratio by which others must differ more. Chosen: as markers are put on by hand; even odds are not
enough."""
ALIKE_FRAMES = 100
"""Count of frames that tell these distances. Chosen: enough for a median."""
MOST_NEAR = 8
"""Count of markers on a limb that are tried for it. Chosen: bounds the orders to some hundreds."""


def start_by_shape(marker_set: MarkerSet, chains: Chains) -> Start | None:
    """Return who wears a set, by the whole take; None where they are not like a human."""
    marker_set = _worn(marker_set, chains)
    tracks = tuple(f"track{number}" for number in range(len(chains)))
    cloud = relabelled(chains.pieces, chains.number, tracks)
    words = _words(marker_set)
    own, all_worn = frozenset(words.values()), _are_all_worn(marker_set, chains)
    shape = recognise_shape(cloud, own if all_worn else None)
    if isinstance(shape, Unlike):
        shape = recognise_shape(cloud, None if all_worn else own)
    if isinstance(shape, Unlike):
        return None
    wearer = average_wearer(marker_set.markers, shape.size)
    told = _told(wearer, words, shape, tracks)
    told.wear_alike(_apart(cloud))
    told.give_others()
    n_bodies = len(wearer.parents)
    nowhere = np.full((n_bodies, 3, 3), np.nan), np.full((n_bodies, 3), np.nan)
    return Start(
        shape.confidence,
        wearer,
        0,
        Found(0.0, *nowhere, told.held),
        np.arange(len(chains)),
        undecided=told.undecided(),
        by_shape=True,
    )


def _worn(marker_set: MarkerSet, chains: Chains) -> MarkerSet:
    """Return the set; without what is taken off before somebody runs, where the rest has a label
    for every point that is seen."""
    kept = {label: m for label, m in marker_set.markers.items() if not is_taken_off(m)}
    enough = len(kept) >= _most_seen(chains)
    return replace(marker_set, markers=kept) if enough else marker_set


def _are_all_worn(marker_set: MarkerSet, chains: Chains) -> bool:
    """Whether about as many points are seen at once as the set has labels."""
    return _most_seen(chains) > WORN_SHARE * len(marker_set.markers)


def _most_seen(chains: Chains) -> int:
    return int(chains.pieces.counts(np.arange(len(chains.pieces))).max())


def _words(marker_set: MarkerSet) -> dict[str, str]:
    """Return the landmarks of a set's labels, of which a place is known."""
    word = {id(mark): word for word, mark in human().landmarks.items()}
    return {label: word[id(m)] for label, m in marker_set.markers.items() if id(m) in word}


def _apart(cloud: Recording) -> Array:
    """Return (n_tracks, n_tracks) metres between tracks, median; infinite: never seen together."""
    some = cloud.positions[:: max(1, cloud.n_frames // ALIKE_FRAMES)]
    return median_of_seen(np.linalg.norm(some[:, :, None] - some[:, None], axis=-1))


@dataclass(frozen=True, eq=False)
class _Told:
    """What shape says of labels and chains; changed in place as more is known."""

    wearer: Wearer
    held: Indices
    """(n_labels,) the chain of each; −1: none."""
    doubts: Array
    """(n_labels,) metres that it may be another; infinite where none is held."""
    carriers: Indices
    """(n_chains,) the body that each is on; −1: one without labels."""

    def wear_alike(self, apart: Array) -> None:
        """Label bodies that shape leaves in doubt as the other side, where it is sure of that: by
        those markers of the limb that are as far ``apart`` from each other."""
        wearer = self.wearer
        for body, parent in enumerate(wearer.parents.tolist()):
            own = wearer.placed_labels_of(body)
            twins = wearer.twin[own]
            if len(own) < 3 or (twins < 0).any() or (self.doubts[own] <= SURE_DOUBT).all():
                continue
            near = np.flatnonzero(np.isin(self.carriers, [body, parent]))
            if (self.doubts[twins] <= SURE_DOUBT).all() and len(near) <= MOST_NEAR:
                found = alike(apart, self.held[twins], near)
                if found is not None:
                    self.carriers[self.carriers == body] = parent
                    self.held[np.isin(self.held, found)] = -1
                    self.carriers[found], self.held[own], self.doubts[own] = body, found, 0.0

    def give_others(self) -> None:
        """Give what is somewhere on a body to its labels without a place, in any order; or to the
        one label that is left where one marker is."""
        for body in range(len(self.wearer.parents)):
            own = np.setdiff1d(np.flatnonzero(self.carriers == body), self.held)
            labels = self.wearer.labels_of(body)
            loose = labels[self.wearer.loose[labels]]
            self.held[loose[: len(own)]] = own[: len(loose)]
            left = labels[self.held[labels] < 0]
            if len(left) == len(own) == 1 and not len(loose):
                self.held[left], self.doubts[left] = own, 0.0

    def undecided(self) -> frozenset[int]:
        """Return labels that nobody holds, or in doubt; not on bodies that carry as many markers as
        they have labels, for there a marker is nothing else."""
        bodies, n_bodies = self.wearer.rig.tree.marker_bodies, len(self.wearer.parents)
        on = np.bincount(self.carriers[self.carriers >= 0], minlength=n_bodies)
        full = (on == np.bincount(bodies, minlength=n_bodies))[bodies] & (self.held >= 0)
        unsure = (self.held < 0) | ((self.doubts > SURE_DOUBT) & ~full)
        return frozenset(np.flatnonzero(unsure & ~self.wearer.loose).tolist())


def _told(
    wearer: Wearer, words: dict[str, str], shape: Recognition, tracks: tuple[str, ...]
) -> _Told:
    label = {word: wearer.names.index(name) for name, word in words.items()}
    held, doubts = np.full(len(wearer.names), -1), np.full(len(wearer.names), np.inf)
    carriers, marks = np.full(len(tracks), -1), human().landmarks
    for track, word in shape.words.items():
        chain, body = tracks.index(track), marks[word].body if word in marks else word
        if body in wearer.skeleton.names:
            carriers[chain] = wearer.skeleton.names.index(body)
        if word in label:
            held[label[word]], doubts[label[word]] = chain, shape.doubts[track]
    return _Told(wearer, held, doubts, carriers)


def alike(apart: Array, pattern: Indices, near: Indices) -> Indices | None:
    """Return those of some tracks, in order, that are as far from each other as a pattern's are;
    None where no others, or several, are.

    Parameters
    ----------
    apart : (n_tracks, n_tracks)
        Metres between tracks.
    """
    if len(near) < len(pattern):
        return None
    orders = np.array(list(permutations(near.tolist(), len(pattern))))
    pairs = np.triu_indices(len(pattern), 1)
    wanted = apart[np.ix_(pattern, pattern)][pairs]
    off = apart[orders[:, pairs[0]], orders[:, pairs[1]]] - wanted
    rms = np.sqrt(np.mean(off**2, axis=1))
    best, *others = np.argsort(rms).tolist()
    clear = not others or rms[others[0]] > ALIKE_RATIO * max(rms[best], STEADY_RMS)
    return orders[best] if rms[best] < ALIKE_DISTANCE and clear else None
