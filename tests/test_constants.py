"""Every number that a module names says its unit and where it comes from.

``constants_without_source.txt`` lists, as package and name, those that do not yet; it may only
shrink. ``python tests/test_constants.py`` strikes out what has found its source since.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "osteon"
EXCEPTIONS = Path(__file__).with_name("constants_without_source.txt")

UNIT = re.compile(
    r"\b((milli|centi|micro|nano)?metres?|radians?|degrees?|(milli|micro)?seconds?|minutes?|hours?|"
    r"frames?|hertz|Hz|kilograms?|newtons?|bytes?|bits|characters|digits|pixels?|"
    r"standard deviations?|cosines?|shares?|ratios?|counts?|exponents?|codes?|ports?|versions?)\b"
    r"|[°%]",
    re.IGNORECASE,
)
SOURCE = re.compile(
    r"\b(?i:measured|simulated|derived|defined|chosen)\b|"
    r"\[((de |van )?[A-Z][^\]]* \d{4}|\d{3})\]|§|docs/|\d (takes|recordings|draws|people|files)\b"
)
NUMBER_MAKERS = {"np", "math", "float", "int"}
"""What may be called on the way to a constant: ``np.radians(5.0)``."""


def is_number(node: ast.expr) -> bool:
    """Whether an expression is made of written numbers only: plain, computed, or a table of them.

    One that names other constants shows where it comes from.
    """
    match node:
        case ast.Constant():
            return isinstance(node.value, int | float) and not isinstance(node.value, bool)
        case ast.UnaryOp():
            return is_number(node.operand)
        case ast.BinOp():
            return is_number(node.left) and is_number(node.right)
        case ast.Attribute():
            return node.attr in ("pi", "e")
        case ast.Tuple() | ast.List() | ast.Set():
            return bool(node.elts) and all(map(is_number, node.elts))
        case ast.Dict():
            return bool(node.values) and all(map(is_number, node.values))
        case ast.Call():
            maker = node.func
            while isinstance(maker, ast.Attribute):
                maker = maker.value
            known = isinstance(maker, ast.Name) and maker.id in NUMBER_MAKERS
            return known and bool(node.args) and is_number(node.args[0])
    return False


def is_axis(node: ast.expr) -> bool:
    """Whether an expression is an array of zeros and ones, as directions are."""
    numbers = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
    return len(numbers) > 1 and set(numbers) <= {0, 1}


def constants(source: str) -> Iterator[tuple[str, str]]:
    """Name and explanation of every numeric constant: the string below it, or the comment
    behind it."""
    body, lines = ast.parse(source).body, source.splitlines()
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        if not all(map(str.isupper, names)) or not is_number(node.value) or is_axis(node.value):
            continue
        text = lines[node.end_lineno - 1].partition("  # ")[2] if node.end_lineno else ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text += str(after.value.value)
        yield ", ".join(names), text


def has_source(text: str) -> bool:
    """Whether an explanation names a unit, and where the number comes from."""
    return bool(UNIT.search(text) and SOURCE.search(text))


def without_source() -> Counter[str]:
    """``package NAME`` of all that do not say, and how often it occurs there."""
    return Counter(
        f"{path.relative_to(ROOT).parts[0].removesuffix('.py')} {name}"
        for path in ROOT.rglob("*.py")
        for name, text in constants(path.read_text(encoding="utf-8"))
        if not has_source(text)
    )


def allowed() -> Counter[str]:
    return Counter(EXCEPTIONS.read_text(encoding="utf-8").splitlines())


def test_every_constant_has_unit_and_source() -> None:
    new = sorted((without_source() - allowed()).elements())
    assert not new, f"say unit and source (CONTRIBUTING, 'Constants'): {', '.join(new)}"


def test_the_list_of_exceptions_only_shrinks() -> None:
    done = sorted((allowed() - without_source()).elements())
    assert not done, f"no longer exceptions; run python tests/test_constants.py: {', '.join(done)}"


def test_the_check_sees_what_it_looks_for() -> None:
    source = '''
A = 1.0
"""Metres, chosen: as wide as a foot."""
B = np.radians(5.0)
"""How far is far."""
C, D = 0.5, 2
"""Shares [001]."""
E = {"m": 1.0}  # metres, by what they are defined
F = "no number"
G = True
h = 1.0
_I = 3 * np.pi
J = 3 * A
K = np.array([0.0, -1.0, 0.0])
'''
    found = {name: has_source(text) for name, text in constants(source)}
    assert found == {"A": True, "B": False, "C, D": True, "E": True, "_I": False}


if __name__ == "__main__":
    left = sorted((allowed() & without_source()).elements())
    EXCEPTIONS.write_text("".join(f"{line}\n" for line in left), encoding="utf-8")
