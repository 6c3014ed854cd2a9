"""The page's types are those of the program."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "client"
sys.path.insert(0, str(CLIENT))
write_types = pytest.importorskip(
    "write_types", reason="an installed package has no client sources"
)

PAIRS = list(write_types.modules())


@pytest.mark.parametrize(("module", "path"), PAIRS, ids=[module.__name__ for module, _ in PAIRS])
def test_committed_types_are_those_that_the_structs_give(module, path):
    assert path.read_text(encoding="utf-8") == write_types.typescript_of(module), (
        "run: .venv/bin/python client/write_types.py"
    )


def test_the_report_is_among_them():
    assert "osteon.report.data" in {module.__name__ for module, _ in PAIRS}


EDITS = '''
from typing import Literal
import msgspec

LONGEST = 7
"""Seconds."""

class Cut(msgspec.Struct, tag="cut"):
    """Take out."""
    first: int
    """A frame."""
    how: Literal["line"] = "line"

class Moved(msgspec.Struct, tag="moved", omit_defaults=True):
    place: tuple[float, float]
    names: list[str | None] = []

Edit = Cut | Moved
'''

EDITS_IN_TYPESCRIPT = """
/** Seconds. */
export const LONGEST = 7;

/** Take out. */
export interface Cut {
  type: "cut";
  /** A frame. */
  first: number;
  how: "line";
}

export interface Moved {
  type: "moved";
  place: [number, number];
  names?: (string | null)[];
}

export type Edit = Cut | Moved;
"""


def test_constants_tags_defaults_and_unions(tmp_path, monkeypatch):
    (tmp_path / "some_edits.py").write_text(EDITS)
    monkeypatch.syspath_prepend(tmp_path)
    written = write_types.typescript_of(import_module("some_edits"))
    assert written.partition("\n")[2] == EDITS_IN_TYPESCRIPT


def test_a_type_without_typescript_is_refused():
    with pytest.raises(TypeError, match="no TypeScript"):
        write_types._type(object())
