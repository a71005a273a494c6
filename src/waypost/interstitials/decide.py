"""Which page a visitor meets on the way to a target: decided from facts alone, after the visit itself was."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from waypost.visits.interstitials import Interstitials, Pixel

Kind = Literal["straight", "card", "splash", "overlay", "frame", "pixels"]
Consent = Literal["", "yes", "no"]
_LEADS_AWAY = ("http://", "https://")


@dataclass(frozen=True)
class ClientTraits:
    """How a visitor came. `agent` is a kind of the classifier; `consent` what they said of these pixels."""

    agent: str
    wants_page: bool
    is_private: bool = False
    """They ask not to be tracked (DNT, Global Privacy Control)."""
    consent: Consent = ""


@dataclass(frozen=True)
class Decision:
    """A page, the pixels that may run on it, and whether the visitor is asked before they do."""

    kind: Kind
    pixels: Sequence[Pixel] = ()
    asks: bool = False


NO_INTERSTITIAL = Decision("straight")


def choose_interstitial(way: Interstitials | None, url: str, manner: ClientTraits, *, asks: bool) -> Decision:
    """What stands between this visitor and `url`. `asks`: this installation wants consent before any pixel."""
    if way is None:
        return NO_INTERSTITIAL
    if manner.agent == "preview" and way.card is not None:
        return Decision("card")
    # Programs and crawlers want the target. No page of ours helps them, and no pixel should count them.
    if manner.agent not in ("human", "tool") or not manner.wants_page:
        return NO_INTERSTITIAL
    pixels = () if manner.is_private or (asks and manner.consent == "no") else way.pixels
    kind = _kind(way, url, pixels)
    return (
        NO_INTERSTITIAL
        if kind == "straight"
        else Decision(kind, pixels, bool(pixels) and asks and manner.consent != "yes")
    )


def _kind(way: Interstitials, url: str, pixels: Sequence[Pixel]) -> Kind:
    if way.splash is not None:
        return "splash"
    if way.overlay is not None:
        return "overlay"
    if way.framed and url.lower().startswith(_LEADS_AWAY):
        return "frame"
    return "pixels" if pixels else "straight"


def purpose(pixels: Sequence[Pixel]) -> str:
    """What a consent was given to: another set of providers is asked for again."""
    return hashlib.sha256(" ".join(sorted({pixel.type for pixel in pixels})).encode()).hexdigest()[:8]


def consent(cookie: str, pixels: Sequence[Pixel]) -> Consent:
    """What a visitor said before, if it was about these pixels."""
    said, _, of = cookie.partition(".")
    if of != purpose(pixels):
        return ""
    return "yes" if said == "yes" else "no" if said == "no" else ""
