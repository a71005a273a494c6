"""Rejected restores: the target is not empty or the archive is invalid. Nothing changes; the error says why."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import inspect

from tests.conftest import Person
from tests.support.backup import files_in, store_in, write_file
from tests.support.seed import all_rows
from waypost.core.errors import Problem
from waypost.db import upgrade
from waypost.db.database import Database
from waypost.transfer.backup import archive


def test_restore_into_database_with_accounts_is_rejected(
    ana: Person, database: Database, archive_file: Path, empty_folder: Path
) -> None:
    before = all_rows(database)
    with pytest.raises(Problem, match="accounts in this database already"):
        archive.restore(database, store_in(empty_folder), archive_file)
    # The ingester may have just started and written its own values.
    assert all_rows(database) | {name: before[name] for name in ("installation", "leases")} == before
    assert files_in(empty_folder) == {}


def test_restore_into_foreign_database_is_rejected(
    empty_database: Database, archive_file: Path, empty_folder: Path
) -> None:
    empty_database.write(lambda tx: tx.exec_driver_sql("CREATE TABLE accounts (name text)"))
    with pytest.raises(Problem, match="other tables in this database"):
        archive.restore(empty_database, store_in(empty_folder), archive_file)
    assert _tables(empty_database) == ["accounts"]


def test_restore_into_storage_with_files_is_rejected(
    empty_database: Database, archive_file: Path, empty_folder: Path
) -> None:
    write_file(empty_folder / "files" / "other", b"other")
    with pytest.raises(Problem, match="There are files in the storage already"):
        archive.restore(empty_database, store_in(empty_folder), archive_file)
    assert files_in(empty_folder) == {"files/other": b"other"}
    assert _tables(empty_database) == []


def test_restore_into_unused_installation_succeeds(
    installation: Database, empty_database: Database, archive_file: Path, empty_folder: Path
) -> None:
    upgrade.upgrade(empty_database)
    (empty_folder / "files").mkdir()
    archive.restore(empty_database, store_in(empty_folder), archive_file)
    assert all_rows(empty_database) == all_rows(installation)
    assert list(files_in(empty_folder)) == ["files/a/b"]


_UNREADABLE, _DAMAGED, _FOREIGN, _NEWER = (
    "cannot be read",
    "is damaged",
    "not an archive that `waypost backup` wrote",
    "written by a newer waypost",
)
INVALID_ARCHIVES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda whole: b"", _UNREADABLE),
    "text": (lambda whole: b"some words\n", _UNREADABLE),
    "gzip of something else": (lambda whole: gzip.compress(b"some words\n"), _UNREADABLE),
    "tar without a manifest": (lambda whole: _tar({"readme.txt": b"hello"}), _FOREIGN),
    "manifest of something else": (lambda whole: _tar({"manifest.json": b'{"format": "docker"}'}), _FOREIGN),
    "manifest that is a list": (lambda whole: _tar({"manifest.json": b"[1]"}), _FOREIGN),
    "manifest that is not JSON": (lambda whole: _tar({"manifest.json": b"\xff{"}), _FOREIGN),
    "cut in the middle": (lambda whole: whole[: len(whole) // 2], _UNREADABLE),
    "cut in the header": (lambda whole: whole[:20], _UNREADABLE),
    "cut by one byte": (lambda whole: whole[:-1], _UNREADABLE),
    "one bit changed": (lambda whole: whole[:900] + bytes([whole[900] ^ 1]) + whole[901:], _UNREADABLE),
    "a tar that ends in a file": (lambda whole: gzip.compress(_truncate(whole, b"\x00\xff" * 9)), _UNREADABLE),
    "a tar that ends before its last file": (lambda whole: gzip.compress(_truncate(whole, b"files/")), _DAMAGED),
    "a row that is not JSON": (lambda whole: _edit_table(whole, "links", lambda rows: rows + b"{\n"), _DAMAGED),
    "a row that is not an object": (lambda whole: _edit_table(whole, "links", lambda rows: rows + b"5\n"), _DAMAGED),
    "a row without a column": (lambda whole: _edit_table(whole, "links", lambda rows: rows + b"{}\n"), _DAMAGED),
    "a column that is not there": (
        lambda whole: _edit_table(whole, "links", lambda rows: rows.replace(b'"url"', b'"uri"')),
        _DAMAGED,
    ),
    "a row of a missing account": (
        lambda whole: _edit_table(whole, "links", lambda rows: rows.replace(b'"account": 1', b'"account": 77')),
        _DAMAGED,
    ),
    "bytes that are not Base64": (
        lambda whole: _edit_table(whole, "installation", lambda rows: rows.replace(b'"value": "', b'"value": "=')),
        _DAMAGED,
    ),
    "a table that is missing": (lambda whole: _edit_table(whole, "links", lambda rows: None), _DAMAGED),
    "a newer revision": (lambda whole: _with_revision(whole, "9999"), _NEWER),
    "no revision": (lambda whole: _with_revision(whole, None), _NEWER),
}


def test_invalid_archive_changes_nothing(
    empty_database: Database, archived: bytes, archive_file: Path, empty_folder: Path
) -> None:
    for name, (damage, expected) in INVALID_ARCHIVES.items():
        archive_file.write_bytes(damage(archived))
        with pytest.raises(Problem) as caught:
            archive.restore(empty_database, store_in(empty_folder), archive_file)
        message = caught.value.message
        assert expected in message, name
        assert message.endswith("."), name
        assert "\n" not in message, name
        assert _tables(empty_database) == [], name
        assert files_in(empty_folder) == {}, name


def test_missing_archive_is_named(empty_database: Database, empty_folder: Path) -> None:
    with pytest.raises(Problem, match=r"nowhere\.tar\.gz cannot be read: No such file or directory\."):
        archive.restore(empty_database, store_in(empty_folder), empty_folder / "nowhere.tar.gz")


def test_archive_with_path_traversal_writes_only_files_folder(
    installation: Database, empty_database: Database, archived: bytes, archive_file: Path, empty_folder: Path
) -> None:
    traversals = ("files/../../evil", "files/a/../../../evil", "/files/evil", "evil", "../evil")
    archive_file.write_bytes(_tar({**_members(archived), **dict.fromkeys(traversals, b"evil")}, link="files/link"))
    archive.restore(empty_database, store_in(empty_folder), archive_file)
    assert list(files_in(empty_folder)) == ["files/a/b"]
    assert not list(empty_folder.parent.rglob("evil"))
    assert all_rows(empty_database) == all_rows(installation)


def _tables(database: Database) -> list[str]:
    return database.read(lambda tx: inspect(tx).get_table_names())


def _members(whole: bytes) -> dict[str, bytes]:
    """Return the entries of an archive."""
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        return {member.name: _read(tar, member) for member in tar}


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def _tar(members: dict[str, bytes], *, link: str = "") -> bytes:
    """Return a gzipped tar of these files, optionally with a symbolic link out of the folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        if link:
            member = tarfile.TarInfo(link)
            member.type, member.linkname = tarfile.SYMTYPE, "../../evil"
            tar.addfile(member)
    return packed.getvalue()


def _edit_table(whole: bytes, table: str, edit: Callable[[bytes], bytes | None]) -> bytes:
    """Return the archive with changed rows of a table, or without the table."""
    return _change_member(whole, f"tables/{table}.jsonl", edit)


def _truncate(whole: bytes, marker: bytes) -> bytes:
    """Return the tar, cut 100 bytes after the first occurrence of `marker`."""
    unpacked = gzip.decompress(whole)
    return unpacked[: unpacked.index(marker) + 100]


def _with_revision(whole: bytes, revision: str | None) -> bytes:
    """Return the archive with another revision in its manifest."""
    return _change_member(
        whole, "manifest.json", lambda text: json.dumps({**json.loads(text), "revision": revision}).encode()
    )


def _change_member(whole: bytes, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    members = _members(whole)
    changed = change(members[name])
    assert changed != members[name]
    return _tar({key: value for key, value in {**members, name: changed}.items() if value is not None})
