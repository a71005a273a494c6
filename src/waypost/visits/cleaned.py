"""What an alias leads to without what the operator has blocked since: buttons, pictures, blocks (decision 54). Pure.

Done when something is read, so that a visit of what is remembered costs nothing: a change to the list forgets it all.
"""

from dataclasses import replace

from waypost.bios import blocks
from waypost.net.blocked import Blocked
from waypost.visits.find import Bio, Found, Target
from waypost.visits.ways import Way


def cleaned(found: Found | None, forbidden: Blocked) -> Found | None:
    """The same with nothing blocked on its page."""
    if isinstance(found, Target):
        return cleaned_link(found, forbidden)
    if isinstance(found, Bio) and forbidden:
        return replace(found, blocks=[_block(block, forbidden) for block in found.blocks])
    return found


def cleaned_link(target: Target, forbidden: Blocked) -> Target:
    """A link with nothing blocked on its way. Whether its target itself is blocked is decided at every visit."""
    return replace(target, way=_way(target.way, forbidden)) if target.way and forbidden else target


def _block(block: blocks.Block, forbidden: Blocked) -> blocks.Block:
    """Marked when it shows or leads to something blocked: no page has it, and its address says why."""
    return {**block, "blocked": True} if any(forbidden.has(url) for url in blocks.urls(block)) else block


def _way(way: Way, forbidden: Blocked) -> Way:
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
