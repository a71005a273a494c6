"""Commands of root leave nothing in the data folder that the service, another user, cannot write."""

import os
import shutil
from io import BytesIO
from pathlib import Path

import pytest

from tests.support.cli import RunCommand
from waypost.storage.disk import DiskStore

IS_ROOT = os.geteuid() == 0
SERVICE = 12_345 if IS_ROOT else os.geteuid()
"""The user of the service. Only root can give files to another user."""


@pytest.fixture
def data(working_folder: Path, sqlite_template: Path) -> Path:
    """The data folder of the service's user, with a database."""
    folder = working_folder / "data"
    folder.mkdir(mode=0o700)
    shutil.copy(sqlite_template, folder)
    for path in (folder, folder / "waypost.db"):
        os.chown(path, SERVICE, -1)
    return folder


def _foreign(folder: Path) -> list[str]:
    """Return what belongs to another user than the service."""
    return [str(path) for path in (folder, *folder.rglob("*")) if path.lstat().st_uid != SERVICE]


def _paths(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


def test_doctor_leaves_nothing_behind(run: RunCommand, working_folder: Path) -> None:
    run("doctor")
    assert _paths(working_folder) == []


def test_checks_and_backup_create_nothing_in_data_folder(run: RunCommand, data: Path) -> None:
    before = _paths(data)
    assert (run("doctor").code, run("backup", "saved.tar.gz").code) == (0, 0)
    assert (_paths(data), _foreign(data)) == (before, [])
    (data / "files").mkdir()
    os.chown(data / "files", SERVICE, -1)
    assert run("doctor").code == 0
    assert (_paths(data / "files"), _foreign(data)) == ([], [])


def test_stored_files_belong_to_owner_of_data_folder(run: RunCommand, data: Path) -> None:
    store = DiskStore(data / "files")
    store.save("ab/cdef", BytesIO(b"content"), disposition="attachment")
    store.close()
    assert len(_paths(data / "files")) == 2
    assert _foreign(data) == []


def test_restored_installation_belongs_to_owner_of_data_folder(run: RunCommand, data: Path) -> None:
    assert run("backup", "saved.tar.gz").code == 0
    shutil.rmtree(data)
    data.mkdir()
    os.chown(data, SERVICE, -1)
    assert run("restore", "saved.tar.gz").code == 0
    assert (data / "waypost.db").exists()
    assert _foreign(data) == []


def test_doctor_warns_of_files_of_another_user(run: RunCommand, data: Path) -> None:
    (data / "files").mkdir()
    completed = run("doctor")
    assert completed.code == 0
    assert ("W008 data/files belongs to another user than data" in completed.out) == IS_ROOT
