"""Requests to the API of another service: polite, and never with the token in a text that anyone can read."""

import hashlib
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from waypost.core import clock as wall_clock
from waypost.core.errors import Problem, invalid
from waypost.http import safe_client
from waypost.http.safe_client import FetchedResponse, HostPorts, Refused, Resolver, Unreachable
from waypost.transfer.imports.sources.fields import parse_json

T = TypeVar("T")
LIMIT_SECONDS = 600.0


class Patience:
    """Seconds of requests and of the waits that the server asks for, since the last record or click."""

    def __init__(self) -> None:
        self.spent = 0.0

    def spend(self, seconds: float) -> None:
        """Count seconds that brought nothing yet."""
        self.spent += seconds

    def allows(self, seconds: float) -> bool:
        """Return whether that many seconds more can be spent."""
        return self.spent + seconds <= LIMIT_SECONDS

    def renewing(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items. After each one, the time begins again."""
        for item in items:
            self.spent = 0.0
            yield item


_MAX_TOKENS = 64


class RateLimit:
    """At most `requests` in each span of `seconds`."""

    def __init__(self, requests: int, seconds: int) -> None:
        self._requests, self._seconds = requests, seconds
        self._times: deque[float] = deque(maxlen=requests)

    def wait(self, now: float) -> float:
        """Return the seconds to wait before the next request."""
        return max(0.0, self._times[0] + self._seconds - now) if len(self._times) == self._requests else 0.0

    def count(self, now: float) -> None:
        """Note a request."""
        self._times.append(now)


class Budget:
    """The limits of one token. Several threads can use it."""

    def __init__(self, *limits: RateLimit) -> None:
        self._limits = limits
        self._lock = threading.Lock()

    def reserve(self, now: float) -> float:
        """Note a request at the earliest time that all limits allow; return the seconds until then."""
        with self._lock:
            seconds = max((limit.wait(now) for limit in self._limits), default=0.0)
            for limit in self._limits:
                limit.count(now + seconds)
            return seconds


class Budgets:
    """The budgets of the tokens that were used last, by their hashes: no token is kept."""

    def __init__(self, *limits: tuple[int, int]) -> None:
        """`limits` are requests and seconds."""
        self._limits = limits
        self._lock = threading.Lock()
        self._budgets: OrderedDict[bytes, Budget] = OrderedDict()

    def of(self, token: str) -> Budget:
        """Return the budget of a token."""
        key = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            budget = self._budgets.get(key) or Budget(*(RateLimit(*limit) for limit in self._limits))
            self._budgets[key] = budget
            self._budgets.move_to_end(key)
            while len(self._budgets) > _MAX_TOKENS:
                self._budgets.popitem(last=False)
        return budget


_MAX_BYTES, _MAX_VALUES = 8 * 1024 * 1024, 200_000
_MAX_TOTAL_BYTES = 1 << 30
"""As many as a file of an import may have."""
_SECONDS = 60
_ATTEMPTS = 4
_MAX_WAIT = 60
_MAX_NAMED_WAIT = 30 * 86_400
_MAX_DIGITS = 15
_TOO_MANY = 429
_MISSING = (400, 404)


class HttpReader:
    """Reads JSON from one service, with its token in a header."""

    def __init__(
        self,
        base: str,
        headers: Mapping[str, str],
        *,
        trusted_hosts: HostPorts = frozenset(),
        budget: Budget | None = None,
        sleep: Callable[[float], object] = time.sleep,
        check: Callable[[], object] = lambda: None,
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
        resolver: Resolver = safe_client.resolve,
    ) -> None:
        """`base` begins every URL. `trusted_hosts` may be in the own network. Raises INVALID on `url` or `token`.

        `sleep` and `check` raise when the import is canceled. `waiting` is the context of each wait and request, in
        which the import holds nothing that others need.
        """
        self._base = _valid_base(base)
        self._headers = _valid_headers(headers)
        self._trusted_hosts, self._resolver = trusted_hosts, resolver
        self._sleep, self._check, self._waiting, self._clock = sleep, check, waiting, clock
        self._budget, self._patience = budget, patience or Patience()
        self._received = 0

    def get(
        self,
        path: str,
        parameters: Mapping[str, object] | None = None,
        *,
        form: Mapping[str, object] | None = None,
        optional: bool = False,
    ) -> Any:
        """Return the JSON value of a URL, by POST with a form; None for one that is `optional` and missing.

        Raises INVALID on `url` or `token` if the service cannot be read.
        """
        url = f"{self._base}{path}" + (f"?{urlencode(parameters)}" if parameters else "")
        attempt = 0
        while True:
            is_last = attempt == _ATTEMPTS - 1
            response = self._send(url, form, is_last=is_last)
            if response is None:
                self._obey(2**attempt, is_last=False)
            elif _asks_to_wait(response):
                self._obey(_retry_after(response, attempt), is_last=is_last)
            elif response.status in _MISSING and optional:
                return None
            else:
                self._require_success(response)
                return parse_json(response.body, field="url", max_values=_MAX_VALUES)
            attempt += 1

    def _obey(self, seconds: float, *, is_last: bool) -> None:
        """Wait as long as the server wants. Raises INVALID if that is too long."""
        if is_last or seconds > _MAX_WAIT or not self._patience.allows(seconds):
            until = wall_clock.text(wall_clock.now() + min(_MAX_NAMED_WAIT, max(60, int(seconds))))
            raise self._problem(f"it limits its requests. Try again after {until} UTC")
        self._patience.spend(seconds)
        self._wait(seconds)

    def _wait(self, seconds: float) -> None:
        with self._waiting():
            self._sleep(seconds)

    def _send(self, url: str, form: Mapping[str, object] | None, *, is_last: bool) -> FetchedResponse | None:
        """Return a response; None if it is worth another attempt."""
        if self._budget is not None and (wait := self._budget.reserve(self._clock())):
            self._wait(wait)
        if not self._patience.allows(0):
            raise self._problem("it has sent no links for ten minutes. Try again in an hour")
        try:
            response = self._request(url, form)
        except Unreachable as error:
            if is_last:
                raise self._problem(str(error)) from None
            return None
        except Refused as error:
            raise self._problem(str(error)) from None
        self._received += len(response.body)
        if self._received > _MAX_TOTAL_BYTES:
            raise self._problem("it sends more than 1 GiB. Import a file of it instead")
        is_worth_another = response.status >= 500 and not _asks_to_wait(response) and not is_last
        return None if is_worth_another else response

    def _request(self, url: str, form: Mapping[str, object] | None) -> FetchedResponse:
        began = self._clock()
        try:
            with self._waiting():
                return safe_client.request(
                    url,
                    headers=self._headers,
                    form=None if form is None else urlencode(form).encode(),
                    max_bytes=_MAX_BYTES,
                    seconds=_SECONDS,
                    trusted_hosts=self._trusted_hosts,
                    resolver=self._resolver,
                    check=self._check,
                )
        finally:
            self._patience.spend(self._clock() - began)

    def _require_success(self, response: FetchedResponse) -> None:
        if response.status in (401, 403):
            raise invalid("token", "token: the service refuses it. Create one that may read all links.")
        if 300 <= response.status < 400:  # a token is never sent to another address
            raise self._problem("it redirects to another address. Use that one")
        if response.status != 200:
            raise self._problem(f"it answered with status {response.status}")

    def _problem(self, reason: str) -> Problem:
        return invalid("url", f"{urlsplit(self._base).hostname} cannot be read: {reason}.")


def _asks_to_wait(response: FetchedResponse) -> bool:
    return response.status == _TOO_MANY or (response.status >= 500 and "retry-after" in response.headers)


def _retry_after(response: FetchedResponse, attempt: int) -> float:
    """Return the seconds that a service wants us to wait: it sends them, or a date."""
    text = response.headers.get("retry-after", "")
    if text.isascii() and text.isdecimal():
        return int(text[:_MAX_DIGITS])
    try:
        until = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return float(min(_MAX_WAIT, 15 << attempt))
    return max(1.0, until - time.time())


def _valid_base(base: str) -> str:
    """Return the address of a service without a slash at the end. Raises INVALID on `url`."""
    try:
        parts = urlsplit(base)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port or IPv6 address
        is_address = False
    if not is_address:
        raise invalid("url", "url must be the address of the other service, such as https://old.example.com.")
    if "@" in parts.netloc or "?" in base or "#" in base:
        message = "url must be an address without a user name, password, query and fragment. The token is a field."
        raise invalid("url", message)
    return base.rstrip("/")


def _valid_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise invalid("token", "token contains characters that no token has.")
    return headers
