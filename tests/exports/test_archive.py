"""The archive of an account: every row and file of it, nothing of another one, no secrets, in constant memory."""

import csv
import hashlib
import io
import json
import tracemalloc
import zipfile
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select

from tests.conftest import Person
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.seed import fill_all_tables
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts
from waypost.storage.factory import open_store
from waypost.transfer.exports import archive, runner
from waypost.transfer.exports.archive import SHEETS, Source

NOT_EXPORTED = {
    "members": "the people of the account; the owner is in account.json",
    "accounts": "account.json",
    "api_keys": "secret",
    "sessions": "secret",
    "totp_secrets": "secret",
    "recovery_codes": "secret",
    "idempotency_keys": "responses of the API, for a day",
    "account_exports": "state of the export itself",
    "import_plans": "an import that is not applied",
    "import_rows": "an import that is not applied",
    "import_clicks": "an import that is not applied",
    "import_parts": "an import that is not applied",
    "link_checks": "checked again anyway",
    "domain_checks": "checked again anyway",
    "notice_items": "wait until they are sent, for a week at most",
    "account_notices": "which notices are sent by e-mail; another installation has other administrators and e-mail",
    "page_counters": "derived from the tables",
    "download_grants": "for a day",
    "visit_blocks": "derived from the visits",
    "visitors": "hashes, for a day",
    "rotator_state": "working state of rotators",
    "trash": "deleted items",
    "emails": "wait until they are sent, for two days at most",
    "link_undos": "values before bulk actions, for a day",
    "webhook_messages": "events and visits, which the archive has in the tables they are from, for 30 days",
    "webhook_attempts": "results of requests, for 30 days",
    "link_pixels": "column pixels of links",
}
NOT_EXPORTED_COLUMNS = {
    "links": {"password", "search", "urlhash"},
    "files": {"password", "search", "object"},
    "qrs": {"logo"},
    "shares": {"password", "token"},
    "bio_pictures": {"data"},
    "audit": {"position", "salt"},
    "email_reports": {"email_key"},
    "webhook_endpoints": {"secret", "oldsecret", "oldsecretend", "warned", "visits", "credential", "publickey"},
    **{name: {"name_key"} for name in ("campaigns", "channels", "utm_templates", "presets")},
}


@pytest.fixture
def source(ana: Person, settings: Settings, database: Database) -> Source:
    return Source(database, open_store(settings), settings, ana.account)


def _export(source: Source) -> zipfile.ZipFile:
    content = bytearray()
    runner.run(source, content.extend)
    opened = zipfile.ZipFile(io.BytesIO(content))
    assert opened.testzip() is None
    return opened


def _json_lines(opened: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in opened.read(f"{name}.jsonl").decode().split("\n")[:-1]]


def _csv_rows(opened: zipfile.ZipFile, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(opened.read(f"{name}.csv").decode("utf-8-sig"), newline="")))


@ON_BOTH_DATABASES
def test_every_column_with_data_of_an_account_is_exported_or_excluded() -> None:
    exported = {sheet.table.name for sheet in SHEETS}
    owned = {table.name for table in schema.metadata.sorted_tables if "account" in table.c or table.name == "accounts"}
    assert exported & NOT_EXPORTED.keys() == set()
    assert exported | NOT_EXPORTED.keys() == owned
    for sheet in SHEETS:
        sources = {str(column.source) for column in sheet.columns if column.source is not None}
        left = {c.name for c in sheet.table.c if c.name != "account" and f"{sheet.table.name}.{c.name}" not in sources}
        assert left == NOT_EXPORTED_COLUMNS.get(sheet.table.name, set()), sheet.name
        assert len({column.name for column in sheet.columns}) == len(sheet.columns)


