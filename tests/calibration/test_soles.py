"""Soles are where markers and floor have them: the skin of a planted foot is on the ground, also
while it rolls over its toes."""

from dataclasses import replace

import numpy as np
import pytest

import osteon as ost
from conftest import real
from osteon import synth
from osteon.maths import quat
from osteon.pipeline.solve_take import SolveOptions, solve
from osteon.posing import sudden_turns
from osteon.posing.contacts import HEEL, TIP, sole_paths, standing_of
from osteon.skinning.body_skin import make_skin_for

TAKES = [
    "cmu-01/01_01.c3d", "cmu-02/02_01.c3d",
    *(f"anatomical-truth/{name}/real.trc" for name in (
        "arnold-01-walk2", "arnold-02-walk2", "hamner-01-run200", "hamner-01-run400",
        "hamner-02-run200", "hamner-03-run400", "opencap-11-walking2", "opencap-2-squats1",
        "opencap-2-walking1", "opencap-4-DJ1", "opencap-4-squats1", "opencap-4-walking1")),
]  # fmt: skip


def lowest(motion, side: str, frames: np.ndarray) -> np.ndarray:
    """(n, 3) the lowest vertex of a foot's skin in some frames."""
    mesh, (turned, joints) = make_skin_for(motion), motion.world()
    names = [f"{side}_foot", f"{side}_toes"]
    feet = [index for index, name in enumerate(motion.skeleton.names) if name in names]
    own = np.sum(mesh.weights * np.isin(mesh.bodies, feet), axis=1) > 0.5
    vertices, bodies, weights = mesh.vertices[own], mesh.bodies[own], mesh.weights[own]
    found = []
    for frame in frames:
        turns = quat.multiply(turned[frame], quat.inverse(mesh.rotations))
        placed = np.zeros_like(vertices)
        for each, share in zip(bodies.T, weights.T, strict=True):
            arms = quat.rotate(turns[each], vertices - mesh.joints[each])
            placed += share[:, None] * (arms + joints[frame, each])
        found.append(placed[np.argmin(placed[:, 2])])
    return np.array(found)


def planted(motion, side: str) -> np.ndarray:
    """Up to twenty frames in which both heel and tip of a foot stand; of one that never stands so
    long, as of a runner, the middle of its contacts."""
    ends, standing = np.zeros((2, motion.n_frames), dtype=bool), standing_of(motion)
    for plant in standing.plants:
        if plant.body == f"{side}_foot" and plant.point in (HEEL, TIP):
            ends[int(plant.point == TIP), plant.frames[0] : plant.frames[1] + 1] = True
    if not ends.all(axis=0).any():
        for contact in standing.contacts:
            if contact.body == f"{side}_foot":
                third = (contact.frames[1] - contact.frames[0]) // 3
                ends[:, contact.frames[0] + third : contact.frames[1] - third + 1] = True
    flat = np.flatnonzero(ends.all(axis=0))
    return flat[:: max(1, len(flat) // 20)]


def on_ground(motion, side: str) -> np.ndarray:
    """(n_frames,) whether a foot is on the ground, from first touch to last."""
    on = np.zeros(motion.n_frames, dtype=bool)
    for contact in standing_of(motion).contacts:
        if contact.body == f"{side}_foot":
            on[contact.frames[0] : contact.frames[1] + 1] = True
    return on


def touching(motion, side: str) -> np.ndarray:
    """Up to sixty frames in which a foot is on the ground."""
    frames = np.flatnonzero(on_ground(motion, side))
    return frames[:: max(1, len(frames) // 60)]


def rolling(motion, side: str) -> np.ndarray:
    """Up to sixty of them in which its heel is a centimetre and more above its ball."""
    soles = {motion.skeleton.names[sole.body]: sole for sole in standing_of(motion).soles}
    height = sole_paths(motion, soles[f"{side}_foot"])[..., 2]
    risen = height[:, HEEL] > height[:, 1:TIP].mean(axis=1) + 0.01
    frames = np.flatnonzero(risen & on_ground(motion, side))
    return frames[:: max(1, len(frames) // 60)]


def heights(motion, slope=(0.0, 0.0), when=planted) -> np.ndarray:
    """Of the lowest skin above a floor through the origin, metres, in planted frames; frames on
    boxes and bars, half a foot above it, are on something else."""
    places = np.concatenate([lowest(motion, side, when(motion, side)).reshape(-1, 3)
                             for side in ("left", "right")])  # fmt: skip
    above = places[:, 2] - places[:, :2] @ np.array(slope)
    assert (np.abs(above) < 0.12).sum() > 5
    return above[np.abs(above) < 0.12]


def walked(sole: float = 0.0, tilt: float = 0.0):
    """A walk of somebody in soles of a thickness, on a floor that rises along y."""
    take = synth.perform(synth.human(), synth.walk(2.0), noise=0.001, seed=4)
    turn = quat.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(tilt))
    raised = take.recording.positions + [0.0, 0.0, sole]
    return replace(take.recording, positions=quat.rotate(turn, raised))


@pytest.mark.parametrize(
    ("sole", "tilt"), [(0.0, 0.0), (0.035, 0.0), (0.01, np.radians(1.2))],
    ids=["barefoot", "shoes", "sloping"],
)  # fmt: skip
def test_planted_skin_is_on_the_floor(sole, tilt):
    solved = solve(ost.Take(recordings=(walked(sole, tilt),)))[0]
    above = heights(solved.motion, (0.0, np.tan(tilt)))
    assert np.percentile(np.abs(above), 95) < 0.015  # the bound
    assert not any("soles stand off" in note for note in solved.warnings)


def test_soles_that_are_elsewhere_are_told():
    """A skeleton calibrated barefoot, worn in thick shoes."""
    rig = solve(ost.Take(recordings=(walked(),)))[0].skeleton
    solved = solve(ost.Take(recordings=(walked(sole=0.04),)), options=SolveOptions(skeleton=rig))[0]
    note = next(note for note in solved.warnings if "soles stand off" in note)
    assert "left_foot" in note and "above" in note


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKES)
def test_planted_skin_of_recordings_is_on_the_floor(name):
    motion = solve(real(name))[0].motion
    ground = standing_of(motion).ground
    slope = ground.slope if ground.solid else (0.0, 0.0)
    for when, bound in ((planted, 0.015), (touching, 0.010), (rolling, 0.015)):
        above = heights(motion, slope, when)
        assert np.percentile(np.abs(above), 95) < bound, (
            when.__name__
        )  # bounds that users asked for
    assert not any(body.endswith("_toes") for body, _, _ in sudden_turns(motion))
