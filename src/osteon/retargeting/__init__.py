"""A character led by a performer's markers or poses: attachments, springs, pins, ground."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
