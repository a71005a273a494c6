"""From a body to a code: the logo fetched, the picture proven, and only then a transaction that writes."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from waypost.api.context import RequestContext
from waypost.errors import Kind, Problem, invalid
from waypost.qr import logos, ops
from waypost.qr.ops import Draft
from waypost.qr.schemas import CodeChange, NewCode
from waypost.qrcode import verify
from waypost.qrcode.render import Drawing, design
from waypost.storage.store import ObjectNotFound

_MOST_LOGOS = 10
_TRIES = 5


class Logos:
    """The logos of one request: each is fetched once, however many codes have it."""

    def __init__(self, context: RequestContext) -> None:
        self._door = context
        self._known: dict[str, bytes | Problem] = {}

    def resolved(self, body: CodeChange) -> dict[str, Any]:
        """The fields that stood in a body, with the logo as our own copy. Raises INVALID on `logo`."""
        fields = body.sent()
        response = fields.get("logo")
        if response is not None:
            fields["logo"] = self._copy(response)
        return fields

    def _copy(self, expected: str) -> bytes:
        response = self._known.get(expected)
        if response is None:
            if len(self._known) >= _MOST_LOGOS:
                raise invalid("logo", f"logo: one request can have at most {_MOST_LOGOS} different ones.")
            try:
                response = logos.own_copy(self._bytes(expected))
            except Problem as problem:
                response = problem
            self._known[expected] = response
        if isinstance(response, Problem):
            raise response
        return response

    def _bytes(self, expected: str) -> bytes:
        if logos.is_data(expected):
            return logos.from_data(expected)
        own = self._own(expected)
        if own is not None:
            return own
        if logos.is_url(expected):
            return logos.fetch(expected)
        raise invalid("logo", "logo must be an http(s) URL, a data: URL, or the short URL or alias of a file of yours.")

    def _own(self, expected: str) -> bytes | None:
        """The bytes of the account's file of that name."""
        context = self._door
        result = context.read(lambda tx: logos.own_file(tx, context.account, expected, settings=context.settings))
        if result is None:
            return None
        name, size = result
        logos.must_fit(size)
        try:
            return b"".join(context.store.load(name)[1])
        except ObjectNotFound:
            return None


def add(context: RequestContext, body: NewCode, shelf: Logos) -> ops.Code:
    """A new code, proven and saved. Raises INVALID, TAKEN."""
    new = draft(context, body, shelf)
    prove(new)
    return context.write(lambda tx: ops.add(tx, context.account, new))


def change(context: RequestContext, code: int, draft: Callable[[Connection], Draft]) -> None:
    """Change a code to what `draft` makes of it, proven. Raises INVALID, NOT_FOUND."""
    if not any(_saved(context, code, draft) for _ in range(_TRIES)):
        raise Problem(
            Kind.UNAVAILABLE, "This QR code is being changed by another request. Please try again.", retry_after=1
        )


def draft(context: RequestContext, body: NewCode, shelf: Logos) -> Draft:
    """A new code, not proven and not saved."""
    fields = shelf.resolved(body)

    def work(tx: Connection) -> Draft:
        return ops.draft(tx, settings=context.settings, **fields)

    return context.read(work)


def prove(new: Draft) -> Drawing:
    """The drawing, read back. Raises INVALID on what has to change (decision 33)."""
    drawing = design(new.text, new.style, new.logo)
    verify.must_scan(drawing, new.text)
    return drawing


def _saved(context: RequestContext, code: int, draft: Callable[[Connection], Draft]) -> bool:
    """Return whether the draft was verified and saved before another change of the code."""
    new = context.read(draft)
    prove(new)
    return context.write(lambda tx: ops.change(tx, context.account, code, new))
