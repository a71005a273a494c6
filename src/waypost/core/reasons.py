"""Reasons of errors that libraries and systems give, as one line for logs and people, and not again and again."""

import re
import time
from collections.abc import Callable

_MAX_LENGTH = 300
_DEBUG_DUMP = re.compile(r"Debug source:(.*)", re.DOTALL)
"""The library for S3 appends the same error once more, as a data structure."""
_CAUSE_IN_DUMP = re.compile(
    r'InvalidCertificate\(\s*(?:Other\(\s*OtherError\(\s*)?(?P<certificate>\w+)|\b(?:message|error): "(?P<text>[^"]+)"'
)
"""The cause that only the data structure contains."""
_NEXT_SENTENCE = re.compile(r"(?<=\w)\n(?=[A-Z])")
_LINK_TO_MANUAL = re.compile(r"\(Background on this error at: [^()]*\)")
_END = " .-:;,?!"


def clean(reason: str) -> str:
    """Return a reason on one line, without a dump of data structures and the punctuation of its end.

    The caller adds a full stop. A long reason ends at the end of a word.
    """
    dump = _DEBUG_DUMP.search(reason)
    text = _LINK_TO_MANUAL.sub("", reason[: dump.start()] if dump else reason)
    lines = "\n".join(stripped for line in text.splitlines() if (stripped := line.strip()))
    text = " ".join(_NEXT_SENTENCE.sub(". ", lines).split())
    if len(text) > _MAX_LENGTH:
        text = text[:_MAX_LENGTH].rpartition(" ")[0] + " …"
    cause = _cause(dump[1]) if dump else ""
    return f"{text.rstrip(_END)}: {cause}" if cause else text.rstrip(_END)


def _cause(dump: str) -> str:
    """Return the cause that a dump of data structures contains; "" if it is not known."""
    cause = _CAUSE_IN_DUMP.search(dump)
    if cause is None:
        return ""
    return cause["text"] or f"the certificate of the server is not valid ({cause['certificate']})"


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
