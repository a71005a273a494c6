"""Aliases, and the resources of an account except links."""

from alembic import op
from sqlalchemy import String

from waypost.db.migrations.initial.tables import (
    ALIAS,
    BYTES,
    DAY,
    FLAG,
    ID,
    JSON,
    KIND,
    NUMBER,
    SLUG,
    TEXT,
    columns,
    create_owned,
    create_table,
    optional,
    reference,
)


def create() -> None:
    """Create the tables, in the order of their references."""
    _create_aliases()
    _create_page_counters()
    _create_domains()
    _create_campaigns()
    _create_splashes()
    _create_overlays()
    _create_pixels()
    _create_utm_templates()
    _create_channels()
    _create_bios()
    _create_qrs()
    _create_files()


def _create_aliases() -> None:
    create_table(
        "aliases",
        columns(TEXT, "host"),
        columns(ALIAS, "alias"),
        optional(ID, "account"),
        optional(KIND, "kind"),
        optional(ID, "item"),
        reference("aliases", "account", "accounts", "SET NULL"),
        key=("host", "alias"),
    )


def _create_page_counters() -> None:
    create_table(
        "page_counters",
        columns(ID, "account"),
        columns(String(16), "noun"),
        columns(DAY, "level"),
        columns(NUMBER, "block", "rows"),
        reference("page_counters", "account", "accounts", "CASCADE"),
        key=("account", "noun", "level", "block"),
    )


def _create_domains() -> None:
    create_owned(
        "domains",
        columns(TEXT, "host"),
        columns(String(5), "scheme"),
        columns(TEXT, "redirectroot", "redirect404"),
        columns(FLAG, "ignorecase"),
        columns(TEXT, "brandname", "brandcolor", "brandlogo"),
        unique=[("host",)],
    )


def _create_campaigns() -> None:
    create_owned(
        "campaigns",
        columns(TEXT, "name"),
        optional(SLUG, "slug"),
        columns(FLAG, "public", "indexable"),
        columns(NUMBER, "views"),
        columns(KIND, "rotation"),
        columns(FLAG, "sticky"),
        optional(NUMBER, "winner"),
        unique=[("account", "name")],
    )


def _create_splashes() -> None:
    create_owned(
        "splashes",
        columns(TEXT, "name", "title", "message"),
        columns(NUMBER, "counter", "skip"),
        columns(TEXT, "link", "banner", "logo"),
    )


def _create_overlays() -> None:
    create_owned(
        "overlays",
        columns(TEXT, "name"),
        columns(String(16), "type"),
        columns(TEXT, "message", "label", "link", "position", "color", "background"),
        columns(NUMBER, "delay"),
        columns(TEXT, "button", "thanks"),
        columns(JSON, "options"),
        columns(TEXT, "code", "image", "webhook"),
    )


def _create_pixels() -> None:
    create_owned("pixels", columns(String(32), "type"), columns(TEXT, "name"), columns(String(64), "tag"))


def _create_utm_templates() -> None:
    create_owned(
        "utm_templates",
        columns(TEXT, "name"),
        columns(TEXT, "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
        unique=[("account", "name")],
    )


def _create_channels() -> None:
    create_owned(
        "channels",
        columns(TEXT, "name", "description", "color"),
        columns(FLAG, "starred"),
        unique=[("account", "name")],
    )


def _create_bios() -> None:
    create_owned(
        "bios",
        columns(TEXT, "name"),
        columns(ALIAS, "alias"),
        columns(TEXT, "title", "description", "theme", "avatar"),
        optional(JSON, "design"),
        columns(JSON, "blocks"),
        columns(FLAG, "sensitive"),
        columns(NUMBER, "clicks", "uniqueclicks"),
    )


def _create_qrs() -> None:
    create_owned(
        "qrs",
        columns(TEXT, "name"),
        columns(ALIAS, "alias"),
        columns(String(16), "type"),
        columns(JSON, "data"),
        columns(TEXT, "foreground", "background"),
        optional(JSON, "gradient"),
        columns(TEXT, "modules", "eyes", "level"),
        columns(NUMBER, "margin"),
        columns(TEXT, "caption"),
        optional(BYTES, "logo"),
        columns(FLAG, "dynamic"),
        columns(NUMBER, "version", "scans", "uniquescans"),
    )


def _create_files() -> None:
    create_owned(
        "files",
        columns(TEXT, "host"),
        columns(ALIAS, "alias"),
        columns(TEXT, "name", "filename", "search", "object"),
        columns(NUMBER, "size"),
        columns(BYTES, "sha256"),
        columns(TEXT, "mime"),
        optional(TEXT, "password"),
        optional(NUMBER, "expiry", "maxdownloads"),
        columns(NUMBER, "taken", "downloads", "uniquedownloads"),
        optional(NUMBER, "ended", "purged"),
        unique=[("object",)],
    )
    op.create_index("files_ended", "files", ["ended"])
    op.create_index("files_expiry", "files", ["expiry"])
