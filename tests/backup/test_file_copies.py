"""Backups with a folder of copies, and backups through pipes."""

import io
import os
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.conftest import Person
from tests.support.backup import files_in, store_in
from tests.support.files import new_file
from tests.support.newcomer import Newcomer, newcomer
from tests.support.seed import all_rows
from waypost.core.errors import Problem
from waypost.db.database import Database
from waypost.transfer.backup import archive
from waypost.transfer.backup.archive import ArchiveSummary
from waypost.transfer.backup.file_copies import FileCopies

_CONTENTS = (b"one" * 50_000, b"two", b"three")
_DAY = 86_400


@pytest.fixture
def copies(tmp_path: Path) -> FileCopies:
    """An empty folder of copies."""
    return FileCopies(tmp_path / "copies")


def _copied(folder: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in (folder / "copies").rglob("*") if path.is_file())


def _backup(database: Database, folder: Path, copies: FileCopies | None = None) -> ArchiveSummary:
    return archive.backup(database, store_in(folder), folder / "saved.tar.gz", copies=copies)


def test_each_backup_copies_only_new_files_and_restore_returns_all(
    ana: Person, database: Database, empty_database: Database, empty_folder: Path, tmp_path: Path, copies: FileCopies
) -> None:
    for number, content in enumerate(_CONTENTS[:2]):
        new_file(ana, f"{number}.bin", content)
    assert _backup(database, tmp_path, copies).files == 2
    first = {path: path.stat().st_ino for path in (tmp_path / "copies").rglob("*") if path.is_file()}
    new_file(ana, "2.bin", _CONTENTS[2])
    summary = _backup(database, tmp_path, copies)
    assert (summary.files, summary.missing) == (3, 0)
    assert {path: path.stat().st_ino for path in first} == first
    assert _copied(tmp_path) == sorted(_CONTENTS)
    assert (tmp_path / "saved.tar.gz").stat().st_size < 100_000
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "copies").rglob("*")} == {0}

    before = all_rows(database)
    restored = archive.restore(empty_database, store_in(empty_folder), tmp_path / "saved.tar.gz", copies=copies)
    assert restored == summary
    assert all_rows(empty_database) == before
    assert sorted(files_in(empty_folder).values()) == sorted(_CONTENTS)


def test_damaged_and_missing_copies_are_left_out_and_reported(
    ana: Person, database: Database, empty_database: Database, empty_folder: Path, tmp_path: Path, copies: FileCopies
) -> None:
    for number in range(3):
        new_file(ana, f"{number}.bin", b"content %d" % number)
    _backup(database, tmp_path, copies)
    damaged, missing, _ = sorted(path for path in (tmp_path / "copies").rglob("*") if path.is_file())
    damaged.write_bytes(b"damage 00")
    missing.unlink()
    with capture_logs() as logs:
        summary = archive.restore(empty_database, store_in(empty_folder), tmp_path / "saved.tar.gz", copies=copies)
    assert (summary.files, summary.missing) == (1, 2)
    assert sorted(log["event"] for log in logs if log["log_level"] == "error") == [
        "the bytes of a file are missing",
        "the copy of a file is damaged",
    ]
    _backup(database, tmp_path, copies)
    assert missing.is_file()


def test_incomplete_copy_is_copied_again(ana: Person, database: Database, tmp_path: Path, copies: FileCopies) -> None:
    new_file(ana, "a.bin", b"content")
    _backup(database, tmp_path, copies)
    (copy,) = [path for path in (tmp_path / "copies").rglob("*") if path.is_file()]
    copy.write_bytes(b"cont")
    abandoned = copy.with_name(copy.name + ".killed.partial")
    abandoned.write_bytes(b"co")
    os.utime(abandoned, (0, 0))
    _backup(database, tmp_path, copies)
    assert _copied(tmp_path) == [b"content"]


