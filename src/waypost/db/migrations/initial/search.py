"""The search index over links, which triggers update: tables and functions that SQLAlchemy does not know.

It yields the links that contain a literal of at least three characters without reading every link (decision 81).
"""

from alembic import op

from waypost.db.migrations.initial.tables import is_postgresql

_SQLITE = (
    """CREATE VIRTUAL TABLE links_search
        USING fts5(search, content='links', content_rowid='id', tokenize='trigram case_sensitive 1')""",
    """CREATE TRIGGER links_search_added AFTER INSERT ON links BEGIN
        INSERT INTO links_search (rowid, search) VALUES (new.id, new.search);
    END""",
    """CREATE TRIGGER links_search_removed AFTER DELETE ON links BEGIN
        INSERT INTO links_search (links_search, rowid, search) VALUES ('delete', old.id, old.search);
    END""",
    """CREATE TRIGGER links_search_changed AFTER UPDATE OF search ON links WHEN old.search <> new.search BEGIN
        INSERT INTO links_search (links_search, rowid, search) VALUES ('delete', old.id, old.search);
        INSERT INTO links_search (rowid, search) VALUES (new.id, new.search);
    END""",
)
# A table of its own, because counting clicks replaces rows of `links` and would add them to the index each time. The
# function returns each trigram as a number of 63 bits, and the negative account. Its cost keeps PostgreSQL from calling
# it for every row.
_POSTGRESQL = (
    """CREATE TABLE links_search (
        account bigint NOT NULL, link bigint NOT NULL, search text NOT NULL,
        CONSTRAINT links_search_pk PRIMARY KEY (account, link)
    )""",
    """CREATE OR REPLACE FUNCTION links_search_keys(search text, account bigint) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS $$
    DECLARE
        keys bigint[] := '{}';
        trigram bigint := 0;
        letter text;
    BEGIN
        FOREACH letter IN ARRAY string_to_array(search, NULL) LOOP
            trigram := (trigram << 21 | ascii(letter)) & 9223372036854775807;
            keys := keys || trigram;
        END LOOP;
        RETURN keys[3:] || -account;
    END $$""",
    "CREATE INDEX links_search_index ON links_search USING gin (links_search_keys(search, account))",
    """CREATE OR REPLACE FUNCTION links_search_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF tg_op <> 'INSERT' THEN
            DELETE FROM links_search WHERE account = old.account AND link = old.id;
        END IF;
        IF tg_op <> 'DELETE' THEN
            INSERT INTO links_search (account, link, search) VALUES (new.account, new.id, new.search);
        END IF;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER links_search_added_or_removed AFTER INSERT OR DELETE ON links
        FOR EACH ROW EXECUTE FUNCTION links_search_update()""",
    """CREATE TRIGGER links_search_changed AFTER UPDATE OF search ON links
        FOR EACH ROW WHEN (old.search <> new.search) EXECUTE FUNCTION links_search_update()""",
)


def create() -> None:
    """Create the index and its triggers."""
    for statement in _POSTGRESQL if is_postgresql() else _SQLITE:
        op.execute(statement)
