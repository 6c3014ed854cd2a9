"""Every piece looked at again in the light of the whole take, and how sure its label is."""

from dataclasses import dataclass, replace

import numpy as np

from osteon.labelling.courses import Chains, sure_chains
from osteon.labelling.exchanged_stretches import DOUBT_RATIO, Posed, exchange_stretches, posed_by
from osteon.labelling.following import FAR_GATE, Following, Holders
from osteon.labelling.pieces import Pieces, by_label
from osteon.labelling.rigid_joins import join_by_neighbours
from osteon.labelling.wearer import Wearer
from osteon.maths import kernel
from osteon.typing import Array, Indices, Mask, Share, unheard

LOOKS = 30
"""Count of frames of a piece that are compared with the pose. Chosen: enough for a median."""
LOOK_SECONDS = 0.04
"""Seconds between the frames that are posed for it. Chosen: a pose is found from the one before,
and limbs turn by less than half a radian meanwhile."""
LONG_LOOK = 0.1
"""Seconds between them where poses were found nearby while following. Chosen: enough for a median
of what half a second shows."""
ROUNDS = 3
"""Count of times that what changed is looked at again. Chosen: mostly nothing does the second
time."""
NEAR_GATE = 0.04
"""Metres from a label's place within which an open piece is given to it. Chosen: as while
following, of a body that is seen."""
OTHER_ODDS = 0.8
"""Share: probability of another label from which a piece is opened again. Chosen: more likely than
not by far, though every marker pulls the pose towards itself."""
AVERAGE_SLACK = 0.03
"""Metres rms per axis from which a label's place is not this person's own. Chosen: skin and a suit
put on again do less, an average human does more."""
CARRIED_CONFIDENCE = 0.8
"""Share: confidence of a label that motion alone carries to a piece. Chosen: pieces are joined so
without error in most takes; but places speak against it, so the piece is worth a look."""
IN_PLACE_RATIO = 1.75
"""Ratio of the distance from a label's place to its slack up to which a piece is in place. Derived:
rms distance over three axes."""


@dataclass(frozen=True, eq=False)
class PieceOdds:
    """How far every piece is from every label's place, and what follows from it."""

    off: Array
    """(n_pieces, n_labels) metres, median over the piece."""
    odds: Array
    """(n_pieces, n_labels + 1) probability of each label, and, last, of none."""
    label: Indices
    """(n_pieces,) what pieces held then; −1: none."""
    posed: Posed
    """The take by the labels that pieces held then, in the frames looked at."""


def review(following: Following, progress: Share = unheard) -> PieceOdds:
    """Open what is far from its label's place, give what is near, until nothing changes; exchange
    what was exchanged for a while, and do so again."""
    likeness = _settled(following, None, progress)
    for _ in range(ROUNDS):
        if not exchange_stretches(following, likeness.posed):
            break
        likeness = _settled(following, likeness, progress)
    return likeness


def _settled(following: Following, likeness: PieceOdds | None, progress: Share) -> PieceOdds:
    following.forget_refusals()
    for done in range(ROUNDS):
        likeness = compare_pieces(following, likeness)
        progress((done + 1) / ROUNDS)
        if not (_open_misfits(following, likeness) | _give_open(following, likeness)):
            return likeness
    return compare_pieces(following, likeness)


def give_carried(following: Following, likeness: PieceOdds) -> PieceOdds:
    """Give open pieces the label of what motion alone joins them to; return the odds with these.

    Where a joint did not move when the person was calibrated, two bodies are one in the skeleton,
    and places tell nothing once it moves. What moves with the markers still does: so labels that
    others of the same marker speak against are opened first.
    """
    holders, odds = following.holders, likeness.odds.copy()
    in_place = _in_place(following, likeness)
    if in_place.all():
        return likeness
    joined = join_by_neighbours(sure_chains(holders.chains.pieces))
    if _open_contradicted(following, joined, likeness.off, in_place):
        _give_open(following, likeness)  # what they were given may be another's
    open_ = np.flatnonzero(holders.label < 0)
    holders.chains = holders.chains.apart(open_)
    for piece in open_:
        labels = np.unique(holders.label[joined.members(int(joined.number[piece]))])
        labels = labels[labels >= 0]
        own = int(holders.chains.number[piece])
        if len(labels) == 1 and holders.is_free(int(labels[0]), own):
            holders.give(int(labels[0]), own)
            odds[piece] *= 1.0 - CARRIED_CONFIDENCE
            odds[piece, labels[0]] += CARRIED_CONFIDENCE
    return replace(likeness, odds=odds)


def _in_place(following: Following, likeness: PieceOdds) -> Mask:
    """Return (n_pieces,) whether pieces hold a label and are where it is."""
    label = following.holders.label
    usual = IN_PLACE_RATIO * following.wearer.slack[label]
    return (label >= 0) & (likeness.off[np.arange(len(label)), label] <= usual)


def _open_contradicted(following: Following, joined: Chains, off: Array, in_place: Mask) -> bool:
    """Take labels back from pieces that are not in place, where motion joins them to pieces that
    are, and hold other labels; or to none that are, and to some that are far from this one."""
    holders, changed, far = following.holders, False, following.wearer.widened(FAR_GATE)
    held = holders.label.copy()
    for piece in np.flatnonzero((held >= 0) & ~in_place):
        same, label = joined.members(int(joined.number[piece])), int(held[piece])
        sure = held[same[in_place[same]]]
        if (sure != label).all() if len(sure) else (off[same, label] > far[label]).any():
            following.refuse(np.array([piece]), label)
            changed = True
    return changed


