"""Two people under labels of no set are two, each recognised; one person stays one."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import synth
from osteon.pipeline import SolveOptions, solve
from osteon.pipeline.people_apart import keeping_together, people_apart
from osteon.pipeline.subjects_in_files import Subject
from osteon.values import Recording, Take

AUTO = SolveOptions()


def walking(seed: int, aside: float) -> Recording:
    person = synth.human(variation=0.04, seed=seed)
    done = synth.perform(person, synth.walk(seconds=4), noise=0.001, gaps=0.01, seed=seed)
    return replace(done.recording, positions=done.recording.positions + [0.0, aside, 0.0])


@pytest.fixture(scope="module")
def two() -> tuple[Recording, dict[str, str]]:
    """Two who walk side by side, shuffled under nonsense, with three markers on a post; and whose
    each label is."""
    ann, ben = walking(3, 0.0), walking(4, 1.2)
    post = np.tile([[0.0, 5.0, 0.5], [0.0, 5.0, 0.8], [0.0, 5.0, 1.1]], (ann.n_frames, 1, 1))
    cloud = np.concatenate([ann.positions, ben.positions, post], axis=1)
    whose = ["ann"] * ann.n_markers + ["ben"] * ben.n_markers + ["post"] * 3
    order = np.random.default_rng(7).permutation(len(whose))
    names = tuple(f"X{place:02d}Q" for place in range(len(order)))
    owners = {name: whose[column] for name, column in zip(names, order, strict=True)}
    return Recording(cloud[:, order], names, ann.rate), owners


def test_two_people_are_solved_each_on_their_own(two) -> None:
    cloud, owners = two
    solved = solve(Take(recordings=(cloud,)))
    worn = [{owners[label] for label in one.skeleton.marker_names} for one in solved]
    assert worn in ([{"ann"}, {"ben"}], [{"ben"}, {"ann"}])
    for one in solved:
        assert {"left_thigh", "right_forearm"} <= set(one.skeleton.names)
        assert any("keep apart" in told for told in one.warnings)
        assert any("left out" in told for told in one.warnings)
    assert len({one.skeleton.subject for one in solved}) == 2


def test_who_keeps_together(two) -> None:
    cloud, owners = two
    groups = keeping_together(cloud)
    assert [len(group) for group in groups] == sorted(map(len, groups), reverse=True)
    assert all(len({owners[label] for label in group}) == 1 for group in groups)


def test_one_person_stays_one_and_blind_stays_blind(two) -> None:
    cloud, owners = two
    ann = cloud.select([label for label in cloud.names if owners[label] == "ann"])
    alone = Subject([ann], [None])
    assert people_apart("", alone, AUTO) == {"": alone}
    both = Subject([cloud], [None])
    assert people_apart("", both, SolveOptions(template="none")) == {"": both}


def test_a_take_of_one_of_them_is_that_one_s(two) -> None:
    cloud, owners = two
    ann = cloud.select([label for label in cloud.names if owners[label] == "ann"])
    found = people_apart("", Subject([cloud, ann], [None, None]), AUTO).values()
    assert sorted(len(one.takes) for one in found) == [1, 2]
    assert all(len(one.paths) == len(one.takes) for one in found)
