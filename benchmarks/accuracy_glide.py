"""How near the path on which a knee is found to glide comes to the bones' own.

    python benchmarks/accuracy_glide.py

The people of accuracy_anatomy.py, whose knees glide as their models have it; markers with 0.5 mm of
noise. Our knee is a point of the shin: where the model's tibia carries that point in the model's
femur is its true path. Writes its section of docs/numbers/anatomy.md.
"""

from typing import NamedTuple

import accuracy_anatomy as anatomy
import numpy as np
from accuracy_page import put_section, table

from osteon import pipeline
from osteon.formats import read
from osteon.maths import fit_rigid, quat
from osteon.values import Body, Recording, Skeleton, Take

HEADING = "Knees that glide"
LOOKED_AT = "opencap-2-squats1"
"""The take on which the distance of knots was chosen."""
CELLS = 24
"""Count of cells of equal angle over which paths are compared; chosen: some 4° of a squat."""


class Carried(NamedTuple):
    """A body of ours as a bone of the model carries it: (n_frames, 4) and (n_frames, 3)."""

    turns: np.ndarray
    places: np.ndarray


def main() -> None:
    rows = []
    for folder in sorted((anatomy.DATA / "anatomical-truth").glob("*/")):
        person, recording = anatomy.wear(folder, 0.0)
        (clean,) = read(folder / "markers.trc").recordings
        (solved,) = pipeline.solve(Take(recordings=(recording,)))
        for side in ("left", "right"):
            if solved.skeleton.body(f"{side}_shin").joint.glide_path is not None:
                rows.append([folder.name, side, *compared(solved.skeleton, person, clean, side)])
    head = ("take", "knee", "shown", "a rigid joint, mm", "with our path, mm")
    put_section(HEADING, TEXT + "\n\n" + table(head, rows), anatomy.PAGE)


def compared(skeleton: Skeleton, person: anatomy.Person, clean: Recording, side: str) -> list[str]:
    """Angles, and rms over them of the true path without and with ours taken away."""
    thigh, shin = skeleton.body(f"{side}_thigh"), skeleton.body(f"{side}_shin")
    path = shin.joint.glide_path
    assert path is not None
    above = carried(person, clean, thigh, f"femur_{side[0]}")
    below = carried(person, clean, shin, f"tibia_{side[0]}")
    back = quat.inverse(above.turns)
    true = quat.rotate(back, below.places - above.places) - shin.joint.in_parent
    true = true @ (np.eye(3) - np.outer(path.axis, path.axis))
    angles = path.angles_of(quat.multiply(back, below.turns))
    cells = np.digitize(angles, np.linspace(angles.min(), angles.max(), CELLS + 1)[1:-1])
    found = [rms(along, cells) for along in (true, true - path.at(angles))]
    low, high = np.degrees([angles.min(), angles.max()])
    return [f"{low:.0f} to {high:.0f}°", *(f"{1e3 * each:.2f}" for each in found)]


def carried(person: anatomy.Person, clean: Recording, body: Body, bone: str) -> Carried:
    """Where a body of ours is if it is fixed to a bone, as its markers say on average."""
    index = person.names.index(bone)
    turns, places = quat.from_matrix(person.turns[:, index]), person.places[:, index]
    columns = [clean.index(marker.name) for marker in body.markers]
    away = clean.positions[:, columns] - places[:, None]
    on_bone = quat.rotate(quat.inverse(turns)[:, None], away).mean(axis=0)
    fit = fit_rigid(np.array([marker.position for marker in body.markers]), on_bone[None])
    start = fit.positions[0] + quat.rotate(fit.rotations[0], body.joint.in_body)
    return Carried(
        quat.multiply(turns, fit.rotations[0]),
        places + quat.rotate(turns, start),
    )


def rms(along: np.ndarray, cells: np.ndarray) -> float:
    """Metres, about the mean: where the joint lies is another question. Every cell counts once."""
    means = np.array([along[cells == cell].mean(axis=0) for cell in np.unique(cells)])
    return float(np.sqrt(np.sum((means - means.mean(axis=0)) ** 2, axis=-1).mean()))


TEXT = f"""\
`python benchmarks/accuracy_glide.py`: the same models, 0.5 mm of noise. Their knees turn and glide;
our knee is a point of the shin, and its true path is where the model's tibia carries it in the
femur, across the axis and about its mean, every angle counting once. *A rigid joint*: the size of
that path. *With our path*: what the one in `skeleton.json` leaves of it. Listed are the knees that
were told to glide; {LOOKED_AT} was looked at while the distance of knots was chosen. Under
skin of real size no knee is told to: skin hides a millimetre."""

if __name__ == "__main__":
    main()
