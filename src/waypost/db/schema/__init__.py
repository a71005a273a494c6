"""All tables with their constraints.

Times are seconds since 1970, UTC. Columns have the names of the API's fields. A column's default is the field's empty
value: an absent field gets it on creation, and `null` resets the field to it (decision 4).
The `doc` of a column explains it in exports, which contain the columns with one.
Lists are ordered by `id`; every owned table has an index on (account, id) for its list.
"""

from waypost.db.schema.accounts import (
    account_exports,
    accounts,
    api_keys,
    idempotency_keys,
    installation,
    page_counters,
    plans,
    presets,
    recovery_codes,
    sessions,
    totp_secrets,
    trash,
)
from waypost.db.schema.audit import audit, audit_checkpoints, audit_tiles, audit_tombstones
from waypost.db.schema.clicks import (
    changes,
    click_labels,
    click_times,
    events,
    leases,
    moved_items,
    segments,
    visit_blocks,
    visitor_salts,
    visitors,
)
from waypost.db.schema.columns import metadata
from waypost.db.schema.emails import account_notices, email_reports, emails, notice_items
from waypost.db.schema.imports import import_clicks, import_origins, import_parts, import_plans, import_rows
from waypost.db.schema.link_tables import link_checks, link_undos, rotator_links, rotator_state
from waypost.db.schema.moderation import attempt_limits, blocklist_entries, reports
from waypost.db.schema.people import members, people
from waypost.db.schema.resources import (
    aliases,
    bio_blocks,
    bio_pictures,
    bios,
    campaigns,
    channel_items,
    channels,
    domain_checks,
    domains,
    download_grants,
    files,
    link_pixels,
    links,
    orphan_objects,
    overlays,
    pixels,
    qrs,
    shares,
    splashes,
    submissions,
    utm_templates,
)
from waypost.db.schema.webhooks import webhook_attempts, webhook_endpoints, webhook_messages
