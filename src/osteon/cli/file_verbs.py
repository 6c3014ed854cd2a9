"""Verbs about files, and about what is installed: info, inspect, label, view."""

import platform
import re
import tempfile
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Any

import click

from osteon.cli import options
from osteon.errors import counted, how_to_install

NOUNS = {"markers": "marker", "bodies": "rigid body", "motion": "body", "compact": "body"}
"""What inspect counts of each kind of content."""


@click.command()
@options.facts_as_json
def info(*, as_json: bool) -> None:
    """Versions, formats, marker sets, and which optional parts are installed.

    Example: osteon info
    """
    from osteon.human import known_names, known_sets, load_names

    facts = {
        "osteon": version("osteon"),
        "python": platform.python_version(),
        "packages": _packages(lambda line: "extra ==" not in line),
        "extras": {
            extra: _packages(lambda line, mark=f"extra == '{extra}'": mark in line)
            for extra in metadata("osteon").get_all("Provides-Extra") or []
        },
        "formats": _formats(),
        "marker_sets": {each.name: len(each.markers) for each in known_sets()},
        "bone_names": {name: load_names(name).title for name in known_names()},
    }
    if as_json:
        click.echo(options.json_line(facts))
        return
    click.echo(f"osteon {facts['osteon']}, Python {facts['python']}")
    for name, found in facts["packages"].items():
        click.echo(f"  {name:14} {found}")
    for extra, packages in facts["extras"].items():
        missing = [name for name, found in packages.items() if found is None]
        state = f"missing {', '.join(missing)}: {how_to_install(extra)}" if missing else "ok"
        click.echo(f"extra {extra:10} {state}")
    for name, able in facts["formats"].items():
        click.echo(f"format {name:14} {able}")
    for name, n in facts["marker_sets"].items():
        click.echo(f"marker set {name!r:28} {n} markers")
    for name, title in facts["bone_names"].items():
        click.echo(f"bone names {name:18} {title}")


def _packages(wanted: Callable[[str], bool]) -> dict[str, str | None]:
    """Return the version of each package in the lines of requirements that are wanted."""
    lines = [line.replace('"', "'") for line in requires("osteon") or ()]
    names = [re.split(r"[<>=!~;\[ ]", line)[0] for line in lines if wanted(line)]
    return {name: _installed(name) for name in names}


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _formats() -> dict[str, str]:
    from osteon.formats import FORMATS

    def able(form) -> str:
        verbs = [
            verb for verb, function in (("reads", form.read), ("writes", form.write)) if function
        ]
        return f"{' and '.join(verbs)} {', '.join(sorted(form.holds))} ({', '.join(form.suffixes)})"

    return {form.name: able(form) for form in FORMATS}


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@options.facts_as_json
def inspect(file: Path, *, as_json: bool) -> None:
    """Say what is in FILE: kind, counts, rate, units, up axis, gaps, subjects, problems.

    FILE may have any format that osteon info lists as read.

    Example: osteon inspect walk.c3d
    """
    from osteon.formats import describe, read

    facts = describe(read(file), file)
    click.echo(options.json_line(facts) if as_json else "\n".join(_lines(facts)))


def _lines(facts: dict[str, Any]) -> list[str]:
    kind = " ".join(part for part in (facts["format"], facts["detail"]) if part)
    written = f", written by {facts['vendor']}" if facts["vendor"] else ""
    known = "" if facts["up_known"] else " (the file does not say)"
    lines = [
        f"{facts['file']}: {kind or facts['kinds'][0]}{written}",
        f"  coordinates  {facts['unit']}, {facts['up']} up{known}",
    ]
    for name, noun in NOUNS.items():
        for entry in facts.get(name, ()):
            lines.append(f"  {name:12} {_one(entry, noun)}")
    lines += _plate_lines(facts)
    for entry in facts.get("skeleton", ()):
        lines.append(f"  skeleton     {_whose(entry)}{counted(entry['count'], 'body')}")
    lines += [f"  problem      {problem}" for problem in facts["problems"]]
    for name in ("markers", "bodies"):
        for entry in facts.get(name, ()):
            lines += _gap_table(entry)
    return lines


