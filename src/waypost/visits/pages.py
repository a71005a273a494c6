"""What visitors see that is not the target: pages for browsers, JSON for everything else."""

from typing import NamedTuple
from urllib.parse import quote

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from waypost import clock
from waypost.files import kinds
from waypost.metrics import Meter
from waypost.visits.asked import URL_SAFE
from waypost.visits.decide import Why

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
    status: int
    title: str
    text: str


_REFUSALS: dict[Why, _Words] = {
    "missing": _Words(404, "Nothing here", "This short link does not exist. Please check the address."),
    "disabled": _Words(403, "Switched off", "The owner of this {thing} has switched it off."),
    "blocked": _Words(403, "Blocked", "The operator of this service has blocked what this {thing} leads to."),
    "gone": _Words(410, "No longer available", "This {thing} has expired or was used up."),
    "locked": _Words(401, "Password needed", "This {thing} is protected by a password."),
    "guessing": _Words(429, "Too many tries", "Too many wrong passwords. Please wait a minute and try again."),
    "flood": _Words(429, "Too much at once", "Too much was sent from here. Please wait a minute and try again."),
    "unclear": _Words(400, "Something is missing", "Please go back and fill in what is asked for."),
}


class Pages:
    """Draws the pages of `templates/`."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._templates = Environment(loader=PackageLoader("waypost.visits"), autoescape=True)

    def draw(self, template: str, **values: object) -> str:
        """A template, filled in."""
        return self._templates.get_template(template).render(values)

    def page(self, template: str, *, status: int = 200, **values: object) -> Response:
        """A whole page."""
        return HTMLResponse(self.draw(template, **values), status, headers=PAGE)

    def refuse(self, request: Request, why: Why, *, thing: str = "short link", wrong: bool = False) -> Response:
        """Why there is nothing to see; with a form for the password, and whether one was wrong (decision 49)."""
        words = _REFUSALS[why]._replace(text=_REFUSALS[why].text.format(thing=thing))
        self._meter.count("refusals", why)
        headers = {"Retry-After": "60"} if why in ("guessing", "flood") else {}
        if not wants_page(request):
            if why == "locked":
                headers["WWW-Authenticate"] = f'Basic realm="protected {thing.rpartition(" ")[2]}", charset="UTF-8"'
            body = {"error": 1, "message": words.text, "code": why}
            return JSONResponse(body, words.status, headers={**NO_STORE, **headers})
        page = self.page("refusal.html", status=words.status, words=words, why=why, wrong=wrong)
        page.headers.update(headers)
        return page


def file_facts(size: int, mime: str, sha256: bytes, expiry: int | None, left: int | None) -> dict[str, str]:
    """What the page of a file says about it, in words; "" for what there is nothing to say about."""
    until = "" if expiry is None else f"{clock.text(expiry)[:16]} UTC"
    downloads = {None: "", 1: "1 download left"}.get(left, f"{left} downloads left")
    return {
        "size": kinds.size(size),
        "kind": kinds.words(mime),
        "until": until,
        "left": downloads,
        "sha256": sha256.hex(),
    }


def wants_page(request: Request) -> bool:
    """Whether a person looks at the answer in a browser."""
    return "text/html" in request.headers.get("accept", "")


def redirect(url: str, *, status: int = 302) -> Response:
    """Decision 46. What is not ASCII goes percent-encoded, so a header can hold it and nothing can break out of it."""
    return Response(status_code=status, headers={"Location": quote(url, safe=URL_SAFE), **NO_STORE})
