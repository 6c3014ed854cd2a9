"""What a laboratory measured on the person, or Plug-in Gait found in the standing trial: the
PROCESSING group of a C3D file."""

import numpy as np

from osteon.formats.c3d.carried import original
from osteon.values import Recording

LENGTHS = {
    "LEGLENGTH": "leg_length",
    "KNEEWIDTH": "knee_width",
    "ANKLEWIDTH": "ankle_width",
    "ASISTROCANTERDISTANCE": "asis_trochanter_distance",
}
"""Millimetres in the file, by the name of a parameter without its side."""
ANGLES = {
    "THIGHROTATION": "thigh_rotation",
    "SHANKROTATION": "shank_rotation",
    "TIBIALTORSION": "tibial_torsion",
    "ANKLEABADD": "ankle_abduction",
    "STATICPLANTFLEX": "static_plantarflexion",
    "STATICROTOFF": "static_rotation",
}
"""Radians in the file."""
LEAST_LENGTH, MOST_LENGTH = 0.02, 1.5
"""Metres between which a measure of a leg is believed. Chosen: a small child's ankle, a tall man's
leg; what is beyond was entered in another unit."""
MOST_TURN = 0.5 * np.pi
"""Radians to which an angle is believed. Chosen: a wand further round is on the other side."""


def leg_measures(recording: Recording) -> dict[str, float]:
    """Return lengths (metres) and angles (radians) by name, ``left_knee_width``: what its file
    states, and nothing where it came from another format."""
    before = original([recording])
    if before is None:
        return {}
    stated = {
        f"{word}_{name}": (f"{side}{parameter}", scale)
        for side, word in (("L", "left"), ("R", "right"))
        for scale, names in ((1e-3, LENGTHS), (1.0, ANGLES))
        for parameter, name in names.items()
    }
    stated["inter_asis_distance"] = ("INTERASISDISTANCE", 1e-3)
    found = {
        name: scale * float(values[0])
        for name, (parameter, scale) in stated.items()
        if len(values := before.parameters.numbers("PROCESSING", parameter))
    }
    return {name: value for name, value in found.items() if _believed(value, stated[name][1])}


def _believed(value: float, scale: float) -> bool:
    if scale == 1.0:
        return abs(value) < MOST_TURN
    return LEAST_LENGTH < value < MOST_LENGTH
