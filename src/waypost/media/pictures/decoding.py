"""Decoding of pictures that users send, in a child process with limits (decision 71).

This process never decodes them: it passes the bytes on, and gets those of our own copy.
"""

from dataclasses import dataclass
from functools import cache

from waypost.core.errors import Kind, Problem, invalid
from waypost.core.sandbox.process import Busy, Ended, Limits, WarmChild
from waypost.media.pictures.unpacking import MAX_SCANS, MAX_SIDE, OperationName

_LIMITS = Limits(memory=512 << 20, processor=3000, wall=30)
_MAX_PICTURES = 100  # of a child
_IDLE_SECONDS = 180
_MAX_WAITING = 40
_WAIT_SECONDS = 30
_RETRY_AFTER = 5  # seconds
_MAX_RESULT_BYTES = 16 << 20


@dataclass(frozen=True)
class Rules:
    """The pictures that a field accepts. `side` is the largest width and height, in pixels, that is kept of one."""

    field: str
    side: int
    max_bytes: int
    formats: tuple[str, ...] = ("PNG", "JPEG")

    def must_fit(self, size: int) -> None:
        """Raise INVALID for more bytes than a picture may have."""
        if size > self.max_bytes:
            raise invalid(self.field, f"{self.field} must be at most {self.max_bytes} bytes.")

    def wrong_kind(self, kind: str = "") -> Problem:
        """Return the problem of a file that is no such picture; `kind` is its media type, if it is known."""
        field = self.field
        if "WEBP" not in self.formats:
            message = f"{field} must be a PNG or JPEG picture, not {kind}." if kind else ""
            return invalid(field, message or f"{field} must be a PNG or JPEG picture.")
        message = f"{field} must be a PNG, JPEG or WebP picture, not {kind}." if kind else ""
        return invalid(field, message or f"{field} must be a PNG, JPEG or WebP picture.")

    def problem(self, fault: object) -> Problem:
        """Return the problem of a picture that the child has refused."""
        field = self.field
        match fault:
            case "kind":
                return self.wrong_kind()
            case "size":
                return invalid(field, f"{field} must be at most {MAX_SIDE} pixels a side.")
            case "scans":
                return invalid(field, f"{field} must be a JPEG with at most {MAX_SCANS} scans.")
            case "invisible":
                return invalid(field, f"{field} is fully transparent; there is nothing to see.")
        return invalid(field, f"{field} is damaged or incomplete.")


def decode(data: bytes, rules: Rules, operation: OperationName, *, square: int = 0) -> bytes:
    """Return the picture that an operation makes of the bytes of another one; see waypost.media.pictures.unpacking.

    Raises INVALID on the field, UNAVAILABLE if too many pictures wait.
    """
    rules.must_fit(len(data))
    field = rules.field
    request = {"operation": operation, "formats": rules.formats, "side": rules.side, "square": square}
    try:
        answer = _child().call(request, data)
    except Ended:
        raise invalid(field, f"{field} takes too much memory or time to be decoded. Use a simpler picture.") from None
    except Busy:
        message = "Too many pictures are being processed. Please try again."
        raise Problem(Kind.UNAVAILABLE, message, field=field, retry_after=_RETRY_AFTER) from None
    if answer.value is not None or not 0 < len(answer.data) <= _MAX_RESULT_BYTES:
        raise rules.problem(answer.value)
    return answer.data


@cache
def _child() -> WarmChild:
    return WarmChild(
        "waypost.media.pictures.unpacking:run",
        _LIMITS,
        max_tasks=_MAX_PICTURES,
        idle_seconds=_IDLE_SECONDS,
        max_waiting=_MAX_WAITING,
        wait_seconds=_WAIT_SECONDS,
    )
