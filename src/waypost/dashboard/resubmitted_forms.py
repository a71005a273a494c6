"""Forms that are sent without a valid session: the user signs in and gets them again, with the fields that were typed.

They are shown with `SIGNED_IN_AGAIN` and save nothing, so that another site that made one changes nothing.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import quote_plus, urlsplit

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from waypost.dashboard.list_position import safe_redirect_path
from waypost.http import csrf

Fields = tuple[tuple[str, str], ...]
SIGNED_IN_AGAIN = "You signed in after this page was opened, so nothing is saved yet. Check the form and save it."
_MAX_BYTES = 14 * 1024  # with the path, as sent: the form for the password contains them, and is a small one
_KEPT: TypeAdapter[Fields] = TypeAdapter(Fields)


def is_own_form(request: Request, *, secure: bool) -> bool:
    """Return whether a page of this host sent the form, as the browser says; `secure`: over HTTPS.

    Ports are not compared, because some proxies leave them out of the Host header.
    """
    sent_from = request.headers.get("origin", "")
    host = _hostname(sent_from)
    return (
        bool(host)
        and host == _hostname(f"//{request.headers.get('host', '')}")
        and (not secure or sent_from.startswith("https:"))
    )


def keep(request: Request, fields: Mapping[str, Sequence[str]]) -> str:
    """Return the fields of a form as text for the sign-in page; "" if there are none, or they cannot be kept."""
    path = path_of(request)
    pairs = tuple((name, value) for name, values in fields.items() if name != csrf.FIELD for value in values)
    if not pairs or safe_redirect_path(path) != path:
        return ""
    kept = _KEPT.dump_json(pairs).decode()
    return kept if len(quote_plus(kept)) + len(quote_plus(path)) <= _MAX_BYTES else ""


def restore(kept: str) -> Fields:
    """Return (name, value) of each field that `keep` returned; nothing for any other text."""
    try:
        return _KEPT.validate_json(kept)
    except ValidationError:
        return ()


def path_of(request: Request) -> str:
    """Return the path of a request with its query."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
