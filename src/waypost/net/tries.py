"""How often passwords and codes may be tried over all processes: every try counts, right ones too."""

from waypost.net.guesses import Guesses, Try


class Tries:
    """Counts a minute's tries: by thing and network, by each of them, and in all."""

    def __init__(self, guesses: Guesses) -> None:
        self._guesses = guesses

    def wait(self, thing: str, network: str) -> int:
        """Count one try. 0 when it may be made, else the seconds to wait. Blocks.

        It counts before anything is looked at, so that many at once are as many tries.
        """
        return self._guesses.take(
            Try(f"entry to {thing} from {network}", 10),
            Try(f"entry to {thing}", 100),
            # Less than in all, or one network alone could keep everybody from everything.
            Try(f"entries from {network}", 100),
            Try("entries", 1000),
        )
