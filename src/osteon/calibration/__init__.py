"""Recording → Skeleton: the subject's joints and marker places, fitted to all frames at once."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
