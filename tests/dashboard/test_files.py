"""Dashboard pages of files: upload form, editor, list, and access by other accounts."""

import re
from typing import Any

import pytest
from sqlalchemy import select

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.files import PNG, new_file
from waypost.dashboard import templating
from waypost.db.schema import accounts, orphan_objects, plans

_NEW = "/files/new"
_TOKEN = re.compile(r'name="token" value="([^"]+)"')


def _upload(browser: Browser, *files: tuple[str, bytes], headers: Any = None, **fields: str) -> Any:
    """Submit the upload form as a browser does and return the response."""
    match = _TOKEN.search(browser.get(_NEW).text)
    assert match is not None
    parts = [("file", (name, content, "application/octet-stream")) for name, content in files]
    return browser.client.post(
        f"/dashboard{_NEW}", data={"token": match[1], **fields}, files=parts, headers=headers or {}
    )


def _names(person: Person) -> list[str]:
    return [file["name"] for file in person.get("/files")["list"]]


def test_upload_form_stores_file_with_all_settings(ana: Person, dashboard: Browser) -> None:
    response = _upload(
        dashboard, ("pic.png", PNG), custom="picture", maxdownloads="3", password="geheim", expiry="2999-01-02T03:04"
    )
    assert dashboard.flash_message(response) == "Your file is ready. go.localhost:8000/picture"
    details = ana.details("file", ana.get("/files")["list"][0]["id"])
    assert (details["name"], details["type"], details["size"]) == ("pic.png", "image/png", len(PNG))
    assert (details["maxdownloads"], details["password"], details["expiry"]) == (3, True, "2999-01-02 03:04:00")
    assert details["shorturl"] == f"{BASE}/picture"
    assert dashboard.client.get("/picture", headers={"Authorization": "Basic OmdlaGVpbQ=="}).content == PNG


def test_upload_form_accepts_several_files_and_rejects_none(ana: Person, dashboard: Browser) -> None:
    response = _upload(dashboard, *((f"{n}.txt", b"x" * n * 100_000) for n in (1, 2, 3)), expiry="", custom="")
    assert dashboard.flash_message(response) == "3 files were uploaded."
    assert [ana.details("file", file["id"])["size"] for file in ana.get("/files")["list"]] == [
        300_000,
        200_000,
        100_000,
    ]
    for files in ((), (("", b""),)):
        response = (
            _upload(dashboard, *files)
            if files
            else dashboard.client.post(
                f"/dashboard{_NEW}", files={"token": (None, hidden_field(dashboard.get(_NEW), "token"))}
            )
        )
        assert response.status_code == 400
        assert "Select at least one file." in response.text
    assert len(_names(ana)) == 3


def test_invalid_upload_form_shows_error_at_field_and_stores_nothing(
    ana: Person, ben: Person, dashboard: Browser
) -> None:
    new_file(ben, "b.txt", custom="bens")
    for fields, message in (
        ({"custom": "bens"}, "Alias "),
        ({"maxdownloads": "0"}, "Download limit "),
        ({"maxdownloads": "many"}, "Download limit "),
        ({"expiry": "2001-01-01T00:00"}, "Expires must not be in the past"),
        ({"domain": "not-mine.example"}, "Domain "),
        ({"password": "x" * 200}, "Password for visitors "),
        ({"custom": "x" * 20_000}, "Alias is too long."),
    ):
        response = _upload(dashboard, ("a.txt", b"content"), **fields)
        assert response.status_code == 400, fields
        assert message in response.text, fields
    for name in ("..", "a\u202egpj.exe", "x" * 300):
        response = _upload(dashboard, (name, b"content"))
        assert response.status_code == 400, name
    assert _names(ana) == []
    assert ana.database.read(lambda tx: tx.execute(select(orphan_objects.c.deleting)).scalars().all()) in ([], [True])


def test_upload_script_gets_json(ana: Person, dashboard: Browser) -> None:
    uploaded = _upload(dashboard, ("a.txt", b"content"), headers={"Accept": "application/json"}).json()
    assert [(file["name"], file["url"]) for file in uploaded["files"]] == [
        ("a.txt", ana.get("/files")["list"][0]["shorturl"])
    ]
    faults = {"maxdownloads": "-1", "expiry": "tomorrow"}
    response = _upload(dashboard, ("a.txt", b"content"), headers={"Accept": "application/json"}, **faults)
    assert (response.status_code, response.json()["fields"]) == (400, ["expiry", "maxdownloads"])
    message = response.json()["message"]
    assert message.startswith("Expires must be a date")
    assert "Download limit must be" in message
    assert "maxdownloads" not in message


