"""Pages that arrive in pieces, as on a slow connection."""

import asyncio
from itertools import pairwise

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PIECES = 3
_SECONDS_BETWEEN = 0.05  # long enough for the browser to paint each piece


def in_pieces(app: ASGIApp) -> ASGIApp:
    """Return the app with the body element of each HTML page sent in pieces."""

    async def sent_in_pieces(scope: Scope, receive: Receive, send: Send) -> None:
        is_page = False

        async def send_piece(message: Message) -> None:
            nonlocal is_page
            if message["type"] == "http.response.start":
                is_page = any(name == b"content-type" and b"html" in value for name, value in message["headers"])
            if message["type"] == "http.response.body" and is_page:
                await _send_pieces(message, send)
            else:
                await send(message)

        if scope["type"] == "http":
            uncompressed = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
            scope = {**scope, "headers": uncompressed}
        await app(scope, receive, send_piece)

    return sent_in_pieces


async def _send_pieces(message: Message, send: Send) -> None:
    """Send the page before its body element, the elements in pieces, and the scripts at the end."""
    page = message.get("body", b"")
    start = max(0, page.find(b"<body"))
    scripts = page.find(b"<script", start)
    size = (scripts if scripts > 0 else len(page)) - start
    ends = [start + size * n // _PIECES for n in range(_PIECES + 1)]
    for begin, end in pairwise([0, *ends]):
        await send({**message, "body": page[begin:end], "more_body": True})
        await asyncio.sleep(_SECONDS_BETWEEN)
    await send({**message, "body": page[ends[-1] :]})
