"""Framing of HTTP/1.1 requests: the host and path that they mean, and the limits of what the service understands.

llhttp, the parser, ends after the headers of a request with `Upgrade` and leaves its body to another protocol. The
service has no other protocol, so such a request is parsed again without that header (decision 77).
"""

import re
from collections.abc import Sequence
from typing import Any

from httptools import HttpRequestParser
from starlette.types import Message, Receive, Scope, Send

Headers = list[tuple[bytes, bytes]]
"""Names in lower case, and values."""
HOST_HEADER = re.compile(rb"\A([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._~-]+)?\])(:[0-9]{0,5})?\Z")
_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]*)([^#]*)")
_RAW_TARGET = re.compile(rb"[A-Z]{3,7} (/[^\s\x00-\x1f\x7f]*)")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")


class Refused(Exception):
    """Ends the parsing of a request, with the status and the message of the response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message


def new_parser(protocol: object) -> HttpRequestParser:
    """Return a parser that ignores data behind the last request of a connection, as uvicorn's does."""
    parser = HttpRequestParser(protocol)
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def with_encoded_target(data: bytes) -> bytes:
    """Return data that begins with a request, its path and query percent-encoded where they are not ASCII.

    curl sends a query as it was typed, which llhttp refuses and other servers accept.
    """
    line = data.partition(b"\r\n")[0]
    if line.isascii() or (match := _RAW_TARGET.match(line)) is None:
        return data
    target = _NOT_ASCII.sub(lambda byte: b"%%%02X" % ord(byte[0]), match[1])
    return data[: match.start(1)] + target + data[match.end(1) :]


def without_upgrade(parser: HttpRequestParser, target: bytes, headers: Headers) -> bytes:
    """Return the request line and headers of a request that offers another protocol, without the offer.

    Raises Refused for CONNECT: what follows its headers is for another server.
    """
    method = parser.get_method()
    if method == b"CONNECT":
        raise Refused(501, "The service is no proxy: CONNECT is not supported.")
    lines = [b"%b %b HTTP/%b" % (method, target, parser.get_http_version().encode())]
    lines += [b"%b: %b" % header for header in headers if header[0] != b"upgrade"]
    return b"\r\n".join([*lines, b"", b""])


def require_understood(version: str, headers: Headers) -> None:
    """Raise Refused for a request whose version, encoding or Expect is not known, and for one without a host."""
    if version not in ("1.0", "1.1"):
        raise Refused(505, "The service understands HTTP/1.1 and HTTP/1.0.")
    hosts = _values(headers, b"host")
    if len(hosts) > 1 or not (hosts or version == "1.0") or not all(map(HOST_HEADER.match, hosts)):
        raise Refused(400, "The request needs exactly one Host header, with a host name and perhaps a port.")
    encodings = _values(headers, b"transfer-encoding")
    if encodings and version == "1.0":
        raise Refused(400, "HTTP/1.0 has no Transfer-Encoding.")
    if encodings and [encoding.lower() for encoding in encodings] != [b"chunked"]:
        raise Refused(501, "The only supported Transfer-Encoding is chunked.")
    if [value.lower() for value in _values(headers, b"expect")] not in ([], [b"100-continue"]):
        raise Refused(417, "The only supported Expect is 100-continue.")


def close_unless_continued(cycle: Any, app: Any) -> Any:
    """Wrap an application for a request whose client waits for 100 before it sends the body.

    A response without 100 closes the connection: the client may then send the body or not (RFC 9110, 10.1.1), so the
    next data would be either this body or another request, which can be that of another visitor of a proxy.
    `cycle` is uvicorn's cycle of request and response.
    """

    async def closing(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_or_close(message: Message) -> None:
            if cycle.waiting_for_100_continue and cycle.more_body:
                cycle.keep_alive = False
            await send(message)

        await app(scope, receive, send_or_close)

    return closing


def origin_form(target: bytes, headers: Headers) -> bytes:
    """Return the path and query of a request target.

    The host of an absolute target replaces that of the header (RFC 9112, 3.2.2). Raises Refused for any other target.
    """
    if target.startswith(b"/") or target == b"*":
        return target
    match = _ABSOLUTE.fullmatch(target.partition(b"#")[0])
    if match is None or not HOST_HEADER.match(match[1]):
        raise Refused(400, "The request target must be a path, or an http URL with a host and without a user name.")
    headers[:] = [(b"host", match[1]), *(header for header in headers if header[0] != b"host")]
    return match[2] if match[2].startswith(b"/") else b"/" + match[2]


def _values(headers: Headers, name: bytes) -> Sequence[bytes]:
    return [value for header, value in headers if header == name]
