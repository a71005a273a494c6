"""The parts of resources. The account of a part is that of the whole."""

from alembic import op

from waypost.db.migrations.initial.tables import (
    BYTES,
    ID,
    NUMBER,
    SLUG,
    TEXT,
    check,
    columns,
    create_table,
    optional,
    part_of,
)


def create() -> None:
    """Create the tables, in the order of their references."""
    _create_submissions()
    _create_bio_blocks()
    _create_bio_pictures()
    _create_channel_items()
    _create_download_grants()
    _create_rotator_links()
    _create_rotator_state()
    _create_shares()


def _create_submissions() -> None:
    create_table(
        "submissions",
        columns(ID, "account", "overlay"),
        optional(ID, "link"),
        columns(TEXT, "name", "email", "message", "choice"),
        columns(NUMBER, "created"),
        part_of("submissions", "link", "links", "SET NULL"),
        part_of("submissions", "overlay", "overlays", "CASCADE"),
    )
    op.create_index("submissions_link", "submissions", ["link"])
    op.create_index("submissions_overlay_id", "submissions", ["overlay", "id"])


def _create_bio_blocks() -> None:
    create_table(
        "bio_blocks",
        columns(ID, "account", "bio"),
        columns(NUMBER, "clicks", "uniqueclicks"),
        part_of("bio_blocks", "bio", "bios", "CASCADE"),
    )
    op.create_index("bio_blocks_bio", "bio_blocks", ["bio", "id"])


def _create_bio_pictures() -> None:
    create_table(
        "bio_pictures",
        columns(ID, "account", "bio"),
        columns(BYTES, "data"),
        part_of("bio_pictures", "bio", "bios", "CASCADE"),
    )
    op.create_index("bio_pictures_bio", "bio_pictures", ["bio", "id"])


def _create_channel_items() -> None:
    create_table(
        "channel_items",
        columns(ID, "account", "channel"),
        optional(ID, "link", "bio", "qr"),
        columns(NUMBER, "assigned"),
        check(
            "channel_items_one_item_check",
            "(link IS NOT NULL AND bio IS NULL AND qr IS NULL) OR (link IS NULL AND bio IS NOT NULL AND qr IS NULL)"
            " OR (link IS NULL AND bio IS NULL AND qr IS NOT NULL)",
        ),
        part_of("channel_items", "bio", "bios", "CASCADE"),
        part_of("channel_items", "channel", "channels", "CASCADE"),
        part_of("channel_items", "link", "links", "CASCADE"),
        part_of("channel_items", "qr", "qrs", "CASCADE"),
        unique=[("channel", "bio"), ("channel", "link"), ("channel", "qr")],
    )
    op.create_index("channel_items_bio", "channel_items", ["bio"])
    op.create_index("channel_items_channel_id", "channel_items", ["channel", "id"])
    op.create_index("channel_items_link", "channel_items", ["link"])
    op.create_index("channel_items_qr", "channel_items", ["qr"])


def _create_download_grants() -> None:
    create_table(
        "download_grants",
        columns(ID, "account", "file"),
        columns(BYTES, "visitor"),
        columns(NUMBER, "served", "expires"),
        part_of("download_grants", "file", "files", "CASCADE"),
    )
    op.create_index("download_grants_expires", "download_grants", ["expires"])
    op.create_index("download_grants_file_visitor", "download_grants", ["file", "visitor", "id"])


def _create_rotator_links() -> None:
    create_table(
        "rotator_links",
        columns(ID, "campaign", "link", "account"),
        columns(NUMBER, "weight"),
        optional(NUMBER, "quota"),
        columns(NUMBER, "given"),
        part_of("rotator_links", "campaign", "campaigns", "CASCADE"),
        part_of("rotator_links", "link", "links", "CASCADE"),
        key=("campaign", "link", "account"),
    )
    op.create_index("rotator_links_link", "rotator_links", ["link"])


def _create_rotator_state() -> None:
    create_table(
        "rotator_state",
        columns(ID, "campaign", "account"),
        optional(ID, "last_link"),
        columns(NUMBER, "clicks"),
        optional(ID, "winner"),
        part_of("rotator_state", "campaign", "campaigns", "CASCADE"),
        key=("campaign", "account"),
    )


def _create_shares() -> None:
    create_table(
        "shares",
        columns(ID, "account"),
        optional(ID, "link", "qr", "bio", "campaign"),
        columns(TEXT, "title"),
        columns(SLUG, "slug"),
        columns(TEXT, "token"),
        optional(TEXT, "password"),
        columns(TEXT, "firstday", "lastday"),
        optional(NUMBER, "days"),
        columns(TEXT, "timezone"),
        optional(NUMBER, "expiry"),
        columns(NUMBER, "created"),
        check(
            "shares_one_item_check",
            "(CASE WHEN link IS NULL THEN 0 ELSE 1 END + CASE WHEN qr IS NULL THEN 0 ELSE 1 END"
            " + CASE WHEN bio IS NULL THEN 0 ELSE 1 END + CASE WHEN campaign IS NULL THEN 0 ELSE 1 END) = 1",
        ),
        part_of("shares", "bio", "bios", "CASCADE"),
        part_of("shares", "campaign", "campaigns", "CASCADE"),
        part_of("shares", "link", "links", "CASCADE"),
        part_of("shares", "qr", "qrs", "CASCADE"),
        unique=[("token",)],
    )
    op.create_index("shares_account_id", "shares", ["account", "id"])
    for column in ("bio", "campaign", "link", "qr"):
        op.create_index(f"shares_{column}", "shares", [column])