def test_copies_that_no_recent_backup_needed_are_deleted(
    ana: Person, database: Database, tmp_path: Path, copies: FileCopies
) -> None:
    old, kept = (new_file(ana, f"{name}.bin", name.encode()) for name in ("old", "kept"))
    _backup(database, tmp_path, copies)
    ana.remove("file", old)
    past = time.time() - 8 * _DAY
    (copy, _) = [path for path in (tmp_path / "copies").rglob("*") if path.is_file()]
    copy.with_name(copy.name + ".killed.partial").touch()
    for path in (tmp_path / "copies").rglob("*"):
        os.utime(path, (past, past))
    (tmp_path / "copies" / "notes.txt").write_text("mine")
    os.utime(tmp_path / "copies" / "notes.txt", (past, past))
    _backup(database, tmp_path, copies)  # needs one of them
    assert copies.delete_unused(9) == 0
    assert copies.delete_unused(7) == 2
    assert _copied(tmp_path) == [b"kept", b"mine"]
    assert kept


def test_place_of_the_files_must_be_the_one_of_the_backup(
    archive_file: Path,
    installation: Database,
    empty_database: Database,
    empty_folder: Path,
    tmp_path: Path,
    copies: FileCopies,
) -> None:
    store = store_in(empty_folder)
    with pytest.raises(Problem, match="Restore it without --files-in"):
        archive.restore(empty_database, store, archive_file, copies=copies)
    assert installation.path is not None
    archive.backup(installation, store_in(installation.path.parent), tmp_path / "rows.tar.gz", copies=copies)
    with pytest.raises(Problem, match="Name it with --files-in"):
        archive.restore(empty_database, store, tmp_path / "rows.tar.gz")
    assert store.is_empty()


def test_folder_that_cannot_be_written_fails_the_backup(ana: Person, database: Database, tmp_path: Path) -> None:
    new_file(ana, "a.bin")
    (tmp_path / "in-the-way").write_text("a file")
    with pytest.raises(Problem, match=r"in-the-way cannot be written: Not a directory\."):
        _backup(database, tmp_path, FileCopies(tmp_path / "in-the-way"))
    assert not (tmp_path / "saved.tar.gz").exists()


def test_stream_that_ends_fails_the_backup(ana: Person, database: Database, tmp_path: Path) -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, _data: object) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(Problem, match=r"The output cannot be written: Broken pipe\."):
        archive.backup(database, store_in(tmp_path), io.BufferedWriter(Full()))


def _accounts(user: Newcomer, **settings: str) -> str:
    return user.shell("waypost account list", **settings).stdout


def test_backup_and_restore_work_through_a_pipe(tmp_path: Path) -> None:
    user = newcomer(tmp_path)
    with user.serving("serve.log"):
        piped = user.shell("waypost backup - | WAYPOST_DATA_DIR=other waypost restore -")
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout.startswith("-: ")
    assert piped.stdout.count("\n") == 1
    assert piped.stderr.startswith("-: ")
    assert _accounts(user, WAYPOST_DATA_DIR="other") == _accounts(user)
    assert "owner" in _accounts(user)
    names = {path.name for path in (tmp_path / "work" / "other").iterdir()}
    assert not {name for name in names if name.startswith("tmp")}


def test_cut_stream_restores_nothing(tmp_path: Path) -> None:
    user = newcomer(tmp_path)
    with user.serving("serve.log"):
        completed = user.shell("waypost backup - | head -c 1000 | WAYPOST_DATA_DIR=other waypost restore -")
    assert completed.returncode == 1
    assert "The input cannot be read" in completed.stderr
    assert "Traceback" not in completed.stderr


def test_archive_is_not_written_to_a_terminal(tmp_path: Path) -> None:
    user = newcomer(tmp_path)
    with user.serving("serve.log"):
        completed = user.shell("script -qec 'waypost backup -' /dev/null")
    assert completed.returncode == 1
    assert "cannot be shown on a terminal" in completed.stdout


def test_keep_days_needs_the_folder(tmp_path: Path) -> None:
    user = newcomer(tmp_path)
    completed = user.shell("waypost backup saved.tar.gz --keep-days 3")
    assert completed.returncode == 1
    assert "Name their folder as well" in completed.stderr
