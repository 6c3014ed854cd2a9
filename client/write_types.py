"""TypeScript types made from the Python structs, so that page and program speak of the same things.

Run it after changing one of the modules below; a test compares what is committed:

    .venv/bin/python client/write_types.py
"""

import ast
import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, get_args

import msgspec
from msgspec import inspect as types

SOURCES = Path(__file__).parent / "src"
PAIRS = {
    "osteon.report.data": SOURCES / "report_data.ts",
    "osteon.studio.messages": SOURCES / "messages.ts",
}
"""Module of structs → its TypeScript."""
PLAIN = {
    types.IntType: "number",
    types.FloatType: "number",
    types.StrType: "string",
    types.BytesType: "string",
    types.BoolType: "boolean",
    types.NoneType: "null",
    types.AnyType: "unknown",
    types.RawType: "unknown",
}


def typescript_of(module: ModuleType) -> str:
    """All upper-case constants, structs and unions of structs that a module defines.

    Structs of other modules that these speak of are written too, or imported from their own file.
    """
    parts: list[str] = []
    docs = _docs(module)
    own = [value for value in vars(module).values() if _is_struct(value)]
    written = [name for name in PAIRS if name != module.__name__]
    foreign = [each for each in _spoken_of(own, written) if each.__module__ != module.__name__]
    parts += [
        _interface(each, _docs(import_module(each.__module__)))
        for each in foreign
        if each.__module__ not in PAIRS
    ]
    for name, value in vars(module).items():
        if _is_struct(value) and value.__module__ == module.__name__ and name[0] != "_":
            parts.append(_interface(value, docs))
        elif isinstance(value, UnionType) and not name.startswith("_"):
            parts.append(_doc(docs.get(name)) + _union(name, value))
        elif name.isupper() and isinstance(value, int | float | str):
            parts.append(_doc(docs.get(name)) + f"export const {name} = {json.dumps(value)};")
    return "\n\n".join([_head(module), *_imports(foreign), *parts]) + "\n"


def _head(module: ModuleType) -> str:
    return f"// Made from {module.__name__} by write_types.py; change that and run it again."


def _imports(foreign: list[type[msgspec.Struct]]) -> list[str]:
    """A line for every other file that holds some of these structs."""
    lines = []
    for name, path in PAIRS.items():
        held = ", ".join(sorted(each.__name__ for each in foreign if each.__module__ == name))
        if held:
            lines.append(f'import type {{ {held} }} from "./{path.stem}";')
    return lines


def _is_struct(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, msgspec.Struct) and value != msgspec.Struct


def _spoken_of(
    structs: list[type[msgspec.Struct]], written: list[str]
) -> list[type[msgspec.Struct]]:
    """These structs and all that their fields hold, each once; those of ``written`` modules, which
    have a file of their own, without what they hold themselves."""
    found: dict[type[msgspec.Struct], None] = {}
    waiting: list[Any] = [types.type_info(each) for each in structs]
    while waiting:
        info = waiting.pop(0)
        if isinstance(info, types.StructType) and info.cls not in found:
            found[info.cls] = None
            if info.cls.__module__ not in written:
                waiting += [field.type for field in info.fields]
        waiting += [*getattr(info, "types", ()), *getattr(info, "item_types", ())]
        held = (getattr(info, name, None) for name in ("item_type", "key_type", "value_type"))
        waiting += [each for each in held if each is not None]
    return list(found)


def _union(name: str, value: UnionType) -> str:
    written = " | ".join(_type(types.type_info(each)) for each in get_args(value))
    return f"export type {name} = {written};"


def _interface(struct: type[msgspec.Struct], docs: dict[str, str]) -> str:
    info = types.type_info(struct)
    assert isinstance(info, types.StructType)
    lines = [f"export interface {struct.__name__} {{"]
    if info.tag_field is not None:
        lines.append(f"  {info.tag_field}: {json.dumps(info.tag)};")
    for field in info.fields:
        lines += [
            f"  {line}"
            for line in _doc(docs.get(f"{struct.__name__}.{field.name}")).split("\n")[:-1]
        ]
        # a field at its default may be left out only where the struct says so
        mark = "?" if struct.__struct_config__.omit_defaults and not field.required else ""
        lines.append(f"  {field.encode_name}{mark}: {_type(field.type)};")
    return _doc(docs.get(struct.__name__)) + "\n".join([*lines, "}"])


def _type(info: Any) -> str:
    """One type as TypeScript writes it."""
    if type(info) in PLAIN:
        return PLAIN[type(info)]
    match info:
        case types.StructType():
            return info.cls.__name__
        case types.ListType() | types.VarTupleType():
            return f"{_in_brackets(_type(info.item_type))}[]"
        case types.TupleType():
            return "[" + ", ".join(_type(each) for each in info.item_types) + "]"
        case types.DictType():
            return f"Record<{_type(info.key_type)}, {_type(info.value_type)}>"
        case types.UnionType():
            return " | ".join(_type(each) for each in info.types)
        case types.LiteralType():
            return " | ".join(json.dumps(each) for each in info.values)
        case types.EnumType():
            return " | ".join(json.dumps(each.value) for each in info.cls)
    raise TypeError(f"no TypeScript is known for {info}")


def _in_brackets(written: str) -> str:
    return f"({written})" if " | " in written else written


def _doc(text: str | None) -> str:
    return "" if not text else f"/** {' '.join(text.split())} */\n"


def _docs(module: ModuleType) -> dict[str, str]:
    """Docstrings of classes, and the strings that stand below fields and constants."""
    return dict(_strings_below(ast.parse(inspect.getsource(module)).body, ""))


def _strings_below(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str]]:
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef):
            text = ast.get_docstring(node)
            if text:
                yield node.name, text
            yield from _strings_below(node.body, f"{node.name}.")
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        text = getattr(getattr(below, "value", None), "value", None)
        if isinstance(target, ast.Name) and isinstance(below, ast.Expr) and isinstance(text, str):
            yield prefix + target.id, text


def modules() -> Iterator[tuple[ModuleType, Path]]:
    """Every module of structs that is there, with its file."""
    for name, path in PAIRS.items():
        if find_spec(name.rpartition(".")[0]) and find_spec(name):
            yield import_module(name), path


if __name__ == "__main__":
    for module, path in modules():
        path.write_text(typescript_of(module), encoding="utf-8")
