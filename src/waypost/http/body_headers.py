"""Headers that change the meaning of a body: a request with one is refused before its body is read."""

from collections.abc import Iterable

from waypost.core.errors import invalid

_PLAIN_CODINGS = frozenset({"", "identity"})
_REASONS = {
    "content-encoding": (
        "Content-Encoding",
        "Content-Encoding is not supported. Send the body without it; to store the compressed bytes of a file, remove"
        " the header.",
    ),
    "content-range": (
        "Content-Range",
        "Content-Range is not supported: the body would be stored as a whole, and not as a part. Send the whole body"
        " without it.",
    ),
}


def refuse_partial_or_encoded(headers: Iterable[tuple[str, str]]) -> None:
    """Raise INVALID for a body that is a part of the content, or compressed (RFC 9110, sections 8.4 and 14.5).

    `headers`: names in lower case and values, of a request or of a part of a form.
    """
    for name, value in headers:
        if name in _REASONS and (name == "content-range" or not _is_plain(value)):
            field, message = _REASONS[name]
            raise invalid(field, message)


def _is_plain(codings: str) -> bool:
    return all(coding.strip().lower() in _PLAIN_CODINGS for coding in codings.split(","))
