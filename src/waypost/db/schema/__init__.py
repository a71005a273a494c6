"""Every table, in one place: what waypost remembers and what the database itself guarantees.

Times are whole seconds, UTC. Column names are those of the API document. A column's default is its field's empty
value: it is what an absent field gets on creation and what `null` sets it back to (decision 4).
`created` gives the list order together with `id`; every owned table has an index on (account, id) for its list.
"""

from waypost.db.schema.accounts import accounts, api_keys, factors, installation, plans, recovery_codes, sessions
from waypost.db.schema.clicks import changes, click_labels, click_times, events, leases, salts, segments, visitors
from waypost.db.schema.columns import metadata
from waypost.db.schema.link_checks import link_checks
from waypost.db.schema.moderation import blocks, guesses, reports
from waypost.db.schema.resources import (
    aliases,
    bio_blocks,
    bios,
    campaigns,
    channel_items,
    channels,
    claims,
    domains,
    files,
    leftovers,
    link_pixels,
    links,
    overlays,
    pixels,
    qrs,
    splashes,
    submissions,
    tallies,
)
from waypost.db.schema.rotators import rotations, turns

__all__ = [
    "accounts",
    "aliases",
    "api_keys",
    "bio_blocks",
    "bios",
    "blocks",
    "campaigns",
    "changes",
    "channel_items",
    "channels",
    "claims",
    "click_labels",
    "click_times",
    "domains",
    "events",
    "factors",
    "files",
    "guesses",
    "installation",
    "leases",
    "leftovers",
    "link_checks",
    "link_pixels",
    "links",
    "metadata",
    "overlays",
    "pixels",
    "plans",
    "qrs",
    "recovery_codes",
    "reports",
    "rotations",
    "salts",
    "segments",
    "sessions",
    "splashes",
    "submissions",
    "tallies",
    "turns",
    "visitors",
]
