"""osteon demo"""

from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.option(
    "-o",
    "--output",
    type=options.FOLDER,
    default=Path("demo"),
    show_default=True,
    help="Folder to write to.",
)
@click.option("--seed", default=1, show_default=True, help="Another seed, another performance.")
def demo(output: Path, seed: int) -> None:
    """Generate a performance whose truth is known, solve it, and say how close it came.

    A human walks and exercises every joint, with noise, sliding skin, gaps and swapped labels.
    Writes take.c3d, truth.bvh, and rig, motion and report as solve does.

    Example: osteon demo -o demo
    """
    import numpy as np

    from osteon import delivery, pipeline, synth
    from osteon.formats import read, write

    script = synth.sequence(synth.walk(seconds=8), synth.exercise(seconds=40))
    take = synth.perform(
        synth.human(), script, noise=0.001, skin=1.0, gaps=0.03, swaps=5, seed=seed
    )
    truth = take.truth
    write(take.recording, output / "take.c3d")
    write(truth.motion, output / "truth.bvh")
    missing = 1.0 - take.recording.seen.mean()
    click.echo(
        f"generated: {take.recording.n_markers} markers, {take.recording.n_frames} frames, "
        f"{100.0 * missing:.1f} % missing, {len(truth.swaps)} labels swapped"
    )
    solved = pipeline.solve(
        read(output / "take.c3d"), progress=lambda saying: click.echo(saying, err=True)
    )[0]
    delivery.deliver(solved, output)
    shared = [name for name in solved.skeleton.names if name in truth.skeleton.names]
    limbs = [name for name in shared if name.startswith(("left_", "right_"))]
    found = solved.motion.world()[1][:, [solved.skeleton.index(name) for name in limbs]]
    wanted = truth.joints[:, [truth.skeleton.index(name) for name in limbs]]
    apart = 1e3 * np.linalg.norm(found - wanted, axis=-1)
    click.echo(
        f"solved: {1e3 * solved.rms:.1f} mm from the markers, {np.median(apart):.1f} mm "
        f"(median) from the true joints of the limbs, {len(solved.events)} swaps repaired"
    )
    click.echo(output / "report.html")
