"""The queue of outgoing e-mail."""

from sqlalchemy import BigInteger, Column, Index, String, Table, Text

from waypost.db.schema.columns import Id, id_column, metadata, number, string, timestamp

# An e-mail that waits; it is deleted once it is sent. `account` is the account it is about, without a foreign key: the
# e-mail may be to another person. `uid` is its Message-ID. `due` is the time of the next attempt; while one runs, that
# of the end of its lease, after which another process repeats it. After `expires` it is not sent any more.
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
    Index("emails_account", "account"),
    sqlite_autoincrement=True,
)
