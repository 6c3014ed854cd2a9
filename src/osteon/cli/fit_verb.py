"""osteon fit"""

import time
from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("file", type=options.FILE)
@options.output()
@click.option(
    "--tree",
    type=options.FILE,
    help="What hangs on what: a skeleton file (BVH, ASF, GLB, skeleton.json) or a TOML file with "
    'a table [parents] of lines knee = "hip".',
)
@click.option("--lengths", type=options.FILE, help="Skeleton file whose lengths are kept.")
@options.subject("joints")
@click.option(
    "--noise",
    metavar="MM",
    type=click.FloatRange(min=0.0),
    help="Noise of the joint positions, to correct the lengths by.  [default: estimated]",
)
@click.option(
    "--debias/--least-squares",
    default=True,
    show_default=True,
    help="Take joint noise out of the lengths, or fit them by least squares as Wen et al. 2006.",
)
@click.option("--dividing", is_flag=True, help="Solve chains apart, as Wen et al. 2006 do.")
@options.bvh_unit
@options.bvh_up
@options.as_json
def fit(
    file: Path,
    output: Path,
    tree: Path | None,
    lengths: Path | None,
    subject: str | None,
    noise: float | None,
    unit: str | None,
    up: str | None,
    *,
    debias: bool,
    dividing: bool,
    as_json: bool,
) -> None:
    """Fit bones of fixed length to the joint positions in FILE.

    FILE holds joint centres as points (C3D, TRC, CSV), with --tree unless they are named like
    Plug-in Gait's origins, LHJC, LKJC, LAJC or a markerless system's keypoints; or a motion whose
    bones stretch (BVH, GLB). Writes skeleton.json, motion.bvh, motion.glb, summary.json and
    report.html.

    Example: osteon fit joints.trc --tree rig.bvh -o fitted
    """
    from osteon.delivery import deliver_fit, fit_text, summary_of_fit
    from osteon.fixed_lengths import fit as fit_joints, read_tree
    from osteon.formats import read

    options.spare((file, tree, lengths), options.motion_files(output, ()))
    start = time.perf_counter()
    take = read(file)
    source = take.recording(subject) if take.recordings else take.motion(subject)
    given = None if tree is None else read_tree(tree)
    known = None if lengths is None else _measure(read(lengths).skeleton())
    began = time.perf_counter()
    result = fit_joints(
        source,
        given,
        lengths=known,
        debias=debias,
        noise=None if noise is None else noise / 1e3,
        dividing=dividing,
    )
    seconds = {"read": began - start, "solve": time.perf_counter() - began}
    with options.whole_results(output, (file, tree, lengths)) as scratch:
        deliver_fit(result, scratch, seconds, unit=unit, up=up)
    if as_json:
        click.echo(options.json_line(summary_of_fit(result, seconds)))
    else:
        options.tell(fit_text(result))
        click.echo(output)


def _measure(skeleton) -> dict[str, float]:
    """Return lengths by the joint at the bone's far end, metres."""
    import numpy as np

    sizes = np.linalg.norm(skeleton.offsets, axis=-1).tolist()
    named = zip(skeleton.names, skeleton.parents, sizes, strict=True)
    return {name: size for name, parent, size in named if parent >= 0}
