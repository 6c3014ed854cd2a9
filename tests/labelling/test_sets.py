"""Somebody unknown in a known marker set: what is worn is found, what is open stays open."""

from collections import Counter

import numpy as np
import pytest

from conftest import real
from osteon.formats import read
from osteon.human import MarkerSet, recognise
from osteon.labelling import average_wearer, cut_pieces, find_starts, label, set_named, sure_chains
from osteon.labelling.average_human import is_taken_off
from osteon.labelling.figure_search import Cloud, score_labellings
from osteon.labelling.first_frame import _rivalled, _unlike_sides, settle_by_frames
from osteon.labelling.marker_set_start import sizes_of
from osteon.labelling.shape_start import _Told, _worn, alike
from osteon.labelling.wearer import seed_bodies
from osteon.maths import quat
from osteon.values import Recording
from scattered_tracks import scattered


def shares(path: str, *, only_worn: bool = False) -> tuple[float, float]:
    """Of the samples of labels whose places are known: labelled right, labelled wrong; by the whole
    set, or by those of its labels that are worn."""
    take = read(real(path)).recordings[0].markers()
    known = recognise(take.names)
    assert known is not None
    worn = known[0].match(take.names)
    take = take.select([name for name in take.names if name in worn])
    nameless = Recording(take.positions, tuple(f"*{i}" for i in range(take.n_markers)), take.rate)
    right = wrong = total = 0
    chosen = MarkerSet(known[0].name, worn) if only_worn else known[0]
    for piece in label(nameless, marker_set=chosen).pieces:
        own = take.names[int(piece.track[1:])]
        mark = chosen.markers.get(piece.label)
        total += piece.n_frames * (worn[own].at is not None)
        right += piece.n_frames * (mark is worn[own])
        wrong += piece.n_frames * (mark is not None and mark is not worn[own])
    return right / total, wrong / total


@pytest.mark.parametrize(
    "path",
    [
        "anatomical-truth/opencap-2-squats1/real.trc",
        "clinical-gait-auckland/AUC/dynamic/CB_Dynamic0003.c3d",
    ],
)
def test_clusters_and_labels_that_are_not_worn_do_no_harm(path) -> None:
    """Markers on thighs and shins are no knees, and a heel is no ankle."""
    right, wrong = shares(path)
    assert right > 0.98
    assert wrong < 0.01


@pytest.mark.parametrize("taken_off", [(), ("LEL", "MEL")])
def test_clusters_are_no_knees_ankles_or_elbows_where_joints_are_elsewhere(taken_off) -> None:
    """Neither knees nor, on the left, an ankle are worn, and elbows once more; tracks are cut."""
    take = read(real("anatomical-truth/hamner-03-run400/real.trc")).recordings[0].markers()
    worn = set_named("Stanford clusters").match(take.names)
    take = take.select([name for name in take.names if name in worn and name[1:] not in taken_off])
    cut, truth = scattered(take, seed=0)
    given = Counter[bool]()
    for piece in label(cut, marker_set="Stanford clusters").pieces:
        own = truth[int(piece.track[1:])]
        if piece.label or worn[own].at is not None:
            given[piece.label == own] += piece.n_frames
    assert given[True] > 0.95 * given.total()


@pytest.mark.slow
@pytest.mark.parametrize("only_worn", [True, False])
def test_runners_in_clusters_are_known_without_knees(only_worn) -> None:
    """Neither knees nor, on the left, an ankle are worn, and the set has them."""
    path = "anatomical-truth/hamner-03-run400/markers.trc"
    right, wrong = shares(path, only_worn=only_worn)
    assert right > 0.98
    assert wrong < 0.01


@pytest.mark.slow
def test_a_label_among_clusters_is_told_by_its_like_on_the_other_side() -> None:
    """One frame leaves open which marker beside a cluster is the left knee; the right one tells."""
    right, wrong = shares("opensim-core/walking5.c3d")
    assert right > 0.98
    assert wrong < 0.01


def triangle(turned: float, at: float) -> np.ndarray:
    """Heel, fifth metatarsal and toe of a foot somewhere."""
    foot = np.array([[0.0, 0.0, 0.0], [0.18, 0.05, 0.0], [0.23, -0.05, 0.0]])
    return quat.rotate(quat.exp(np.array([0.0, 0.0, turned])), foot) + [at, 0.0, 0.0]


def distances(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points, axis=-1)


