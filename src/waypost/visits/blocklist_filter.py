"""What an alias leads to without what the operator has blocked since: buttons, pictures, blocks (decision 54). Pure.

Done when something is read, so that a visit of what is remembered costs nothing: a change to the list forgets it all.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from waypost.urls.blocklist import Blocklist
from waypost.visits.interstitials import Interstitials
from waypost.visits.lookup import BioView, LinkView, Resolved

_URL_FIELDS = ("url", "link", "image", "site")
"""The fields of a block of a bio page that can hold a URL."""


def cleaned(found: Resolved | None, forbidden: Blocklist) -> Resolved | None:
    """The same with nothing blocked on its page."""
    if isinstance(found, LinkView):
        return cleaned_link(found, forbidden)
    if isinstance(found, BioView) and forbidden:
        return replace(found, blocks=[_block(block, forbidden) for block in found.blocks])
    return found


def cleaned_link(target: LinkView, forbidden: Blocklist) -> LinkView:
    """A link with nothing blocked on its way. Whether its target itself is blocked is decided at every visit."""
    return (
        replace(target, interstitials=_way(target.interstitials, forbidden))
        if target.interstitials and forbidden
        else target
    )


def _block(block: Mapping[str, Any], forbidden: Blocklist) -> Mapping[str, Any]:
    """Marked when it shows or leads to something blocked: no page has it, and its address says why."""
    return (
        {**block, "blocked": True}
        if any(forbidden.has(str(block[name])) for name in _URL_FIELDS if block.get(name))
        else block
    )


def _way(way: Interstitials, forbidden: Blocklist) -> Interstitials:
    def good(url: str) -> str:
        return "" if forbidden.has(url) else url

    card, splash, overlay = way.card, way.splash, way.overlay
    if splash is not None:
        splash = replace(splash, link=good(splash.link), banner=good(splash.banner), logo=good(splash.logo))
    return replace(
        way,
        card=replace(card, image=good(card.image)) if card else None,
        splash=splash,
        overlay=replace(overlay, link=good(overlay.link), image=good(overlay.image)) if overlay else None,
    )
