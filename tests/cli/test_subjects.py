"""Whose takes are whose, and what is said where names leave it open."""

import numpy as np
import pytest

from osteon.errors import UnknownName
from osteon.pipeline.subjects_in_files import subjects_of
from osteon.values import Recording, Source, Take


def file(name: str, *subjects: str) -> Take:
    return Take(
        recordings=tuple(
            Recording(np.zeros((1, 2, 3)), ("A", "B"), 100.0, subject=each, source=Source(name))
            for each in subjects
        )
    )


def stills(subjects) -> dict[str, list[str]]:
    return {name: [still.source.file for still in one.stills] for name, one in subjects.items()}


@pytest.mark.parametrize(
    ("take", "static", "note"),
    [("Ann", "Ann", ""), ("Ann", "", ""), ("", "Ann", ""), ("", "", ""), ("Ann", "AS1", "AS1")],
)
def test_a_static_file_of_one_person_is_of_the_only_one_solved(take, static, note):
    found = subjects_of([file("walk", take)], [file("still", static)])
    assert stills(found) == {take: ["still"]}
    told = found[take].notes
    assert told == [] if not note else note in told[0] and "taken for" in told[0]


def test_of_several_names_decide():
    both = file("two", "Ann", "Bob")
    assert stills(subjects_of([both], [both])) == {"Ann": ["two"], "Bob": ["two"]}
    assert stills(subjects_of([both], [file("still", "Bob")])) == {"Ann": [], "Bob": ["still"]}


@pytest.mark.parametrize(
    ("take", "static"),
    [(("Ann", "Bob"), ("Zoe",)), (("Ann", "Bob"), ("",)), (("",), ("Ann", "Bob")), (("Ann",), ())],
)
def test_a_file_that_is_nobodys_is_named_to_everybody(take, static):
    found = subjects_of([file("walk", *take)], [file("still", *static)])
    for one in found.values():
        assert not one.stills
        assert len(one.notes) == 1 and "not used" in one.notes[0]


def test_who_is_chosen_is_the_only_one():
    both = file("two", "Ann", "Bob")
    assert stills(subjects_of([both], [file("still", "")], "Bob")) == {"Bob": ["still"]}
    found = subjects_of([both], [file("still", "Ann")], "Bob")
    assert stills(found) == {"Bob": []} and "shows 'Ann'" in found["Bob"].notes[0]
    with pytest.raises(UnknownName, match="Ann, Bob"):
        subjects_of([both], [], "Zoe")


def test_takes_without_a_name_are_of_the_only_one_named():
    found = subjects_of([file("walk", "Ann"), file("run", "")], [])
    assert list(found) == ["Ann"] and not found["Ann"].notes
    assert [take.subject for take in found["Ann"].takes] == ["Ann", "Ann"]


def test_takes_of_other_names_are_other_people_and_it_is_said():
    found = subjects_of([file("walk", "Ann"), file("run", "Bob"), file("sit", "")], [])
    assert list(found) == ["Ann", "Bob", ""]
    [note] = found["Ann"].notes
    assert "apart from run ('Bob'), sit (somebody without a name)" in note and "`static`" in note


def test_people_of_one_file_are_not_taken_for_one():
    found = subjects_of([file("two", "Ann", "Bob", ""), file("again", "Ann", "Bob")], [])
    assert not any(one.notes for one in found.values())
