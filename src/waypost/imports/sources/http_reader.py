"""Requests to the API of another service: polite, and never with the token in a text that anyone can read."""

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from waypost.errors import Problem, invalid
from waypost.http import safe_client
from waypost.http.safe_client import FetchedResponse, Refused, Resolver, Unreachable
from waypost.imports.sources.fields import parse_json
from waypost.imports.sources.rate_limits import Budget

_MAX_BYTES = 64 * 1024 * 1024
_SECONDS = 60
_ATTEMPTS = 4
_MAX_WAIT = 3600
_MAX_DIGITS = 15
_TOO_MANY = 429
_MISSING = (400, 404)
Sleep = Callable[[float], object]


class HttpReader:
    """Reads JSON from one service, with its token in a header."""

    def __init__(
        self,
        base: str,
        headers: Mapping[str, str],
        *,
        trusted_hosts: frozenset[str] = frozenset(),
        budget: Budget | None = None,
        sleep: Sleep = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        resolver: Resolver = safe_client.resolve,
    ) -> None:
        """`base` begins every URL. `trusted_hosts` may be in the own network. Raises INVALID on `url` or `token`."""
        self._base = base.rstrip("/")
        self._headers = _valid_headers(headers)
        self._trusted_hosts, self._resolver = trusted_hosts, resolver
        self._budget, self._sleep, self._clock = budget, sleep, clock
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
        if self._budget is not None and (wait := self._budget.reserve(self._clock())):
            self._sleep(wait)
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
    """Return the seconds that a service wants us to wait: it sends them, or a date."""
    text = response.headers.get("retry-after", "")
    if text.isascii() and text.isdecimal():
        return min(_MAX_WAIT, int(text[:_MAX_DIGITS]))
    try:
        until = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return float(15 << attempt)
    return min(float(_MAX_WAIT), max(1.0, until - time.time()))


def _valid_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise invalid("token", "token contains characters that no token has.")
    return headers
