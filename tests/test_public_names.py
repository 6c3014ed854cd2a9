"""The flat public namespace is exactly right, and a verb wins over a folder of its name."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import ossature


def declared_for_type_checkers() -> dict[str, str]:
    """Name → module of the imports under ``if TYPE_CHECKING``."""
    tree = ast.parse(Path(ossature.__file__).read_text(encoding="utf-8"))
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    found = {}
    for node in block.body:
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        for alias in node.names:
            assert alias.asname == alias.name, f"re-export as `{alias.name} as {alias.name}`"
            found[alias.name] = node.module
    return found


def test_lists_agree():
    assert list(ossature.__all__) == sorted(ossature.__all__)
    assert set(ossature.__all__) == set(ossature._HOMES)
    assert declared_for_type_checkers() == ossature._HOMES
    assert set(ossature.__all__) <= set(dir(ossature))


@pytest.mark.parametrize("name", ossature.__all__)
def test_every_name_is_there_and_documented(name):
    value = getattr(ossature, name)
    assert inspect.getdoc(value), f"{name} has no docstring"
    assert not inspect.ismodule(value), f"{name} is a folder, not the verb"


@pytest.mark.parametrize(
    "name", [n for n in ossature.__all__ if inspect.isfunction(getattr(ossature, n))]
)
def test_every_verb_is_typed(name):
    signature = inspect.signature(getattr(ossature, name))
    untyped = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
    assert not untyped
    assert signature.return_annotation is not signature.empty


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'raed'"):
        ossature.raed  # noqa: B018


def test_importing_the_package_loads_nothing_heavy():
    """``ossature --help`` must not wait for numpy."""
    code = "import sys, ossature.cli; print({'numpy', 'scipy', 'numba'} & set(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "set()"


def test_a_verb_stays_callable_when_its_folder_is_imported():
    same = sorted(name for name, home in ossature._HOMES.items() if home.split(".")[1] == name)
    code = "\n".join(
        [f"from ossature.{name} import {name}" for name in same]
        + [f"import ossature.{name}" for name in same]
        + ["import ossature as oss"]
        + [f"assert callable(oss.{name}) and oss.{name} is {name}" for name in same]
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
