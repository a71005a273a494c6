"""Errors of the client: one class for each code of the API, below a few groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from waypost_client.records import BulkResult


class WaypostError(Exception):
    """The base of every error of this package."""


class ConnectionLostError(WaypostError):
    """The server was not reached, or the connection was lost before the response was complete."""


class UnexpectedResponseError(WaypostError):
    """The response is not one of the waypost API, such as a page of a proxy."""


class DigestMismatchError(WaypostError):
    """The content that was received is not the content that was sent."""


class BulkInterruptedError(WaypostError):
    """A bulk request failed after others succeeded. `results` are those of the earlier ones; see `__cause__`."""

    def __init__(self, message: str, results: Sequence[BulkResult]) -> None:
        super().__init__(message)
        self.results = results


class ApiError(WaypostError):
    """The server refused the request.

    `code` is stable and made for programs, `message` for people. `field` names the input at fault. The administrator
    finds the request in the log by `request_id`. `retry_after` is in seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int,
        field: str | None = None,
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.field = field
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        """Return the message, with the code and the request id."""
        details = [self.code, self.request_id and f"request {self.request_id}"]
        return f"{self.message} ({', '.join(filter(None, details))})"


class BadRequestError(ApiError):
    """The request is not valid."""


class InvalidError(BadRequestError):
    """A value breaks a rule; `field` names it."""


class InvalidJsonError(BadRequestError):
    """The body is not a JSON object."""


class TakenError(BadRequestError):
    """A value that must be unique is taken; `field` names it."""


class MethodNotAllowedError(BadRequestError):
    """The path has other methods."""


class TooSlowError(BadRequestError):
    """The body arrived too slowly."""


class AccessError(ApiError):
    """The API key does not allow the request."""


class KeyRequiredError(AccessError):
    """No API key was sent, or it is unknown, expired or revoked."""


class AccountSuspendedError(AccessError):
    """An administrator suspended the account."""


class ReadOnlyKeyError(AccessError):
    """The API key is read-only."""


class AccountKeyRequiredError(AccessError):
    """The change requires a key with the scope `account`."""


class NotFoundError(ApiError):
    """There is no such path, or no such item in this account."""


class ConflictError(ApiError):
    """The request conflicts with another one."""


class RequestRunningError(ConflictError):
    """The first request with this Idempotency-Key is still running."""


class SelectionChangedError(ConflictError):
    """The links of a selection are not those that were expected."""


class ImportStateError(ConflictError):
    """The import is in another state, or another import of the account runs."""


class IdempotencyKeyReusedError(ConflictError):
    """The Idempotency-Key was used for another request."""


class RolledBackError(ConflictError):
    """Another item of the same atomic bulk request failed."""


class LimitError(ApiError):
    """A limit is reached."""


class TooLargeError(LimitError):
    """The body exceeds the limit of the API, or the file the limit of the plan."""


class RateLimitedError(LimitError):
    """The rate limit is exceeded; see `retry_after`."""


class StorageFullError(LimitError):
    """The disk or the storage of the plan is full."""


class ServerError(ApiError):
    """The server failed."""


class InternalError(ServerError):
    """An unexpected error; the administrator finds it in the log by `request_id`."""


class UnavailableError(ServerError):
    """The database is unavailable, or the service is overloaded."""


CODES: dict[str, type[ApiError]] = {
    "invalid": InvalidError,
    "invalid_json": InvalidJsonError,
    "taken": TakenError,
    "api_key_required": KeyRequiredError,
    "account_suspended": AccountSuspendedError,
    "read_only_key": ReadOnlyKeyError,
    "account_key_required": AccountKeyRequiredError,
    "not_found": NotFoundError,
    "method_not_allowed": MethodNotAllowedError,
    "too_slow": TooSlowError,
    "request_running": RequestRunningError,
    "selection_changed": SelectionChangedError,
    "import_state": ImportStateError,
    "too_large": TooLargeError,
    "idempotency_key_reused": IdempotencyKeyReusedError,
    "rolled_back": RolledBackError,
    "rate_limited": RateLimitedError,
    "internal": InternalError,
    "unavailable": UnavailableError,
    "storage_full": StorageFullError,
}
_STATUSES: dict[int, type[ApiError]] = {
    401: AccessError,
    403: AccessError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    429: RateLimitedError,
}


def error_class(code: str, status: int) -> type[ApiError]:
    """Return the class for a code; for one that this version does not know, the group of the status."""
    group = ServerError if status >= 500 else BadRequestError
    return CODES.get(code) or _STATUSES.get(status, group)
