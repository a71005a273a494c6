"""Reasons of errors that libraries and systems give, as one line for logs and people."""

import re

_MAX_LENGTH = 300
_DEBUG_DUMP = re.compile(r"\s*Debug source:.*", re.DOTALL)
"""The library for S3 appends the same error once more, as a data structure."""
_LINK_TO_MANUAL = re.compile(r"\s*\(Background on this error at: [^)]*\)")
_END = " .-:;,?!"


def clean(reason: str) -> str:
    """Return a reason on one line, without a dump of data structures and the punctuation of its end.

    The caller adds a full stop. A long reason ends at the end of a word.
    """
    text = " ".join(_LINK_TO_MANUAL.sub("", _DEBUG_DUMP.sub("", reason)).split())
    if len(text) > _MAX_LENGTH:
        text = text[:_MAX_LENGTH].rpartition(" ")[0] + " …"
    return text.rstrip(_END)
