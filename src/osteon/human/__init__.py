"""What a person is: the template, parts and sides, the standing figure, masses, marker sets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
