"""Recording + Skeleton → Motion: per frame, over a whole take, in a stream; reaching; contacts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
