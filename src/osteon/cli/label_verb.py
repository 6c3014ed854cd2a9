"""osteon label"""

from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("files", nargs=-1, required=True, type=options.FILE)
@options.output("the labelled takes, a table of every assignment each, and summary.json")
@click.option("--skeleton", type=options.FILE, help="skeleton.json of the person, from a solve.")
@click.option("--passport", type=options.FILE, help="passport.json of the person.")
@click.option(
    "--set",
    "marker_set",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="Marker set of somebody unknown: one that osteon info lists, auto, or none (by motion).",
)
@options.own_set
@options.subject("markers")
@options.as_json
def label(
    files: tuple[Path, ...],
    output: Path,
    skeleton: Path | None,
    passport: Path | None,
    marker_set: str,
    own_set: Path | None,
    subject: str | None,
    *,
    as_json: bool,
) -> None:
    """Labels for tracks in FILES that have none, break, or are exchanged.

    By a known person, by a marker set, or, where neither is known, steady names m01, m02, …

    Example: osteon label unlabelled.c3d -o labelled --skeleton monday/skeleton.json
    """
    from osteon.delivery import label_summary, label_text, labelled_files, write_labelled
    from osteon.formats import read
    from osteon.human import load_set
    from osteon.labelling import label as label_markers

    options.spare(files, labelled_files(files, output))
    person = _person(skeleton, passport)
    worn = marker_set if own_set is None else load_set(own_set)
    found = []
    with options.progress() as saying:
        for file in files:
            recording = read(file).recording(subject)
            found.append(
                label_markers(recording, skeleton=person, marker_set=worn, progress=saying)
            )
    with options.whole_results(output, (*files, skeleton, passport, own_set)) as scratch:
        write_labelled(found, files, scratch)
    options.say_results(
        label_summary(found, files), label_text(found, files), as_json=as_json, folder=output
    )


def _person(skeleton: Path | None, passport: Path | None):
    """The skeleton of whom the markers are on; None where that is not known."""
    from osteon.formats import read, read_passport

    if skeleton is not None and passport is not None:
        raise click.UsageError("--skeleton and --passport both say who it is: give one of them")
    if passport is not None:
        return read_passport(passport).skeleton
    return None if skeleton is None else read(skeleton).skeleton()
