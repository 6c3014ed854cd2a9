"""The studio's page in the user's browser, its token in no command line.

What a browser is started with is there for every user of the machine to read (``ps``). So it is
sent to a file that nobody else may read, which leads on to the page and is gone once that is there.
"""

import atexit
import html
import os
import tempfile
import threading
import webbrowser
from pathlib import Path

DOOR = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Osteon studio</title>
<meta http-equiv="refresh" content="0; url={address}">
<p><a href="{address}">To the studio</a></p>
</html>
"""


def open_in_browser(address: str, entered: threading.Event) -> None:
    """Show the page of an address; ``entered`` is set when it has been served."""
    handle, name = tempfile.mkstemp(prefix="osteon-studio-", suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(DOOR.format(address=html.escape(address)))
    door = Path(name)
    atexit.register(door.unlink, missing_ok=True)
    threading.Thread(target=_close, args=(door, entered), daemon=True).start()
    webbrowser.open(door.as_uri())


def _close(door: Path, entered: threading.Event) -> None:
    entered.wait()
    door.unlink(missing_ok=True)
