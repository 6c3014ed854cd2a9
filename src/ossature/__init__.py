"""From a motion-capture recording to a rig.

    import ossature as oss

    take = oss.read("walk.c3d")              # any format, recognised by content
    solved = oss.solve(take)[0]              # bodies, joints, calibration, poses
    oss.write(solved.motion, "walk.bvh")
    oss.write(solved.skeleton, "walk.json")

Values are frozen; time first, xyz last; metres, radians, seconds, z up, quaternions w x y z.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ossature.anatomy.axes import axes as axes
    from ossature.anatomy.frames import normalise as normalise
    from ossature.anatomy.limits import limits as limits
    from ossature.clean import clean as clean
    from ossature.errors import OssatureError as OssatureError
    from ossature.formats import read as read
    from ossature.formats import write as write
    from ossature.joints import JointStatistics as JointStatistics
    from ossature.joints import joints as joints
    from ossature.pipeline import map_to as map_to
    from ossature.pipeline import solve as solve
    from ossature.pose.fit import fit as fit
    from ossature.pose.reach import reach as reach
    from ossature.pose.rectify import rectify as rectify
    from ossature.values import Bodies as Bodies
    from ossature.values import Motion as Motion
    from ossature.values import Recording as Recording
    from ossature.values import Skeleton as Skeleton
    from ossature.values import Take as Take

__version__ = "0.1.0"

# Names are looked up on first use: `ossature --help` must not wait for numpy.
_HOMES = {
    "axes": "ossature.anatomy.axes",
    "normalise": "ossature.anatomy.frames",
    "limits": "ossature.anatomy.limits",
    "clean": "ossature.clean",
    "OssatureError": "ossature.errors",
    "read": "ossature.formats",
    "write": "ossature.formats",
    "JointStatistics": "ossature.joints",
    "joints": "ossature.joints",
    "map_to": "ossature.pipeline",
    "solve": "ossature.pipeline",
    "fit": "ossature.pose.fit",
    "rectify": "ossature.pose.rectify",
    "reach": "ossature.pose.reach",
    "Bodies": "ossature.values",
    "Motion": "ossature.values",
    "Recording": "ossature.values",
    "Skeleton": "ossature.values",
    "Take": "ossature.values",
}

__all__ = [
    "Bodies",
    "JointStatistics",
    "Motion",
    "OssatureError",
    "Recording",
    "Skeleton",
    "Take",
    "axes",
    "clean",
    "fit",
    "joints",
    "limits",
    "map_to",
    "normalise",
    "reach",
    "read",
    "rectify",
    "solve",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ossature' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


class _Package(ModuleType):
    """Keeps the verbs in place where a stage's folder has the same name.

    Importing ``ossature.clean.gaps`` would set ``ossature.clean`` to the folder; users call it.
    Inside the library a stage is reached as ``from ossature.clean import gaps``.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOMES and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