def compare_pieces(following: Following, before: PieceOdds | None = None) -> PieceOdds:
    """Pose the take by the labels as they are, and hold every piece against it; where labels are
    as they were ``before``, poses are not sought again."""
    holders, wearer, pieces = following.holders, following.wearer, following.holders.chains.pieces
    frames = _looked_at(pieces, LONG_LOOK if following.poses else LOOK_SECONDS)
    anew = np.ones(len(frames), dtype=bool)
    if before is not None:
        anew = _seen_in(pieces, holders.label != before.label, frames)
    if before is not None and not anew.any():
        return before
    observed = by_label(pieces, holders.label, len(wearer.names))[frames[anew]]
    posed = posed_by(wearer, frames[anew], observed, following.start_near(frames[anew]))
    if before is not None:
        posed = before.posed.renewed(anew, posed)
    off = _off(pieces, frames, posed.places)
    return PieceOdds(off, _odds(wearer, off), holders.label.copy(), posed)


def _seen_in(pieces: Pieces, some: Mask, frames: Indices) -> Mask:
    """Return (n_frames,) whether any of some pieces is seen in a frame."""
    first, last = pieces.first[some, None], pieces.last[some, None]
    return np.asarray(((first <= frames) & (last >= frames)).any(axis=0))


def _looked_at(pieces: Pieces, seconds: float) -> Indices:
    """Return frames a step apart, and one of every piece that lies between two."""
    step = max(1, round(seconds * pieces.recording.rate))
    steps = np.arange(0, pieces.recording.n_frames, step)
    missed = pieces.first > pieces.last // step * step
    return np.union1d(steps, pieces.first[missed])


def _off(pieces: Pieces, frames: Indices, predicted: Array) -> Array:
    """Return (n_pieces, n_labels) how far pieces are from each label's place, median; ``predicted``
    (n_frames, n_labels, 3) are these in ``frames``."""
    off = np.full((len(pieces), predicted.shape[1]), np.inf)
    for piece in range(len(pieces)):
        rows = np.arange(*np.searchsorted(frames, [pieces.first[piece], pieces.last[piece] + 1]))
        rows = rows[:: max(1, len(rows) // LOOKS)]
        path = pieces.recording.positions[frames[rows], pieces.column[piece]]
        _fill_off(path, predicted, rows, off[piece])
    return off


@kernel
def _fill_off(path, predicted, rows, off):
    """Fill in ``off`` (n_labels,) the medians over some ``rows`` of the distances of a ``path``
    (n_rows, 3); infinite where none is known."""
    apart = np.empty(len(rows))
    for label in range(len(off)):
        count = 0
        for at in range(len(rows)):
            square = 0.0
            for k in range(3):
                square += (path[at, k] - predicted[rows[at], label, k]) ** 2
            if np.isfinite(square):
                apart[count] = np.sqrt(square)
                count += 1
        if count:
            off[label] = np.sort(apart[:count])[(count - 1) // 2]


def _odds(wearer: Wearer, off: Array) -> Array:
    """Return (n_pieces, n_labels + 1) probabilities of the labels and of none."""
    log_odds = wearer.gain - 0.5 * (off / (DOUBT_RATIO * wearer.slack)) ** 2
    log_odds = np.pad(log_odds, ((0, 0), (0, 1)))
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _open_misfits(following: Following, likeness: PieceOdds) -> bool:
    """Take labels back that are far off, or where another is more likely; from whoever holds that
    one too, if both suit better the other way round."""
    holders, changed, far = following.holders, False, following.wearer.widened(FAR_GATE)
    for piece in np.flatnonzero(holders.label >= 0):
        label = int(holders.label[piece])
        if label < 0:  # opened meanwhile, for its rival
            continue
        other = int(np.argmax(likeness.odds[piece, :-1]))
        if likeness.off[piece, label] > far[label]:
            following.refuse(np.array([piece]), label)
        elif other != label and likeness.odds[piece, other] > OTHER_ODDS:
            for rival in _rivals(holders, likeness.off, int(piece), other):
                holders.take_back(np.array([rival]))
            holders.take_back(np.array([piece]))
        else:
            continue
        changed = True
    return changed


def _rivals(holders: Holders, off: Array, piece: int, other: int) -> Indices:
    """Return pieces that hold another label while a piece is seen, and with which it would better
    exchange labels: distances squared are less then."""
    pieces, label = holders.chains.pieces, int(holders.label[piece])
    seen = pieces.within(int(pieces.first[piece]), int(pieces.last[piece]))
    rivals = seen[holders.label[seen] == other]
    now = off[piece, label] ** 2 + off[rivals, other] ** 2
    return rivals[off[piece, other] ** 2 + off[rivals, label] ** 2 < now]


def _give_open(following: Following, likeness: PieceOdds) -> bool:
    """Give open pieces to free labels that they are near to, the nearest first; where places are
    an average human's, only if no other is likely."""
    holders, changed, off = following.holders, False, likeness.off
    rows = np.flatnonzero(holders.label < 0)
    holders.chains = holders.chains.apart(rows)
    measured = following.wearer.slack < AVERAGE_SLACK
    near = off[rows] < following.wearer.widened(NEAR_GATE)
    pairs = np.argwhere(near & (measured | (likeness.odds[rows, :-1] > OTHER_ODDS)))
    for row, label in pairs[np.argsort(off[rows][tuple(pairs.T)])]:
        piece = rows[row]
        chain = int(holders.chains.number[piece])
        if holders.label[piece] < 0 and following.may_hold(int(label), chain):
            holders.give(int(label), chain)
            changed = True
    return changed
