"""Remove URLs that the administrator has blocked from the records of visits (decision 64).

Applied when a record is read, not at every visit: a change of the blocklist invalidates the whole cache.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from waypost.urls.blocklist import Blocklist
from waypost.visits.link_record import Interstitials, LinkView
from waypost.visits.record_queries import BioView, QrView, Resolved

_URL_FIELDS = ("url", "link", "image", "site")
"""The fields of a bio block that can hold a URL."""


def without_blocked(resolved: Resolved | None, blocklist: Blocklist) -> Resolved | None:
    """Return the record without blocked URLs on its page."""
    if isinstance(resolved, LinkView):
        return without_blocked_link(resolved, blocklist)
    if isinstance(resolved, QrView) and resolved.content and blocklist:
        return replace(resolved, is_blocked=any(map(blocklist.blocks, resolved.content.urls())))
    if isinstance(resolved, BioView) and blocklist:
        return replace(resolved, blocks=[_mark_blocked(block, blocklist) for block in resolved.blocks])
    return resolved


def without_blocked_link(link: LinkView, blocklist: Blocklist) -> LinkView:
    """Return the link without blocked URLs on its interstitials. Every visit checks the destination itself."""
    if not (link.interstitials and blocklist):
        return link
    return link._replace(interstitials=_filter(link.interstitials, blocklist))


def _mark_blocked(block: Mapping[str, Any], blocklist: Blocklist) -> Mapping[str, Any]:
    """Mark a block that contains a blocked URL. Pages omit it, and its own URL shows the reason."""
    is_blocked = any(blocklist.blocks(str(block[name])) for name in _URL_FIELDS if block.get(name))
    return {**block, "blocked": True} if is_blocked else block


def _filter(interstitials: Interstitials, blocklist: Blocklist) -> Interstitials:
    def allowed(url: str) -> str:
        return "" if blocklist.blocks(url) else url

    card, splash, overlay = interstitials.card, interstitials.splash, interstitials.overlay
    if splash is not None:
        splash = replace(splash, link=allowed(splash.link), banner=allowed(splash.banner), logo=allowed(splash.logo))
    return replace(
        interstitials,
        card=replace(card, image=allowed(card.image)) if card else None,
        splash=splash,
        overlay=replace(overlay, link=allowed(overlay.link), image=allowed(overlay.image)) if overlay else None,
    )
