"""Outcomes of visits on the fast path, as the rule of each kind of record decides them."""

from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from waypost.visits.click_limits import LinkKey
from waypost.visits.responses import PageRenderer


class JournalFields(NamedTuple):
    """The fields of a journal line that do not depend on the request, as for `format_line`."""

    journal_target: bytes
    flags: bytes


class FastRedirect(NamedTuple):
    """A redirect that depends on nothing but the record, the blocklist and the headers of the request."""

    url: str
    journal_target: bytes
    """As for `format_line`; empty if the visit is not logged."""
    flags: bytes = b""
    is_constant: bool = False
    """The same for every visitor, until the second `expiry`."""
    expiry: int | None = None
    limited_link: LinkKey | None = None
    """The link whose click limit the visit takes from. Without a click left, the visit needs the slow path."""
    also_logged: JournalFields | None = None
    """A second line in the journal, for a rotator."""


class FastPage(NamedTuple):
    """A page that depends on nothing but the record, `left`, the language, and whether the visitor prefers JSON."""

    journal_target: bytes
    render: Callable[[Request, PageRenderer], Response]
    """Called once for each language, with a request that has only the headers Accept and Accept-Language."""
    expiry: int | None = None
    """The last second in which the page is the same."""
    is_for_browsers: bool = False
    """Other visitors than browsers need the slow path."""
    left: int | None = None
    """The remainder of a limit, if the page shows it. It was read for this visit."""


class FileDelivery(NamedTuple):
    """The content of a file for which a download was taken. `journal_target` is empty for one that is not new."""

    response: Response
    journal_target: bytes
    flags: bytes
    on_broken: Callable[[], object]
    """Called if the client closes the connection before it has read the content."""


class LimitedOutcome(NamedTuple):
    """An outcome that depends on a limit in the database: the content of a file, or a page that shows a remainder."""

    take: Callable[[Callable[[FileDelivery | FastPage | None], None]], None]
    """Calls its argument later; with None if the visit needs the slow path."""


class NeedsSlowPath(Exception):
    """The fast path has no answer to a visit."""
