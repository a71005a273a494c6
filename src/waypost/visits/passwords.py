"""Whether a visitor knows the password of what is asked for. Guessing is limited (decision 22)."""

from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from waypost import credentials
from waypost.net.guesses import Guesses
from waypost.net.proxies import network_of
from waypost.visits.asked import Asked


class Passwords:
    """Counts the wrong guesses of this process: a minute's, by thing and network, by each of them, and in all."""

    def __init__(self) -> None:
        self._by_thing_and_network = Guesses(limit=10)
        self._by_thing = Guesses(limit=100)
        # Less than in all, or one network alone could keep everybody from everything.
        self._by_network = Guesses(limit=100)
        self._in_all = Guesses(limit=1000)
        self._guessing: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def unlocks(self, thing: str, hashed: str, asked: Asked) -> bool | None:
        """Whether the password is right; None when it was not looked at, because of too many wrong ones before.

        `thing` names what the password is of, such as "link 5".
        """
        # One at a time for each thing, or many at once would all be let in before the first of them is found wrong.
        async with self._guessing.setdefault(thing, anyio.Lock()):
            network = network_of(asked.address)
            counted = (
                (self._by_thing_and_network, f"{thing} {network}"),
                (self._by_thing, thing),
                (self._by_network, network),
                (self._in_all, ""),
            )
            if any(guesses.wait(whose) for guesses, whose in counted):
                return None
            right = await anyio.to_thread.run_sync(credentials.password_matches, hashed, asked.password)
            if not right:
                for guesses, whose in counted:
                    guesses.failed(whose)
        return right
