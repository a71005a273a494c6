"""Backup and restore: everything comes back equal, between both databases, or nothing is changed."""

import gzip
import io
import itertools
import json
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Integer,
    LargeBinary,
    Table,
    func,
    insert,
    inspect,
    select,
)

from tests.conftest import BASE, Person
from tests.families import FAMILIES
from tests.families_with_aliases import BIO
from tests.inside import Inside
from waypost import archive, schema, server, upgrade
from waypost.accounts import keys
from waypost.accounts import ops as accounts
from waypost.app import build
from waypost.campaigns import ops as campaigns
from waypost.db import Database
from waypost.errors import Problem
from waypost.files import ops as files
from waypost.links import ops as links
from waypost.settings import Settings
from waypost.storage.opening import open_store
from waypost.storage.store import Store

_numbers = itertools.count(1)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database to restore into, without a table; once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'restored.db'}")
        yield database
        database.close()
        return
    url, name = request.getfixturevalue("postgres"), f"restored_{next(_numbers)}"
    with psycopg.connect(f"{url}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
        database = Database(f"{url}/{name}")
        yield database
        database.close()
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of the installation that is filled."""
    folder = tmp_path / "restored"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def source(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A small installation with one account, one link and, in its folder, one file."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copy(sqlite_template, folder / "waypost.db")
    _write(folder / "files" / "a" / "b", b"\x00\xff" * 5000)
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        made = server.make_account(database, email="ana@example.com", username="ana", password="a password")
        settings, title = Settings(data_dir=folder, base_url=BASE), "Needle in a haystack"
        database.write(lambda tx: links.add(tx, made.id, settings=settings, url="https://example.com/", title=title))
        database.write(lambda tx: _file_of(tx, made.id, "a/b"))
        yield database


@pytest.fixture(scope="module")
def whole(source: Database) -> bytes:
    """Its archive."""
    assert source.path is not None
    archive.backup(source, _store(source.path.parent), source.path.parent / "saved.tar.gz")
    return (source.path.parent / "saved.tar.gz").read_bytes()


@pytest.fixture
def saved(whole: bytes, tmp_path: Path) -> Path:
    """That archive, in a file of this test's own."""
    path = tmp_path / "saved.tar.gz"
    path.write_bytes(whole)
    return path


def test_everything_comes_back_row_by_row(
    ana: Person, ben: Person, database: Database, empty: Database, tmp_path: Path, folder: Path
) -> None:
    use_everything(ana, ben)
    before = rows_of(database)
    assert all(before.values()), [name for name, rows in before.items() if not rows]
    kept = {f"files/{name}": (tmp_path / "files" / name).read_bytes() for name in _named(database)}
    assert sorted(kept.values()) == [b"\x00\xff" * 5000, b"a" * 3]
    target = tmp_path / "saved.tar.gz"
    written = archive.backup(database, _store(tmp_path), target)
    assert written == archive.Saved(sum(len(rows) for rows in before.values()), 2, 0)
    assert rows_of(database) == before

    assert archive.restore(empty, _store(folder), target) == written
    assert rows_of(empty) == before
    assert _files(folder) == kept
    assert empty.read(upgrade.revision) == upgrade.newest()


def test_what_was_restored_is_a_working_service(empty: Database, saved: Path, folder: Path) -> None:
    archive.restore(empty, _store(folder), saved)
    key = empty.write(lambda tx: keys.add(tx, 1, name="another"))
    with Inside(build(Settings(data_dir=folder, base_url=BASE), empty)) as client:
        ana = Person(1, "ana", key, client, empty)
        found = ana.get("/urls", q="LE IN A HAY")["data"]["urls"]
        assert [link["title"] for link in found] == ["Needle in a haystack"]
        ana.post("/url/add", {"url": "https://example.org/needles"})
        assert ana.get("/urls", q="needle")["data"]["result"] == 2
        assert client.get("/readyz").status_code == 200


def test_an_id_is_not_given_again_after_a_restore(
    ana: Person, database: Database, empty: Database, tmp_path: Path, folder: Path
) -> None:
    last = {}
    for family, number in itertools.product(FAMILIES, (1, 2)):
        last[family.noun] = ana.call("POST", f"{family.one}/add", family.body(number)).json()["id"]
    for family in FAMILIES:
        ana.delete(f"{family.one}/{last[family.noun]}/delete")
    ana.write(lambda tx: accounts.add_plan(tx, name="silver", status="pro", rate_limit=1, upload_limit=1))
    archive.backup(database, _store(tmp_path), tmp_path / "saved.tar.gz")
    archive.restore(empty, _store(folder), tmp_path / "saved.tar.gz")
    with Inside(build(Settings(data_dir=folder, base_url=BASE), empty)) as client:
        again = Person(ana.account, ana.username, ana.key, client, empty)
        for family in FAMILIES:
            made = again.call("POST", f"{family.one}/add", family.body(3)).json()["id"]
            assert made == last[family.noun] + 1, family.noun
        again.write(lambda tx: accounts.add_plan(tx, name="gold", status="pro", rate_limit=1, upload_limit=1))
        again.write(lambda tx: keys.add(tx, ana.account, name="another"))
        assert [key.id for key in again.write(lambda tx: keys.of(tx, ana.account))] == [2, 1]


def test_a_backup_is_one_moment_while_somebody_writes(
    ana: Person, database: Database, settings: Settings, tmp_path: Path, folder: Path
) -> None:
    """Every campaign is made in one transaction with a link in it: no archive may have one without the other."""
    stop, many = threading.Event(), threading.Event()

    def work(number: int) -> None:
        def both(tx: Connection) -> None:
            made = campaigns.add(tx, ana.account, name=f"Campaign no. {number}")
            links.add(tx, ana.account, settings=settings, url="https://example.com/", campaign=made.id)

        database.write(both)

    def write() -> None:
        for number in itertools.count():
            work(number)
            if number == 20:
                many.set()
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert many.wait(30)
        archive.backup(database, _store(tmp_path), tmp_path / "saved.tar.gz")
    finally:
        stop.set()
        writer.join()
    restored = Database(f"sqlite:///{folder / 'waypost.db'}")
    try:
        archive.restore(restored, _store(folder), tmp_path / "saved.tar.gz")
        rows = rows_of(restored)
    finally:
        restored.close()
    pairs = len(rows["campaigns"])
    assert 20 <= pairs <= len(rows_of(database)["campaigns"])
    assert len(rows["links"]) == len(rows["aliases"]) == pairs
    assert _tallied(rows, "links") == _tallied(rows, "campaigns") == pairs


def test_only_its_owner_may_read_an_archive(source: Database, tmp_path: Path) -> None:
    (tmp_path / "saved.tar.gz.partial").touch(0o666)  # left behind by a crash
    archive.backup(source, _store(tmp_path), tmp_path / "saved.tar.gz")
    assert (tmp_path / "saved.tar.gz").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "saved.tar.gz.partial").exists()


