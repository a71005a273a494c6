"""What a link would answer to a visitor who is only imagined: decided as a visit is, and nothing is counted."""

from sqlalchemy import Connection

from waypost import clock
from waypost.clicks.geo.countries import NAMES
from waypost.urls import blocklist
from waypost.visits.decide import Facts, Redirect, Refusal, decide, used_up
from waypost.visits.lookup import find_link
from waypost.visits.visit import is_blocked, is_left


def trial(
    tx: Connection, account: int, link: int, *, country: str, os: str, device: str, language: str
) -> tuple[str, str]:
    """Why there is nothing to see ("" when there is), and where the visitor is led ("" for nowhere).

    `country` is a code, `os` and `device` are named as the classifier names them. A password counts as given; that
    there is one is said by `locked` beside the address.
    """
    target = find_link(tx, account, link)
    if target is None:
        return "missing", ""
    name = NAMES.get(country, "")
    known = {"country": name, "country_code": country if name else "", "os": os, "device": device}
    facts = Facts(now=clock.now(), unlocked=True, language=language, **known)
    answer = decide(target, facts)
    if isinstance(answer, Redirect) and answer.counts and not is_left(tx, account, target.id):
        answer = used_up(target)
    if is_blocked(blocklist.read(tx), target, answer, facts):
        answer = Refusal("blocked")
    if isinstance(answer, Refusal):
        return answer.why, ""
    if not answer.counts:
        return "gone", answer.url
    return ("locked" if target.password is not None else ""), answer.url
