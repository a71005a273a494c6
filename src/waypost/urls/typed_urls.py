"""URLs as people type them: in forms, and in the tables that they import."""

import re

# `example.com`, `//example.com:8080/path`: a host with a dot, without a scheme. An e-mail address is none.
_HOST_WITHOUT_SCHEME = re.compile(r"(?://)?([^\s/?#@:\\]+\.[^\s/?#@:\\]+(?::\d{1,5})?(?:[/?#].*)?)", re.DOTALL)
_SCHEME_TWICE = re.compile(r"\A(?:https?://)+(?=https?://)", re.IGNORECASE)
_EMPTY_PORT = re.compile(r"\A((?:https?:)?//[^\s/?#]*[^\s/?#:]):(?=[/?#]|\Z)", re.IGNORECASE)


def complete_url(text: str) -> str:
    """Return a URL that a person typed, trimmed and with `https://` if it has a host with a dot but no scheme.

    A scheme that was typed in front of a pasted URL, and the colon of a missing port, are removed. Other text is
    returned trimmed, so that the validation rejects it (decision 94).
    """
    text = _EMPTY_PORT.sub(r"\1", _SCHEME_TWICE.sub("", text.strip()))
    match = _HOST_WITHOUT_SCHEME.fullmatch(text)
    return f"https://{match[1]}" if match else text
