"""A body for any rig: flesh along its bones, or a mesh that a user brings."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
