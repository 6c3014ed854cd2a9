"""ossature demo"""

from pathlib import Path

import click


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder to write to.",
)
@click.option("--seed", default=1, show_default=True, help="Another seed, another performance.")
def demo(output: Path, seed: int) -> None:
    """Generate a performance whose truth is known, and write it.

    A human walks and exercises every joint, with noise, sliding skin, gaps and swapped labels.

    Example: ossature demo -o demo
    """
    from ossature import synth
    from ossature.formats import write

    script = synth.sequence(synth.walk(seconds=8), synth.exercise(seconds=40))
    take = synth.perform(
        synth.human(), script, noise=0.001, soft_tissue=0.010, gaps=0.03, swaps=5, seed=seed
    )
    files = {
        "take.c3d": take.recording,
        "truth.bvh": take.truth.motion,
        "truth.glb": take.truth.motion,
    }
    for name, value in files.items():
        write(value, output / name)
    recording, truth = take.recording, take.truth
    missing = 1.0 - recording.seen.mean()
    click.echo(
        f"{recording.n_markers} markers, {recording.n_frames} frames at {recording.rate:g} Hz, "
        f"{missing:.1%} missing, {len(truth.swaps)} swaps, {len(truth.contacts)} foot plants"
    )
    for name in files:
        click.echo(output / name)
