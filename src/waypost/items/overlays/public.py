"""Forms of overlays: visitors send a message, subscribe with an e-mail address, or vote.

There is no CSRF risk: no cookie gives the request any rights. A form token proves that a page of ours contained the
form.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import email_validator
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.core import clock
from waypost.core.uris import MAX_LOCATION
from waypost.http.client_ip import client_ip, network_of
from waypost.interstitials import csp, render
from waypost.items.overlays import submissions
from waypost.items.overlays.submissions import Answers
from waypost.visits.decide import RefusalReason
from waypost.visits.i18n import translatable
from waypost.visits.link_record import OVERLAYS_WITH_FORM, Overlay, find_overlay
from waypost.visits.request import read_body
from waypost.visits.responses import NO_STORE, wants_json
from waypost.visits.visitor_services import Services

# A message of percent-encoded characters of up to 12 bytes, a URI whose percent signs are encoded, and names.
_MAX_BODY_BYTES = 12 * 5000 + 3 * MAX_LOCATION + 8192
_MAX_FIELDS = 20
_NUMBER = re.compile(r"[0-9]{1,15}\Z")
_MAX_NAME, _MAX_MESSAGE = 255, 5000


class _Fault(NamedTuple):
    """The error of a field."""

    field: str
    message: str


_NO_CHOICE = _Fault("choice", translatable("Please select an option."))
_BAD_NAME = _Fault(
    "name", translatable("Your name must be one line of at most 255 characters, without control characters.")
)
_BAD_EMAIL = _Fault("email", translatable("Your e-mail must be a valid address."))
_NUL_IN_MESSAGE = _Fault("message", translatable("Your message must not contain NUL characters."))
_BAD_MESSAGE = _Fault("message", translatable("Your message must have 1 to 5000 characters."))


class PollResult(NamedTuple):
    """An option of a poll and its share of the votes, in per cent."""

    choice: str
    percent: int


@dataclass(frozen=True)
class _SubmittedForm:
    """A form with a valid token. `url` is the visitor's destination; `link` is 0 for the form on a bio page."""

    overlay: Overlay
    link: int
    url: str
    fields: Mapping[str, str]


async def submit_form(request: Request, services: Services) -> Response:
    """`POST /overlay/<overlay>`: store a submission, thank the visitor, and link to the destination.

    A page on a host with the dashboard has no origin (decision 72), so its script may read the response.
    """
    response = await _respond(request, services)
    if request.headers.get("origin") == "null":
        response.headers["Access-Control-Allow-Origin"] = "null"
        response.headers.add_vary_header("Origin")
    return response


async def _respond(request: Request, services: Services) -> Response:
    form = await _read_form(request, services)
    if form is None:
        return services.pages.refuse(request, "missing")
    if (await services.visits.blocklist()).blocks(form.url):
        return services.pages.refuse(request, "blocked")
    # A hidden field that only bots fill in. They get the same response, so that they do not learn about it.
    if form.fields.get("website"):
        return await _thank_you(request, services, form)
    answers = _parse_answers(form.overlay, form.fields)
    if isinstance(answers, _Fault):
        detail = services.pages.translate(request, answers.message)
        return services.pages.refuse(request, "unclear", field=answers.field, detail=detail)
    reason = await _submit(request, services, form, answers)
    return services.pages.refuse(request, reason) if reason else await _thank_you(request, services, form)


async def _read_form(request: Request, services: Services) -> _SubmittedForm | None:
    """Return the form if its token is valid."""
    fields = await _read_fields(request)
    overlay_id, link, url = request.path_params["overlay"], fields.get("link", ""), fields.get("url", "")
    if not (_NUMBER.match(overlay_id) and _NUMBER.match(link)):
        return None
    signer = await services.signer.get()
    token = fields.get("ticket", "")
    if not render.verify_form_token(signer, token, overlay=int(overlay_id), link=int(link), url=url):
        return None
    overlay = await services.read(lambda tx: find_overlay(tx, int(overlay_id)))
    if overlay is None or overlay.type not in OVERLAYS_WITH_FORM:
        return None
    return _SubmittedForm(overlay, int(link), url, fields)


async def _submit(request: Request, services: Services, form: _SubmittedForm, answers: Answers) -> RefusalReason | None:
    """Store a submission and its messages within the rate limits. Return why it was refused, if so."""
    overlay = form.overlay
    network = network_of(client_ip(request.scope, services.settings.proxies))
    if await services.visits.is_rate_limited("overlay form", subject=f"overlay {overlay.id}", network=network):
        return "flood"
    source = {
        "overlay": overlay.id,
        "type": overlay.type,
        "link": form.link or None,
        "date": clock.text(clock.now()),
    }

    def work(tx: Connection) -> int | None:
        submission = submissions.add(tx, overlay.account, overlay.id, answers, link=form.link)
        if submission is not None:
            services.enqueue_submission(tx, overlay.account, overlay.id, submission, {**source, **asdict(answers)})
        return submission

    return "flood" if await services.change(work) is None else None


async def _thank_you(request: Request, services: Services, form: _SubmittedForm) -> Response:
    """Return the response to a submission; to a vote, with the result of the poll."""
    pages, overlay = services.pages, form.overlay
    results: list[PollResult] = []
    if overlay.type == "poll":
        votes = await services.read(lambda tx: submissions.count_votes(tx, overlay.account, overlay.id))
        results = poll_results(overlay.options, votes)
    message = overlay.thanks or pages.translate(request, translatable("Your response has been sent."))
    if wants_json(request):
        body: dict[str, Any] = {"error": 0, "message": message}
        if results:
            body["results"] = [result._asdict() for result in results]
        return JSONResponse(body, headers=NO_STORE)
    title = pages.translate(request, translatable("Thank you"))
    context: dict[str, Any] = {"title": title, "message": message, "url": form.url, "results": results}
    return pages.page("overlay_thanks.html", request=request, headers=csp.headers(), **context)


def poll_results(options: Sequence[str], votes: Mapping[str, int]) -> list[PollResult]:
    """Return the share of each option of a poll, in the order of the options. Votes for former options do not count."""
    total = sum(votes.get(option, 0) for option in options)
    return [PollResult(option, round(100 * votes.get(option, 0) / total) if total else 0) for option in options]


def _parse_answers(overlay: Overlay, fields: Mapping[str, str]) -> Answers | _Fault:
    """Return the answers that the overlay's type asks for, or the first field that is missing or invalid."""
    if overlay.type == "poll":
        choice = fields.get("choice", "")
        return Answers(choice=choice) if choice in overlay.options else _NO_CHOICE
    name, message = fields.get("name", "").strip(), fields.get("message", "").strip()
    if overlay.type == "contact" and (len(name) > _MAX_NAME or not name.isprintable()):
        return _BAD_NAME
    try:
        email = email_validator.validate_email(fields.get("email", "").strip(), check_deliverability=False).normalized
    except email_validator.EmailNotValidError:
        return _BAD_EMAIL
    if overlay.type == "newsletter":
        return Answers(email=email)
    if "\0" in message:
        return _NUL_IN_MESSAGE
    return Answers(name=name, email=email, message=message) if 0 < len(message) <= _MAX_MESSAGE else _BAD_MESSAGE


async def _read_fields(request: Request) -> dict[str, str]:
    """Return the form's fields, the first of each name; none if the body is too large."""
    body = await read_body(request, max_bytes=_MAX_BODY_BYTES) or b""
    try:
        fields = parse_qs(body.decode("ascii"), errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        return {}
    return {name: values[0].replace("\r\n", "\n") for name, values in fields.items()}
