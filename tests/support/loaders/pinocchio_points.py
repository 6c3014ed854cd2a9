"""Run by a Python that has Pinocchio: prints where the frames of a URDF model are.

    python pinocchio_points.py model.urdf poses.json

``poses.json`` holds per frame the root as x y z qw qx qy qz, and the angle of every joint by name.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pinocchio

model = pinocchio.buildModelFromUrdf(sys.argv[1], pinocchio.JointModelFreeFlyer())
data = model.createData()
points = []
with Path(sys.argv[2]).open(encoding="utf-8") as file:
    poses = json.load(file)
for pose in poses:
    q = pinocchio.neutral(model)
    x, y, z, qw, qx, qy, qz = pose["root"]
    q[:7] = x, y, z, qx, qy, qz, qw
    for name, angle in pose["angles"].items():
        joint = model.joints[model.getJointId(name)]
        # a joint that turns for ever is kept as cosine and sine
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            (angle,) if joint.nq == 1 else (np.cos(angle), np.sin(angle))
        )
    pinocchio.framesForwardKinematics(model, data, q)
    points.append({f.name: data.oMf[i].translation.tolist() for i, f in enumerate(model.frames)})
low, high = model.lowerPositionLimit.tolist(), model.upperPositionLimit.tolist()
ranges = {
    model.names[j]: (low[model.joints[j].idx_q], high[model.joints[j].idx_q])
    for j in range(2, model.njoints)
    if model.joints[j].nq == 1
}
print("FOUND " + json.dumps({"points": points, "ranges": ranges, "version": pinocchio.__version__}))  # noqa: T201
