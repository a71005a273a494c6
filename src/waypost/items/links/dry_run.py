"""Dry run: the outcome of a visit to a link for a given kind of visitor, without counting a click."""

from sqlalchemy import Connection

from waypost.clicks.geo.countries import NAMES
from waypost.core import clock
from waypost.urls import blocklist
from waypost.visits.click_limits import has_clicks_left
from waypost.visits.decide import Facts, Redirect, Refusal, decide, expired_outcome
from waypost.visits.link_record import find_link
from waypost.visits.visit import is_blocked


def dry_run(
    tx: Connection, account: int, link: int, *, country: str, os: str, device: str, language: str
) -> tuple[str, str]:
    """Return (reason for an error page or "", destination or "").

    `country` is a country code; `os` and `device` are names of the classifier. The password counts as entered: the
    result for a protected link is ("locked", destination).
    """
    view = find_link(tx, account, link)
    if view is None:
        return "missing", ""
    name, code = NAMES.get(country, ""), country if country in NAMES else ""
    facts = Facts(
        now=clock.now(), unlocked=True, country=name, country_code=code, os=os, device=device, language=language
    )
    outcome = decide(view, facts)
    if isinstance(outcome, Redirect) and outcome.is_click and not has_clicks_left(tx, account, view.id):
        outcome = expired_outcome(view, "limit")
    if is_blocked(blocklist.read(tx), view, outcome, facts):
        outcome = Refusal("blocked")
    if isinstance(outcome, Refusal):
        return outcome.reason, ""
    if not outcome.is_click:
        return "expired", outcome.url
    return ("locked" if view.password is not None else ""), outcome.url
