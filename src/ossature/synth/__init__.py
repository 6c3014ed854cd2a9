"""Performers and linkages whose truth is known.

    from ossature import synth

    take = synth.perform(
        synth.human(), synth.walk(seconds=10),
        noise=0.001, soft_tissue=0.010, gaps=0.05, swaps=20, seed=3,
    )
    take.recording       what cameras would have seen
    take.truth.joints    where every joint was

    worn = synth.sense(synth.linkage(), synth.exercise(), noise=0.004, orientation_noise=0.017)
    worn.bodies          what a magnetic tracker would have seen
    worn.truth.placement where its sensors sat

Performers × motions × instruments × troubles: each is a small function, and any goes with any.
"""

from ossature.synth.angles import Dof, dofs, joint_angles, n_dofs
from ossature.synth.disturb import Jump, Slipped
from ossature.synth.figures import TABLE_1, ball, hand, hinge, linkage, quadruped
from ossature.synth.human import human
from ossature.synth.instruments import Placement, markers, placement, sensors
from ossature.synth.motions import Act, Contact, Script, exercise, sequence, swing_walk
from ossature.synth.perform import Performance, SensorPerformance, Truth, act, perform, sense
from ossature.synth.steps import chicken_walk, kicks, walk

__all__ = [
    "TABLE_1",
    "Act",
    "Contact",
    "Dof",
    "Jump",
    "Performance",
    "Placement",
    "Script",
    "SensorPerformance",
    "Slipped",
    "Truth",
    "act",
    "ball",
    "chicken_walk",
    "dofs",
    "exercise",
    "hand",
    "hinge",
    "human",
    "joint_angles",
    "kicks",
    "linkage",
    "markers",
    "n_dofs",
    "perform",
    "placement",
    "quadruped",
    "sense",
    "sensors",
    "sequence",
    "swing_walk",
    "walk",
]
