"""Rate limits of other services. All readers of this process that use the same token share them."""

import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import TypeVar

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
