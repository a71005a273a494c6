"""The closed list of what can go wrong, each with its stable code and its status. Every edge translates from here."""

from enum import Enum


class Kind(Enum):
    """One problem a person can meet: (code, HTTP status)."""

    INVALID = ("invalid", 400)
    INVALID_JSON = ("invalid_json", 400)
    TAKEN = ("taken", 400)
    KEY_REQUIRED = ("api_key_required", 401)
    SUSPENDED = ("account_suspended", 403)
    READ_ONLY_KEY = ("read_only_key", 403)
    NOT_FOUND = ("not_found", 404)
    METHOD_NOT_ALLOWED = ("method_not_allowed", 405)
    TOO_SLOW = ("too_slow", 408)
    TOO_LARGE = ("too_large", 413)
    RATE_LIMITED = ("rate_limited", 429)
    INTERNAL = ("internal", 500)
    UNAVAILABLE = ("unavailable", 503)
    STORAGE_FULL = ("storage_full", 507)

    def __init__(self, code: str, status: int) -> None:
        self.code = code
        self.status = status


class Problem(Exception):
    """A failure with a sentence for the person who caused it or meets it.

    `field` is the top-level name of the input at fault; `retry_after` is in seconds.
    """

    def __init__(self, kind: Kind, message: str, *, field: str | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.field = field
        self.retry_after = retry_after


def invalid(field: str, message: str) -> Problem:
    """Input that breaks a rule: 400 with the field's name."""
    return Problem(Kind.INVALID, message, field=field)


def taken(field: str, message: str) -> Problem:
    """A name that must be unique and is not: 400 with the field's name."""
    return Problem(Kind.TAKEN, message, field=field)


def not_found(what: str = "item") -> Problem:
    """An id that is absent or another account's: the two cannot be told apart (decision 3)."""
    return Problem(Kind.NOT_FOUND, f"No such {what} in this account.")


def unavailable() -> Problem:
    """The database did not answer: 503, worth another try."""
    return Problem(Kind.UNAVAILABLE, "The database is not available right now. Please try again.", retry_after=5)
