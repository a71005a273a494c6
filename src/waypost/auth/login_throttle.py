"""How often passwords and codes may be tried over all processes: every try counts, right ones too."""

from waypost.http.attempt_limiter import AttemptLimiter, Limit


class LoginThrottle:
    """Counts a minute's tries: by thing and network, by each of them, and in all."""

    def __init__(self, guesses: AttemptLimiter) -> None:
        self._guesses = guesses

    def wait(self, thing: str, network: str) -> int:
        """Count one try. 0 when it may be made, else the seconds to wait. Blocks.

        It counts before anything is looked at, so that many at once are as many tries.
        """
        return self._guesses.acquire(
            Limit(f"entry to {thing} from {network}", 10),
            Limit(f"entry to {thing}", 100),
            # Less than in all, or one network alone could keep everybody from everything.
            Limit(f"entries from {network}", 100),
            Limit("entries", 1000),
        )