def test_upload_form_shows_and_enforces_plan_limits(ana: Person, dashboard: Browser) -> None:
    ana.write(lambda tx: tx.execute(plans.update().values(upload_limit=50_000, storage_limit=80_000)))
    page = dashboard.get(_NEW).text
    assert "Maximum file size: 50 kB." in page
    assert "Storage left: 80 kB." in page
    response = _upload(dashboard, ("large.bin", b"x" * 60_000))
    assert response.status_code == 400
    assert "large.bin was not uploaded." in response.text
    assert "your plan allows 50000 bytes per file" in response.text
    response = _upload(dashboard, ("one.bin", b"x" * 45_000), ("two.bin", b"x" * 45_000), ("three.bin", b"x"))
    assert response.status_code == 400
    assert "two.bin was not uploaded. 1 file before it was uploaded." in response.text
    assert _names(ana) == ["one.bin"]
    assert ana.database.read(lambda tx: tx.execute(select(accounts.c.stored)).scalars().first()) == 45_000


def test_upload_with_csrf_token_of_another_browser_is_rejected(ana: Person, ben: Person, dashboard: Browser) -> None:
    client, path = dashboard.client, f"/dashboard{_NEW}"
    token = hidden_field(dashboard.get(_NEW), "token")
    files = {"file": ("a.txt", b"content")}
    other = new_browser(client)
    assert (
        other.client.post(path, data={"token": token}, files=files).headers["location"]
        == f"/dashboard/signin?next={path}&unsaved=yes"
    )
    assert other.sign_in("ben").status_code == 303
    assert other.client.post(path, data={"token": token}, files=files).status_code == 403
    assert client.post(path, files=files).status_code == 403
    assert client.post(path, data={"token": "x"}, files=files).status_code == 403
    token_last: Any = {"file": ("a.txt", b"content"), "token": (None, token)}
    assert client.post(path, files=token_last).status_code == 403, "the token comes first"
    assert _names(ana) == _names(ben) == []


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/plain", b"hello"),
        ("multipart/form-data", b"--x\r\n"),
        ("multipart/form-data; boundary=x", b""),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data; name=token\r\n\r\nTOKEN\r\n"),
        ("multipart/form-data; boundary=x", b"no form at all"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\nTOKEN\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\n" + b"A: b\r\n" * 5000),
        ("multipart/form-data; boundary=" + "x" * 3000, b"--x\r\n"),
    ],
)
def test_malformed_upload_form_returns_400(ana: Person, dashboard: Browser, content_type: str, body: bytes) -> None:
    content = body.replace(b"TOKEN", hidden_field(dashboard.get(_NEW), "token").encode())
    response = dashboard.client.post(f"/dashboard{_NEW}", content=content, headers={"Content-Type": content_type})
    assert response.status_code == 400
    assert _names(ana) == []


def test_part_or_compressed_form_is_rejected(ana: Person, dashboard: Browser) -> None:
    for header, value in (("Content-Range", "bytes 0-9/20"), ("Content-Encoding", "gzip")):
        response = _upload(dashboard, ("a.txt", b"content"), headers={header: value})
        assert (response.status_code, header in response.text) == (400, True)
    assert _names(ana) == []


