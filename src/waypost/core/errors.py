"""All errors of the product, each with a stable code and an HTTP status."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum


class Kind(Enum):
    """Kinds of errors: (code, HTTP status, cause). The API reference lists them."""

    INVALID = ("invalid", 400, "A value breaks a rule; `field` names it.")
    INVALID_JSON = ("invalid_json", 400, "The body is not a JSON object.")
    TAKEN = ("taken", 400, "A value that must be unique is taken; `field` names it.")
    KEY_REQUIRED = ("api_key_required", 401, "No API key was sent, or it is unknown, expired or revoked.")
    SUSPENDED = ("account_suspended", 403, "An administrator suspended the account.")
    READ_ONLY_KEY = ("read_only_key", 403, "The API key is read-only.")
    ACCOUNT_KEY_REQUIRED = ("account_key_required", 403, "The change requires a key with the scope `account`.")
    NOT_FOUND = ("not_found", 404, "There is no such path, or no such item in this account.")
    METHOD_NOT_ALLOWED = ("method_not_allowed", 405, "The path has other methods; `Allow` lists them.")
    TOO_SLOW = ("too_slow", 408, "The body arrives too slowly.")
    REQUEST_RUNNING = (
        "request_running",
        409,
        "The first request with this Idempotency-Key is running; see Retry-After.",
    )
    SELECTION_CHANGED = ("selection_changed", 409, "The links of a selection are not those that were expected.")
    IMPORT_STATE = ("import_state", 409, "The import is in another state, or another import of the account runs.")
    TOO_LARGE = ("too_large", 413, "The body exceeds 8 MiB or 250,000 values, or the file the limit of the plan.")
    KEY_REUSED = ("idempotency_key_reused", 422, "This Idempotency-Key was used for another request.")
    ROLLED_BACK = ("rolled_back", 424, "Another item of the same atomic bulk request failed. Only in `results`.")
    RATE_LIMITED = ("rate_limited", 429, "The rate limit is exceeded; see Retry-After.")
    INTERNAL = ("internal", 500, "Unexpected error; `message` contains the request id, which is in the log.")
    UNAVAILABLE = ("unavailable", 503, "The database is unavailable, or the service is overloaded; see Retry-After.")
    STORAGE_FULL = ("storage_full", 507, "The disk or the storage of the plan is full.")

    def __init__(self, code: str, status: int, cause: str) -> None:
        self.code = code
        self.status = status
        self.cause = cause


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


@contextmanager
def in_entry(field: str, place: str) -> Iterator[None]:
    """Let a problem on the list `field` name its entry, such as `geotarget[0].link must …`; `place` is `[0].link`."""
    try:
        yield
    except Problem as problem:
        if problem.field == field and problem.message.startswith(f"{field} "):
            problem.message = f"{field}{place}{problem.message.removeprefix(field)}"
        raise


def taken(field: str, message: str) -> Problem:
    """Return a TAKEN problem for a value that must be unique: 400 with the name of the field."""
    return Problem(Kind.TAKEN, message, field=field)


def not_found(what: str = "item") -> Problem:
    """Return a NOT_FOUND problem, the same for a missing id and one of another account (decision 3)."""
    return Problem(Kind.NOT_FOUND, f"No such {what} in this account.")


def account_not_found() -> Problem:
    """Return a NOT_FOUND problem for an account that does not exist, named by an administrator."""
    return Problem(Kind.NOT_FOUND, "No such account.")


def account_suspended(field: str) -> Problem:
    """Return the INVALID problem of a sign-in or a link of a suspended account."""
    return invalid(field, "This account is suspended. Please contact the administrator.")


def account_deleted() -> Problem:
    """Return a NOT_FOUND problem for an account that was deleted while a request of it ran."""
    return Problem(Kind.NOT_FOUND, "This account was deleted.")


def unavailable() -> Problem:
    """Return an UNAVAILABLE problem for a database that does not respond: 503 with Retry-After."""
    return Problem(Kind.UNAVAILABLE, "The database is not available right now. Please try again.", retry_after=5)