def test_a_foot_is_labelled_as_the_other_is_by_its_distances() -> None:
    shin = np.array([[0.0, 0.3, 0.3], [0.02, 0.3, 0.4], [0.0, 0.25, 0.35]])
    mirrored = triangle(0.7, 1.0)[[2, 0, 1]] * [1.0, -1.0, 1.0]
    apart = distances(np.concatenate([triangle(0.0, 0.0), shin, mirrored + 0.004]))
    assert alike(apart, np.arange(3), np.arange(3, 9)).tolist() == [7, 8, 6]
    assert alike(apart, np.arange(3), np.arange(3, 8)) is None  # one is hidden


def test_what_may_be_two_feet_is_not_labelled_as_one() -> None:
    apart = distances(np.concatenate([triangle(0.0, 0.0), triangle(0.3, 2.0), triangle(0.5, 4.0)]))
    assert alike(apart, np.arange(3), np.arange(3, 9)) is None


def test_a_body_with_as_many_markers_as_labels_leaves_no_label_in_doubt() -> None:
    """A doubt of three centimetres is about landmarks that the set does not have."""
    wearer = average_wearer(set_named("Stanford clusters").markers, 1.0)
    feet = wearer.skeleton.names.index("left_foot"), wearer.skeleton.names.index("right_foot")
    left, right = (wearer.placed_labels_of(foot) for foot in feet)
    n_labels = len(wearer.names)
    held, doubts = np.full(n_labels, -1), np.full(n_labels, np.inf)
    held[left], held[right[:2]] = [0, 1, 2], [3, 4]
    doubts[left] = doubts[right[:2]] = 0.03
    carriers = np.array([feet[0]] * 3 + [feet[1]] * 2)
    undecided = _Told(wearer, held, doubts, carriers).undecided()
    assert not undecided & set(left.tolist())
    assert set(right.tolist()) <= undecided


def test_knees_are_taken_off_where_the_other_labels_explain_what_is_seen() -> None:
    marker_set = set_named("Stanford clusters")
    knees = {name for name, mark in marker_set.markers.items() if is_taken_off(mark)}
    assert knees == {"LLFC", "LMFC", "RLFC", "RMFC"}
    whole = len(marker_set.markers)
    for n_markers, kept in ((whole, whole), (whole - 10, whole - 4)):
        seen = np.zeros((4, n_markers, 3)) + np.arange(n_markers)[:, None]
        take = Recording(seen, tuple(f"*{i}" for i in range(n_markers)), 100.0)
        assert len(_worn(marker_set, sure_chains(cut_pieces(take))).markers) == kept


def standing(names_left_out: tuple[str, ...], rng: np.random.Generator) -> Recording:
    """An average human who wears OpenCap's set, but for some; clusters anywhere on their bones."""
    wearer = average_wearer(set_named("OpenCap").markers, 1.0)
    local = quat.from_matrix(wearer.rest)
    points = wearer.rig.markers(local[None], np.array([[0.0, 0.0, 0.93]]))[0]
    points += rng.normal(0.0, np.where(wearer.loose, 0.04, 0.008)[:, None], points.shape)
    worn = [name not in names_left_out for name in wearer.names]
    names = tuple(name for name in wearer.names if name not in names_left_out)
    return Recording(np.repeat(points[None, worn], 60, axis=0), names, 100.0)


def test_a_set_with_clusters_is_found_in_one_frame(rng) -> None:
    take = standing(("L_mknee", "R_mknee", "L_mankle", "R_mankle"), rng)
    wearer = average_wearer(set_named("OpenCap").markers, 1.0)
    start = next(iter(find_starts(wearer, sure_chains(cut_pieces(take)))))
    for index in np.flatnonzero(~wearer.loose):
        point = start.answer.points[index]
        given = take.names[start.chains[point]] if point >= 0 else ""
        assert given == (wearer.names[index] if wearer.names[index] in take.names else "")
    assert (start.answer.points[wearer.loose] >= 0).all()


def test_what_answers_give_otherwise_is_undecided() -> None:
    """Chain 7 is label 0 or 1; label 2 is merely left out once; 3 and 4 are loose and alike, and
    chain 8 is one of them or label 5."""
    loose = np.array([False, False, False, True, True, False, False])
    one, other = np.array([7, -1, 5, 6, 9, 8, 4]), np.array([-1, 7, -1, 9, 8, -1, 4])
    undecided = [True, True, False, False, False, True, False]
    assert _rivalled(one, other, loose).tolist() == undecided
    assert not _rivalled(one, one, loose).any()


