"""File syntax and nothing else: one entry per format, reader and writer side by side."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