def _plate_lines(facts: dict[str, Any]) -> list[str]:
    """Tell of force plates, which all subjects of a file share."""
    plates = next((entry["plates"] for entry in facts.get("markers", ())), [])
    return [
        f"  force plate  {number}: "
        + (
            f"loaded {100 * plate['loaded']:.0f} % of the time, up to {plate['peak_newtons']:.0f} N"
            if plate["loaded"]
            else "nobody on it"
        )
        for number, plate in enumerate(plates, 1)
    ]


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


@click.command()
@click.argument("files", nargs=-1, required=True, type=options.FILE)
@options.output("the labelled takes, a table of every assignment each, and summary.json")
@options.file(
    "--skeleton", "skeleton.json of a person, from a solve; may be repeated.", multiple=True
)
@options.file("--passport", "passport.json of a person; may be repeated.", multiple=True)
@click.option(
    "--set",
    "marker_set",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="Marker set of people unknown: one that osteon info lists, auto, or none (by motion).",
)
@options.own_set
@options.subject("markers")
@options.as_json
def label(
    files: tuple[Path, ...],
    output: Path,
    skeleton: tuple[Path, ...],
    passport: tuple[Path, ...],
    marker_set: str,
    own_set: Path | None,
    subject: str | None,
    *,
    as_json: bool,
) -> None:
    """Labels for tracks in FILES that have none, break, or are exchanged.

    By people who are known, by a marker set, or, where neither is known, steady names m01, m02, …
    Of several people in one cloud each has their own labels.

    Example: osteon label unlabelled.c3d -o labelled --skeleton monday/skeleton.json
    """
    from osteon.delivery import label_summary, label_text, labelled_files, write_labelled
    from osteon.errors import NotEnoughData
    from osteon.formats import read
    from osteon.human import load_set
    from osteon.labelling import cloud_of, label as label_markers

    if skeleton or passport:
        options.refuse_idle("who is known needs no marker set", "marker_set", "own_set")
    if own_set is not None:
        options.refuse_idle("--own-set is the marker set", "marker_set")
    options.spare(files, labelled_files(files, output))
    people = _people(skeleton, passport)
    worn = marker_set if own_set is None else load_set(own_set)
    found = []
    with options.progress() as saying:
        for file in files:
            cloud = cloud_of(read(file), subject)
            try:
                found.append(
                    label_markers(cloud, skeleton=people or None, marker_set=worn, progress=saying)
                )
            except NotEnoughData as error:
                raise NotEnoughData(f"{file.name}: {error}") from error
    with options.whole_results(output, (*files, *skeleton, *passport, own_set)) as scratch:
        write_labelled(found, files, scratch)
    options.say_results(
        label_summary(found, files), label_text(found, files), as_json=as_json, folder=output
    )


def _people(skeletons: tuple[Path, ...], passports: tuple[Path, ...]):
    """The skeletons of whom the markers are on; those without a name are called as their folder."""
    from osteon.formats import read, read_passport

    if skeletons and passports:
        raise click.UsageError("--skeleton and --passport both say who it is: give one of them")
    found = [(path, read(path).skeleton()) for path in skeletons]
    found += [(path, read_passport(path).skeleton) for path in passports]
    return [
        each if each.subject else replace(each, subject=path.resolve().parent.name)
        for path, each in found
    ]


@click.command()
@click.argument("file", type=options.FILE_OR_FOLDER)
@options.output(required=False, help="Folder for the page.  [default: a temporary one]")
@click.option("--no-open", is_flag=True, help="Only write the page; leave the browser alone.")
def view(file: Path, output: Path | None, *, no_open: bool) -> None:
    """Show FILE in the browser: markers, rigid bodies, a moving skeleton, or all of them.

    FILE may also be a folder that another verb has written; then its report is shown. Where a file
    or folder holds several subjects or takes each has a page: all are listed, the first is opened.

    Example: osteon view walk.bvh
    """
    from osteon.delivery import has_pages, view as write_pages

    if has_pages(file):
        options.refuse_idle(f"{file} has its pages already", "output")
    folder = Path(tempfile.mkdtemp(prefix="osteon-")) if output is None else output
    pages = write_pages(file, folder)
    for page in pages:
        click.echo(page)
    if not no_open:
        webbrowser.open(pages[0].resolve().as_uri())
