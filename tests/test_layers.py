"""The order of the layers: a module imports only from layers below its own."""

import ast
from functools import cache
from pathlib import Path

import pytest

import ossature

LAYERS = (
    "errors",
    "threads",
    "maths",
    "values",
    "formats",
    "clean",
    "bodies",
    "joints",
    "calibrate",
    "anatomy",
    "pose",
    "synth",
    "report",
    "pipeline",
    "studio",
    "batch",
    "live",
    "cli",
)

ROOT = Path(ossature.__file__).parent
MODULES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def imports(source: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    found = ast.walk(ast.parse(source))
    return tuple(node for node in found if isinstance(node, ast.Import | ast.ImportFrom))


def imported_layers(source: str) -> list[tuple[int, str]]:
    """Line and layer of every import of ossature's own modules, also inside functions."""
    found = []
    for node in imports(source):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "ossature" and len(parts) > 1:
                found.append((node.lineno, parts[1]))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path):
    layer = layer_of(path)
    assert layer in LAYERS, f"{layer} is no layer: give it a place in the order"
    below = LAYERS[: LAYERS.index(layer) + 1]
    upward = [
        f"line {line} imports ossature.{name}"
        for line, name in imported_layers(path.read_text(encoding="utf-8"))
        if name in LAYERS and name not in below
    ]
    assert not upward, f"{path.relative_to(ROOT)} reaches up: {'; '.join(upward)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_are_absolute(path):
    relative = [
        node.lineno
        for node in imports(path.read_text(encoding="utf-8"))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert not relative, f"relative imports hide the layer: lines {relative}"


def test_the_check_sees_an_upward_import():
    source = "def f():\n    from ossature.cli import main\n    import ossature.values.take\n"
    assert imported_layers(source) == [(2, "cli"), (3, "values")]


def test_no_module_is_a_drawer():
    drawers = {"utils", "helpers", "common", "misc"}
    assert not [p for p in MODULES if p.stem in drawers]
