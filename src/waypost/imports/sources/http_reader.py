"""Requests to the API of another service: polite, and never with the token in a text that anyone can read."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from waypost.errors import Problem, invalid
from waypost.http import safe_client
from waypost.http.safe_client import FetchedResponse, Refused, Resolver, Unreachable
from waypost.imports.sources.fields import parse_json

_MAX_BYTES = 64 * 1024 * 1024
_SECONDS = 60
_ATTEMPTS = 4
_MAX_WAIT = 3600
_TOO_MANY = 429
_MISSING = (400, 404)
Sleep = Callable[[float], object]


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


class HttpReader:
    """Reads JSON from one service, with its token in a header."""

    def __init__(
        self,
        base: str,
        headers: Mapping[str, str],
        *,
        trusted_hosts: frozenset[str] = frozenset(),
        limits: tuple[RateLimit, ...] = (),
        sleep: Sleep = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        resolver: Resolver = safe_client.resolve,
    ) -> None:
        """`base` begins every URL. `trusted_hosts` may be in the own network. Raises INVALID on `url` or `token`."""
        self._base = base.rstrip("/")
        self._headers = _valid_headers(headers)
        self._trusted_hosts, self._resolver = trusted_hosts, resolver
        self._limits, self._sleep, self._clock = limits, sleep, clock
        if urlsplit(self._base).scheme not in ("http", "https") or not urlsplit(self._base).hostname:
            raise invalid("url", "url must be the address of the other service, such as https://old.example.com.")

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
        for attempt in range(_ATTEMPTS):
            response = self._send(url, form, is_last=attempt == _ATTEMPTS - 1)
            if response is None:
                self._sleep(2**attempt)
            elif response.status == _TOO_MANY:
                self._sleep(_retry_after(response, attempt))
            elif response.status in _MISSING and optional:
                return None
            else:
                self._require_success(response)
                return parse_json(response.body, field="url")
        raise self._problem("it limits its requests for too long")

    def _send(self, url: str, form: Mapping[str, object] | None, *, is_last: bool) -> FetchedResponse | None:
        """Return a response; None if it is worth another attempt."""
        for limit in self._limits:
            if wait := limit.wait(self._clock()):
                self._sleep(wait)
            limit.count(self._clock())
        try:
            response = safe_client.request(
                url,
                headers=self._headers,
                form=None if form is None else urlencode(form).encode(),
                max_bytes=_MAX_BYTES,
                seconds=_SECONDS,
                trusted_hosts=self._trusted_hosts,
                resolver=self._resolver,
            )
        except Unreachable as error:
            if is_last:
                raise self._problem(str(error)) from None
            return None
        except Refused as error:
            raise self._problem(str(error)) from None
        is_worth_another = response.status >= 500 and not is_last  # errors of the server
        return None if is_worth_another else response

    def _require_success(self, response: FetchedResponse) -> None:
        if response.status in (401, 403):
            raise invalid("token", "token: the service refuses it. Create one that may read all links.")
        if 300 <= response.status < 400:  # a token is never sent to another address
            raise self._problem("it redirects to another address. Use that one")
        if response.status != 200:
            raise self._problem(f"it answered with status {response.status}")

    def _problem(self, reason: str) -> Problem:
        return invalid("url", f"{urlsplit(self._base).hostname} cannot be read: {reason}.")


def _retry_after(response: FetchedResponse, attempt: int) -> float:
    text = response.headers.get("retry-after", "")
    return min(_MAX_WAIT, int(text)) if text.isascii() and text.isdecimal() else 15 * 2**attempt


def _valid_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise invalid("token", "token contains characters that no token has.")
    return headers
