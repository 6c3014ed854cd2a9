"""Options that several verbs share, so that they read and behave alike."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

as_json = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
bvh_unit = click.option(
    "--unit", type=click.Choice(["m", "cm", "mm", "in"]), help="Unit of motion.bvh. [m]"
)
bvh_up = click.option("--up", type=click.Choice(["y", "z"]), help="Upward axis of motion.bvh. [z]")
hips = click.option(
    "--hips",
    type=click.Choice(["harrington", "davis", "seidel"]),
    default="harrington",
    show_default=True,
    help="Regression for the hip centres.",
)
marker_set = click.option(
    "--template",
    default="auto",
    show_default=True,
    metavar="SET",
    help="Marker set: auto, none (by motion alone), or a name.",
)
own_set = click.option("--own-set", type=FILE, help="Your own marker set, a TOML file.")
more_formats = click.option(
    "--formats", default="", metavar="LIST", help="More motion files, such as amc,oss."
)


def output(holds: str = "the results") -> Callable[[Any], Any]:
    """``-o DIR``: a folder for what ``holds`` says."""
    folder = click.Path(file_okay=False, path_type=Path)
    return click.option("-o", "--output", required=True, type=folder, help=f"Folder for {holds}.")


def subject(whose: str = "motion") -> Callable[[Any], Any]:
    """``--subject NAME``: one of several people in a file."""
    return click.option(
        "--subject", metavar="NAME", help=f"Whose {whose}, where a file holds several."
    )


@contextmanager
def needing(extra: str, purpose: str) -> Iterator[None]:
    """A package that is missing inside is told with the extra that brings it."""
    from ossature.errors import MissingExtra

    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("ossature"):
            raise
        raise MissingExtra(error.name, purpose, extra) from None


def endings(formats: str) -> list[str]:
    """The words of a ``--formats`` list."""
    return [word.strip().lstrip(".") for word in formats.split(",") if word.strip()]


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Says on stderr what is being done: a live line on a terminal, plain lines elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda saying: click.echo(saying, err=True)
        return
    with console.status("starting") as status:
        yield lambda saying: status.update(saying)
