"""The command line, the batch and the studio ask of a solve what ``SolveOptions`` says."""

from dataclasses import fields
from typing import get_args

import click
import msgspec
import pytest

from osteon import synth
from osteon.batch import BatchOptions
from osteon.cli.solve_verbs import batch, solve
from osteon.edits import SOLVE_SETTINGS, Settings, options_of
from osteon.errors import BadValue
from osteon.human.anthropometry import HIP_METHODS
from osteon.pipeline import SolveOptions

DEFAULTS = {field.name: getattr(SolveOptions(), field.name) for field in fields(SolveOptions)}


@pytest.mark.parametrize("verb", [solve, batch], ids=lambda verb: verb.name)
def test_flags_have_the_names_and_defaults_of_the_options(verb):
    source = "." if verb is batch else __file__
    given = verb.make_context(verb.name, [source, "-o", "somewhere"]).params
    shared = ("template", "own_set", "hips", "clean", "smooth")
    assert {name: given[name] for name in shared} == {name: DEFAULTS[name] for name in shared}


def test_the_studio_sets_what_solve_has_and_its_defaults():
    assert options_of(Settings()) == SolveOptions()
    own = {field.name for field in msgspec.structs.fields(Settings)}
    assert set(SOLVE_SETTINGS) == own & set(DEFAULTS) - {"limits"}  # there they are looked for


def test_every_regression_for_hips_can_be_asked_for_everywhere():
    (choice,) = [param.type for param in solve.params if param.name == "hips"]
    assert isinstance(choice, click.Choice)
    hips = next(field.type for field in msgspec.structs.fields(Settings) if field.name == "hips")
    assert set(choice.choices) == set(get_args(hips)) == set(HIP_METHODS)


def test_a_batch_calibrates_its_own_subjects():
    with pytest.raises(BadValue, match="no skeleton"):
        BatchOptions(solving=SolveOptions(skeleton=synth.human()))
