"""The queue of outgoing e-mail, and the reports and notices that are sent by e-mail."""

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Index, String, Table, Text, text

from waypost.db.schema.columns import Id, flag, id_column, metadata, number, owned, parent, string, timestamp

_IS_ACTIVE = text("confirmed IS NOT NULL AND unsubscribed IS NULL")
_IS_UNCONFIRMED = text("confirmed IS NULL AND unsubscribed IS NULL")

# An e-mail that waits; it is deleted once it is sent. `account` is the account it is about, without a foreign key: the
# e-mail may be to another person. `uid` is its Message-ID. `due` is the time of the next attempt; while one runs, that
# of the end of its lease, after which another process repeats it. After `expires` it is not sent any more. `logo` is
# not read: nodes of an older version, which can run during an upgrade, write it.
emails = Table(
    "emails",
    metadata,
    id_column(),
    Column("account", Id),
    Column("recipient", Text, nullable=False),
    string("subject"),
    string("text"),
    string("html"),
    string("service"),
    string("logo"),
    string("unsubscribe"),
    Column("uid", String(255), nullable=False),
    number("attempts"),
    timestamp("due"),
    Column("expires", BigInteger, nullable=False),
    timestamp("created"),
    Index("emails_due", "due"),
    Index("emails_expires", "expires"),
    Index("emails_account", "account"),
    sqlite_autoincrement=True,
)

# A report of a link, a campaign or, without both, the account. They have no foreign key: with the item, its reports
# end. `due` is the time of the next one; while a node makes it, that of the end of its lease. `confirmed` is empty
# until the recipient agrees; `unsubscribed` is the time when the recipient ended it, and the row stays so that the
# address gets no other one.
email_reports = owned(
    "email_reports",
    Column("link", Id, doc="Id of the link, if the report is about one."),
    Column("campaign", Id, doc="Id of the campaign, if the report is about one."),
    Column("every", String(5), nullable=False, doc="week or month."),
    Column("email", Text, nullable=False, doc="Address of the recipient."),
    Column("email_key", Text, nullable=False),
    Column("language", String(5), nullable=False, doc="Language of the report."),
    Column("timezone", Text, nullable=False, doc="Time zone of the recipient."),
    timestamp("due", doc="Time of the next report, UTC."),
    timestamp("confirmed", optional=True, doc="Time when the recipient confirmed, UTC."),
    timestamp("unsubscribed", optional=True, doc="Time when the recipient unsubscribed, UTC."),
    Index("email_reports_due", "due", sqlite_where=_IS_ACTIVE, postgresql_where=_IS_ACTIVE),
)
Index(
    "email_reports_unconfirmed",
    email_reports.c.created,
    sqlite_where=_IS_UNCONFIRMED,
    postgresql_where=_IS_UNCONFIRMED,
)

# The subjects of the next notice of a kind; deleted when its e-mail is stored. `item` is a link or domain.
notice_items = Table(
    "notice_items",
    metadata,
    id_column(),
    parent("account", "accounts", "CASCADE"),
    Column("kind", String(8), nullable=False),
    Column("item", Id),
    Column("content", JSON, nullable=False),
    timestamp("created"),
    Index("notice_items_account_kind", "account", "kind"),
    Index("notice_items_created", "created"),
    sqlite_autoincrement=True,
)

# The kinds of notices of an account: if it gets them, and the time of the last one. An account without a row gets it.
account_notices = Table(
    "account_notices",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kind", String(8), primary_key=True),
    flag("enabled"),
    timestamp("sent"),
    sqlite_with_rowid=False,
)
