"""Plans of imports: the fate of every row, before anything is imported."""

from collections.abc import Mapping

import pytest
from sqlalchemy import func, select

from tests.conftest import Person
from tests.support.imports import EXPORTS, SHOP, plan, planned_rows, run
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.database import Database
from waypost.items.moderation import blocklist
from waypost.transfer.imports import plans
from waypost.transfer.imports.planner import Options
from waypost.transfer.imports.plans import BATCH, Conflicts
from waypost.transfer.imports.sources.csv_files import FIELDS


def _table_sizes(database: Database) -> Mapping[str, int]:
    """Return the number of rows of every table but those of plans, and those that health checks and leases change."""
    others = ("audit", "import_plans", "import_rows", "installation", "leases")
    tables = [table for name, table in schema.metadata.tables.items() if name not in others]
    return database.read(
        lambda tx: {table.name: tx.execute(select(func.count()).select_from(table)).scalar_one() for table in tables}
    )


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_export_of_service_is_planned_without_column_names(ana: Person, settings: Settings, export: str) -> None:
    (row,) = planned_rows(ana, settings, export)
    assert (row.fate, row.host, row.alias, row.url, row.reason) == ("create", "", "spring", SHOP, "")


def test_plan_writes_nothing_else(ana: Person, settings: Settings) -> None:
    before = _table_sizes(ana.database)
    plan(ana, settings, f"alias,url,tags,clicks\none,{SHOP},mail,5\ntwo,ftp://x,,")
    assert _table_sizes(ana.database) == before


def test_conflict_is_skipped_suffixed_or_replaces_own_link(ana: Person, ben: Person, settings: Settings) -> None:
    ana.add("url", url=SHOP, custom="mine")
    ben.add("url", url=SHOP, custom="theirs")
    file = "alias,url\nmine,https://example.com/new\ntheirs,https://example.com/new\nmine,https://example.com/other"
    taken = [("conflict", "mine"), ("conflict", "theirs"), ("conflict", "mine")]
    assert plan(ana, settings, file)[:2] == taken[:2]
    suffixed = plan(ana, settings, file, Options("suffix"))
    assert suffixed[:2] == [("create", "mine-2"), ("create", "theirs-2")]
    assert plan(ana, settings, file, Options("replace"))[:2] == [("changed", "mine"), ("conflict", "theirs")]


def test_alias_twice_in_file_is_conflict_with_line(ana: Person, settings: Settings) -> None:
    file = "id,alias,url\n1,twice,https://example.com/1\n2,twice,https://example.com/2"
    first, second = planned_rows(ana, settings, file)
    assert (first.fate, second.fate, second.reason) == ("create", "conflict", "The alias is taken by row 2.")
    assert plan(ana, settings, file, Options("suffix")) == [("create", "twice"), ("create", "twice-2")]


TWICE = "url,alias\nhttps://a.example.com/1,dupx\nhttps://b.example.com/2,dupx\nhttps://a.example.com/1,dupx"
"""Two links with one alias, and one of them again."""


def test_row_is_the_same_link_only_with_its_destination(ana: Person, settings: Settings) -> None:
    rows = planned_rows(ana, settings, TWICE)
    assert [(row.fate, row.reason) for row in rows] == [
        ("create", ""),
        ("conflict", "The alias is taken by row 2."),
        ("there", "Line 2 has the same link."),
    ]
    suffixed = [("create", "dupx"), ("create", "dupx-2"), ("there", "dupx")]
    assert plan(ana, settings, TWICE, Options("suffix")) == suffixed


def test_one_id_with_other_links_drops_no_row(ana: Person, settings: Settings) -> None:
    file = f"id,alias,url\n7,one,{SHOP}\n7,two,{SHOP}\n7,one,{SHOP}/2\n7,two,{SHOP}"
    rows = planned_rows(ana, settings, file)
    assert [(row.fate, row.alias) for row in rows] == [
        ("create", "one"),
        ("create", "two"),
        ("conflict", "one"),
        ("there", "two"),
    ]


@pytest.mark.parametrize("conflicts", ["skip", "suffix", "replace"])
def test_rows_with_one_alias_are_there_after_their_import(
    ana: Person, settings: Settings, conflicts: Conflicts
) -> None:
    run(ana, settings, TWICE, Options("suffix"))
    assert [fate for fate, _ in plan(ana, settings, TWICE, Options(conflicts))] == ["there"] * 3
    header, *rows = TWICE.splitlines()
    turned = "\n".join([header, *reversed(rows)])
    assert [fate for fate, _ in plan(ana, settings, turned, Options(conflicts))] == ["there"] * 3


def test_second_row_with_the_alias_of_a_replaced_link_is_a_conflict(ana: Person, settings: Settings) -> None:
    ana.add("url", url=SHOP, custom="mine")
    file = f"alias,url\nmine,{SHOP}/1\nmine,{SHOP}/2"
    assert plan(ana, settings, file, Options("replace")) == [("changed", "mine"), ("conflict", "mine")]


