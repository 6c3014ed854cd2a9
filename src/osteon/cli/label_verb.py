"""osteon label"""

from dataclasses import replace
from pathlib import Path

import click

from osteon.cli import options


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
    from osteon.formats import read
    from osteon.human import load_set
    from osteon.labelling import cloud_of, label as label_markers

    options.spare(files, labelled_files(files, output))
    people = _people(skeleton, passport)
    worn = marker_set if own_set is None else load_set(own_set)
    found = []
    with options.progress() as saying:
        for file in files:
            found.append(
                label_markers(
                    cloud_of(read(file), subject),
                    skeleton=people or None,
                    marker_set=worn,
                    progress=saying,
                )
            )
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
