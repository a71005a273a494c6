"""Authentication of API requests by key, and the request that each one takes from the key's limit."""

from starlette.datastructures import Headers
from starlette.types import Scope

from waypost import clock
from waypost.api.context import RequestContext, WorkerResources, key_required, read_only_key
from waypost.api.rate_limit import ApiKeyLimiter, Usage
from waypost.api.response_recorder import ResponseRecorder
from waypost.errors import Kind, Problem
from waypost.http.client_ip import client_ip, network_of
from waypost.languages import negotiate_language

_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Authenticator:
    """Authenticates requests. `authenticate` blocks; call it in a thread."""

    def __init__(self, resources: WorkerResources) -> None:
        self._resources = resources
        self._limiter = ApiKeyLimiter(resources.database)

    def is_recent(self, key: str) -> bool:
        """Return whether the key was accepted lately. It may be revoked or exhausted since."""
        return self._limiter.is_recent(key)

    def authenticate(
        self, scope: Scope, key: str, recorder: ResponseRecorder, *, may_read: bool = False
    ) -> RequestContext:
        """Take a request from the key's limit; return its context. `recorder` gets the account and the limit's state.

        `may_read`: the request can be one that only reads, whichever method it has. Raises KEY_REQUIRED for an unknown
        key, and the problem of a key that may not make this request.
        """
        authenticated = self._limiter.acquire(key, only_reads=scope["method"] in _READ_METHODS)
        if authenticated is None:
            raise self._bad_key(scope)
        caller, usage = authenticated
        recorder.record(caller.account, usage)
        if not usage.allowed:
            raise _over_limit(usage)
        if caller.suspended:
            raise Problem(Kind.SUSPENDED, "This account is suspended. Please contact the administrator.")
        can_write = caller.scope != "read"
        if not (can_write or may_read or scope["method"] in _READ_METHODS):
            raise read_only_key()

        def take_requests(size: int) -> None:
            if size > 0:
                further = self._limiter.take(key, caller.account, size)
                recorder.record(caller.account, further)
                if not further.allowed:
                    raise _over_limit(further)

        can_change_login = caller.scope == "account"
        return RequestContext(
            caller.account,
            self._resources,
            can_change_login=can_change_login,
            can_write=can_write,
            take_requests=take_requests,
            report_uncounted=recorder.report_uncounted,
            language=negotiate_language(Headers(scope=scope).get("accept-language", "")),
        )

    def _bad_key(self, scope: Scope) -> Problem:
        address = client_ip(scope, self._resources.settings.proxies)
        wait = self._resources.rate_limiter.acquire("bad API key", network=network_of(address))
        if not wait:
            return key_required()
        message = f"Too many requests with a bad API key. Please wait {wait} seconds."
        return Problem(Kind.RATE_LIMITED, message, retry_after=wait)


def presented_key(headers: Headers) -> str:
    """Return the key of `Bearer K`, `Token K` or `K`; scheme names are case-insensitive (decision 7)."""
    authorization = headers.get("authorization", "").strip()
    first, _, rest = authorization.partition(" ")
    return rest.strip() if first.lower() in ("bearer", "token") else authorization


def _over_limit(usage: Usage) -> Problem:
    wait = max(1, usage.reset - clock.now())
    keys = " for all API keys of this account" if usage.of_account else ""
    message = f"Over the limit of {usage.limit} requests a minute{keys}. Please wait {wait} seconds."
    return Problem(Kind.RATE_LIMITED, message, retry_after=wait)
