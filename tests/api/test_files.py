"""Files in the API: upload, list, search, change, delete (decisions 17 to 23)."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from tests.conftest import BASE, Person
from tests.contract.shapes import FILE, FILE_DETAILS, differs
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.files import new_file, objects, upload
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts
from waypost.storage.cleanup import StorageCleaner
from waypost.storage.factory import open_store


def test_password_length_is_checked(ana: Person) -> None:
    file = new_file(ana, "a.bin")
    response = ana.call("PUT", f"/file/{file}/update", {"password": "x" * 129})
    assert refused(response, 400, "password") == "password must be at most 128 characters."


def test_empty_list_has_no_data_object(ana: Person) -> None:
    paging = {"result": 0, "perpage": 15, "currentpage": 1, "nextpage": None, "maxpage": 1}
    assert ana.get("/files") == {"error": 0, **paging, "list": []}


def test_uploaded_file_is_listed_and_stored(ana: Person, tmp_path: Path) -> None:
    created = upload(ana, "report.pdf", b"%PDF-1.7 hello", name="My report", custom="my-report").json()
    deletion_url = f"{BASE}/files/delete/{created['id']}/"
    assert created["deleteurl"].startswith(deletion_url)
    assert created == {
        "error": 0,
        "id": created["id"],
        "1": created["id"],
        "shorturl": f"{BASE}/my-report",
        "deleteurl": created["deleteurl"],
    }
    (listed,) = ana.get("/files")["list"]
    assert not differs(listed, FILE)
    assert (listed["id"], listed["name"], listed["downloads"]) == (created["id"], "My report", 0)
    assert listed["shorturl"] == created["shorturl"]
    details = ana.details("file", created["id"])
    assert not differs(details, FILE_DETAILS)
    assert details | listed == details
    assert (details["filename"], details["size"], details["type"]) == ("report.pdf", 14, "application/pdf")
    assert details["sha256"] == hashlib.sha256(b"%PDF-1.7 hello").hexdigest()
    assert (details["password"], details["expiry"], details["maxdownloads"]) == (False, "", None)
    (stored,) = objects(tmp_path)
    assert stored.read_bytes() == b"%PDF-1.7 hello"
    assert "report" not in str(stored.relative_to(tmp_path))
    assert stored.stat().st_mode & 0o077 == 0


def test_upload_ignores_content_type(ana: Person, service: Any) -> None:
    for number, kind in enumerate(("application/json", "text/plain", "multipart/mixed; boundary=x", "nonsense")):
        new_file(ana, f"{number}.json", b'{"not json', headers={"Content-Type": kind}, custom=f"file-{number}")
        assert service.get(f"/file-{number}").content == b'{"not json'


def test_chunked_upload_without_length_is_stored_completely(ana: Person, service: Any) -> None:
    pieces = [bytes([n]) * 70_000 for n in range(30)]
    new_file(ana, "pieces", iter(pieces), custom="pieces")
    assert service.get("/pieces").content == b"".join(pieces)


@ON_BOTH_DATABASES
def test_list_is_newest_first_and_searchable_by_name(ana: Person, ben: Person) -> None:
    names = ("Alpha.txt", "beta 100%.txt", "ALPHABET.doc", "größe_1.pdf", "GRÖSSE.pdf")
    ids = {name: new_file(ana, name) for name in names}
    new_file(ben, "alpha of ben.txt")
    assert [item["name"] for item in ana.get("/files")["list"]] == list(names[::-1])
    for search, names_found in (
        ("alpha", ["ALPHABET.doc", "Alpha.txt"]),
        ("100%", ["beta 100%.txt"]),
        ("%", ["beta 100%.txt"]),
        ("_", ["größe_1.pdf"]),
        ("grösse", ["GRÖSSE.pdf", "größe_1.pdf"]),
        ("nothing like it", []),
        ("'; DROP TABLE files; --", []),
    ):
        page = ana.get("/files", name=search)
        assert [item["name"] for item in page["list"]] == names_found, search
        assert page["result"] == len(names_found)
    pages = [ana.get("/files", limit=2, page=page) for page in (1, 3, 4)]
    assert [[item["id"] for item in page["list"]] for page in pages] == [
        [ids["GRÖSSE.pdf"], ids["größe_1.pdf"]],
        [ids["Alpha.txt"]],
        [],
    ]
    assert [(page["nextpage"], page["maxpage"], page["result"]) for page in pages] == [
        (2, 3, 5),
        (None, 3, 5),
        (None, 3, 5),
    ]
    assert ana.get("/files", limit=1, page=2, name="alpha")["list"][0]["name"] == "Alpha.txt"


def test_upload_parameters_are_stored(ana: Person) -> None:
    ana.post("/domain/add", {"domain": "https://go.brand.example"})
    query = {"expiry": "2999-12-31", "maxdownloads": 7, "password": "a secret", "domain": "go.brand.example:443"}
    created = upload(ana, "a.bin", custom="mine", **query).json()
    assert created["shorturl"] == "https://go.brand.example/mine"
    details = ana.details("file", created["id"])
    assert (details["expiry"], details["maxdownloads"], details["password"]) == ("2999-12-31 23:59:59", 7, True)


def test_update_sets_only_given_fields_and_null_clears(ana: Person) -> None:
    file = new_file(ana, "a.bin", name="First", password="a secret", expiry="2999-12-31", maxdownloads=7)
    before = ana.details("file", file)
    ana.update("file", file)
    assert ana.details("file", file) == before
    for field, value, stored in (
        ("name", "Second", "Second"),
        ("expiry", "2998-01-01", "2998-01-01 23:59:59"),
        ("maxdownloads", 8, 8),
        ("password", "another", True),
        ("name", None, "a.bin"),
        ("expiry", None, ""),
        ("maxdownloads", None, None),
        ("password", None, False),
    ):
        expected = {**ana.details("file", file), field: stored}
        assert ana.put(f"/file/{file}/update", {field: value})["message"]
        assert ana.details("file", file) == expected, field
    assert [item["name"] for item in ana.get("/files", name="a.b")["list"]] == ["a.bin"]


INVALID: dict[str, tuple[Any, ...]] = {
    "name": ("   ", "x" * 256, "a\nb", "a\x00b"),
    "custom": ("has space", "ünïcode", "a/b", "x" * 51, "api", "files"),
    "domain": ("elsewhere.example", "https://elsewhere.example"),
    "password": ("x" * 129, "a\nb"),
    "expiry": ("2001-01-01", "tomorrow", "2030-02-30", "x" * 100),
    "maxdownloads": ("0", "-1", "1.5", "x", "1e3", "٣", "9" * 30, "true"),
}


def test_invalid_values_are_rejected_and_nothing_is_stored(ana: Person, tmp_path: Path) -> None:
    for field, invalid_values in INVALID.items():
        for value in invalid_values:
            response = upload(ana, "a.bin", **{field: value})
            assert refused(response, 400, field), (field, value)
    file = new_file(ana, "a.bin")
    before = ana.details("file", file)
    for field in ("name", "password", "expiry", "maxdownloads"):
        for value in (*INVALID[field], 1.5, True, [], {}):
            response = ana.call("PUT", f"/file/{file}/update", {field: value})
            assert (response.status_code, response.json()["field"]) == (400, field), (field, value)
    assert ana.details("file", file) == before
    assert len(objects(tmp_path)) == 1


def test_empty_body_is_rejected(ana: Person, tmp_path: Path) -> None:
    for content in (b"", iter(())):
        response = upload(ana, "a.bin", content)
        assert (response.status_code, response.json()["field"]) == (400, "body")
    assert (objects(tmp_path), ana.get("/files")["result"]) == ([], 0)


@ON_BOTH_DATABASES
def test_alias_of_any_resource_is_unique(ana: Person, ben: Person, tmp_path: Path) -> None:
    ana.post("/url/add", {"url": "https://example.com/", "custom": "spring"})
    file = new_file(ana, "a.bin", custom="summer")
    for person, alias in ((ana, "spring"), (ben, "spring"), (ana, "summer"), (ben, "summer")):
        response = upload(person, "b.bin", custom=alias)
        assert response.json() == {
            "error": 1,
            "message": "That alias is taken. Please choose another one.",
            "code": "taken",
            "field": "custom",
        }
    ana.remove("file", file)
    assert upload(ben, "b.bin", custom="summer").json()["field"] == "custom"
    assert new_file(ana, "c.bin", custom="summer") > file
    assert len(ana.get("/files")["list"]) == 1


def test_file_of_another_account_is_not_found(ana: Person, ben: Person, service: Any) -> None:
    file = new_file(ana, "a.bin", custom="mine")
    for method, path in (("GET", ""), ("GET", "/stats"), ("PUT", "/update"), ("DELETE", "/delete")):
        foreign = ben.call(method, f"/file/{file}{path}", {"name": "Mine"} if method == "PUT" else None)
        absent = ben.call(method, f"/file/999999{path}", {"name": "Mine"} if method == "PUT" else None)
        assert refused(foreign, 404) == refused(absent, 404)
        assert ana.client.request(method, f"/api/file/{file}{path}").status_code == 401
    assert ben.get("/files")["list"] == []
    assert ana.details("file", file)["name"] == "a.bin"
    assert service.post("/api/files/upload/a.bin", content=b"x").status_code == 401


def test_deleting_file_removes_its_bytes(
    ana: Person, service: Any, database: Database, settings: Settings, tmp_path: Path
) -> None:
    file = new_file(ana, "a.bin", custom="mine")
    assert service.get("/mine").status_code == 200
    assert ana.remove("file", file)["message"]
    assert (service.get("/mine").status_code, ana.get("/files")["result"]) == (404, 0)
    assert refused(ana.call("DELETE", f"/file/{file}/delete"), 404)
    StorageCleaner(database, open_store(settings), settings).run_due()
    assert objects(tmp_path) == []
    assert database.read(lambda tx: tx.execute(select(schema.orphan_objects)).all()) == []


@ON_BOTH_DATABASES
def test_downloads_are_counted_in_statistics(ana: Person, service: Any) -> None:
    file = new_file(ana, "a.bin", custom="mine")
    for agent in ("curl/8.5.0", "Wget/1.21", "curl/8.5.0"):
        assert service.get("/mine", headers={"User-Agent": agent}).status_code == 200
    assert ana.get("/files")["list"][0]["downloads"] == 3
    details = ana.details("file", file)
    assert (details["downloads"], details["uniquedownloads"]) == (3, 2)
    report = ana.get(f"/file/{file}/stats")["data"]
    assert (report["total"]["clicks"], report["total"]["uniqueClicks"]) == (3, 2)
    assert ana.get("/stats")["data"]["total"]["clicks"] == 3
    assert ',"file",' in ana.call("GET", "/stats/export").text


def _set_plan_limits(person: Person, **limits: int | None) -> None:
    person.write(lambda tx: tx.execute(update(schema.plans).values(limits)))


@ON_BOTH_DATABASES
def test_upload_over_plan_limit_is_rejected(ana: Person, tmp_path: Path) -> None:
    _set_plan_limits(ana, upload_limit=1000)
    for content in (b"x" * 1001, iter([b"x" * 600, b"x" * 600])):
        response = upload(ana, "a.bin", content)
        assert (response.status_code, response.json()["code"]) == (413, "too_large")
        assert "1000 bytes" in response.json()["message"]
    assert new_file(ana, "a.bin", b"x" * 1000)
    assert len(objects(tmp_path)) == 1


@ON_BOTH_DATABASES
def test_upload_over_storage_limit_is_rejected(
    ana: Person, ben: Person, database: Database, settings: Settings, tmp_path: Path
) -> None:
    _set_plan_limits(ana, storage_limit=1000)
    first = new_file(ana, "a.bin", b"x" * 600)
    for content in (b"x" * 401, iter([b"x" * 200, b"x" * 201])):
        response = upload(ana, "b.bin", content)
        assert (response.status_code, response.json()["code"]) == (507, "storage_full")
        assert "400 bytes more" in response.json()["message"]
    new_file(ben, "b.bin", b"x" * 1000)
    new_file(ana, "b.bin", b"x" * 400)
    ana.remove("file", first)
    new_file(ana, "c.bin", b"x" * 600)
    StorageCleaner(database, open_store(settings), settings).run_due()
    assert len(objects(tmp_path)) == 3


def test_declared_digests_are_verified(ana: Person, tmp_path: Path) -> None:
    content = b"hello" * 1000
    md5, sha256, sha512 = (
        base64.b64encode(hashlib.new(name, content).digest()).decode() for name in ("md5", "sha256", "sha512")
    )
    for number, headers in enumerate(
        (
            {"Content-MD5": md5},
            {"Repr-Digest": f"sha-256=:{sha256}:"},
            {"Content-Digest": f"sha-512=:{sha512}:, unixsum=:AAA=:"},
        )
    ):
        assert new_file(ana, f"{number}.bin", content, headers=headers)
    other = base64.b64encode(hashlib.sha256(b"else").digest()).decode()
    for headers in (
        {"Content-MD5": base64.b64encode(hashlib.md5(b"else").digest()).decode()},
        {"Content-MD5": "nonsense"},
        {"Content-MD5": ""},
        {"Repr-Digest": f"sha-256=:{other}:"},
        {"Repr-Digest": "sha-256=abc"},
        {"Repr-Digest": "sha-256=:AAAA:"},
        {"Content-Digest": f"sha-512=:{sha512}:, sha-256=:{other}:"},
    ):
        response = upload(ana, "a.bin", content, headers=headers)
        assert (response.status_code, response.json()["field"]) == (400, next(iter(headers)))
    assert len(objects(tmp_path)) == 3


def test_new_plan_has_its_limits(ana: Person) -> None:
    plan = ana.write(
        lambda tx: accounts.add_plan(tx, name="x", status="pro", rate_limit=1, upload_limit=2, storage_limit=3)
    )
    assert (plan.upload_limit, plan.storage_limit) == (2, 3)
