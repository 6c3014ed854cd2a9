"""The house: a package is a subject with one door, and imports only from those above it here."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import osteon

LAYERS = (
    "errors",
    "typing",
    "threads",
    "maths",
    "values",
    "papers",
    "human",
    "formats",
    "cleaning",
    "clips",
    "articulation",
    "calibration",
    "joint_limits",
    "posing",
    "fingers",
    "identity",
    "labelling",
    "anatomy",
    "gait",
    "kinetics",
    "skinning",
    "fixed_lengths",
    "keypoints",
    "retargeting",
    "synth",
    "report",
    "pipeline",
    "edits",
    "delivery",
    "studio",
    "batch",
    "live",
    "cli",
)
MOST_MODULES = 20
"""In a package; formats has one entry per format."""

ROOT = Path(osteon.__file__).parent
MODULES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")
PACKAGES = sorted(path.parent for path in ROOT.glob("*/__init__.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    found = ast.walk(tree_of(path))
    return tuple(node for node in found if isinstance(node, ast.Import | ast.ImportFrom))


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Full names that an import brings, also inside functions."""
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [alias.name for alias in node.names]


def own_layers(nodes: tuple[ast.Import | ast.ImportFrom, ...]) -> list[tuple[int, str]]:
    """Line and layer of every import of our own modules."""
    names = [(node.lineno, name.split(".")) for node in nodes for name in imported(node)]
    return [(line, parts[1]) for line, parts in names if parts[0] == "osteon" and len(parts) > 1]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_down(path: Path) -> None:
    layer = layer_of(path)
    assert layer in LAYERS, f"{layer} is no layer: give it a place in the order"
    below = LAYERS[: LAYERS.index(layer) + 1]
    upward = [
        f"line {line} imports osteon.{name}"
        for line, name in own_layers(imports(path))
        if name in LAYERS and name not in below
    ]
    assert not upward, f"{name_of(path)} reaches up: {'; '.join(upward)}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_other_packages_are_entered_by_their_door(path: Path) -> None:
    past = [
        f"line {node.lineno}: {node.module}"
        for node in imports(path)
        if isinstance(node, ast.ImportFrom)
        and node.module
        and node.module.startswith("osteon.")
        and node.module.count(".") > 1
        and node.module.split(".")[1] != layer_of(path)
    ]
    assert not past, f"goes past a door: {'; '.join(past)}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_are_absolute(path: Path) -> None:
    relative = [
        node.lineno for node in imports(path) if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert not relative, f"relative imports hide the layer: lines {relative}"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_doors_open(package: Path) -> None:
    """Every name that a door offers is there, and no module of the package has the same name."""
    door = package / "__init__.pyi"
    if not door.exists():
        return
    modules = {path.stem for path in package.glob("*.py")}
    for node in tree_of(door).body:
        if not isinstance(node, ast.ImportFrom):
            continue
        names = {alias.name for alias in node.names}
        if node.module is None:  # modules that are spoken of as such: maths.quat
            assert names <= modules | {path.name for path in package.iterdir()}
            continue
        assert not names & modules, "a module of that name would stand before it"
        home = package.joinpath(*node.module.split("."))
        source = home / "__init__.py" if home.is_dir() else home.with_suffix(".py")
        assert names <= _bound(tree_of(source)), f"{node.module} has no such name"


def _bound(tree: ast.Module) -> set[str]:
    """Names that a module's own statements bind."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_packages_stay_small(package: Path) -> None:
    if package.name != "formats":
        assert len(list(package.rglob("*.py"))) <= MOST_MODULES


def test_no_module_name_stands_twice() -> None:
    names = Counter(p.stem for p in MODULES if layer_of(p) != "formats" and p.stem != "__init__")
    assert not [name for name, n in names.items() if n > 1]


def test_no_public_class_name_stands_twice() -> None:
    trees = [tree_of(path).body for path in MODULES]
    classes = [node.name for body in trees for node in body if isinstance(node, ast.ClassDef)]
    names = Counter(name for name in classes if not name.startswith("_"))
    assert not [name for name, n in names.items() if n > 1]


def test_no_module_is_a_drawer() -> None:
    drawers = {"utils", "helpers", "common", "misc"}
    assert not [p for p in MODULES if p.stem in drawers]


def test_the_checks_see_what_they_look_for(tmp_path: Path) -> None:
    source = tmp_path / "m.py"
    source.write_text("def f():\n    from osteon.cli import main\n    import osteon.values.take\n")
    assert own_layers(imports(source)) == [(2, "cli"), (3, "values")]