@ON_BOTH_DATABASES
def test_export_contains_all_rows_of_account_and_no_other(ana: Person, ben: Person, source: Source) -> None:
    fill_all_tables(ana, ben)
    opened = _export(source)
    for sheet in SHEETS:
        count = select(func.count()).select_from(sheet.table).where(sheet.table.c.account == ana.account)
        expected = ana.database.read(lambda tx: tx.execute(count).scalar_one())  # noqa: B023  # called at once
        lines = _json_lines(opened, sheet.name)
        assert len(lines) == len(_csv_rows(opened, sheet.name)) == expected, sheet.name
        names = [column.name for column in sheet.columns]
        assert all(list(line) == names for line in lines), sheet.name
    assert {"links", "bio_pages", "visits", "clicks_by_label", "submissions"} <= {
        sheet.name for sheet in SHEETS if _json_lines(opened, sheet.name)
    }
    ben_links = Source(source.database, source.store, source.settings, ben.account)
    assert _json_lines(_export(ben_links), "links") == []


@ON_BOTH_DATABASES
def test_exported_values_equal_those_of_api(ana: Person, ben: Person, source: Source) -> None:
    fill_all_tables(ana, ben)
    opened = _export(source)
    links = {link["id"]: link for link in _json_lines(opened, "links")}
    listed = ana.get("/urls")["data"]["urls"]
    assert {link["id"] for link in listed} == links.keys()
    link = links[max(links)]
    details = ana.details("url", max(links))
    same = ("clicks", "uniqueclicks", "title", "geotarget", "devicetarget", "parameters", "pixels", "metatitle")
    assert [link[name] for name in same] == [details[name] for name in same]
    assert (link["shorturl"], link["url"], link["created"]) == (
        details["shorturl"],
        details["longurl"],
        details["date"],
    )
    assert (link["channels"], link["expiry"][:10], link["haspassword"]) == ([1], "2999-12-31", True)
    assert json.loads(opened.read("account.json"))["username"] == "ana"


def test_manifest_has_counts_and_checksums_of_all_entries(ana: Person, ben: Person, source: Source) -> None:
    fill_all_tables(ana, ben)
    opened = _export(source)
    names = opened.namelist()
    assert (names[0], names[-1]) == ("README.txt", "manifest.json")
    manifest = json.loads(opened.read("manifest.json"))
    assert [entry["name"] for entry in manifest["entries"]] == names[:-1]
    for entry in manifest["entries"]:
        content = opened.read(entry["name"])
        assert (entry["bytes"], entry["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert {sheet.name: manifest["counts"][sheet.name] for sheet in SHEETS} == {
        sheet.name: len(_json_lines(opened, sheet.name)) for sheet in SHEETS
    }
    assert (manifest["counts"]["file_contents"], manifest["missing"]) == (2, [])
    readme = opened.read("README.txt").decode()
    for sheet in SHEETS:
        section = readme.partition(f"{sheet.name}.csv, {sheet.name}.jsonl")[2].partition(".jsonl\n")[0]
        assert all(f"\n  {column.name} " in section for column in sheet.columns), sheet.name
    assert max(map(len, readme.splitlines())) <= 120


def test_archive_contains_pictures_of_qr_codes_and_bytes_of_files(ana: Person, ben: Person, source: Source) -> None:
    fill_all_tables(ana, ben)
    opened = _export(source)
    codes = _json_lines(opened, "qr_codes")
    assert len(codes) > 1
    for code in codes:
        assert opened.read(f"qr/{code['id']}.svg").startswith(b"<svg")
        assert (f"qr/{code['id']}-logo.png" in opened.namelist()) is code["haslogo"]
    for file in _json_lines(opened, "files"):
        content = opened.read(f"files/{file['id']}-{file['filename']}")
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["size"], file["sha256"])


def test_missing_file_is_listed_in_manifest(ana: Person, source: Source) -> None:
    assert ana.call("POST", "/files/upload/a.bin", content=b"abc").json()["error"] == 0
    name = ana.database.read(lambda tx: tx.execute(select(schema.files.c.object)).scalar_one())
    source.store.remove(name)
    manifest = json.loads(_export(source).read("manifest.json"))
    assert manifest["missing"] == ["files/1-a.bin"]


