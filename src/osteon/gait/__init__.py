"""Motion → foot strike and foot off, cycles, gait numbers; several takes together, and compared."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
