"""Many takes at once: an archive solved by all cores, and a new take held against a passport.

    python examples/80_a_whole_archive.py [folder]

Without a folder, a small archive of two people is generated. Writes solved/ with index.html.
"""

import sys
from dataclasses import replace
from pathlib import Path

import osteon as ost
from osteon import synth
from osteon.batch import batch
from osteon.formats import read_passport
from osteon.pipeline import SolveOptions
from osteon.values import Recording, Take


def performed(height: float, seconds: float, seed: int) -> Recording:
    figure = synth.human(height, variation=0.03, seed=int(100 * height))
    script = synth.sequence(synth.walk(seconds=seconds), synth.exercise(seconds=2 * seconds))
    return synth.perform(figure, script, noise=0.001, skin=1.0, seed=seed).recording


def generated() -> Path:
    for name, height in (("Ann", 1.66), ("Bob", 1.84)):
        for take in range(2):
            path = Path("archive") / name / f"take_{take}.c3d"
            path.parent.mkdir(parents=True, exist_ok=True)
            ost.write(replace(performed(height, 2.0, seed=take), subject=name), path)
    return Path("archive")


def main(folders: list[str]) -> None:
    folder = Path(folders[0]) if folders else generated()
    done = batch(folder, "solved", progress=print)
    for row in done.rows:
        print(f"{row.take}: {row.problem or f'{row.marker_rms_mm:.2f} mm rms'} {row.changed}")
    if folders:
        return
    passport = read_passport("solved/subjects/Ann/passport.json")
    for name, height in (("Ann again", 1.66), ("Bob with Ann's passport", 1.84)):
        take = Take(recordings=(performed(height, 2.0, seed=9),))
        [solved] = ost.solve(take, options=SolveOptions(passport=passport))
        assert solved.findings is not None
        print(f"{name}: {solved.findings.person}", *solved.findings.sentences(), sep="\n  ")


if __name__ == "__main__":  # the workers import this file: only its first process may run it
    main(sys.argv[1:])
