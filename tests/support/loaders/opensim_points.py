"""Run by a Python that has OpenSim: plays a motion on a model, and solves it from markers.

    python opensim_points.py model.osim motion.mot 0,17,49 [markers.trc solved.mot]

Prints where bodies' joints and markers are in the given frames, in OpenSim's own axes.
"""

import json
import sys

import opensim

opensim.Logger.setLevelString("error")
model_path, motion_path, frames, *inverse = sys.argv[1:]
model = opensim.Model(model_path)
state = model.initSystem()
table = opensim.TimeSeriesTable(motion_path)
names = table.getColumnLabels()
degrees = table.getTableMetaDataAsString("inDegrees") == "yes"
if degrees:
    model.getSimbodyEngine().convertDegreesToRadians(table)
coordinates = [model.getCoordinateSet().get(name) for name in names]


def xyz(vector) -> list[float]:
    return [vector.get(i) for i in range(3)]


points = []
for frame in map(int, frames.split(",")):
    row = table.getRowAtIndex(frame)
    for column, coordinate in enumerate(coordinates):
        coordinate.setValue(state, row[column], False)
    model.realizePosition(state)
    joints, markers = model.getJointSet(), model.getMarkerSet()
    found = {}
    for i in range(joints.getSize()):
        name = joints.get(i).getName().removesuffix("_joint")
        found[name] = xyz(joints.get(i).getChildFrame().getPositionInGround(state))
    for i in range(markers.getSize()):
        found[markers.get(i).getName()] = xyz(markers.get(i).getLocationInGround(state))
    points.append(found)
coordinates = model.getCoordinateSet()
ranges = {
    (c := coordinates.get(i)).getName(): (c.getRangeMin(), c.getRangeMax())
    for i in range(coordinates.getSize())
    if coordinates.get(i).getDefaultClamped()
}
if inverse:
    tool = opensim.InverseKinematicsTool()
    tool.setModel(model)
    tool.setMarkerDataFileName(inverse[0])
    tool.setOutputMotionFileName(inverse[1])
    times = opensim.TimeSeriesTableVec3(inverse[0]).getIndependentColumn()
    tool.setStartTime(times[0])
    tool.setEndTime(times[-1])
    tool.set_report_errors(False)
    tool.set_accuracy(1e-9)
    tool.run()
print("FOUND " + json.dumps({"points": points, "ranges": ranges, "version": opensim.GetVersion()}))  # noqa: T201
