"""osteon view"""

from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=options.FOLDER,
    help="Folder for the page.  [default: a temporary one]",
)
@click.option("--no-open", is_flag=True, help="Only write the page; leave the browser alone.")
def view(file: Path, output: Path | None, *, no_open: bool) -> None:
    """Show FILE in the browser: markers, rigid bodies, a moving skeleton, or all of them.

    FILE may also be a folder that another verb has written; then its report is shown. Where a file
    or folder holds several subjects or takes each has a page: all are listed, the first is opened.

    Example: osteon view walk.bvh
    """
    import tempfile
    import webbrowser

    from osteon.delivery import view as write_pages

    folder = Path(tempfile.mkdtemp(prefix="osteon-")) if output is None else output
    pages = write_pages(file, folder)
    for page in pages:
        click.echo(page)
    if not no_open:
        webbrowser.open(pages[0].resolve().as_uri())
