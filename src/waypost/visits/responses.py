"""What visitors see that is not the target: pages for browsers, JSON for everything else."""

from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from waypost import clock
from waypost.http import media_types
from waypost.observability.metrics import Meter
from waypost.visits import i18n
from waypost.visits.decide import Why
from waypost.visits.i18n import text
from waypost.visits.request import URL_SAFE

NO_STORE = {"Cache-Control": "private, no-store"}
PAGE = {
    **NO_STORE,
    # Without form-action: browsers hold it against the redirect too that answers the right password.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""The headers of a page of ours: nothing foreign is loaded, nothing runs, nobody frames it."""


class _Words(NamedTuple):
    """What a refusal says: `text`, or for some things a sentence of their own."""

    status: int
    title: str
    text: str
    of_a_file: str = ""


Failure = Literal["method", "broken", "away", "full"]
_REFUSALS: dict[Why | Failure, _Words] = {
    "missing": _Words(404, text("Nothing here"), text("This short link does not exist. Please check the address.")),
    "disabled": _Words(
        403,
        text("Switched off"),
        text("The owner of this short link has switched it off."),
        text("The owner of this file has switched it off."),
    ),
    "blocked": _Words(
        403, text("Blocked"), text("The operator of this service has blocked what this address leads to.")
    ),
    "gone": _Words(
        410,
        text("No longer available"),
        text("This short link has expired or was used up."),
        text("This file has expired or was used up."),
    ),
    "locked": _Words(
        401,
        text("Password needed"),
        text("This short link is protected by a password."),
        text("This file is protected by a password."),
    ),
    "guessing": _Words(
        429, text("Too many tries"), text("Too many wrong passwords. Please wait a minute and try again.")
    ),
    "flood": _Words(
        429, text("Too much at once"), text("Too much was sent from here. Please wait a minute and try again.")
    ),
    "unclear": _Words(400, text("Something is missing"), text("Please go back and fill in what is asked for.")),
    "method": _Words(405, text("That does not work here"), text("This address can only be opened.")),
    "broken": _Words(500, text("Something went wrong"), text("That was our fault. Please try again later.")),
    "away": _Words(503, text("Back in a moment"), text("This service is busy right now. Please try again.")),
    "full": _Words(507, text("Something went wrong"), text("This service is out of room. Please try again later.")),
}
_WAITS = {"guessing": 60, "flood": 60, "away": 5, "full": 60}  # seconds


class PageRenderer:
    """Draws the pages of `templates/`, in the visitor's language."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def draw(self, template: str, *, language: str = i18n.SOURCE, **values: object) -> str:
        """A template, filled in."""
        return _environment(language).get_template(template).render(values, language=language)

    def page(
        self,
        template: str,
        *,
        request: Request,
        status: int = 200,
        headers: Mapping[str, str] = PAGE,
        **values: object,
    ) -> Response:
        """A whole page."""
        language = _language(request)
        told = {**headers, "Content-Language": language, "Vary": "Accept, Accept-Language"}
        return HTMLResponse(self.draw(template, language=language, **values), status, headers=told)

    def say(self, request: Request, message: str) -> str:
        """A text in the visitor's language."""
        return i18n.catalogue(_language(request)).gettext(message)

    def refuse(self, request: Request, why: Why, *, thing: str = "short link", wrong: bool = False) -> Response:
        """Why there is nothing to see; with a form for the password, and whether one was wrong (decision 49)."""
        self._meter.count("refusals", why)
        headers = {}
        if why == "locked" and not wants_page(request):
            headers["WWW-Authenticate"] = f'Basic realm="protected {thing.rpartition(" ")[2]}", charset="UTF-8"'
        return self._say_no(request, why, code=why, thing=thing, wrong=wrong, headers=headers)

    def fail(self, request: Request, why: Failure, *, code: str, wait: int | None = None) -> Response:
        """What went wrong with the service or the request, without any detail of it."""
        headers = {"Retry-After": str(wait)} if wait else {}
        return self._say_no(request, why, code=code, headers=headers)

    def _say_no(
        self,
        request: Request,
        why: Why | Failure,
        *,
        code: str,
        headers: dict[str, str],
        thing: str = "",
        wrong: bool = False,
    ) -> Response:
        words = _REFUSALS[why]
        message = (words.of_a_file if thing == "file" else "") or words.text
        if why in _WAITS:
            headers = {"Retry-After": str(_WAITS[why]), **headers}
        if not wants_page(request):
            body = {"error": 1, "message": message, "code": code}
            return JSONResponse(body, words.status, headers={**NO_STORE, **headers})
        page = self.page(
            "refusal.html", request=request, status=words.status, words=words, message=message, why=why, wrong=wrong
        )
        page.headers.update(headers)
        return page


@cache
def _environment(language: str) -> Environment:
    """The templates in one of LANGUAGES, compiled as they are needed, once for a process."""
    catalogue = i18n.catalogue(language)
    environment = Environment(
        loader=PackageLoader("waypost.visits"),
        autoescape=True,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        auto_reload=False,  # or every page would ask the disk whether its templates are still the same
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # by the extension
        catalogue.gettext, catalogue.ngettext, newstyle=True
    )
    return environment


def _language(request: Request) -> str:
    return i18n.chosen(request.headers.get("accept-language", ""))


def file_facts(size: int, mime: str, sha256: bytes, expiry: int | None, left: int | None) -> dict[str, object]:
    """What the page of a file says about it; "" or None for what there is nothing to say about."""
    until = "" if expiry is None else f"{clock.text(expiry)[:16]} UTC"
    return {
        "size": media_types.size(size),
        "kind": media_types.words(mime),
        "until": until,
        "left": left,
        "sha256": sha256.hex(),
    }


def wants_page(request: Request) -> bool:
    """Whether a person looks at the answer in a browser."""
    return "text/html" in request.headers.get("accept", "")


def redirect(url: str, *, status: int = 302) -> Response:
    """Decision 46. What is not ASCII goes percent-encoded, so a header can hold it and nothing can break out of it."""
    return Response(status_code=status, headers={"Location": quote(url, safe=URL_SAFE), **NO_STORE})
