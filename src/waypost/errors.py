"""All errors of the product, each with a stable code and an HTTP status."""

from enum import Enum


class Kind(Enum):
    """Kinds of errors: (code, HTTP status)."""

    INVALID = ("invalid", 400)
    INVALID_JSON = ("invalid_json", 400)
    TAKEN = ("taken", 400)
    KEY_REQUIRED = ("api_key_required", 401)
    SUSPENDED = ("account_suspended", 403)
    READ_ONLY_KEY = ("read_only_key", 403)
    ACCOUNT_KEY_REQUIRED = ("account_key_required", 403)
    NOT_FOUND = ("not_found", 404)
    METHOD_NOT_ALLOWED = ("method_not_allowed", 405)
    TOO_SLOW = ("too_slow", 408)
    REQUEST_RUNNING = ("request_running", 409)
    SELECTION_CHANGED = ("selection_changed", 409)
    TOO_LARGE = ("too_large", 413)
    KEY_REUSED = ("idempotency_key_reused", 422)
    ROLLED_BACK = ("rolled_back", 424)
    RATE_LIMITED = ("rate_limited", 429)
    INTERNAL = ("internal", 500)
    UNAVAILABLE = ("unavailable", 503)
    STORAGE_FULL = ("storage_full", 507)

    def __init__(self, code: str, status: int) -> None:
        self.code = code
        self.status = status


class Problem(Exception):
    """An error with a message for the client.

    `field` is the top-level name of the invalid input; `retry_after` is in seconds.
    """

    def __init__(self, kind: Kind, message: str, *, field: str | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.field = field
        self.retry_after = retry_after


class NoInstallation(Problem):
    """Raised when a command needs an installation and there is none."""

    def __init__(self, location: str) -> None:
        hint = (
            "Create one with `waypost serve`, or run the command in the folder of the service, or with its"
            " WAYPOST_DATA_DIR or WAYPOST_DATABASE_URL."
        )
        super().__init__(Kind.NOT_FOUND, f"No installation found in {location}. {hint}")


def invalid(field: str, message: str) -> Problem:
    """Return an INVALID problem: 400 with the name of the field."""
    return Problem(Kind.INVALID, message, field=field)


def taken(field: str, message: str) -> Problem:
    """Return a TAKEN problem for a value that must be unique: 400 with the name of the field."""
    return Problem(Kind.TAKEN, message, field=field)


def not_found(what: str = "item") -> Problem:
    """Return a NOT_FOUND problem, the same for a missing id and one of another account (decision 3)."""
    return Problem(Kind.NOT_FOUND, f"No such {what} in this account.")


def account_deleted() -> Problem:
    """Return a NOT_FOUND problem for an account that was deleted while a request of it ran."""
    return Problem(Kind.NOT_FOUND, "This account was deleted.")


def unavailable() -> Problem:
    """Return an UNAVAILABLE problem for a database that does not respond: 503 with Retry-After."""
    return Problem(Kind.UNAVAILABLE, "The database is not available right now. Please try again.", retry_after=5)
