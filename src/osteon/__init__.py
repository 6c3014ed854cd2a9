"""From a motion-capture recording to a rig.

    import osteon as ost

    take = ost.read("walk.c3d")              # any format, recognised by content
    solved = ost.solve(take)[0]              # bodies, joints, calibration, poses
    ost.write(solved.motion, "walk.bvh")
    ost.write(solved.skeleton, "walk.json")

Values are frozen; time first, xyz last; metres, radians, seconds, z up, quaternions w x y z.
"""

import lazy_loader

# Names are looked up on first use: `osteon --help` must not wait for numpy.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
