"""OpenSim's inverse kinematics on our model and markers, solver only: no files are timed."""

import numpy as np
import opensim
from task import folder, judge, names, observed, timed

N_FRAMES = 100

opensim.Logger.setLevelString("error")
model = opensim.Model(str(folder / "rig.osim"))
state = model.initSystem()
reference = opensim.MarkersReference(str(folder / "markers.trc"), opensim.SetMarkerWeights())
times = opensim.TimeSeriesTableVec3(str(folder / "markers.trc")).getIndependentColumn()
places = [model.getMarkerSet().get(name) for name in names]


def markers() -> np.ndarray:
    """(n_markers, 3); z up as ours: OpenSim's y is our z, its z our −y."""
    model.realizePosition(state)
    found = [place.getLocationInGround(state) for place in places]
    return np.array([(v.get(0), -v.get(2), v.get(1)) for v in found])


def solve(_: int) -> tuple[float, np.ndarray]:
    solver = opensim.InverseKinematicsSolver(
        model, reference, opensim.SimTKArrayCoordinateReference(), float("inf")
    )
    solver.setAccuracy(1e-5)
    state.setTime(times[0])
    solver.assemble(state)

    def work(frame: int) -> None:
        state.setTime(times[frame])
        solver.track(state)

    return timed(min(N_FRAMES, len(observed)), work, markers)


# how often it iterates is its own affair
judge(solve, (1,), f"OpenSim {opensim.GetVersion().partition('-')[0]}")
