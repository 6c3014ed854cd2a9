"""Bodies → Joints: bodies from markers, joint centres and axes, hierarchy, loops, slips."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
