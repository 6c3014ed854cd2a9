"""osteon studio"""

from contextlib import suppress
from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("file", required=False, type=options.FILE)
@click.option(
    "-o",
    "--output",
    type=options.FOLDER,
    help="Folder for exports.  [default: beside FILE, named after it]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port to listen on.  [default: any]",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def studio(file: Path | None, output: Path | None, port: int, *, no_browser: bool) -> None:
    """Look at FILE and edit it in the browser.

    Cut, fill and filter curves, swap markers, say which body a marker is on, set joints, limits,
    plants and poses; every edit is kept in FILE's .edits.json, which solve --edits reads. Without
    FILE the studio opens in this folder. It answers only to this machine, and only to the address
    that it prints.

    Example: osteon studio walk.c3d
    """
    with options.needing("studio", "the studio"):
        from osteon.studio import Studio, address, bind, open_in_browser, serve
    opened = Studio(Path.cwd() if file is None else file.parent, output=output)
    if file is not None:
        opened.open(file.name)
    bound = bind(port)
    where = address(opened, bound)
    click.echo(where)
    if not no_browser:
        open_in_browser(where, opened.entered)
    with suppress(KeyboardInterrupt):  # the usual way to end it
        serve(opened, bound)