def test_export_contains_no_secrets(ana: Person, ben: Person, source: Source) -> None:
    fill_all_tables(ana, ben)
    opened = _export(source)
    content = b"\n".join(opened.read(name) for name in opened.namelist())
    for table in ("accounts", "links", "files"):
        column = schema.metadata.tables[table].c.password
        query = select(column).where(column.is_not(None))
        hashes = ana.database.read(lambda tx: tx.execute(query).scalars().all())  # noqa: B023  # called at once
        assert hashes or table == "files"
        assert not any(hashed.encode() in content for hashed in hashes)
    for secret in (schema.api_keys.c.digest, schema.sessions.c.digest, schema.recovery_codes.c.digest):
        query = select(secret)
        for digest in ana.database.read(lambda tx: tx.execute(query).scalars().all()):  # noqa: B023  # called at once
            assert digest not in content
            assert digest.hex().encode() not in content
    assert b"argon2" not in content


def test_formulas_are_escaped_in_csv_and_exact_in_json(ana: Person, source: Source) -> None:
    ana.add("url", url="https://example.com/", title="=1+1", description="+cmd|' /C calc'!A0")
    opened = _export(source)
    (line,), (row,) = _json_lines(opened, "links"), _csv_rows(opened, "links")
    assert (line["title"], line["description"]) == ("=1+1", "+cmd|' /C calc'!A0")
    assert (row["title"], row["description"]) == ("'=1+1", "'+cmd|' /C calc'!A0")


@ON_BOTH_DATABASES
def test_change_during_export_is_not_in_archive(ana: Person, source: Source) -> None:
    ana.add("url", url="https://example.com/before")
    content, added = bytearray(), list[int]()

    def write(chunk: bytes) -> None:
        content.extend(chunk)
        if not added:
            added.append(ana.add("url", url="https://example.com/during"))

    runner.run(source, write)
    (link,) = _json_lines(zipfile.ZipFile(io.BytesIO(content)), "links")
    assert link["url"] == "https://example.com/before"


@ON_BOTH_DATABASES
def test_failed_output_leaves_no_valid_archive_and_ends_claim(ana: Person, source: Source) -> None:
    ana.add("url", url="https://example.com/")
    content = bytearray()

    def write(chunk: bytes) -> None:
        content.extend(chunk)
        if len(content) > 2000:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        runner.run(source, write)
    assert not zipfile.is_zipfile(io.BytesIO(content))
    _export(source)


@ON_BOTH_DATABASES
def test_second_export_at_the_same_time_is_rejected(source: Source) -> None:
    def write(_chunk: bytes) -> None:
        with pytest.raises(Problem, match="An export of this account is running"):
            runner.run(source, lambda _: None)

    runner.run(source, write)
    _export(source)


def _insert_visits(rows: list[dict[str, Any]], tx: Connection) -> None:
    tx.execute(insert(schema.events), rows)


@ON_SQLITE
def test_memory_does_not_depend_on_number_of_rows(settings: Settings, database: Database) -> None:
    """Without an ingester, whose memory would count too."""
    email = "ana@example.com"
    account = database.write(lambda tx: accounts.add(tx, email=email, username="ana", password="hash")).id
    source = Source(database, open_store(settings), settings, account)
    peaks = []
    for count in (2_000, 28_000):
        rows = [
            {"account": account, "kind": "link", "item": 1, "at_ms": n, "sort": "click", "referrer": f"{n}.example"}
            for n in range(count)
        ]
        database.write(partial(_insert_visits, rows))
        rows.clear()
        tracemalloc.start()
        summary = archive.write(source, lambda _: None, lambda: None)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert summary.rows >= 30_000
    assert peaks[1] < peaks[0] + 500_000
