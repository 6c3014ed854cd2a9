"""Look and edit in the browser: a local server, and one session of edits on an untouched take."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
