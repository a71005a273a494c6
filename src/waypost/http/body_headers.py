"""Headers that change the meaning of a body: a request with one is refused before its body is read."""

from collections.abc import Callable, Iterable, Mapping

from waypost.core.errors import invalid

_PLAIN_CODINGS = frozenset({"", "identity"})
_ENCODED = "Send the body without it; to store the compressed bytes of a file, remove the header."
_PART = "the body would be stored as a whole, and not as a part. Send the whole body without it."


def _is_encoded(codings: str) -> bool:
    return any(coding.strip().lower() not in _PLAIN_CODINGS for coding in codings.split(","))


def _is_any(_value: str) -> bool:
    return True


_REFUSED: Mapping[str, tuple[str, Callable[[str], bool], str]] = {
    "content-encoding": ("Content-Encoding", _is_encoded, f"Content-Encoding is not supported. {_ENCODED}"),
    "content-range": ("Content-Range", _is_any, f"Content-Range is not supported: {_PART}"),
    # Of the protocols tus and draft-ietf-httpbis-resumable-upload: their first request can have no body, or a part.
    "tus-resumable": ("Tus-Resumable", _is_any, f"Tus-Resumable is not supported: {_PART}"),
    "upload-offset": ("Upload-Offset", lambda value: value != "0", f"Upload-Offset is not supported: {_PART}"),
    "upload-complete": ("Upload-Complete", lambda value: value != "?1", f"Upload-Complete is not supported: {_PART}"),
    "upload-incomplete": (
        "Upload-Incomplete",
        lambda value: value != "?0",
        f"Upload-Incomplete is not supported: {_PART}",
    ),
}
"""Headers by name in lower case: the field of the problem, whether a value is refused, and the message."""


def refuse_partial_or_encoded(headers: Iterable[tuple[str, str]]) -> None:
    """Raise INVALID for a body that is a part of the content, or compressed (RFC 9110, sections 8.4 and 14.5).

    `headers`: names in lower case and values, of a request or of a part of a form.
    """
    for name, value in headers:
        if name not in _REFUSED:
            continue
        field, is_refused, message = _REFUSED[name]
        if is_refused(value.strip()):
            raise invalid(field, message)
