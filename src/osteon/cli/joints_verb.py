"""osteon joints"""

from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("file", type=options.FILE)
@options.output("skeleton.json, summary.json, motion.bvh, residuals.svg and report.html")
@click.option("--root", metavar="BODY", help="Body to start from.  [default: the most central one]")
@options.subject("bodies")
@click.option(
    "--like",
    type=options.FILE,
    help="File with a skeleton whose hierarchy is kept; by default it is found.",
)
@click.option(
    "--measured",
    type=options.FILE,
    help="CSV of limb,cm: lengths measured by hand, shown beside those found.",
)
@click.option(
    "--known-distance",
    nargs=3,
    type=(str, str, float),
    metavar="BODY BODY METRES",
    help="Two sensors fixed at this distance give the tracker's scale.",
)
@click.option(
    "--exclude", metavar="BODY", multiple=True, help="Body to leave out, may be repeated."
)
@click.option("--robust", is_flag=True, help="Let outlying frames count less.")
@options.as_json
def joints(
    file: Path,
    output: Path,
    root: str | None,
    subject: str | None,
    like: Path | None,
    measured: Path | None,
    known_distance: tuple[str, str, float] | None,
    exclude: tuple[str, ...],
    *,
    robust: bool,
    as_json: bool,
) -> None:
    """Joints, hierarchy, loops and slips from the moving bodies or marker clusters in FILE.

    FILE holds sensors with place and orientation, markers in clusters of three and more, or a
    moving skeleton.

    Example: osteon joints sensors.csv -o rig --root pelvis
    """
    from osteon.articulation import bodies_of, joints as find_joints, limb_table, scale_factor
    from osteon.delivery import joints_summary, joints_text, show_joints, write_joints
    from osteon.formats import read, read_measured

    options.spare((file, like), [output / "motion.bvh"])
    moving = bodies_of(read(file), subject)
    if known_distance:
        moving = moving.rescaled(scale_factor(moving.bodies, *known_distance))
    moving = moving.without(exclude)
    bodies = moving.bodies
    parents = None if like is None else _parents(read(like).skeleton())
    found = moving.told(
        find_joints(bodies, root=root, parents=parents, noise=moving.noise, robust=robust)
    )
    lengths = read_measured(measured) if measured else None
    limbs = limb_table(found, lengths)
    summary = joints_summary(bodies, found, limbs)
    with options.whole_results(output, (file, like, measured)) as scratch:
        write_joints(bodies, found, summary, scratch)
        show_joints(bodies, found, scratch, lengths)
    if as_json:
        click.echo(options.json_line(summary))
    else:
        options.tell(joints_text(found, limbs))
    click.echo(output, err=True)


def _parents(skeleton) -> dict[str, str]:
    return {body.name: body.parent for body in skeleton.bodies if body.parent is not None}
