"""Decide which interstitial a visitor gets: a pure function, called after the outcome of the visit is known."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from waypost.visits.link_record import Interstitials, Pixel
from waypost.visits.responses import WEB_SCHEMES

Kind = Literal["none", "card", "splash", "overlay", "frame", "pixels"]
Consent = Literal["", "yes", "no"]


@dataclass(frozen=True)
class ClientTraits:
    """Facts that the decision depends on. `agent` is a kind of the classifier; `consent` was given to these pixels."""

    agent: str
    is_browser: bool
    is_private: bool = False
    """The client asks not to be tracked (Do Not Track, Global Privacy Control)."""
    consent: Consent = ""


@dataclass(frozen=True)
class InterstitialChoice:
    """A page, the pixels that may run on it, and whether it asks for consent first."""

    kind: Kind
    pixels: Sequence[Pixel] = ()
    asks_consent: bool = False


NO_INTERSTITIAL = InterstitialChoice("none")


def choose_interstitial(
    interstitials: Interstitials | None, url: str, client: ClientTraits, *, needs_consent: bool
) -> InterstitialChoice:
    """Return the page between this visitor and `url`. `needs_consent`: pixels need the visitor's consent."""
    if interstitials is None:
        return NO_INTERSTITIAL
    if client.agent == "preview" and interstitials.card is not None:
        return InterstitialChoice("card")
    # Programs and crawlers are redirected: a page does not help them, and pixels must not count them.
    if client.agent not in ("human", "tool") or not client.is_browser:
        return NO_INTERSTITIAL
    is_declined = client.is_private or (needs_consent and client.consent == "no")
    pixels = () if is_declined else interstitials.pixels
    kind = _kind(interstitials, url, pixels)
    if kind == "none":
        return NO_INTERSTITIAL
    return InterstitialChoice(kind, pixels, bool(pixels) and needs_consent and client.consent != "yes")


def _kind(interstitials: Interstitials, url: str, pixels: Sequence[Pixel]) -> Kind:
    if interstitials.splash is not None:
        return "splash"
    if interstitials.overlay is not None:
        return "overlay"
    if interstitials.framed and url.lower().startswith(WEB_SCHEMES):
        return "frame"
    return "pixels" if pixels else "none"


def consent_scope(pixels: Sequence[Pixel]) -> str:
    """Return a hash of the pixels' providers. Consent for one set of providers does not apply to another."""
    return hashlib.sha256(" ".join(sorted({pixel.type for pixel in pixels})).encode()).hexdigest()[:8]


def parse_consent(cookie: str, pixels: Sequence[Pixel]) -> Consent:
    """Return the consent in a cookie, if it was given for these pixels."""
    value, _, scope = cookie.partition(".")
    if scope != consent_scope(pixels):
        return ""
    return "yes" if value == "yes" else "no" if value == "no" else ""
