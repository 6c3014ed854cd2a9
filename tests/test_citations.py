"""Citations resolve inside the repository: sections, errata and works that exist."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = next(p for p in Path(__file__).resolve().parents if (p / "pyproject.toml").exists())
FOLDERS = ("src/osteon", "docs", "tests", "benchmarks", "examples")
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
KINDS = {".py", ".pyi", ".md", ".toml"}

SECTION = re.compile(r"docs/methods\.md (?=((?:§\d+|E\d)[^\n]{0,30}))")
PLACES = re.compile(r"(?:§(\d+)(?:[–-](\d+))?|\b(E\d(?:\.\d)?)\b)")
PAPER_KEY = re.compile(r"\[(00\d)\]")
AUTHOR_KEYS = re.compile(r"\[((?:de |van )?[A-Z][\w-]+ (?:19|20)\d\d[^\]\n]{0,60})\]")
AUTHOR_KEY = re.compile(r"(?:de |van )?[A-Z][\w-]+ (?:19|20)\d\d[a-z]?")
OUTSIDE = re.compile(r"\bMETHODS §|\bMETHODS\.md|\bERRATA\b|\b[Pp]apers? 00\d\b|\(00\d,? §")


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Every page and source file, but for this one: (path, text)."""
    found = [ROOT / name for name in PAGES if (ROOT / name).exists()]
    for folder in FOLDERS:
        found += sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in KINDS)
    own = Path(__file__).resolve()
    return tuple(
        (p.relative_to(ROOT).as_posix(), p.read_text(encoding="utf-8")) for p in found if p != own
    )


@cache
def sections() -> frozenset[str]:
    """§ numbers and E numbers that docs/methods.md has headings for."""
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    numbered = re.findall(r"^## (\d+)\. ", page, re.MULTILINE)
    return frozenset(numbered) | frozenset(
        re.findall(r"^#{3,4} (E\d(?:\.\d)?)\b", page, re.MULTILINE)
    )


@cache
def works() -> frozenset[str]:
    """Keys of docs/references.md."""
    page = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^(?:<a id=.*></a>)?\*\*\[([^\]]+)\]\*\*", page, re.MULTILINE))


def cited_places(text: str) -> Iterator[str]:
    """Sections after each ``docs/methods.md``: §5–6 is 5 and 6, "§1 and E1.3" both."""
    for match in SECTION.finditer(text):
        own = re.split(r"\[|docs/|[;)]|\. ", match.group(1))[0]
        for first, last, erratum in PLACES.findall(own):
            if erratum:
                yield erratum
            else:
                yield from map(str, range(int(first), int(last or first) + 1))


def test_methods_has_its_thirteen_sections() -> None:
    assert sections() >= {str(n) for n in range(1, 14)}


def test_every_cited_section_exists() -> None:
    missing = {
        f"{path}: {place}"
        for path, text in texts()
        for place in cited_places(text)
        if place not in sections()
    }
    assert not missing


def test_every_cited_work_is_listed() -> None:
    missing = set()
    for path, text in texts():
        keys = PAPER_KEY.findall(text)
        for inside in AUTHOR_KEYS.findall(text):
            keys += AUTHOR_KEY.findall(inside)
        missing |= {f"{path}: [{key}]" for key in keys if key not in works()}
    assert not missing


def test_no_citation_leads_out_of_the_repository() -> None:
    left = [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if OUTSIDE.search(line)
    ]
    assert not left


def test_modules_named_in_methods_and_references_exist() -> None:
    named = set()
    for page in ("methods.md", "references.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        named |= set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+)`", text))
    bases = (ROOT / "src" / "osteon", ROOT)
    missing = {
        name
        for name in named
        if not any((base / name).is_dir() or (base / f"{name}.py").exists() for base in bases)
    }
    assert named and not missing
