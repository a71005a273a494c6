"""The author of a change, for the audit log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

Origin = Literal["api", "dashboard", "agent", "command", "import", "system"]
"""The way of a change: an API key, a browser, an AI agent, the command line, an import, or waypost itself."""


@dataclass(frozen=True)
class Actor:
    """The origin of a change, and the account that it acted for.

    `account` is that of the session or key; `key` is the beginning of the API key, `network` a keyed hash of the
    client's network. Both are "" where there is none.
    """

    origin: Origin
    account: int | None = None
    key: str = ""
    network: str = ""


SYSTEM = Actor("system")
GetActor = Callable[[], Actor]
"""Returns the actor, which only changes need."""
_current: ContextVar[GetActor] = ContextVar("actor", default=lambda: SYSTEM)


def current() -> Actor:
    """Return the author of the changes of this thread."""
    return _current.get()()


@contextmanager
def acting(actor: GetActor) -> Iterator[None]:
    """Let the actor make the changes of the block, in this thread."""
    token = _current.set(actor)
    try:
        yield
    finally:
        _current.reset(token)
