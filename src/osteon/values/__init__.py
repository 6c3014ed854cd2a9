"""What flows between the stages: Recording → Bodies → Joints → Skeleton → Motion.

Values are frozen, their arrays read-only, and they check themselves when made: a value that exists
is consistent. Time first, xyz last; metres, seconds, radians; z up; quaternions w, x, y, z; a
missing sample is NaN. ``history`` says what has been done, oldest first."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
