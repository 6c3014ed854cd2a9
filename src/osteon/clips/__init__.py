"""Motion → Motion, as an animator cuts it: trimmed, resampled, mirrored, looped, in place."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
