"""Whose marker is which track? Labels for tracks that have none, break, or are exchanged."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