def test_rows_of_one_alias_in_different_batches_are_compared(ana: Person, settings: Settings) -> None:
    between = "\n".join(f"https://example.com/{n},between-{n}" for n in range(BATCH))
    first, second, third = TWICE.splitlines()[1:]
    rows = planned_rows(ana, settings, f"url,alias\n{first}\n{between}\n{second}\n{third}")
    assert [row.fate for row in (rows[0], *rows[-2:])] == ["create", "conflict", "there"]
    assert rows[-1].reason == "Line 2 has the same link."


def test_own_link_with_same_destination_is_there_already(ana: Person, settings: Settings) -> None:
    ana.add("url", url=SHOP, custom="mine")
    assert plan(ana, settings, f"alias,url\nmine,{SHOP}") == [("there", "mine")]


def test_alias_that_another_account_released_is_conflict(ana: Person, ben: Person, settings: Settings) -> None:
    ben.remove("url", ben.add("url", url=SHOP, custom="gone"))
    ana.remove("url", ana.add("url", url=SHOP, custom="again"))
    assert plan(ana, settings, f"alias,url\ngone,{SHOP}\nagain,{SHOP}/2") == [("conflict", "gone"), ("create", "again")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("one,javascript:alert(1),", "url must begin with"),
        ("one,,", "url must begin with"),
        (f"one,https://example.com/{'x' * 9000},", "at most 8192 characters"),
        ("one,http://go.localhost:8000/loop,", "redirect loop"),
        ("api,https://example.com,", "is reserved"),
        ("a b,https://example.com,", 'cannot have " "'),
        ("one%00,https://example.com,", 'cannot have "U+0000"'),
        ("one,https://blocked.example/x,", "has blocked it"),
        ("one,https://example.com,soon", "expiry must be"),
    ],
)
def test_impossible_row_tells_reason(ana: Person, settings: Settings, row: str, reason: str) -> None:
    ana.database.write(lambda tx: blocklist.block(tx, "blocked.example", kind="host"))
    (planned,) = planned_rows(ana, settings, f"alias,url,expiry\n{row}")
    assert planned.fate == "impossible"
    assert reason in planned.reason


def test_unknown_host_is_impossible_unless_mapped(ana: Person, ben: Person, settings: Settings) -> None:
    ana.add("domain", domain="https://go.ana.example")
    ben.add("domain", domain="https://go.ben.example")
    file = f"short url,long url\nhttps://old.example/a,{SHOP}\nhttps://go.ana.example/b,{SHOP}\ngo.ben.example/c,{SHOP}"
    assert [fate for fate, _ in plan(ana, settings, file)] == ["impossible", "create", "impossible"]
    mapped = planned_rows(ana, settings, file, Options(hosts={"Old.example": "go.ana.example"}))
    assert [(row.fate, row.host, row.alias) for row in mapped[:2]] == [
        ("create", "go.ana.example", "a"),
        ("create", "go.ana.example", "b"),
    ]


def test_links_without_a_host_go_to_the_domain_that_is_named(ana: Person, settings: Settings) -> None:
    ana.add("domain", domain="https://go.ana.example")
    file = f"alias,domain,url\na/b,,{SHOP}\nown,go.localhost,{SHOP}"
    assert [fate for fate, _ in plan(ana, settings, file)] == ["impossible", "create"]
    rows = planned_rows(ana, settings, file, Options(hosts={"": "go.ana.example"}))
    assert [(row.fate, row.host, row.alias) for row in rows] == [
        ("create", "go.ana.example", "a/b"),
        ("create", "", "own"),
    ]
    (row, _) = planned_rows(ana, settings, file, Options(hosts={"": "go.ben.example"}))
    assert "such as =go.example.com" in row.reason


def test_losses_are_reported_by_row_and_summed(ana: Person, settings: Settings) -> None:
    file = f"alias,url,password,title\none,{SHOP},$2b$12$abcdefghijkl,\ntwo,{SHOP}/2,,{'t' * 300}\nfour,{SHOP}/4,,"
    rows = planned_rows(ana, settings, file)
    assert "the link is disabled" in rows[0].losses
    assert "title is cut to 255 characters" in rows[1].losses
    current = ana.database.read(lambda tx: plans.current(tx, ana.account))
    assert ana.database.read(lambda tx: plans.summary(tx, ana.account, current.id)).losing == 2


def test_every_field_is_a_name_of_its_column(ana: Person, settings: Settings) -> None:
    assert all(field in names for field, names in FIELDS.items())
    assert plan(ana, settings, f"short,url\nhttps://go.localhost/one,{SHOP}") == [("create", "one")]


def test_columns_can_be_named_and_ignored_ones_are_listed(ana: Person, settings: Settings) -> None:
    assert plan(ana, settings, f"Kurz,Ziel,Farbe\none,{SHOP},red", alias="Kurz", url="Ziel") == [("create", "one")]
    assert ana.database.read(lambda tx: plans.current(tx, ana.account)).ignored == ["Farbe"]


