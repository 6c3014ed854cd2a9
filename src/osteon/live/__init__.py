"""A stream of markers or sensors → calibration that improves, and a pose for every frame."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
