"""Decide the outcome of a visit to a link (decisions 46, 47, 49).

`decide` is a pure function of the facts that `facts_of` reads from the request; `is_blocked` is that of the blocklist.
"""

from typing import Literal, NamedTuple, get_args
from urllib.parse import urlencode

from waypost.clicks.classify import classifier, language_ranges
from waypost.clicks.geo.countries import code_of, name_of
from waypost.clicks.geo.lookup import Countries
from waypost.core import clock
from waypost.core.uris import MAX_LOCATION, exceeds
from waypost.urls.blocklist import Blocklist
from waypost.urls.url_parts import with_queries
from waypost.visits.link_record import LinkView
from waypost.visits.request import VisitRequest

ExpiryReason = Literal["expired", "limit", "gone"]
"""Why an item is no longer available: its date, its limit, or one of them."""
RefusalReason = (
    ExpiryReason | Literal["missing", "disabled", "locked", "guessing", "blocked", "flood", "unclear", "too_long"]
)
EXPIRY_REASONS: tuple[RefusalReason, ...] = get_args(ExpiryReason)
_WEB = ("http://", "https://")
# Device names that an owner can use in addition to operating systems and device types.
_DEVICES = {"iphone": ("ios", "mobile"), "ipad": ("ios", "tablet"), "mac": ("macos", "desktop")}


class Facts(NamedTuple):
    """Input of the decision. `now` is in seconds; `language` is a value of Accept-Language: "de-CH,de;q=0.9"."""

    now: int
    unlocked: bool = False
    country: str = ""
    country_code: str = ""
    os: str = ""
    device: str = ""
    language: str = ""
    query: str = ""


class Redirect(NamedTuple):
    """Send the visitor to `url`. `is_click`: counts as a click; not so for a link that has expired."""

    url: str
    is_click: bool = True


class Refusal(NamedTuple):
    """Show an error page."""

    reason: RefusalReason


Decision = Redirect | Refusal


def decide(link: LinkView, facts: Facts) -> Decision:
    """Return the outcome of a visit. The caller checks the click limit after that."""
    if link.status == "disabled":
        return Refusal("disabled")
    if link.expiry is not None and link.expiry < facts.now:
        return expired_outcome(link, "expired")
    if link.password is not None and not facts.unlocked:
        return Refusal("locked")
    query = "" if link.dropquery else facts.query
    return _redirect(_with_query(_select_destination(link, facts), link, query))


def facts_of(link: LinkView, visit: VisitRequest, countries: Countries, *, unlocked: bool = False) -> Facts:
    """Return the facts for the decision. Only those that the rules of the link need are looked up."""
    country = os = device = language = ""
    if link.geotarget:
        code = visit.country_code.decode("latin-1")
        country = name_of(code) if code else countries.country(visit.client_ip)
    if link.devicetarget or link.deeplink:
        agent = classifier.agent(visit.agent_text)
        os, device = agent.os, agent.device
    if link.languagetarget:
        language = visit.accept_language.decode("latin-1")
    country_code = code_of(country) if country else ""
    return Facts(clock.now(), unlocked, country, country_code, os, device, language, visit.query)


def is_blocked(blocked: Blocklist, link: LinkView, outcome: Decision, facts: Facts) -> bool:
    """Return whether the administrator has blocked the destination. The visitor's query does not matter."""
    if not isinstance(outcome, Redirect) or blocked.is_empty:
        return False
    if outcome.is_click and facts.query:
        outcome = decide(link, facts._replace(query=""))
    return isinstance(outcome, Redirect) and blocked.blocks(outcome.url)


def expired_outcome(link: LinkView, reason: ExpiryReason) -> Decision:
    """Return the outcome of a link that has expired or reached its click limit."""
    return _redirect(link.expiryurl, is_click=False) if link.expiryurl else Refusal(reason)


def public_code(reason: RefusalReason) -> RefusalReason:
    """Return the code of a refusal for programs and metrics, which is the same for all that is no longer available."""
    return "gone" if reason in EXPIRY_REASONS else reason


def _redirect(url: str, *, is_click: bool = True) -> Decision:
    """Return a redirect, unless proxies would reject its `Location`: such a visit reaches nothing and is no click."""
    return Refusal("too_long") if exceeds(url, MAX_LOCATION) else Redirect(url, is_click)


def _select_destination(link: LinkView, facts: Facts) -> str:
    """Return this visitor's destination. Order of precedence: country, device, app, language, default."""
    countries = {facts.country.casefold(), facts.country_code.casefold()} - {""}
    for rule in link.geotarget:
        if rule["location"].casefold() in countries:
            return rule["link"]
    for rule in link.devicetarget:
        if _is_device(rule["device"].casefold(), facts):
            return rule["link"]
    store = {"ios": "apple", "android": "google"}.get(facts.os.casefold())
    if store and link.deeplink and link.deeplink.get(store):
        return link.deeplink[store]
    if facts.language and link.languagetarget:
        number = language_ranges.best_rule([rule["language"] for rule in link.languagetarget], facts.language)
        if number is not None:
            return link.languagetarget[number]["link"]
    return link.url


def _is_device(name: str, facts: Facts) -> bool:
    os, device = facts.os.casefold(), facts.device.casefold()
    return _DEVICES.get(name) == (os, device) or name in (os, device)


def _with_query(url: str, link: LinkView, query: str) -> str:
    """Add the link's own parameters and the visitor's query to a web URL. Newer ones replace those of the same name."""
    if not url.lower().startswith(_WEB) or not (query or link.parameters):
        return url
    parameters = urlencode([(parameter["name"], parameter.get("value", "")) for parameter in link.parameters])
    return with_queries(url, parameters, query)
