"""From a body to a code: the logo fetched, the picture proven, and only then a transaction that writes."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import Connection

from waypost.api.context import Change, RequestContext
from waypost.core.errors import Kind, Problem, invalid
from waypost.items.qr import ops
from waypost.items.qr.ops import Draft
from waypost.items.qr.schemas import CodeChange, NewCode
from waypost.media.pictures import picture_fetch
from waypost.media.pictures.decoding import Rules, decode
from waypost.media.qrcode import render
from waypost.media.qrcode.render import Drawing, design

_KEPT_SIDE = 640  # pixels: what the largest picture shows of it
RULES = Rules("logo", _KEPT_SIDE, max_bytes=2 * 1024 * 1024)


def own_copy(data: bytes) -> bytes:
    """Return a PNG of at most 640 pixels a side that holds just the picture. Raises INVALID on `logo`."""
    return decode(data, RULES, "logo")


R = TypeVar("R")
_MOST_LOGOS = 10
_TRIES = 50  # more than one account can have at once


def fields_of(context: RequestContext, body: CodeChange) -> dict[str, Any]:
    """Return the fields that the body contains, with the logo as our own copy. Raises INVALID on `logo`.

    A logo is fetched once for a request, however many codes have it.
    """
    fields = body.sent()
    source = fields.get("logo")
    if source is not None:
        refusal = invalid("logo", f"logo: one request can have at most {_MOST_LOGOS} different ones.")
        fields["logo"] = context.budget.load_once(
            "logo",
            source,
            lambda: own_copy(picture_fetch.load(context, source, RULES)),
            most=_MOST_LOGOS,
            refusal=refusal,
        )
    return fields


def add(context: RequestContext, body: NewCode) -> int:
    """Save a new code, proven; return its id. Raises INVALID, TAKEN."""
    new = proven(context, body)
    return context.write(lambda tx: ops.add(tx, context.account, new))


def proven(context: RequestContext, body: NewCode) -> Draft:
    """A new code, proven and not saved. Raises INVALID."""
    new = draft(context, body)
    context.budget.draw_code()
    prove(new)
    return new


def change(context: RequestContext, code: int, draft: Callable[[Connection], Draft], response: R) -> Change[R]:
    """Return the change of a code to what `draft` makes of it, proven. Raises INVALID, NOT_FOUND."""
    return _ProvenChange(context, code, draft, response)


class _ProvenChange(Change[R]):
    """The change of a code whose new picture is proven before the transaction.

    A concurrent change makes another attempt necessary. Of concurrent changes one succeeds in each round.
    """

    def __init__(self, context: RequestContext, code: int, draft: Callable[[Connection], Draft], response: R) -> None:
        super().__init__(self._change, lambda _: response)
        self._context = context
        self._code = code
        self._draft = draft
        self._drawing: object = None
        self._prove()

    def run(self, commit: Callable[[], R]) -> R:
        for _ in range(_TRIES):
            with suppress(_Changed):
                return commit()
            self._prove()
        raise _Changed

    def _prove(self) -> None:
        """Read the code again, and prove its picture if it has become another one."""
        self._new = self._context.read(self._draft)
        drawing = (self._new.text, self._new.style, self._new.logo)
        if drawing != self._drawing:
            self._context.budget.draw_code()
            prove(self._new)
            self._drawing = drawing

    def _change(self, tx: Connection) -> None:
        if not ops.change(tx, self._context.account, self._code, self._new):
            raise _Changed


class _Changed(Problem):
    """The code was changed since it was read."""

    def __init__(self) -> None:
        message = "This QR code is being changed by other requests. Please try again."
        super().__init__(Kind.UNAVAILABLE, message, retry_after=1)


def draft(context: RequestContext, body: NewCode) -> Draft:
    """A new code, not proven and not saved."""
    fields = fields_of(context, body)
    # Each statement may see a state of its own: the alias is claimed when the code is saved.
    return context.read(lambda tx: ops.draft(tx, settings=context.settings, **fields), autocommit=True)


def prove(new: Draft) -> Drawing:
    """The drawing, read back. Raises INVALID on what has to change (decision 33)."""
    drawing = design(new.text, new.style, new.logo)
    render.must_scan(drawing, new.text)
    return drawing
