"""The outcome of a visit, as the rule of each kind of record decides it, and as two writers send it.

The writers are the HTTP protocol, which has no ASGI request, and the ASGI app.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from waypost.urls.blocklist import Blocklist
from waypost.visits.decide import RefusalReason
from waypost.visits.request import VisitRequest
from waypost.visits.responses import PageRenderer
from waypost.visits.visit import VisitService
from waypost.visits.visitor_services import Services


class JournalFields(NamedTuple):
    """The fields of a journal line that do not depend on the request, as for `format_line`."""

    target: bytes
    flags: bytes = b""


Log: TypeAlias = tuple[JournalFields, ...]
"""The lines of a visit. A second one is that of the rotator that chose the link of the first."""


class Redirection(NamedTuple):
    """A redirect that depends on nothing but the record, the blocklist and the headers of the request."""

    url: str
    log: Log = ()
    is_constant: bool = False
    """The same for every visitor, until the second `expiry`."""
    expiry: int | None = None


class Page(NamedTuple):
    """A page that depends on nothing but the record, `left`, the language, and whether the visitor prefers JSON."""

    render: Callable[[Request, PageRenderer], Response]
    """Called for each language and coding, with a request that has only the headers that a page may depend on."""
    log: Log = ()
    expiry: int | None = None
    """The last second in which the page is the same."""
    left: int | None = None
    """The remainder of a limit, if the page shows it. It was read for this visit."""


class Refused(NamedTuple):
    """An error page. Its language, and whether it is JSON, depend on the visitor."""

    reason: RefusalReason
    log: Log = ()


class Content(NamedTuple):
    """The content of a file for which a download was taken. Only the HTTP protocol sends it."""

    response: Response
    log: Log
    on_broken: Callable[[], object]
    """Called if the client closes the connection before it has read the content."""


class Deferred(NamedTuple):
    """An outcome that depends on a limit in the database: something is taken from it, or it is read."""

    begin: Callable[[Callable[["Outcome | BaseException"], None]], None]
    """Calls its argument later, with the outcome or with the exception that the database raised."""
    is_overloaded: bool = False
    """Many visits wait for the database, so that load should be shed."""
    granted: "Outcome | None" = None
    """The outcome if a click is taken, as far as it is known before. A writer prepares the response to it first."""


class NeedsRequest(NamedTuple):
    """An outcome that only an async handler with the whole request can send."""

    handle: Callable[[Request, Services, VisitRequest], Awaitable[Response]]
    log: Log = ()
    """Written before the handler is called."""
    content: Callable[[], Deferred | None] | None = None
    """Returns the same download for the HTTP protocol, if the file is small."""


Outcome: TypeAlias = Redirection | Page | Refused | Content | Deferred | NeedsRequest
Rule: TypeAlias = Callable[[VisitService, VisitRequest, Any, Blocklist], Outcome]
"""Returns the outcome of a visit to a record: synchronous, and without the database."""
