"""JSON documents changed as people and programs change them: one value, key or entry at a time."""

import copy
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    *(None, True, "", "x", "nan", 0, -1, 3, 0.5, -0.0, 1e-320, 1e12, -1e300, 1e308, 2**63),
    *([], [None], [0, 0, 0], [0.0, 0.0, 0.0, 0.0], [1e200, 0, 0], [3, -3], [None, None], {}),
)


def mutated(document: Any, rng: random.Random) -> Any:
    """A copy with one or two places changed."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2))):
        places = _places(document)
        if places:
            _change(*rng.choice(places[rng.choice(sorted(places))]), rng)
    return document


def _places(document: Any) -> dict[str, list[tuple[Any, Any]]]:
    """Holders and keys by the path to them, entries of a list alike: each kind of place is as
    likely as any other, however many there are of it."""
    found: dict[str, list[tuple[Any, Any]]] = {}
    todo = [(document, "$")]
    while todo:
        holder, path = todo.pop()
        members = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in members:
            below = f"{path}.{key}" if isinstance(holder, dict) else f"{path}[]"
            found.setdefault(below, []).append((holder, key))
            if isinstance(value, dict | list):
                todo.append((value, below))
    return found


def _change(holder: Any, key: Any, rng: random.Random) -> None:
    kind = rng.choice(("value", "alike", "alike", "alike", "drop", "twice", "scale", "null inside"))
    if kind == "drop":
        del holder[key]
    elif kind == "twice" and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
    elif kind == "scale" and isinstance(holder[key], int | float):
        holder[key] *= rng.choice((-1, 0, 1e-6, 1e3, 1e9))
    elif kind == "null inside" and isinstance(holder[key], list):
        holder[key] = [None] * len(holder[key])
    elif kind == "alike":
        holder[key] = rng.choice(_alike(holder[key]))
    else:
        holder[key] = rng.choice(VALUES)


def _alike(value: Any) -> tuple[Any, ...]:
    """What a reader that looks at types alone lets pass."""
    if isinstance(value, list) and value:
        numbers = [entry for entry in value if isinstance(entry, int | float)]
        if len(numbers) == len(value):
            return tuple([number] * len(value) for number in (0, 1, -1, 1e12, 1e200, -1e308))
        return ([None] * len(value), value[::-1], value[:1], value * 2)
    if isinstance(value, bool | None):
        return (True, False, None)
    if isinstance(value, int):
        return (0, -1, 2**31, 2**62, -(2**62))
    if isinstance(value, float):
        return (0.0, -1.0, 1e-320, 1e12, 1e200, -1e308)
    return ("", "x", "a" * 300, "\n", "../x", "é\u0000")
