"""From a body to a code: the logo fetched, the picture proven, and only then a transaction that writes."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import Connection

from waypost.api.context import RequestContext
from waypost.errors import Kind, Problem, invalid
from waypost.pictures import sources
from waypost.qr import logos, ops
from waypost.qr.ops import Draft
from waypost.qr.schemas import CodeChange, NewCode
from waypost.qrcode import verify
from waypost.qrcode.render import Drawing, design

R = TypeVar("R")
_MOST_LOGOS = 10
_TRIES = 50  # more than one account can have at once


class Logos:
    """The logos of one request: each is fetched once, however many codes have it."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._known: dict[str, bytes | Problem] = {}

    def resolve(self, body: CodeChange) -> dict[str, Any]:
        """Return the fields that the body contains, with the logo as our own copy. Raises INVALID on `logo`."""
        fields = body.sent()
        if fields.get("logo") is not None:
            fields["logo"] = self._copy(fields["logo"])
        return fields

    def _copy(self, source: str) -> bytes:
        logo = self._known.get(source)
        if logo is None:
            if len(self._known) >= _MOST_LOGOS:
                raise invalid("logo", f"logo: one request can have at most {_MOST_LOGOS} different ones.")
            try:
                logo = logos.own_copy(sources.load(self._context, source, logos.RULES))
            except Problem as problem:
                logo = problem
            self._known[source] = logo
        if isinstance(logo, Problem):
            raise logo
        return logo


def add(context: RequestContext, body: NewCode, request_logos: Logos) -> int:
    """Save a new code, proven; return its id. Raises INVALID, TAKEN."""
    new = proven(context, body, request_logos)
    return context.write(lambda tx: ops.add(tx, context.account, new))


def proven(context: RequestContext, body: NewCode, request_logos: Logos) -> Draft:
    """A new code, proven and not saved. Raises INVALID."""
    new = draft(context, body, request_logos)
    prove(new)
    return new


def change(context: RequestContext, code: int, draft: Callable[[Connection], Draft], response: R) -> R:
    """Change a code to what `draft` makes of it, proven; return the response. Raises INVALID, NOT_FOUND.

    A concurrent change makes another attempt necessary. Of concurrent changes one succeeds in each round.
    """
    proven = None
    for _ in range(_TRIES):
        new = context.read(draft)
        drawing = (new.text, new.style, new.logo)
        if drawing != proven:
            prove(new)
            proven = drawing

        def work(tx: Connection, new: Draft = new) -> None:
            if not ops.change(tx, context.account, code, new):
                raise _Changed

        with suppress(_Changed):
            return context.change(work, lambda _: response)
    raise _Changed


class _Changed(Problem):
    """The code was changed since it was read."""

    def __init__(self) -> None:
        message = "This QR code is being changed by other requests. Please try again."
        super().__init__(Kind.UNAVAILABLE, message, retry_after=1)


def draft(context: RequestContext, body: NewCode, request_logos: Logos) -> Draft:
    """A new code, not proven and not saved."""
    fields = request_logos.resolve(body)
    # Each statement may see a state of its own: the alias is claimed when the code is saved.
    return context.read(lambda tx: ops.draft(tx, settings=context.settings, **fields), autocommit=True)


def prove(new: Draft) -> Drawing:
    """The drawing, read back. Raises INVALID on what has to change (decision 33)."""
    drawing = design(new.text, new.style, new.logo)
    verify.must_scan(drawing, new.text)
    return drawing
