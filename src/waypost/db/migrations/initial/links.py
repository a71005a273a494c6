"""Links, their pixels, and the checks of their destinations."""

from alembic import op
from sqlalchemy import String, text

from waypost.db.migrations.initial.tables import (
    ALIAS,
    FLAG,
    ID,
    JSON,
    KIND,
    NUMBER,
    TEXT,
    columns,
    create_owned,
    create_table,
    optional,
    part_of,
    reference,
)


def create() -> None:
    """Create the tables, in the order of their references."""
    _create_links()
    _create_link_pixels()
    _create_link_checks()
    _create_link_undos()


def _create_links() -> None:
    create_owned(
        "links",
        columns(TEXT, "host"),
        columns(ALIAS, "alias"),
        columns(TEXT, "url"),
        columns(NUMBER, "urlhash"),
        columns(TEXT, "title", "description", "search"),
        optional(TEXT, "password"),
        optional(NUMBER, "expiry", "clicklimit"),
        columns(NUMBER, "taken"),
        columns(TEXT, "expiryurl"),
        columns(KIND, "type"),
        optional(ID, "splash", "overlay"),
        columns(KIND, "status"),
        columns(TEXT, "metatitle", "metadescription", "metaimage"),
        columns(JSON, "geotarget", "devicetarget", "languagetarget", "deeplink", "parameters"),
        optional(ID, "campaign"),
        columns(NUMBER, "clicks", "uniqueclicks", "importedclicks"),
        part_of("links", "campaign", "campaigns", "SET NULL"),
        part_of("links", "overlay", "overlays", "SET NULL"),
        part_of("links", "splash", "splashes", "SET NULL"),
    )
    op.create_index("links_account_clicks", "links", ["account", "clicks", "id"])
    op.create_index(
        "links_account_imported",
        "links",
        ["account", "campaign", "id", "importedclicks"],
        sqlite_where=text("importedclicks > 0"),
        postgresql_where=text("importedclicks > 0"),
    )
    op.create_index("links_account_status", "links", ["account", "status", "id"])
    op.create_index("links_account_urlhash", "links", ["account", "urlhash", "id"])
    op.create_index("links_campaign", "links", ["campaign", "id"])
    op.create_index("links_overlay", "links", ["overlay"])
    op.create_index("links_splash", "links", ["splash"])


def _create_link_pixels() -> None:
    create_table(
        "link_pixels",
        columns(ID, "link", "pixel", "account"),
        part_of("link_pixels", "link", "links", "CASCADE"),
        part_of("link_pixels", "pixel", "pixels", "CASCADE"),
        key=("link", "pixel", "account"),
    )
    op.create_index("link_pixels_pixel", "link_pixels", ["pixel"])


def _create_link_checks() -> None:
    create_table(
        "link_checks",
        columns(ID, "account", "link"),
        columns(NUMBER, "due"),
        optional(NUMBER, "checked"),
        columns(NUMBER, "status"),
        optional(NUMBER, "failing_since"),
        columns(NUMBER, "failures"),
        columns(FLAG, "dead"),
        reference("link_checks", "account", "accounts", "CASCADE"),
        part_of("link_checks", "link", "links", "CASCADE"),
        key=("account", "link"),
    )
    op.create_index("link_checks_dead_account", "link_checks", ["dead", "account", "link"])
    op.create_index("link_checks_due", "link_checks", ["due"])
    op.create_index("link_checks_link", "link_checks", ["link"])


def _create_link_undos() -> None:
    create_table(
        "link_undos",
        columns(ID, "account"),
        columns(String(32), "batch"),
        columns(NUMBER, "created"),
        columns(JSON, "content"),
        reference("link_undos", "account", "accounts", "CASCADE"),
    )
    op.create_index("link_undos_account_batch", "link_undos", ["account", "batch"])
    op.create_index("link_undos_created", "link_undos", ["created"])