def test_upload_form_interrupted_within_file_stores_nothing(ana: Person, dashboard: Browser) -> None:
    token = hidden_field(dashboard.get(_NEW), "token")
    head = (
        f'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n{token}\r\n'
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf of'
    )
    response = dashboard.client.post(
        f"/dashboard{_NEW}", content=head, headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert response.status_code == 400
    assert "The form is malformed or was cut off." in response.text
    assert _names(ana) == []


def test_file_editor_saves_changes_and_rejects_stale_form(ana: Person, dashboard: Browser) -> None:
    file = new_file(ana, "a.txt", b"content", password="geheim", maxdownloads=5)
    page = dashboard.get(f"/files/{file}")
    version = hidden_field(page, "version")
    assert dashboard.submit_for_message(
        f"/files/{file}", name="First", maxdownloads="7", expiry="", password="", version=version
    ).startswith("Saved.")
    details = ana.details("file", file)
    assert (details["name"], details["maxdownloads"], details["password"]) == ("First", 7, True)
    second = dashboard.submit(
        f"/files/{file}", name="Second", maxdownloads="5", expiry="", password="", version=version
    )
    assert second.status_code == 400
    assert "changed since you opened it" in second.text
    assert ana.details("file", file)["name"] == "First"
    again = hidden_field(second, "version")
    dashboard.submit(
        f"/files/{file}", name="Second", maxdownloads="", expiry="", password="", unlock="on", version=again
    )
    details = ana.details("file", file)
    assert (details["name"], details["maxdownloads"], details["password"]) == ("Second", None, False)


def test_file_list_supports_search_order_and_bulk_deletion(ana: Person, dashboard: Browser) -> None:
    ids = [new_file(ana, f"{name}.txt", b"x" * size) for name, size in (("Small", 10), ("LARGE", 3000), ("mid", 200))]
    dashboard.client.get(f"/{ana.details('file', ids[2])['shorturl'].rpartition('/')[2]}")

    def listed_names(query: str) -> list[str]:
        page = dashboard.get(f"/files{query}").text
        return re.findall(r'<a class="name"[^>]*><svg.*?</svg> (.*?)</a>', page, re.DOTALL)

    assert listed_names("") == listed_names("?order=nonsense") == ["mid.txt", "LARGE.txt", "Small.txt"]
    assert listed_names("?order=size") == ["LARGE.txt", "mid.txt", "Small.txt"]
    assert listed_names("?order=downloads") == ["mid.txt", "LARGE.txt", "Small.txt"]
    assert listed_names("?q=large") == ["LARGE.txt"]
    assert listed_names("?q=l&order=size") == ["LARGE.txt", "Small.txt"]
    assert listed_names("?q=nothing") == []
    assert dashboard.submit_for_message("/files/bulk", at="/files") == "Select at least one file."
    confirmation = dashboard.submit("/files/bulk", at="/files", id=[ids[0], ids[1]])
    assert "Delete 2 files?" in confirmation.text
    assert len(_names(ana)) == 3, "nothing is deleted before the confirmation"
    assert dashboard.submit_for_message("/files/delete", at="/files", id=[ids[0], ids[1]]) == "2 files were deleted."
    assert _names(ana) == ["mid.txt"]


def test_file_pages_of_another_account_return_404(ana: Person, ben: Person, dashboard: Browser) -> None:
    file = new_file(ben, "bens secret.txt")
    assert "bens secret" not in dashboard.get("/files").text
    for path in (f"/files/{file}", f"/files/{file}/delete", f"/files/{file}/stats"):
        assert dashboard.get(path).status_code == 404, path
    assert dashboard.submit(f"/files/{file}", at="/files", id=file, name="Mine").status_code == 404
    for path in ("/files/delete", "/files/bulk"):
        message = dashboard.submit_for_message(path, at="/files", id=file)
        assert message == "1 item was deleted already and was skipped.", path
    assert _names(ben) == ["bens secret.txt"]


def test_file_name_with_markup_is_escaped(ana: Person, dashboard: Browser) -> None:
    name = "<script>alert(1)</script>\"'&.txt"
    file = new_file(ana, "a.txt", name=name[:200])
    for path in ("/files", f"/files/{file}", f"/files/{file}/delete", f"/files/{file}/stats"):
        assert "<script>alert" not in dashboard.get(path).text


@pytest.mark.parametrize(
    ("content", "icon"),
    [
        (b"PK\x03\x04", "archive-box"),
        (b"%PDF-1.7", "document-text"),
        (b"\x89PNG\r\n\x1a\n", "photo"),
        (b"\x00\x00\x00\x18ftypmp42", "film"),
        (b"fLaC", "musical-note"),
        (b"text", "document"),
    ],
)
def test_file_has_icon_of_its_type(ana: Person, dashboard: Browser, content: bytes, icon: str) -> None:
    new_file(ana, "file", content)
    row = dashboard.get("/files").text.partition('<td class="title-cell">')[2]
    assert str(templating.icon(icon)) in row.partition("</a>")[0]