def test_a_backup_replaces_an_older_one_only_when_it_is_whole(source: Database, tmp_path: Path, saved: Path) -> None:
    before = saved.read_bytes()
    (tmp_path / "files" / "a").mkdir(parents=True)
    (tmp_path / "files" / "a" / "b").symlink_to("b")  # a file that cannot be read
    with pytest.raises(Problem, match=r"saved\.tar\.gz cannot be written: Too many levels of symbolic links\."):
        archive.backup(source, _store(tmp_path), saved)
    assert saved.read_bytes() == before
    assert not list(tmp_path.glob("*.partial"))


def test_a_folder_that_is_not_there_is_named(source: Database, tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"nowhere/saved\.tar\.gz cannot be written: No such file or directory\."):
        archive.backup(source, _store(tmp_path), tmp_path / "nowhere" / "saved.tar.gz")


def test_there_is_no_backup_of_nothing(empty: Database, tmp_path: Path) -> None:
    with pytest.raises(Problem, match="never started"):
        archive.backup(empty, _store(tmp_path), tmp_path / "saved.tar.gz")
    assert not list(tmp_path.glob("saved.tar.gz*"))


def test_a_database_with_accounts_is_left_alone(ana: Person, database: Database, saved: Path, folder: Path) -> None:
    before = rows_of(database)
    with pytest.raises(Problem, match="accounts in this database already"):
        archive.restore(database, _store(folder), saved)
    # The counting process may have started this moment, and written down when.
    assert rows_of(database) | {name: before[name] for name in ("facts", "leases")} == before
    assert _files(folder) == {}


def test_a_database_of_something_else_is_left_alone(empty: Database, saved: Path, folder: Path) -> None:
    empty.write(lambda tx: tx.exec_driver_sql("CREATE TABLE accounts (name text)"))
    with pytest.raises(Problem, match="other tables in this database"):
        archive.restore(empty, _store(folder), saved)
    assert _tables(empty) == ["accounts"]


def test_a_folder_with_files_is_left_alone(empty: Database, saved: Path, folder: Path) -> None:
    _write(folder / "files" / "mine", b"mine")
    with pytest.raises(Problem, match="There are files in the storage already"):
        archive.restore(empty, _store(folder), saved)
    assert _files(folder) == {"files/mine": b"mine"}
    assert _tables(empty) == []