UNREADABLE = {
    "no UTF-8": ("alias,url\ngr\xfc\xdf,https://example.com".encode("latin-1"), "Line 2 is not valid UTF-8"),
    "NUL": (b"alias,url\none,https://example.com\0", "Line 2 contains a NUL"),
    "huge line": (b"alias,url\none," + b"x" * (1 << 21), "more than 1 MB"),
    "200 columns": (b",".join(b"c%d" % n for n in range(200)), "200 columns; 100 are allowed"),
    "column twice": (b"alias,url,URL\none,https://example.com,", "names the column url twice"),
    "open quote": (
        b'alias,url\none,"https://example.com\ntwo,https://example.com',
        "a quote is opened and never closed",
    ),
    "empty": (b"", "The file is empty"),
    "blank lines only": (b"\n \r\n\n", "The file is empty"),
    "huge cell": (b"alias,url\none," + b"x" * (1 << 18), "a cell has more than 131,072 characters"),
    "huge name": (b"alias,url," + b"x" * (1 << 18), "a cell has more than 131,072 characters"),
    "open quote of a name": (b'alias,"url\none,https://example.com', "Line 1: a quote is opened and never closed"),
    "no UTF-8 with CR": (
        b"alias,url\rgr\xfc\xdf,https://example.com\r",
        "In Excel, save the file with File, Save as, CSV UTF-8.",
    ),
    "no header": (b"one,https://example.com", "No column is the destination"),
}


@pytest.mark.parametrize(("content", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_file_reports_line_and_leaves_no_plan(
    ana: Person, settings: Settings, content: bytes, message: str
) -> None:
    with pytest.raises(Problem) as raised:
        plan(ana, settings, content)
    assert message in raised.value.message
    with pytest.raises(Problem, match="No such import"):
        ana.database.read(lambda tx: plans.current(tx, ana.account))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_encodings_and_separators_of_spreadsheets_are_read(
    ana: Person, settings: Settings, encoding: str, separator: str
) -> None:
    text = (
        separator.join(("alias", "url", "title"))
        + "\r\n"
        + separator.join(("one", SHOP, '"Gr\xfc\xdfe\r\n2"'))
        + "\r\n"
    )
    assert plan(ana, settings, text.encode(encoding)) == [("create", "one")]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "sep=,\n", "\n \n\r\n"])
def test_every_line_end_and_blank_lines_before_the_header_are_read(
    ana: Person, settings: Settings, start: str, end: str
) -> None:
    text = end.join(("url,alias,title", f'{SHOP},one,"a{end}b"', f"{SHOP}/2,two,", ""))
    assert plan(ana, settings, start + text) == [("create", "one"), ("create", "two")]


@pytest.mark.parametrize("typed", ["www.shop.example.com/x", "//www.shop.example.com/x", " www.shop.example.com/x "])
def test_destination_without_a_scheme_gets_https(ana: Person, settings: Settings, typed: str) -> None:
    (row,) = planned_rows(ana, settings, f"alias,url\none,{typed}")
    assert (row.fate, row.url) == ("create", "https://www.shop.example.com/x")
    (row,) = planned_rows(ana, settings, "alias,url\none,hello world")
    assert row.fate == "impossible"


@pytest.mark.parametrize(
    ("typed", "expiry"),
    [
        ("31.12.2999", "2999-12-31 23:59:59"),
        ("1.2.2999 18:00", "2999-02-01 18:00:00"),
        ("31/12/2999", "2999-12-31 23:59:59"),
        ("12/31/2999", "2999-12-31 23:59:59"),
        ("05/05/2999, 18:00:01", "2999-05-05 18:00:01"),
        ("5/05/2999", "2999-05-05 23:59:59"),
        ("03/04/2999", ""),
        ("31.13.2999", ""),
        ("30.02.2999", ""),
    ],
)
def test_expiry_of_a_spreadsheet_is_read_unless_it_can_be_two_dates(
    ana: Person, settings: Settings, typed: str, expiry: str
) -> None:
    (row,) = planned_rows(ana, settings, f'alias,url,expiry\none,{SHOP},"{typed}"')
    stored = select(schema.import_rows.c.fields)
    fields = ana.database.read(lambda tx: tx.execute(stored).scalar_one())
    if expiry:
        assert (row.fate, clock.text(fields["columns"]["expiry"])) == ("create", expiry)
    else:
        message = f"expiry must be a date such as 2026-12-31. {typed} does not exist, or can be two dates."
        assert (row.fate, row.reason) == ("impossible", message)


def test_formula_cell_is_text_and_escaped_in_report(ana: Person, settings: Settings) -> None:
    plan(ana, settings, f"alias,url,title\none,{SHOP},'=1+1\n=cmd|' /C calc'!A0,{SHOP},x")
    current = ana.database.read(lambda tx: plans.current(tx, ana.account))
    titles = select(schema.import_rows.c.fields).where(schema.import_rows.c.fate == "create")
    (fields,) = ana.database.read(lambda tx: tx.execute(titles).scalars().all())
    assert fields["columns"]["title"] == "=1+1"
    report = "".join(plans.report_csv(ana.database, ana.account, current.id))
    assert "\"'=cmd|' /C calc'!A0\"" in report
