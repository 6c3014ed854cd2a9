"""Arrays in, arrays out; knows nothing of recordings or skeletons.

Conventions, everywhere: time first, xyz last; metres, seconds, radians; quaternions (..., 4) as
w, x, y, z; a quaternion ``q_a_b`` rotates to ``a`` from ``b``; missing is NaN."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
