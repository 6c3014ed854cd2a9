"""osteon axes"""

from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@options.output("skeleton.json, summary.json, the compact motion and report.html")
@options.subject()
@click.option(
    "--method",
    type=click.Choice(["joining", "pca", "em"]),
    default="joining",
    show_default=True,
    help="How the main directions are found.",
)
@click.option(
    "--source",
    type=click.Choice(["orientations", "points"]),
    default="orientations",
    show_default=True,
    help="What to trust in FILE; points: only its joint positions were measured.",
)
@click.option(
    "--formats",
    default="csv",
    show_default=True,
    metavar="LIST",
    help="Of the compact motion: csv, osteon, parquet; others, as bvh, get the poses made of it.",
)
@click.option(
    "--clean",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="A clean take to learn from, may be repeated: improbable frames of FILE are named.",
)
@click.option(
    "--recording",
    type=options.FILE,
    help="With --clean: the markers FILE was solved from; swapped ones are named too.",
)
@click.option("--mend", is_flag=True, help="With --clean: mend improbable frames before all else.")
@options.as_json
def axes(
    file: Path,
    output: Path,
    subject: str | None,
    method: str,
    source: str,
    formats: str,
    clean: tuple[Path, ...],
    recording: Path | None,
    *,
    mend: bool,
    as_json: bool,
) -> None:
    """The axes along which each limb in FILE moves, and the motion as angles about them.

    FILE holds a moving skeleton: BVH, ASF/AMC, GLB, or what solve has written.

    Example: osteon axes walk/motion.glb -o axes
    """
    from osteon.anatomy import axes as find_axes
    from osteon.delivery import axes_summary, axes_text, deliver_axes, show
    from osteon.formats import read

    if (mend or recording) and not clean:
        raise click.UsageError("--mend and --recording need --clean TAKE to learn from")
    asked = options.endings(formats, besides=("csv", "parquet"))
    made = [output / f"parameters.{ending}" for ending in asked]
    options.spare((file, *clean, recording), made)
    motion, findings = options.motion_of(file, subject), None
    if clean:
        from osteon.anatomy import learn

        watch = learn([options.motion_of(take, subject) for take in clean])
        markers = None if recording is None else read(recording).recording(subject)
        findings = watch.check(motion, markers)
        motion = watch.mended(motion, findings) if mend else motion
    found = find_axes(motion, method=method, source=source)
    with options.whole_results(output, (file, *clean, recording)) as scratch:
        deliver_axes(found, scratch, asked, findings)
        show(found.motion, scratch, None if mend else findings)
    if as_json:
        click.echo(options.json_line(axes_summary(found, findings)))
    else:
        click.echo(axes_text(found, findings))
    click.echo(output, err=True)
