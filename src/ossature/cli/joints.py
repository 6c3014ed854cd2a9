"""ossature joints"""

from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder.",
)
@click.option("--root", metavar="BODY", help="Body to start from. [default: the most central one]")
@click.option("--robust", is_flag=True, help="Let outlying frames count less.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def joints(file: Path, output: Path, root: str | None, *, robust: bool, as_json: bool) -> None:
    """Joints, hierarchy, loops and slips from the moving bodies in FILE.

    Writes skeleton.json and summary.json.

    Example: ossature joints sensors.csv -o rig
    """
    from ossature.formats import read
    from ossature.joints.find import joints as find_joints
    from ossature.joints.output import summary_of, summary_text, write_joints

    bodies = read(file).body_poses()
    found = find_joints(bodies, root=root, robust=robust)
    summary = summary_of(bodies, found)
    write_joints(found, summary, output)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(summary).decode())
    else:
        click.echo(summary_text(found))
        click.echo(output)
