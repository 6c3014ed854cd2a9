"""What ``solve`` makes of real takes without labels or template.

    python benchmarks/accuracy_blind.py

Needs the real recordings (OSTEON_DATA, or shared/data beside the project). Writes its section of
docs/numbers/accuracy.md: the bodies and the tree found, the residual, and what was called doubtful.
"""

import os
from pathlib import Path

from accuracy_page import put_section

from osteon import pipeline
from osteon.errors import NotEnoughData
from osteon.formats import read

DATA = Path(os.environ.get("OSTEON_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
TAKES = {
    "CMU 02_01, a walk": "cmu-02/02_01.c3d",
    "CMU 01_01, jumps": "cmu-01/01_01.c3d",
    "tennis serve": "kineticstoolkit/kinematics_tennis_serve.c3d",
    "functional hip, clusters": "biobuddy/functional_trials/right_hip.c3d",
    "hand": "hand-dfki/recording.tsv",
    "mouse on a treadmill": "mouse-oist/MOS1aD_S15_M5_MC2_T2_TRM_15MMIN_B.mat",
}


def described(name: str, file: str) -> list[str]:
    take = read(DATA / file)
    try:
        solved = pipeline.solve(take, options=pipeline.SolveOptions(template="none"))[0]
    except NotEnoughData as error:
        return [f"**{name}** (`{file}`): {error}.", ""]
    lines = [
        f"**{name}** (`{file}`): {len(solved.skeleton.bodies)} bodies, "
        f"{1e3 * solved.rms:.1f} mm over {solved.recording.n_frames} frames.",
        "",
        "```",
        *tree(solved.skeleton, solved.skeleton.names[0], 0),
        "```",
        "",
    ]
    return [*lines, *(f"- {warning}" for warning in solved.warnings), ""]


def tree(skeleton, name: str, depth: int) -> list[str]:
    """One line per body, indented by depth, with its markers."""
    markers = " ".join(marker.name for marker in skeleton.body(name).markers)
    lines = [f"{'  ' * depth}{name}: {markers}"]
    for child in skeleton.children(name):
        lines += tree(skeleton, child, depth + 1)
    return lines


def report() -> str:
    lines = [
        "`python benchmarks/accuracy_blind.py`: `osteon solve --template none`, which does not",
        "look at labels. They are printed here so that a reader can judge.",
        "",
    ]
    for name, file in TAKES.items():
        print(name, flush=True)
        lines += described(name, file)
    return "\n".join(lines)


if __name__ == "__main__":
    put_section("Without labels", report())
