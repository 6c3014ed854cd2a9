"""Evidence → report.html: one file that opens from disk and asks the network for nothing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
