"""osteon inspect"""

from pathlib import Path
from typing import Any

import click

from osteon.cli import options
from osteon.errors import counted


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print facts as JSON.")
def inspect(file: Path, *, as_json: bool) -> None:
    """Say what is in FILE: kind, counts, rate, units, up axis, gaps, subjects, problems.

    FILE may have any format that osteon info lists as read.

    Example: osteon inspect walk.c3d
    """
    from osteon.formats import describe, read

    facts = describe(read(file), file)
    if as_json:
        click.echo(options.json_line(facts))
        return
    for line in _lines(facts):
        click.echo(line)


NOUNS = (
    ("markers", "marker"),
    ("bodies", "rigid body"),
    ("motion", "body"),
    ("compact", "body"),
)


def _lines(facts: dict[str, Any]) -> list[str]:
    kind = " ".join(part for part in (facts["format"], facts["detail"]) if part)
    written = f", written by {facts['vendor']}" if facts["vendor"] else ""
    known = "" if facts["up_known"] else " (the file does not say)"
    lines = [
        f"{facts['file']}: {kind or facts['kinds'][0]}{written}",
        f"  coordinates  {facts['unit']}, {facts['up']} up{known}",
    ]
    for name, noun in NOUNS:
        for entry in facts.get(name, ()):
            lines.append(f"  {name:12} {_one(entry, noun)}")
    for entry in facts.get("skeleton", ()):
        lines.append(f"  skeleton     {_whose(entry)}{counted(entry['count'], 'body')}")
    lines += [f"  problem      {problem}" for problem in facts["problems"]]
    for name in ("markers", "bodies"):
        for entry in facts.get(name, ()):
            lines += _gap_table(entry)
    return lines


def _whose(entry: dict[str, Any]) -> str:
    return f"{entry['subject']}: " if entry["subject"] else ""


def _one(entry: dict[str, Any], noun: str) -> str:
    parts = [
        counted(entry["count"], noun),
        f"{counted(entry['frames'], 'frame')} at {entry['rate']:g} Hz ({entry['seconds']:.2f} s)",
    ]
    if "missing" in entry:
        parts.append(f"{100 * entry['missing']:.1f} % missing")
    if entry.get("outputs"):
        parts.append(f"{len(entry['outputs'])} of them model outputs")
    if entry.get("span"):
        parts.append(" × ".join(f"{axis:.2f}" for axis in entry["span"]) + " m in a typical frame")
    if entry.get("analog"):
        analog = entry["analog"]
        parts.append(
            f"{counted(len(analog['channels']), 'analog channel')} at {analog['rate']:g} Hz"
        )
    if entry["marks"]:
        parts.append(counted(len(entry["marks"]), "event"))
    return _whose(entry) + ", ".join(parts)


def _gap_table(entry: dict[str, Any]) -> list[str]:
    gappy = {name: gaps for name, gaps in entry["gaps"].items() if gaps["missing"]}
    if not gappy:
        return []
    width = max(len(name) for name in gappy)
    head = f"  {'gaps of':{width}}  missing  gaps  longest (frames)"
    return [head] + [
        f"  {name:{width}}  {gaps['missing']:7}  {gaps['gaps']:4}  {gaps['longest']:7}"
        for name, gaps in gappy.items()
    ]
