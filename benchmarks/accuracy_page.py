"""Sections of docs/numbers/accuracy.md: every script replaces its own and no other."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "numbers" / "accuracy.md"
TITLE = "# How accurate it is\n"


def put_section(heading: str, text: str, path: Path = PAGE) -> None:
    """Write the section under ``heading``, in place of an earlier one or at the end."""
    page = path.read_text(encoding="utf-8") if path.exists() else TITLE
    section = f"## {heading}\n\n{text.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", re.M | re.S)
    if pattern.search(page):
        page = pattern.sub(lambda _: section + "\n", page)
    else:
        page = page.rstrip() + "\n\n" + section
    path.write_text(page.rstrip() + "\n", encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; all columns but the first are aligned to the right."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