def test_sides_that_differ_speak_against_labels() -> None:
    """Toe and first metatarsal exchanged on one foot make feet that differ; on both they do not."""
    wearer = average_wearer(set_named("Vicon 53").markers, 1.0)
    local = quat.from_matrix(wearer.rest)
    points = wearer.rig.markers(local[None], np.array([[0.0, 0.0, 0.93]]))[0]
    cloud = Cloud(points, np.zeros((len(points), len(points))))
    place = {name: at for at, name in enumerate(wearer.names)}
    right = np.arange(len(points))
    left_foot = _exchanged(right, place["LTOE"], place["LMT1"])
    both_feet = _exchanged(left_foot, place["RTOE"], place["RMT1"])
    hidden = np.where(right == place["RTOE"], -1, left_foot)
    cost = _unlike_sides(wearer, cloud, np.stack([right, left_foot, both_feet, hidden]))
    np.testing.assert_allclose(cost[[0, 2]], 0.0, atol=1e-9)
    assert cost[1] > cost[3] > 1.0


def test_a_file_that_does_not_say_its_up_axis_is_searched_standing(rng) -> None:
    """y is up in it; the samples stay as they are in the file."""
    take = standing(("L_mknee", "R_mknee", "L_mankle", "R_mankle"), rng)
    lying = Recording(take.positions[..., [1, 2, 0]], take.names, take.rate)
    found = label(lying, marker_set="OpenCap")
    placed = {name for name, mark in set_named("OpenCap").markers.items() if mark.at is not None}
    given = {piece.track: piece.label for piece in found.pieces if piece.track in placed}
    assert all(label in ("", track) for track, label in given.items())
    assert sum(track == label for track, label in given.items()) > 0.9 * len(given)
    for name in found.recording.names:
        np.testing.assert_array_equal(
            found.recording.positions[:, found.recording.index(name)],
            lying.positions[:, lying.index(name)],
        )


def test_raised_arms_make_nobody_a_giant() -> None:
    """Where the cloud is taller than people are, an adult's size is tried too."""
    ladder = np.linspace(0.0, 2.4, 8)[None, :, None] * [0.1, 0.0, 1.0]
    tall = Recording(ladder, tuple("abcdefgh"), 100.0)
    sizes = sizes_of(tall, set_named("OpenCap"))
    assert 1.0 in sizes
    assert max(sizes) < 1.4


def test_labellings_asked_together_score_as_they_do_alone(rng) -> None:
    """Many labellings go through one search; none sees the others."""
    take = standing((), rng)
    wearer = average_wearer(set_named("OpenCap").markers, 1.0)
    points = take.positions[0]
    cloud = Cloud(points, np.zeros((len(points), len(points))))
    right = np.array([take.index(name) for name in wearer.names])
    firm = np.flatnonzero(~wearer.loose)
    held = np.stack([right, *(_exchanged(right, *rng.choice(firm, 2, False)) for _ in range(5))])
    seed = seed_bodies(wearer)[0]
    together = score_labellings(wearer, cloud, seed, held, 4)
    alone = [score_labellings(wearer, cloud, seed, each[None], 4)[0] for each in held]
    np.testing.assert_allclose(together, alone)
    assert together.argmax() == 0


def _exchanged(held: np.ndarray, one: int, other: int) -> np.ndarray:
    exchanged = held.copy()
    exchanged[[one, other]] = held[[other, one]]
    return exchanged


def test_a_place_beside_a_marker_without_one_is_not_decided() -> None:
    """Melbourne's LCALC is somewhere on the foot: a centimetre from the heel, as far from where the
    average human has that, nothing tells which is which. The right one lies far away, and does."""
    marks = set_named("Melbourne").markers
    wearer = average_wearer(marks, 1.0)
    local = quat.from_matrix(wearer.rest)
    points = wearer.rig.markers(local[None], np.array([[0.0, 0.0, 0.93]]))[0]
    place = {name: at for at, name in enumerate(wearer.names)}
    heel = points[place["LHEE"]].copy()
    points[place["LHEE"]], points[place["LCALC"]] = heel + [0, 0.005, 0], heel - [0, 0.005, 0]
    points[place["RCALC"]] += [0.05, 0.0, 0.03]
    take = Recording(np.repeat(points[None], 60, axis=0), wearer.names, 100.0)
    chains = sure_chains(cut_pieces(take))
    start = settle_by_frames([next(iter(find_starts(wearer, chains)))], chains)
    assert place["LHEE"] in start.unplaced <= start.undecided
    assert place["RHEE"] not in start.unplaced
