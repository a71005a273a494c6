"""Reasons of errors that libraries and systems give, as one line for logs and people, and not again and again."""

import re
import time
from collections.abc import Callable

_MAX_LENGTH = 300
_DEBUG_DUMP = re.compile(r"Debug source:.*", re.DOTALL)
"""The library for S3 appends the same error once more, as a data structure."""
_LINK_TO_MANUAL = re.compile(r"\(Background on this error at: [^()]*\)")
_END = " .-:;,?!"


def clean(reason: str) -> str:
    """Return a reason on one line, without a dump of data structures and the punctuation of its end.

    The caller adds a full stop. A long reason ends at the end of a word.
    """
    text = " ".join(_LINK_TO_MANUAL.sub("", _DEBUG_DUMP.sub("", reason)).split())
    if len(text) > _MAX_LENGTH:
        text = text[:_MAX_LENGTH].rpartition(" ")[0] + " …"
    return text.rstrip(_END)


class RepeatedReason:
    """Logs the reason of a fault that is found again and again: at once, and then at most once in some seconds."""

    def __init__(self, log: Callable[[str], None], seconds: float) -> None:
        self._log = log
        self._seconds = seconds
        self._pending = self._logged = ""
        self._logged_until = 0.0

    def record(self, reason: str) -> None:
        """Keep the reason for the next `flush`."""
        self._pending = reason

    def flush(self) -> None:
        """Log the last reason, unless it was logged lately."""
        pending, self._pending = self._pending, ""
        if pending and (pending != self._logged or time.monotonic() > self._logged_until):
            self._logged, self._logged_until = pending, time.monotonic() + self._seconds
            self._log(pending)
