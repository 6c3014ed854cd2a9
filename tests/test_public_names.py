"""The flat public namespace is exactly right, and costs nothing before it is used."""

import inspect
import subprocess
import sys

import pytest

import osteon

PACKAGES = ("batch", "live", "synth")
"""Subjects that are reached whole."""


@pytest.mark.parametrize("name", osteon.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    value = getattr(osteon, name)
    assert inspect.getdoc(value), f"{name} has no docstring"
    assert inspect.ismodule(value) == (name in PACKAGES)


@pytest.mark.parametrize(
    "name", [n for n in osteon.__all__ if inspect.isfunction(getattr(osteon, n))]
)
def test_every_verb_is_typed(name: str) -> None:
    signature = inspect.signature(getattr(osteon, name))
    untyped = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
    assert not untyped
    assert signature.return_annotation is not signature.empty


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="raed"):
        osteon.raed  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    """``osteon --help`` must not wait for numpy."""
    code = "import sys, osteon.cli; print({'numpy', 'scipy', 'numba'} & set(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "set()"


def test_no_verb_gives_way_to_a_package() -> None:
    """Whatever was imported before, a verb is the function."""
    verbs = [name for name in osteon.__all__ if name not in PACKAGES]
    code = "\n".join(
        [
            "import pkgutil, importlib, osteon",
            "for module in pkgutil.iter_modules(osteon.__path__):",
            "    importlib.import_module(f'osteon.{module.name}')",
            *(f"assert callable(osteon.{name}), {name!r}" for name in verbs),
        ]
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
