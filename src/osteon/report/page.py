"""One HTML file with script, style and data inside."""

import html
from importlib import resources
from pathlib import Path

import msgspec

from osteon.errors import OsteonError
from osteon.formats import whole_file
from osteon.report.data import ReportData

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1></header>
<main></main>
<script type="application/json" id="osteon-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""The browser itself keeps the page from asking anybody for anything."""


def write_report(path: Path, data: ReportData) -> None:
    """Write the page; it appears whole or not at all."""
    page = PAGE.format(
        title=html.escape(data.title),
        policy=POLICY,
        style=_bundled("report.css"),
        script=_bundled("report.js").replace("</script", "<\\/script"),
        # "<" never stands in the data as such, so no text in it can end the element
        data=msgspec.json.encode(data).decode().replace("<", "\\u003c"),
    )
    with whole_file(path) as partial:
        partial.write_text(page, encoding="utf-8")


def _bundled(name: str) -> str:
    file = resources.files("osteon.report") / "bundle" / name
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OsteonError(
            f"the front end ({name}) is missing from this installation; "
            "install it from its source again, so that its build step runs"
        ) from None
