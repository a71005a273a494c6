"""How often passwords and codes may be tried in this process: every try counts, right ones too."""

from waypost.net.guesses import Guesses


class Tries:
    """Counts a minute's tries: by thing and network, by each of them, and in all."""

    def __init__(self) -> None:
        self._by_thing_and_network = Guesses(limit=10)
        self._by_thing = Guesses(limit=100)
        # Less than in all, or one network alone could keep everybody from everything.
        self._by_network = Guesses(limit=100)
        self._in_all = Guesses(limit=1000)

    def wait(self, thing: str, network: str) -> int:
        """Count one try. 0 when it may be made, else the seconds to wait.

        It counts before anything is looked at, so that many at once are as many tries.
        """
        counted = (
            (self._by_thing_and_network, f"{thing} {network}"),
            (self._by_thing, thing),
            (self._by_network, network),
            (self._in_all, ""),
        )
        for guesses, whose in counted:
            if wait := guesses.failed(whose):
                return wait  # those behind it are not filled up by who is refused already
        return 0
