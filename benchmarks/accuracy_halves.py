"""How far joints move when other frames or other markers tell them.

    python benchmarks/accuracy_halves.py

Real recordings, no truth needed: each is calibrated by its first half and by its second, and some
with one marker left out at a time. Both skeletons pose the same frames, and their joints are
compared in millimetres and in the deviations that they state. Writes its section of
docs/numbers/anatomy.md.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from accuracy_page import put_section, table
from scipy.stats import chi2

from osteon import pipeline
from osteon.formats import read
from osteon.maths import quat
from osteon.posing import solve as solve_pose
from osteon.values import Recording, Skeleton

DATA = Path(os.environ.get("OSTEON_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAGE = Path(__file__).parents[1] / "docs" / "numbers" / "anatomy.md"
HEADING = "Half against half, and one marker less"
TAKES = ("cmu-01/01_01.c3d", "cmu-02/02_01.c3d", "anatomical-truth/*/real.trc")
LEFT_OUT = ("cmu-02/02_01.c3d", "anatomical-truth/opencap-4-squats1/real.trc")
"""Takes of which markers are left out one at a time."""
JOINTS = {
    "hip": "thigh",
    "knee": "shin",
    "ankle": "foot",
    "shoulder": "upper_arm",
    "elbow": "forearm",
    "back": "chest",
}
POSED_FRAMES = 60
"""Count of frames on which joints are compared, evenly spread; chosen: more change nothing."""
INSIDE = float(chi2.ppf(0.95, 3))


class Change(NamedTuple):
    """Of one joint between two calibrations."""

    joint: str
    size: float
    """Millimetres."""
    z: float
    """The same in stated deviations, root mean square per axis."""


def main() -> None:
    halves = [change for path in paths(TAKES) for change in between_halves(path)]
    fewer = [change for path in paths(LEFT_OUT) for change in without_each(path)]
    head = (
        "joint",
        "halves, mm",
        "95 %",
        "z rms",
        "inside",
        "one marker less, mm",
        "95 %",
        "z rms",
    )
    rows = [[joint, *told(halves, joint), *told(fewer, joint)[:3]] for joint in JOINTS]
    put_section(HEADING, f"{WORDS}\n\n{table(head, rows)}\n\n{OUTSIDE}", PAGE)


WORDS = """Real recordings (CMU 01_01 and 02_01, `real.trc` of the twelve takes), calibrated by the
first half and by the second; and 02_01 and squats of opencap-4 with one marker left out at a time.
Both skeletons pose the same frames. *z* is the change in the deviations that both halves state, or
that the fit without the marker states; the template's part is alike in both, so it should be below
1 (`benchmarks/accuracy_halves.py`)."""
OUTSIDE = """The two hips outside are of one drop jump (opencap-4-DJ1): upright in its first half,
bent in its second. Upright its hips lie 60 mm behind and 90 mm below the middle of the front pelvis
markers, as in the same person's walk (60 and 85); bent 79 and 112, as in that person's squats (71
and 107). As hips bend, the front markers come 12 mm nearer to those at the back (226 to 214 mm):
the belly's skin takes them along in the angle of the hip, which looks like another place of the
hip. Neither half can tell, and both state 6 mm. Bend and stand in one take: the whole one lies
between, 4 mm from its second half."""


def paths(patterns: tuple[str, ...]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(DATA.glob(pattern))]


def prepared(path: Path) -> Recording:
    return pipeline.prepare_take(read(path).recordings[0], pipeline.SolveOptions())[0]


def calibrated(recording: Recording) -> Skeleton:
    options = pipeline.SolveOptions()
    chosen = pipeline.set_of([recording], options)
    return pipeline.calibrate_subject([recording], chosen, options).skeleton


def between_halves(path: Path) -> Iterator[Change]:
    whole = prepared(path)
    middle = whole.n_frames // 2
    first, second = (
        calibrated(Recording(whole.positions[part], whole.names, whole.rate))
        for part in (slice(None, middle), slice(middle, None))
    )
    print(path, flush=True)
    yield from changes(whole, first, second, both=True)


def without_each(path: Path) -> Iterator[Change]:
    whole = prepared(path)
    full = calibrated(whole)
    for name in sorted(full.marker_names):
        fewer = calibrated(whole.select([each for each in whole.names if each != name]))
        print(path, name, flush=True)
        if fewer.names == full.names:
            yield from changes(whole, full, fewer, both=False)


def changes(whole: Recording, one: Skeleton, other: Skeleton, *, both: bool) -> Iterator[Change]:
    """Yield how far joints of two skeletons are apart on the same frames, in the frames of their
    parents."""
    every = max(1, whole.n_frames // POSED_FRAMES)
    few = Recording(whole.positions[::every], whole.names, whole.rate / every)
    turns, places = solve_pose(few, one).motion.world()
    _, others = solve_pose(few, other).motion.world()
    for joint, limb in JOINTS.items():
        for name in {limb, f"left_{limb}", f"right_{limb}"} & set(one.names) & set(other.names):
            own = one.index(name)
            off = others[:, other.index(name)] - places[:, own]
            mean = quat.rotate(quat.inverse(turns[:, one.parents[own]]), off).mean(axis=0)
            known = other.body(name).joint.covariance
            mine = one.body(name).joint.covariance
            assert known is not None and mine is not None
            stated = known + mine if both else known
            z = float(np.sqrt(mean @ np.linalg.solve(stated, mean) / 3.0))
            yield Change(joint, 1e3 * float(np.linalg.norm(mean)), z)


def told(found: list[Change], joint: str) -> list[str]:
    sizes = np.array([change.size for change in found if change.joint == joint])
    z = np.array([change.z for change in found if change.joint == joint])
    return [
        f"{np.median(sizes):.1f}",
        f"{np.percentile(sizes, 95):.1f}",
        f"{np.sqrt(np.mean(z**2)):.2f}",
        f"{100 * np.mean(3.0 * z**2 < INSIDE):.0f} %",
    ]


if __name__ == "__main__":
    main()
