"""Content encoding of responses (RFC 9110, section 12.5.3)."""

import gzip

_MIN_BYTES = 1000  # smaller bodies are not worth compressing
_LEVEL = 4  # takes half the time of the default level for 10% more bytes


def accepted_encodings(accept_encoding: str) -> set[str]:
    """Return the names in an `Accept-Encoding` header, without weights."""
    return {part.partition(";")[0].strip() for part in accept_encoding.split(",")}


def compress(body: bytes, accept_encoding: str) -> tuple[bytes, dict[str, str]]:
    """Return the body, compressed if the client accepts gzip and it is long enough, and the headers to add."""
    if "gzip" not in accepted_encodings(accept_encoding) or len(body) < _MIN_BYTES:
        return body, {}
    return gzip.compress(body, _LEVEL, mtime=0), {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
