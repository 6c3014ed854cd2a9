"""Motion → what kind each joint is and how far it goes; poses held within."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
