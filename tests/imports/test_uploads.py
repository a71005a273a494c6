"""Uploaded files of imports: one at a time for each account, within its plan and the free space of the disk."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.imports import SHOP, await_import
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db.schema import plans as account_plans
from waypost.transfer.imports import plans, uploads
from waypost.transfer.imports.uploads import ImportFile

_CSV = f"alias,url\nspring,{SHOP}".encode()


def _left(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("import-*")]


def _submit(dashboard: Browser, content: bytes) -> Any:
    form = {"token": hidden_field(dashboard.get("/import/new"), "token"), "timezone": "UTC"}
    return dashboard.client.post("/dashboard/import/new", data=form, files={"file": ("links.csv", content)})


def _set_storage(person: Person, limit: int) -> None:
    person.write(lambda tx: tx.execute(update(account_plans).values(storage_limit=limit)))


def test_second_upload_of_an_account_is_refused_until_the_first_ends(
    ana: Person, ben: Person, dashboard: Browser, settings: Settings
) -> None:
    with ImportFile(settings.data_dir, ana.account):
        response = _submit(dashboard, _CSV)
        assert (response.status_code, "Another file of this account" in response.text) == (400, True)
        ImportFile(settings.data_dir, ben.account).close()
    assert _submit(dashboard, _CSV).status_code == 303
    assert await_import(ana)["state"] == "planned"
    assert _left(settings.data_dir) == []


def test_upload_during_a_running_import_is_refused(ana: Person, dashboard: Browser, settings: Settings) -> None:
    ana.write(lambda tx: plans.add(tx, ana.account, "csv", conflicts="skip"))
    response = _submit(dashboard, _CSV)
    assert (response.status_code, "is running" in response.text) == (400, True)
    assert _left(settings.data_dir) == []


@pytest.mark.parametrize("size", [100_000, 3_000_000], ids=["while it arrives", "by its declared length"])
def test_upload_over_the_storage_of_the_plan_is_refused(
    ana: Person, dashboard: Browser, settings: Settings, size: int
) -> None:
    _set_storage(ana, 90_000)
    response = _submit(dashboard, b"x" * size)
    assert (response.status_code, "room for 90000 bytes" in response.text.replace(" ", " ")) == (507, True)
    assert _left(settings.data_dir) == []


def test_upload_leaves_space_for_the_database(
    ana: Person, dashboard: Browser, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = shutil.disk_usage(".")._replace(free=256 * 1024 * 1024 + len(_CSV))
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: left)
    response = _submit(dashboard, _CSV + b"x" * 100)
    assert (response.status_code, "storage of this service is full" in response.text) == (507, True)
    assert _left(settings.data_dir) == []
    assert _submit(dashboard, _CSV).status_code == 303


def test_copy_of_a_stored_file_needs_free_space_only(
    ana: Person, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ana.call("POST", "/files/upload/links.csv", content=_CSV).json()["id"]
    _set_storage(ana, len(_CSV))
    ana.post("/import/add", {"file": file})
    assert await_import(ana)["state"] == "planned"
    full = shutil.disk_usage(".")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: full)
    ana.post("/import/add", {"file": file})
    details = await_import(ana)
    assert (details["state"], "is full" in details["error"], _left(settings.data_dir)) == ("failed", True, [])


def test_file_over_a_gibibyte_is_refused_by_its_declared_length(settings: Settings) -> None:
    with ImportFile(settings.data_dir, 1) as file, pytest.raises(Problem) as caught:
        file.require(uploads.MAX_BYTES + 1)
    assert caught.value.kind is Kind.TOO_LARGE


@pytest.fixture
def killed(settings: Settings) -> Path:
    """The file of a process that is killed."""
    settings.data_dir.mkdir(exist_ok=True)
    program = "import sys, time; from pathlib import Path; from waypost.transfer.imports.uploads import ImportFile\n"
    program += "file = ImportFile(Path(sys.argv[1]), 7); file.write(b'x'); print(1, flush=True); time.sleep(300)"
    with subprocess.Popen([sys.executable, "-c", program, settings.data_dir], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(Problem, match="Another file of this account"):
            ImportFile(settings.data_dir, 7)
        uploads.remove_abandoned(settings.data_dir)
        assert _left(settings.data_dir) == ["import-7"]
        process.kill()
    return settings.data_dir / "import-7"


def test_file_of_a_killed_process_is_removed(settings: Settings, killed: Path) -> None:
    assert killed.exists()
    uploads.remove_abandoned(settings.data_dir)
    assert not killed.exists()


def test_file_of_a_killed_process_does_not_block_its_account(settings: Settings, killed: Path) -> None:
    with ImportFile(settings.data_dir, 7) as file:
        file.write(b"new")
        assert killed.read_bytes() == b"new"


def test_simultaneous_files_of_many_accounts_do_not_disturb_each_other(tmp_path: Path) -> None:
    def work(account: int) -> None:
        for _ in range(50):
            with ImportFile(tmp_path, account) as file:
                file.write(b"x" * account)
                assert os.path.getsize(file.path) == account  # noqa: PTH202

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(1, 9)))
    assert _left(tmp_path) == []
