"""The check of statements for a Citus cluster, which all tests on PostgreSQL run."""

import pytest

from tests.support.distributed_statements import tables_of_all_accounts


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT at FROM click_times WHERE click_times.account = %(account)s::BIGINT AND click_times.item = 1",
        "SELECT at FROM click_times AS t WHERE t.item = 1 AND t.account IN (%(a)s, %(b)s)",
        "SELECT 1 FROM unnest(%s::bigint[]) AS keys (account) JOIN click_labels USING (account)",
        "SELECT 1 FROM accounts LEFT JOIN events ON events.account = accounts.id",
        "INSERT INTO visitors (day, account, digest) SELECT * FROM unnest(%s, %s, %s) ON CONFLICT DO NOTHING",
        "DELETE FROM events WHERE account = %s AND id > (SELECT max(last_id) FROM visit_blocks WHERE account = %s)",
        "SELECT 1 FROM accounts WHERE id = %s",
        "SELECT item FROM aliases WHERE host = %s AND alias = %s",
        "SELECT (SELECT 1 FROM link_pixels AS p WHERE p.account = links.account) FROM links WHERE account = 1",
        "SELECT id FROM links WHERE account = 1 AND id IN (SELECT item FROM aliases WHERE host = 'a.example')",
        "LOCK TABLE events IN SHARE MODE",
    ],
)
def test_statement_that_names_the_account_is_accepted(statement: str) -> None:
    assert tables_of_all_accounts(statement) == ()


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("SELECT at FROM click_times WHERE item = 1", "click_times"),
        ("SELECT at FROM click_times WHERE account = 1 OR item = 1", "click_times"),
        ("SELECT at FROM click_times WHERE account <> %s", "click_times"),
        ("SELECT 1 FROM events JOIN visit_blocks ON visit_blocks.account = 1 WHERE events.id = 1", "events"),
        ("INSERT INTO visitors (day, digest) VALUES (%s, %s)", "visitors"),
        ("SELECT 1 FROM links WHERE id = %s", "links"),
        ("SELECT 1 FROM aliases WHERE account = 1", "aliases"),
        ("DELETE FROM events WHERE account = %s AND id > (SELECT max(last_id) FROM visit_blocks)", "visit_blocks"),
    ],
)
def test_statement_about_all_accounts_is_found(statement: str, table: str) -> None:
    assert tables_of_all_accounts(statement) == (table,)


def test_join_of_tables_with_different_distribution_columns_is_found() -> None:
    joined = "SELECT 1 FROM aliases JOIN links ON links.account = aliases.account WHERE aliases.host = ''"
    assert set(tables_of_all_accounts(joined)) == {"aliases", "links"}
