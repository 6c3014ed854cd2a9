"""The pose of one frame of tracked bodies: their own rotations, joints together. [000]."""

import numpy as np

from osteon.maths import forward_pose, quat
from osteon.posing import FramePose
from osteon.typing import Array
from osteon.values import Skeleton


class BodyFollower:
    """A skeleton that follows a stream of bodies.

    Rotations are the sensors' own; a body that is not seen keeps its last turn against its parent.
    The whole figure stands where it agrees best with all sensors.
    """

    def __init__(self, skeleton: Skeleton, names: tuple[str, ...]) -> None:
        self.skeleton, self.names = skeleton, names
        self._columns = [names.index(body.name) for body in skeleton.bodies]
        self._parents = np.array(skeleton.parents, dtype=np.int64)
        self._offsets = np.array(skeleton.offsets)  # kernels know one kind of array, writable
        self._local = quat.identity((len(skeleton.bodies),))

    def follow(self, values: Array) -> FramePose | None:
        """The pose of bodies (n_names, 7): place, then rotation; None where none is seen."""
        places, turns = values[self._columns, :3], values[self._columns, 3:]
        seen = np.isfinite(places[:, 0])
        if not seen.any():
            return None
        for body, parent in enumerate(self._parents):
            if seen[body] and (parent < 0 or seen[parent]):
                above = quat.identity() if parent < 0 else turns[parent]
                self._local[body] = quat.between(above, turns[body])
        world, joints = forward_pose(self._local, np.zeros(3), self._offsets, self._parents)
        origins = joints - quat.rotate(world, self.skeleton.joints_in_bodies)
        root = (places - origins)[seen].mean(axis=0)
        errors = np.linalg.norm(places - origins - root, axis=1)[seen]
        return FramePose(self._local.copy(), root, np.sort(errors))
