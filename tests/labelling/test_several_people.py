"""Two people in one cloud: each has their own labels again, also where they pass closely."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from conftest import real
from osteon import synth
from osteon.formats import read, write
from osteon.human import MarkerSet, recognise
from osteon.labelling import Labelled, cloud_of, cut_pieces, label
from osteon.labelling.several_people import groups_apart
from osteon.values import Recording, Skeleton, Take
from scattered_tracks import scattered

SECONDS = 4.0


def both_of(one: Recording, other: Recording) -> Recording:
    return cloud_of(Take(recordings=(replace(one, subject="ann"), replace(other, subject="ben"))))


@pytest.fixture(scope="module")
def passing() -> tuple[Recording, list[Skeleton]]:
    """Two who walk towards and past each other, shoulders 3 cm apart, and their skeletons."""
    people = [
        replace(synth.human(1.80, variation=0.05, seed=1), subject="ann"),
        replace(synth.human(1.72, variation=0.05, seed=2), subject="ben"),
    ]
    takes = [
        synth.perform(who, synth.walk(seconds=SECONDS), noise=0.001, skin=1.0, gaps=0.01, seed=seed)
        for seed, who in enumerate(people)
    ]
    one, other = (take.recording for take in takes)
    places = other.positions * [-1.0, -1.0, 1.0]
    middle = [np.nanmean(each[one.n_frames // 2], axis=0) for each in (one.positions, places)]
    places = places + (middle[0] - middle[1]) * [1.0, 1.0, 0.0]
    way = np.nanmean(one.positions[-1] - one.positions[0], axis=0) * [1.0, 1.0, 0.0]
    aside = np.array([-way[1], way[0], 0.0]) / np.linalg.norm(way)
    moved = places
    for step in np.arange(0.0, 1.0, 0.02):
        moved = places + step * aside
        apart = np.linalg.norm(one.positions[:, :, None] - moved[:, None], axis=-1)
        if np.nanmin(apart) > 0.03:
            break
    return both_of(one, other.with_positions(moved, "moved")), people


def shares(found: Labelled, truth: list[str]) -> dict[str, Counter[str]]:
    """Of each person's samples: right, wrong, open."""
    count: dict[str, Counter[str]] = defaultdict(Counter)
    for piece in found.pieces:
        own = truth[int(piece.track.removeprefix("*"))]
        kind = "open" if not piece.label else "right" if piece.label == own else "wrong"
        count[own.partition(":")[0]][kind] += piece.n_frames
    return {
        who: Counter({kind: n / each.total() for kind, n in each.items()})
        for who, each in count.items()
    }


def test_two_known_people_who_pass_each_other(passing) -> None:
    both, people = passing
    cut, truth = scattered(both, seed=1)
    found = label(cut, skeleton=people)
    for who, own in shares(found, truth).items():
        assert own["right"] > 0.995, who
        assert own["wrong"] < 0.002, who
    assert [each.recording.subject for each in found.people] == ["ann", "ben"]
    assert found.people[0].skeleton is not None
    assert found.people[0].skeleton.subject == "ann"


def test_nobody_takes_what_is_anothers_over_the_take(passing) -> None:
    """Each sample stands once, under one person."""
    both, people = passing
    cut, _ = scattered(both, seed=2)
    found = label(cut, skeleton=people[::-1])
    held = sum(each.recording.seen.sum() for each in found.people)
    assert held == found.recording.seen.sum()
    assert held == sum(piece.n_frames for piece in found.pieces if piece.label)
    assert held <= cut.seen.sum()
    named = [name for name in found.recording.names if name.startswith("ann:")]
    assert len(named) == found.people[1].recording.n_markers


def test_somebody_who_is_not_there_is_told(passing) -> None:
    both, people = passing
    alone = both.select([name for name in both.names if name.startswith("ann:")])
    cut, truth = scattered(alone, seed=3)
    found = label(cut, skeleton=people)
    assert any("ben" in text for text in found.warnings)
    right = sum(
        piece.n_frames
        for piece in found.pieces
        if piece.label == truth[int(piece.track[1:])].partition(":")[2]
    )
    assert right > 0.99 * cut.seen.sum()


def test_people_in_a_set_are_counted_by_the_data(passing) -> None:
    both, _ = passing
    known = recognise(tuple(name.partition(":")[2] for name in both.names[: both.n_markers // 2]))
    assert known is not None
    cut, truth = scattered(both, seed=4)
    found = label(cut, marker_set=MarkerSet(known[0].name, known[1]))
    assert [each.recording.subject for each in found.people] == ["person_1", "person_2"]
    first = Counter(
        truth[int(piece.track[1:])].partition(":")[0] for piece in found.people[0].pieces
    ).most_common(1)[0][0]
    names = {"person_1": first, "person_2": "ben" if first == "ann" else "ann"}
    wrong = right = 0
    for piece in found.pieces:
        who, _, own = piece.label.partition(":")
        if piece.label:
            same = f"{names[who]}:{own}" == truth[int(piece.track[1:])]
            right, wrong = right + same * piece.n_frames, wrong + (not same) * piece.n_frames
    assert right > 0.98 * cut.seen.sum()
    assert wrong < 0.01 * cut.seen.sum()


def test_groups_stand_apart_or_do_not(passing) -> None:
    both, _ = passing
    groups = groups_apart(cut_pieces(both), least=20)
    assert len(groups) == 2
    own = [
        {both.names[column].partition(":")[0] for column in cut_pieces(both).column[group]}
        for group in groups
    ]
    assert own in ([{"ann"}, {"ben"}], [{"ben"}, {"ann"}])
    alone = both.select([name for name in both.names if name.startswith("ann:")])
    assert not groups_apart(cut_pieces(alone), least=20)
    trunk = ("T10", "STRN", "CLAV", "C7", "LBWT", "RBWT", "LFWT", "RFWT", "RBAC")
    halved = alone.select([name for name in alone.names if name.partition(":")[2] not in trunk])
    assert not groups_apart(cut_pieces(halved), least=20)  # legs and arms are nobody


def test_markers_exchanged_between_two_players_go_back(tmp_path, command) -> None:
    """Real players: each one's own labels calibrate them, the cloud is labelled, two come out."""
    take = read(real("kineticstoolkit/kinematics_tennis_serve_2players.c3d"))
    players = [short(each.markers()) for each in take.recordings]
    broken = [each.positions.copy() for each in players]
    hands = [each.index("LFIN") for each in players]
    for mine, other in ((0, 1), (1, 0)):
        broken[mine][50:100, hands[mine]] = players[other].positions[50:100, hands[other]]
    mixed = tuple(
        each.with_positions(places, "exchanged")
        for each, places in zip(players, broken, strict=True)
    )
    write(Take(recordings=mixed), tmp_path / "match.c3d")
    code, out, told = command("label", tmp_path / "match.c3d", "-o", tmp_path / "out")
    assert code == 0, told
    assert "Derrick: 39 labels" in out
    again = read(tmp_path / "out" / "match.c3d")
    assert [each.subject for each in again.recordings] == ["Derrick", "Viktor"]
    for found, player in zip(again.recordings, players, strict=True):
        off = found.select(["LFIN"]).positions - player.select(["LFIN"]).positions
        assert np.isfinite(off).all(axis=-1).mean() > 0.95
        assert np.nanmax(np.abs(off)) < 1e-4


def short(recording: Recording) -> Recording:
    return Recording(
        recording.positions[:150], recording.names, recording.rate, subject=recording.subject
    )
