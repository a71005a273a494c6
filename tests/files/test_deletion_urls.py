"""Deletion URLs of files (decision 58)."""

from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.files import download, objects, upload
from tests.support.visits import ACCEPT_HTML, CHROME
from waypost.db.schema import accounts

BROWSER = {**ACCEPT_HTML, "User-Agent": CHROME}


@pytest.fixture
def deletion_path(ana: Person) -> str:
    """The path of the deletion URL of Ana's file `mine`."""
    url = str(upload(ana, "a.bin", custom="mine").json()["deleteurl"])
    assert url.startswith(f"{BASE}/files/delete/")
    return url.removeprefix(BASE)


@pytest.mark.parametrize("method", ["DELETE", "POST"])
def test_program_deletes_file_without_key(method: str, ana: Person, service: Any, deletion_path: str) -> None:
    assert download(service).status_code == 200  # cached
    response = service.request(method, deletion_path)
    assert (response.status_code, response.json()["error"]) == (200, 0)
    assert download(service).status_code == 404
    assert ana.get("/files")["result"] == 0
    assert service.request(method, deletion_path).status_code == 404


def test_get_deletes_nothing(ana: Person, service: Any, deletion_path: str) -> None:
    page = service.get(deletion_path, headers=BROWSER)
    assert (page.status_code, page.headers["referrer-policy"]) == (200, "no-referrer")
    assert '<form method="post">' in page.text
    assert service.get(deletion_path).status_code == 405
    assert service.get(deletion_path).headers["allow"] == "DELETE, POST"
    assert service.head(deletion_path, headers=BROWSER).status_code == 200
    assert ana.get("/files")["result"] == 1


def test_button_of_page_deletes_file(ana: Person, service: Any, deletion_path: str) -> None:
    page = service.post(deletion_path, headers=BROWSER, data={})
    assert page.status_code == 200
    assert "The file was deleted" in page.text
    assert ana.get("/files")["result"] == 0


def test_wrong_url_is_unknown_and_deletes_nothing(ana: Person, ben: Person, service: Any, deletion_path: str) -> None:
    other = str(upload(ben, "b.bin").json()["deleteurl"]).removeprefix(BASE)
    signature, other_id = deletion_path.rpartition("/")[2], other.split("/")[-2]
    paths = (
        deletion_path[:-1],
        f"{deletion_path}A",
        f"/files/delete/{other_id}/{signature}",
        f"/files/delete/999999/{signature}",
        f"/files/delete/{'9' * 30}/{signature}",
        f"/files/delete/٣/{signature}",
        f"/files/delete/-1/{signature}",
        f"/files/delete/1%00/{signature}",
        "/files/delete/1/%00",
    )
    for path in paths:
        for method in ("GET", "POST", "DELETE"):
            assert service.request(method, path).status_code == 404, (method, path)
    branded = service.request("DELETE", f"http://go.brand.example{deletion_path}")
    assert branded.status_code == 404
    assert (ana.get("/files")["result"], ben.get("/files")["result"]) == (1, 1)


def test_files_of_suspended_account_stay(ana: Person, service: Any, deletion_path: str, tmp_path: Any) -> None:
    ana.write(lambda tx: tx.execute(update(accounts).values(suspended=True)))
    assert service.delete(deletion_path).status_code == 404
    assert len(objects(tmp_path)) == 1
