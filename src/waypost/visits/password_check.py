"""Check a visitor's password for a link or file. Wrong passwords are rate limited (decision 22)."""

from functools import partial
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from waypost.auth.attempt_limits import RateLimiter
from waypost.core import credentials
from waypost.http.client_ip import network_of
from waypost.visits.request import VisitRequest


class PasswordCheck:
    """Verifies passwords. Only wrong passwords count for the rate limit."""

    def __init__(self, rate_limiter: RateLimiter) -> None:
        self._rate_limiter = rate_limiter
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def verify(self, subject: str, password_hash: str, visit: VisitRequest) -> bool | None:
        """Return whether the password is right; None if the rate limit is reached and it was not checked.

        `subject` names the protected object, such as "link 5".
        """
        limited = {"subject": subject, "network": network_of(visit.client_ip)}
        # One check at a time for each object: many right passwords at once would exhaust the limit of wrong ones.
        async with self._locks.setdefault(subject, anyio.Lock()):
            attempt = await anyio.to_thread.run_sync(partial(self._rate_limiter.attempt, "password", **limited))
            if attempt.wait:
                return None
            is_right = await anyio.to_thread.run_sync(credentials.password_matches, password_hash, visit.password)
            if is_right:
                await anyio.to_thread.run_sync(self._rate_limiter.release, attempt)
        return is_right
