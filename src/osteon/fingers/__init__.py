"""Fingers of hands: their joints from markers or keypoints on them, and how they bend."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
