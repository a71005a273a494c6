"""Add people, with their logins, and their membership in accounts. Every account gets an owner, a person with its number.

Nodes of the older version read and write the login in `accounts` until they are upgraded. Triggers repeat in
`people` what these write. They begin before the rows are copied, so that no write between both is lost. A release that
no such node can run next to drops them with the columns.

A Citus cluster that stores the items has `accounts` on every node, where a trigger cannot write to `people`: there all
nodes of the older version are stopped first (docs/upgrading.md).

Revision: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# The columns of a person, each with that of an account that it is copied from.
_COPIED = {
    "email": "email",
    "email_key": "email_key",
    "username": "username",
    "username_key": "username_key",
    "password": "password",
    "password_changed": "password_changed",
    "admin": "owner",
    "suspended": "suspended",
    "language": "language",
    "timezone": "timezone",
}
_PEOPLE = f"INSERT INTO people (person, {', '.join(_COPIED)}, created)"
_MEMBERS = "INSERT INTO members (account, person, role, created)"
# A backup that is restored may have stored the person already.
_INSERT = f"""
{_PEOPLE} SELECT NEW.id, {", ".join(f"NEW.{column}" for column in _COPIED.values())}, NEW.registered
WHERE NOT EXISTS (SELECT 1 FROM people WHERE people.person = NEW.id);
{_MEMBERS} VALUES (NEW.id, NEW.id, 'owner', NEW.registered);
"""
_UPDATE = f"""
UPDATE people SET {", ".join(f"{name} = NEW.{column}" for name, column in _COPIED.items())} WHERE person = NEW.id;
"""
_DELETE = """
DELETE FROM people WHERE person = OLD.id
AND NOT EXISTS (SELECT 1 FROM members WHERE members.person = OLD.id AND members.account <> OLD.id);
"""
_EVENTS = {
    "insert": ("INSERT", _INSERT),
    "update": (f"UPDATE OF {', '.join(_COPIED.values())}", _UPDATE),
    "delete": ("DELETE", _DELETE),
}
_SESSIONS = """
CREATE TABLE sessions (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account INTEGER NOT NULL,
    digest BLOB NOT NULL,
    agent TEXT NOT NULL,
    created BIGINT NOT NULL,
    seen BIGINT NOT NULL,
    person INTEGER,
    CONSTRAINT sessions_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT sessions_person_fk FOREIGN KEY(person) REFERENCES people (person) ON DELETE CASCADE,
    CONSTRAINT sessions_digest_unique UNIQUE (digest)
)
"""
_ON_EVERY_NODE = "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'accounts'::regclass"


def upgrade() -> None:
    """Add the tables, the triggers, and the rows of every account."""
    tx = op.get_bind()
    _add_people()
    _add_members()
    _add_person_to_sessions(is_sqlite=tx.dialect.name == "sqlite")
    if not _is_on_every_node(tx):
        _add_triggers(is_sqlite=tx.dialect.name == "sqlite")
    op.execute(f"{_PEOPLE} SELECT id, {', '.join(_COPIED.values())}, registered FROM accounts")
    op.execute(f"{_MEMBERS} SELECT id, id, 'owner', registered FROM accounts")


def _add_people() -> None:
    op.create_table(
        "people",
        sa.Column("person", _ID, autoincrement=False, nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("email_key", sa.Text, nullable=False),
        sa.Column("username", sa.String(64), nullable=False),
        sa.Column("username_key", sa.String(64), nullable=False),
        sa.Column("password", sa.Text, nullable=False),
        sa.Column("password_changed", sa.BigInteger, nullable=False),
        sa.Column("admin", sa.Boolean, nullable=False),
        sa.Column("suspended", sa.Boolean, nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("person", name="people_pk"),
        sa.UniqueConstraint("email_key", name="people_email_key_unique"),
        sa.UniqueConstraint("username_key", name="people_username_key_unique"),
    )


def _add_members() -> None:
    op.create_table(
        "members",
        sa.Column("account", _ID, nullable=False),
        sa.Column("person", _ID, nullable=False),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("account", "person", name="members_pk"),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="members_account_fk", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person"], ["people.person"], name="members_person_fk", ondelete="CASCADE"),
        sa.CheckConstraint("role IN ('owner', 'manager', 'editor', 'analyst', 'viewer')", name="role"),
        sqlite_with_rowid=False,
    )
    op.create_index("members_person_account", "members", ["person", "account"])


def _add_person_to_sessions(*, is_sqlite: bool) -> None:
    """Add the column. SQLite needs a new table for a foreign key with a name."""
    if is_sqlite:
        op.execute("ALTER TABLE sessions RENAME TO old_sessions")
        op.execute(_SESSIONS)
        op.execute("INSERT INTO sessions SELECT *, NULL FROM old_sessions")
        op.execute("DELETE FROM sqlite_sequence WHERE name = 'sessions'")
        op.execute("UPDATE sqlite_sequence SET name = 'sessions' WHERE name = 'old_sessions'")
        op.execute("DROP TABLE old_sessions")
        op.create_index("sessions_account_id", "sessions", ["account", "id"])
        op.create_index("sessions_seen", "sessions", ["seen"])
    else:
        key = "CONSTRAINT sessions_person_fk REFERENCES people (person) ON DELETE CASCADE"
        op.execute(f"ALTER TABLE sessions ADD COLUMN person BIGINT {key}")
    op.create_index("sessions_person_id", "sessions", ["person", "id"])


def _is_on_every_node(tx: sa.Connection) -> bool:
    if tx.dialect.name == "sqlite" or tx.execute(sa.text("SELECT to_regclass('pg_dist_partition')")).scalar() is None:
        return False
    return tx.execute(sa.text(_ON_EVERY_NODE)).first() is not None


def _add_triggers(*, is_sqlite: bool) -> None:
    for name, (event, work) in _EVENTS.items():
        head = f"CREATE TRIGGER people_{name} AFTER {event} ON accounts"
        if is_sqlite:
            op.execute(f"{head} BEGIN {work} END")
            continue
        function = f"CREATE FUNCTION people_{name}() RETURNS trigger LANGUAGE plpgsql"
        op.execute(f"{function} AS $$ BEGIN {work} RETURN NULL; END $$")
        op.execute(f"{head} FOR EACH ROW EXECUTE FUNCTION people_{name}()")
