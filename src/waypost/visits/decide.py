"""What a visitor gets: decided once, from facts alone, without a database or a clock (decisions 46, 47, 49)."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode, urlsplit

from waypost.visits.lookup import LinkView

Why = Literal["missing", "disabled", "gone", "locked", "guessing", "blocked", "flood", "unclear"]
_WEB = ("http://", "https://")
# What an owner may write as a device, besides the names of systems and of kinds of device.
_DEVICES = {"iphone": ("ios", "mobile"), "ipad": ("ios", "tablet"), "mac": ("macos", "desktop")}


@dataclass(frozen=True)
class Facts:
    """What is known of a visit when it is decided. `language` is the visitor's first, such as "de"."""

    now: int
    unlocked: bool = False
    country: str = ""
    country_code: str = ""
    os: str = ""
    device: str = ""
    language: str = ""
    query: str = ""


@dataclass(frozen=True)
class Redirect:
    """Send the visitor to `url`. A click of the link when `counts`, else a visit that came too late."""

    url: str
    counts: bool = True


@dataclass(frozen=True)
class Refusal:
    """Tell the visitor why there is nothing to see."""

    why: Why


Answer = Redirect | Refusal


def decide(target: LinkView, facts: Facts) -> Answer:
    """The answer to a visit. A click limit is asked later, when everything else says yes."""
    if target.status == "disabled":
        return Refusal("disabled")
    if target.expiry is not None and target.expiry < facts.now:
        return used_up(target)
    if target.password is not None and not facts.unlocked:
        return Refusal("locked")
    return Redirect(_with_query(_chosen(target, facts), target, facts.query))


def used_up(target: LinkView) -> Answer:
    """The answer of a link that is past its end."""
    return Redirect(target.expiryurl, counts=False) if target.expiryurl else Refusal("gone")


def _chosen(target: LinkView, facts: Facts) -> str:
    """Where this visitor goes: country before device before app before language before everybody."""
    here = {facts.country.casefold(), facts.country_code.casefold()} - {""}
    for element in target.geotarget:
        if element["location"].casefold() in here:
            return element["link"]
    for element in target.devicetarget:
        if _is_device(element["device"].casefold(), facts):
            return element["link"]
    store = {"ios": "apple", "android": "google"}.get(facts.os.casefold())
    if store and target.deeplink and target.deeplink.get(store):
        return target.deeplink[store]
    for element in target.languagetarget:
        if facts.language and element["language"].casefold().partition("-")[0] == facts.language:
            return element["link"]
    return target.url


def _is_device(wanted: str, facts: Facts) -> bool:
    os, device = facts.os.casefold(), facts.device.casefold()
    return _DEVICES.get(wanted) == (os, device) or wanted in (os, device)


def _with_query(url: str, target: LinkView, query: str) -> str:
    """The link's own parameters and the visitor's query at the end of a web address."""
    if not url.lower().startswith(_WEB) or not (query or target.parameters):
        return url
    own = urlencode([(element["name"], element.get("value", "")) for element in target.parameters])
    parts = urlsplit(url)
    return parts._replace(query="&".join(part for part in (parts.query, own, query) if part)).geturl()
