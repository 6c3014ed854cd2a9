"""Who may talk to the studio: this machine, pages of the studio itself, and only with the token."""

import hmac
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost", "[::1]")
REFUSED_CODE = 1008
"""WebSocket close code, against the rules; defined by RFC 6455."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; connect-src 'self' ws: blob:; worker-src blob:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guard:
    """Refuses what does not come from a page of this studio, before anything else sees it."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        problem = self._problem(scope)
        if problem is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": REFUSED_CODE, "reason": problem})
        else:
            refusal = PlainTextResponse(problem, status_code=403, headers=HEADERS)
            await refusal(scope, receive, send)

    def _problem(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        # another name for this machine means that a foreign page sent its visitor here
        if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
            return "the studio answers only to this machine's own address"
        origin = headers.get("origin")
        # compared whole, never taken apart: what a stranger sends may not be an address at all
        if origin is not None and origin != f"http://{host}":
            return "a page of another origin may not use the studio"
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = query.get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "the token in the address is missing or wrong; use the address that was printed"
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message) -> None:
        if message["type"] == "http.response.start":
            more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return sending
