"""Forms that are sent without a valid session: the user signs in and gets them again, with the fields that were typed.

They are shown with `SIGNED_IN_AGAIN` and never run, so that another site that made one changes nothing.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

from starlette.requests import Request

from waypost.dashboard.list_position import safe_redirect_path
from waypost.http import csrf

SIGNED_IN_AGAIN = "You signed in after this page was opened, so nothing is saved yet. Check the form and save it."
_MAX_BYTES = 12 * 1024  # the form for the password contains the fields, and is a small one


def is_own_form(request: Request) -> bool:
    """Return whether a page of this service sent the form, as the browser says."""
    host = urlsplit(request.headers.get("origin", "")).netloc
    return bool(host) and host == request.headers.get("host")


def keep(request: Request, fields: Mapping[str, Sequence[str]]) -> str:
    """Return the fields of a form as text for the sign-in page; "" if there are none, or they cannot be kept."""
    path = path_of(request)
    if not is_own_form(request) or safe_redirect_path(path) != path:
        return ""
    kept = urlencode([(name, value) for name, values in fields.items() if name != csrf.FIELD for value in values])
    return kept if len(quote_plus(kept)) <= _MAX_BYTES else ""


def restore(kept: str) -> Sequence[tuple[str, str]]:
    """Return (name, value) of each field that `keep` returned."""
    return parse_qsl(kept, keep_blank_values=True)


def path_of(request: Request) -> str:
    """Return the path of a request with its query."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
