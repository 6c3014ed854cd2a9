"""osteon normalise"""

from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@options.output("skeleton.json, summary.json, the normalised rig and report.html")
@options.subject()
@click.option(
    "--formats",
    default="bvh",
    show_default=True,
    metavar="LIST",
    help="Formats of the normalised rig, such as bvh,glb,amc,osteon.",
)
@click.option(
    "--meshes",
    type=click.Path(exists=True, path_type=Path),
    help="Folder of <body>.obj or .glb, told in limb frames and limb lengths, or one skin over the "
    "whole body, .glb or .obj: writes dressed.glb.",
)
@click.option(
    "--mesh-up",
    type=click.Choice(["y", "z"]),
    default="y",
    show_default=True,
    help="Upward axis of a skin given as OBJ.",
)
@options.as_json
def normalise(
    file: Path,
    output: Path,
    subject: str | None,
    formats: str,
    meshes: Path | None,
    mesh_up: str,
    *,
    as_json: bool,
) -> None:
    """Frames of body and limbs that do not depend on how the motion in FILE was recorded.

    Finds the default pose, the body's planes, its front and a frame in the middle of every limb.
    FILE holds a moving skeleton: BVH, ASF/AMC, GLB, or what solve has written.

    Example: osteon normalise walk/motion.glb -o frames --formats bvh,glb
    """
    from osteon.anatomy import normalise as find_frames
    from osteon.delivery import deliver_frames, frames_summary, frames_text, show

    asked = options.endings(formats)
    options.spare((file,), [output / f"normalised.{ending}" for ending in asked])
    found = find_frames(options.motion_of(file, subject))
    with options.whole_results(output, (file, meshes)) as scratch:
        deliver_frames(found, scratch, asked)
        show(found.motion, scratch)
        if meshes is not None:
            from osteon.skinning import write_dressed

            write_dressed(found, scratch / "dressed.glb", meshes, mesh_up)
    if as_json:
        click.echo(options.json_line(frames_summary(found)))
    else:
        click.echo(frames_text(found))
    click.echo(output, err=True)
