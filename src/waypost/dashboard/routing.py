"""How a noun says which pages it has: a function for each path and method."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from starlette.responses import Response

Answers = Callable[..., Response]
Takes = Callable[..., Awaitable[Response]]


@dataclass(frozen=True)
class PageRoute:
    """A path, and who answers there: a function of the context and of what stands in the path.

    `public`: to anybody. `operator`: only to those who run the service; for others there is no such page.
    `take` answers instead where a form has files in it: a coroutine function of the context and the form's parts.
    """

    method: Literal["GET", "POST"]
    path: str
    handler: Answers | None
    public: bool
    operator: bool = False
    stream_handler: Takes | None = None


class Router:
    """The pages of a noun; those of the `operator` are for nobody else."""

    def __init__(self, *, operator: bool = False) -> None:
        self.routes: list[PageRoute] = []
        self._operator = operator

    def get(self, path: str, *, public: bool = False) -> Callable[[Answers], Answers]:
        """Show something at this path."""
        return self._at("GET", path, public=public)

    def post(self, path: str, *, public: bool = False) -> Callable[[Answers], Answers]:
        """Take a form at this path; only one that we showed to the browser that sends it."""
        return self._at("POST", path, public=public)

    def stream(self, path: str) -> Callable[[Takes], Takes]:
        """Take a form with files at this path, as it comes; only one that we showed to the browser that sends it."""

        def keep(take: Takes) -> Takes:
            self.routes.append(PageRoute("POST", path, None, public=False, stream_handler=take))
            return take

        return keep

    def _at(self, method: Literal["GET", "POST"], path: str, *, public: bool) -> Callable[[Answers], Answers]:
        def keep(answer: Answers) -> Answers:
            self.routes.append(PageRoute(method, path, answer, public, self._operator))
            return answer

        return keep
