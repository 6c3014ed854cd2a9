"""Motion and force plates → joint moments, powers, and what is left over at the root."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