def test_an_installation_that_nobody_used_can_be_filled(
    source: Database, empty: Database, saved: Path, folder: Path
) -> None:
    upgrade.upgrade(empty)
    (folder / "files").mkdir()
    archive.restore(empty, _store(folder), saved)
    assert rows_of(empty) == rows_of(source)
    assert list(_files(folder)) == ["files/a/b"]


_UNREADABLE, _DAMAGED, _NOT_OURS, _NEWER = (
    "cannot be read",
    "is damaged",
    "not an archive that `waypost backup` wrote",
    "written by a newer waypost",
)
FOREIGN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda whole: b"", _UNREADABLE),
    "text": (lambda whole: b"some words\n", _UNREADABLE),
    "gzip of something else": (lambda whole: gzip.compress(b"some words\n"), _UNREADABLE),
    "tar without a manifest": (lambda whole: _tar({"readme.txt": b"hello"}), _NOT_OURS),
    "manifest of something else": (lambda whole: _tar({"manifest.json": b'{"format": "docker"}'}), _NOT_OURS),
    "manifest that is a list": (lambda whole: _tar({"manifest.json": b"[1]"}), _NOT_OURS),
    "manifest that is not JSON": (lambda whole: _tar({"manifest.json": b"\xff{"}), _NOT_OURS),
    "cut in the middle": (lambda whole: whole[: len(whole) // 2], _UNREADABLE),
    "cut in the header": (lambda whole: whole[:20], _UNREADABLE),
    "cut by one byte": (lambda whole: whole[:-1], _UNREADABLE),
    "one bit changed": (lambda whole: whole[:900] + bytes([whole[900] ^ 1]) + whole[901:], _UNREADABLE),
    "a tar that ends in a file": (lambda whole: gzip.compress(_up_to(whole, b"\x00\xff" * 9)), _UNREADABLE),
    "a tar that ends before its last file": (lambda whole: gzip.compress(_up_to(whole, b"files/")), _DAMAGED),
    "a row that is not JSON": (lambda whole: _edited(whole, "links", lambda rows: rows + b"{\n"), _DAMAGED),
    "a row that is not an object": (lambda whole: _edited(whole, "links", lambda rows: rows + b"5\n"), _DAMAGED),
    "a row without a column": (lambda whole: _edited(whole, "links", lambda rows: rows + b"{}\n"), _DAMAGED),
    "a column that is not there": (
        lambda whole: _edited(whole, "links", lambda rows: rows.replace(b'"url"', b'"uri"')),
        _DAMAGED,
    ),
    "a row of nobody": (
        lambda whole: _edited(whole, "links", lambda rows: rows.replace(b'"account": 1', b'"account": 77')),
        _DAMAGED,
    ),
    "bytes that are not Base64": (
        lambda whole: _edited(whole, "facts", lambda rows: rows.replace(b'"value": "', b'"value": "=')),
        _DAMAGED,
    ),
    "a table that is missing": (lambda whole: _edited(whole, "links", lambda rows: None), _DAMAGED),
    "a newer revision": (lambda whole: _at(whole, "9999"), _NEWER),
    "no revision": (lambda whole: _at(whole, None), _NEWER),
}


def test_what_is_no_whole_archive_of_ours_changes_nothing(
    empty: Database, whole: bytes, saved: Path, folder: Path
) -> None:
    for name, (spoil, told) in FOREIGN.items():
        saved.write_bytes(spoil(whole))
        with pytest.raises(Problem) as caught:
            archive.restore(empty, _store(folder), saved)
        message = caught.value.message
        assert told in message, name
        assert message.endswith("."), name
        assert "\n" not in message, name
        assert _tables(empty) == [], name
        assert _files(folder) == {}, name


def test_an_archive_that_is_not_there_is_named(empty: Database, folder: Path) -> None:
    with pytest.raises(Problem, match=r"nowhere\.tar\.gz cannot be read: No such file or directory\."):
        archive.restore(empty, _store(folder), folder / "nowhere.tar.gz")


def test_an_archive_writes_nothing_outside_the_files_folder(
    source: Database, empty: Database, whole: bytes, saved: Path, folder: Path
) -> None:
    bad = ("files/../../evil", "files/a/../../../evil", "/files/evil", "evil", "../evil")
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        members = {entry.name: _read(tar, entry) for entry in tar}
    saved.write_bytes(_tar({**members, **dict.fromkeys(bad, b"evil")}, link="files/link"))
    archive.restore(empty, _store(folder), saved)
    assert list(_files(folder)) == ["files/a/b"]
    assert not list(folder.parent.rglob("evil"))
    assert rows_of(empty) == rows_of(source)


def _store(folder: Path) -> Store:
    """The store of an installation in a folder."""
    return open_store(Settings(data_dir=folder))


def _file_of(tx: Connection, account: int, name: str) -> None:
    """A file whose bytes somebody put into the store."""
    files.begin(tx, name)
    stored = files.Stored(name, "b.bin", 10_000, b"", "application/zip")
    files.add(tx, account, stored, settings=Settings())


def _named(database: Database) -> list[str]:
    return list(database.read(lambda tx: tx.execute(select(schema.files.c.object)).scalars().all()))


def use_everything(ana: Person, ben: Person) -> None:
    """At least one row in every table: through the API, and by hand where it has no way yet."""
    for family in FAMILIES:
        for number in (1, 2):
            assert ana.call("POST", f"{family.one}/add", family.body(number)).json()["error"] == 0
    ben.post("/bio/add", BIO.body(3))
    for name, content in (("a.bin", b"\x00\xff" * 5000), ("b.txt", b"aaa")):
        assert ana.call("POST", f"/files/upload/{name}", content=content).json()["error"] == 0
    link = ana.post(
        "/url/add",
        {
            "url": "https://example.com/ünï?a=%20",
            "domain": "go1.brand.example",
            "password": "a secret",
            "expiry": "2999-12-31",
            "pixels": [1, 2],
            "channel": [1],
            "campaign": 1,
            "type": "overlay-1",
            "geotarget": [{"location": "France", "link": "https://example.fr/"}],
            "parameters": [{"name": "a", "value": "'\"\\ü"}],
        },
    )["id"]
    ana.post("/channel/2/assign/bio/1")
    ana.delete(f"/url/{link - 1}/delete")
    ana.write(_fill_the_rest)


def _fill_the_rest(tx: Connection) -> None:
    for table in schema.metadata.sorted_tables:
        if tx.execute(select(func.count()).select_from(table)).scalar_one() == 0:
            tx.execute(insert(table).values(_anything(table)))


def _anything(table: Table) -> dict[str, Any]:
    """Some value for every column of a table that nothing fills yet."""
    return {column.name: _value(column) for column in table.c if column.name != "id"}


def _value(column: Column[Any]) -> Any:
    if column.foreign_keys or column.name == "account":
        return 1
    kinds: list[tuple[type, Any]] = [
        (Boolean, True),
        (BigInteger, 2**40),
        (Integer, 7),
        (LargeBinary, bytes(range(256))),
        (JSON, {"a": [1, "ü", None]}),
    ]
    return next((value for kind, value in kinds if isinstance(column.type, kind)), "ü\n")


def rows_of(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, in an order that does not depend on the database."""

    def work(tx: Connection) -> dict[str, list[tuple[Any, ...]]]:
        tables = schema.metadata.sorted_tables
        return {table.name: sorted((tuple(row) for row in tx.execute(select(table))), key=repr) for table in tables}

    return database.read(work)


def _tables(database: Database) -> list[str]:
    return database.read(lambda tx: inspect(tx).get_table_names())


def _tallied(rows: dict[str, list[tuple[Any, ...]]], noun: str) -> int:
    """How many rows of a noun are counted, by the coarser of the two levels."""
    return sum(n for _account, counted, level, _block, n in rows["tallies"] if (counted, level) == (noun, 1))


def _files(folder: Path) -> dict[str, bytes]:
    """Everything in a data folder that is not its database."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("waypost.db"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _read(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(entry)
    assert file is not None
    return file.read()


def _tar(members: dict[str, bytes], *, link: str = "") -> bytes:
    """A gzipped tar of these files, and perhaps a link out of the folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        if link:
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, "../../evil"
            tar.addfile(entry)
    return packed.getvalue()


def _edited(whole: bytes, table: str, edit: Callable[[bytes], bytes | None]) -> bytes:
    """The archive with other rows in a table, or without it."""
    return _changed(whole, f"tables/{table}.jsonl", edit)


def _up_to(whole: bytes, what: bytes) -> bytes:
    """The tar, cut a little behind the first place where `what` stands."""
    unpacked = gzip.decompress(whole)
    return unpacked[: unpacked.index(what) + 100]


def _at(whole: bytes, revision: str | None) -> bytes:
    """The archive as if written at another revision."""
    return _changed(
        whole, "manifest.json", lambda text: json.dumps({**json.loads(text), "revision": revision}).encode()
    )


def _changed(whole: bytes, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        members = {entry.name: _read(tar, entry) for entry in tar}
    changed = change(members[name])
    assert changed != members[name]
    return _tar({key: value for key, value in {**members, name: changed}.items() if value is not None})
