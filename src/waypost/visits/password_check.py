"""Whether a visitor knows the password of what is asked for. Guessing is limited (decision 22)."""

from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from waypost import credentials
from waypost.http.attempt_limiter import AttemptLimiter, Limit
from waypost.http.client_ip import network_of
from waypost.visits.request import VisitRequest


class PasswordCheck:
    """Lets so many wrong guesses through in a minute: by thing and network, by each of them, and in all."""

    def __init__(self, guesses: AttemptLimiter) -> None:
        self._guesses = guesses
        self._guessing: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def unlocks(self, thing: str, hashed: str, asked: VisitRequest) -> bool | None:
        """Whether the password is right; None when it was not looked at, because of too many wrong ones before.

        `thing` names what the password is of, such as "link 5".
        """
        # One at a time for each thing: many who are right at once would fill up what only wrong ones should.
        async with self._guessing.setdefault(thing, anyio.Lock()):
            tries = _tries(thing, network_of(asked.address))
            if await anyio.to_thread.run_sync(self._guesses.acquire, *tries):
                return None
            right = await anyio.to_thread.run_sync(credentials.password_matches, hashed, asked.password)
            if right:
                await anyio.to_thread.run_sync(self._guesses.release, *tries)
        return right


def _tries(thing: str, network: str) -> tuple[Limit, ...]:
    return (
        Limit(f"password of {thing} from {network}", 10),
        Limit(f"password of {thing}", 100),
        # Less than in all, or one network alone could keep everybody from everything.
        Limit(f"passwords from {network}", 100),
        Limit("passwords", 1000),
    )
