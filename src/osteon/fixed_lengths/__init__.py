"""Joint positions → a moving skeleton of fixed lengths, its angles, ends on their targets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
