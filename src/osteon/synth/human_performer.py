"""A human of 17 bodies and 48 degrees of freedom, wearing the 41-marker set."""

import numpy as np

from osteon.errors import BadValue
from osteon.synth.curves import stream
from osteon.synth.performers import body, both_sides, figure, scaled
from osteon.values import Body, Skeleton

TABLE_HEIGHT = 1.75
"""Metres, of the figure in the tables below; chosen: a grown-up."""


def human(height: float = TABLE_HEIGHT, *, variation: float = 0.0, seed: int = 0) -> Skeleton:
    """A human performer.

    Every joint but the root's turns about at least two axes, so each has a definite centre: knee
    and elbow bend and twist (universal), the wrist bends both ways (universal), all others are
    ball joints.

    Parameters
    ----------
    height : float
        Metres.
    variation : float
        Standard deviation of each segment's size about its usual share of the height, 0.05 for
        5 %; left and right alike.
    seed : int
        Which of the varied people.
    """
    if not 0.3 <= height <= 3.0:
        raise BadValue(f"height must be between 0.3 and 3 metres, got {height}")
    usual = figure("Synth", [*_trunk(), *both_sides([*_arm(), *_leg()])])
    rng = stream(seed, "proportions")
    sizes: dict[str, float] = {}
    for name in usual.names:
        kind = name.removeprefix("left_").removeprefix("right_")
        if kind not in sizes:
            sizes[kind] = float(np.exp(variation * rng.standard_normal()))
        sizes[name] = sizes[kind]
    return scaled(usual, {name: height / TABLE_HEIGHT * sizes[name] for name in usual.names})


def _trunk() -> list[Body]:
    waist = {
        # hips lie about 60 mm behind and 85 mm below the front spines in adults
        "LFWT": (-0.130, 0.060, 0.045),
        "RFWT": (0.130, 0.060, 0.045),
        "LBWT": (-0.048, -0.135, 0.055),
        "RBWT": (0.048, -0.135, 0.055),
    }
    back_and_front = {
        "C7": (0.000, -0.070, 0.390),
        "T10": (0.000, -0.105, 0.160),
        "CLAV": (0.000, 0.100, 0.335),
        "STRN": (0.000, 0.130, 0.180),
        "RBAC": (0.085, -0.110, 0.270),
    }
    crown = {
        "LFHD": (-0.075, 0.105, 0.150),
        "RFHD": (0.075, 0.105, 0.150),
        "LBHD": (-0.065, -0.085, 0.125),
        "RBHD": (0.065, -0.085, 0.125),
    }
    bend = {"x": (-50, 25), "y": (-30, 30), "z": (-40, 40)}
    nod = {"x": (-45, 40), "y": (-35, 35), "z": (-65, 65)}
    return [
        body("pelvis", None, (0, 0, 0), markers=waist),
        body("chest", "pelvis", (0, -0.02, 0.12), bend, back_and_front),
        body("head", "chest", (0, 0, 0.42), nod, crown, tip=(0, 0.02, 0.26)),
    ]


def _arm() -> list[Body]:
    return [
        body(
            "left_clavicle",
            "chest",
            (-0.02, 0.08, 0.35),
            {"x": (-10, 10), "y": (-10, 30), "z": (-20, 20)},
            {"LSHO": (-0.145, -0.075, 0.050)},
        ),
        body(
            "left_upper_arm",
            "left_clavicle",
            (-0.15, -0.07, 0),
            {"x": (-40, 150), "y": (-10, 80), "z": (-50, 50)},
            {"LUPA": (-0.050, -0.010, -0.150), "LELB": (-0.045, 0.000, -0.285)},
        ),
        body(
            "left_forearm",
            "left_upper_arm",
            (0, 0, -0.29),
            {"x": (0, 140), "z": (-75, 75)},
            {
                "LFRM": (-0.040, 0.015, -0.120),
                "LWRA": (-0.010, 0.036, -0.248),
                "LWRB": (-0.008, -0.034, -0.246),
            },
        ),
        body(
            "left_hand",
            "left_forearm",
            (0, 0, -0.255),
            {"x": (-20, 30), "y": (-60, 60)},
            {"LFIN": (-0.028, 0.012, -0.085)},
            tip=(0, 0, -0.19),
        ),
    ]


def _leg() -> list[Body]:
    return [
        body(
            "left_thigh",
            "pelvis",
            (-0.085, 0, -0.04),
            {"x": (-20, 100), "y": (-20, 40), "z": (-35, 35)},
            {"LTHI": (-0.085, 0.030, -0.230), "LKNE": (-0.055, 0.000, -0.415)},
        ),
        body(
            "left_shin",
            "left_thigh",
            (0, 0, -0.42),
            {"x": (-130, 0), "z": (-20, 20)},
            {"LSHN": (-0.050, 0.020, -0.170), "LANK": (-0.042, -0.010, -0.402)},
        ),
        body(
            "left_foot",
            "left_shin",
            (0, 0, -0.41),
            {"x": (-45, 35), "y": (-20, 20), "z": (-25, 25)},
            {
                "LHEE": (0.000, -0.065, -0.040),
                "LTOE": (0.005, 0.130, -0.050),
                "LMT5": (-0.050, 0.095, -0.060),
            },
            tip=(0, 0.18, -0.08),
        ),
    ]
