"""The tables of webhooks: endpoints of accounts, the messages for them, and the attempts to deliver each message."""

from sqlalchemy import JSON, BigInteger, Boolean, Column, Index, String, Table, Text, false, text, true

from waypost.db.schema.columns import (
    Id,
    id_column,
    inherited_account,
    metadata,
    number,
    owned,
    parent,
    string,
    timestamp,
)

# One of campaign, channel and link can have an id, without a foreign key: with the item, its events end. `failing` is
# the time of the first failure since the last success, `warned` that of the e-mail about it. `visits`: it gets visits.
# `credential` is the secret of the receiver that analytics need. `secret` is a secret of Standard Webhooks, or the
# private key to `publickey`, if that is not "".
webhook_endpoints = owned(
    "webhook_endpoints",
    string("title", doc="Name."),
    Column("url", Text, nullable=False, doc="URL that gets the events."),
    Column(
        "format", String(9), nullable=False, default="standard", server_default="standard", doc="Format of messages."
    ),
    Column("site", Text, nullable=False, default="", server_default="", doc="Id of the site in analytics."),
    Column("credential", Text, nullable=False, default="", server_default=""),
    Column("events", JSON, nullable=False, default=["*"], doc="Names of the events, as JSON; * for all."),
    Column("campaign", Id, doc="Id of the campaign, if only its events are sent."),
    Column("channel", Id, doc="Id of the channel, if only its events are sent."),
    Column("link", Id, doc="Id of the link, if only its events are sent."),
    Column("overlay", Id, doc="Id of the overlay whose submissions are sent; empty for other webhooks."),
    Column("secret", Text, nullable=False),
    Column("oldsecret", Text),
    timestamp("oldsecretend", optional=True),
    Column("publickey", Text, nullable=False, default="", server_default=""),
    Column("enabled", Boolean, nullable=False, default=True, server_default=true(), doc="True if events are sent."),
    Column("disabledreason", String(8), nullable=False, default="", doc="gone or failing, if the service disabled it."),
    timestamp("failing", optional=True, doc="Time of the first failure since the last success, UTC."),
    timestamp("warned", optional=True),
    Column("visits", Boolean, nullable=False, default=False, server_default=false()),
    Index("webhook_endpoints_overlay", "account", "overlay", unique=True),
    Index(
        "webhook_endpoints_visits",
        "account",
        sqlite_where=text("visits = 1"),
        postgresql_where=text("visits"),
    ),
)

IS_OF_VISITS = text("event IN ('link.clicked', 'code.scanned', 'file.downloaded')")
"""The condition that a message is of visits, exactly as in the index, which databases use for no other text."""

# One event for one endpoint. `uid` is its `webhook-id`, `body` the exact text that is signed and sent. `due` is the
# time of the next attempt; while one runs, that of the end of its lease, after which another process repeats it.
webhook_messages = Table(
    "webhook_messages",
    metadata,
    id_column(),
    inherited_account(),
    parent("endpoint", "webhook_endpoints", "CASCADE"),
    Column("uid", String(40), nullable=False),
    Column("event", String(40), nullable=False),
    Column("body", Text, nullable=False),
    Column("state", String(9), nullable=False),
    number("attempts"),
    timestamp("due"),
    timestamp("created"),
    Index("webhook_messages_endpoint_id", "endpoint", "id"),
    Index("webhook_messages_created", "created"),
    Index("webhook_messages_visits", "created", sqlite_where=IS_OF_VISITS, postgresql_where=IS_OF_VISITS),
    Index(
        "webhook_messages_due",
        *("due", "endpoint"),
        sqlite_where=text("state = 'waiting'"),
        postgresql_where=text("state = 'waiting'"),
    ),
    sqlite_autoincrement=True,
)

# One attempt to deliver a message, stored before its request is sent. Until its result is stored, `milliseconds` is
# empty. `status` is 0 without an answer; then `error` says why. `answer` is the beginning of the body.
webhook_attempts = Table(
    "webhook_attempts",
    metadata,
    id_column(),
    inherited_account(),
    parent("message", "webhook_messages", "CASCADE"),
    timestamp("at"),
    number("status"),
    Column("milliseconds", BigInteger),
    string("error"),
    string("answer"),
    Index("webhook_attempts_message_id", "message", "id"),
    sqlite_autoincrement=True,
)
