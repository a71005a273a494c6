"""Files in the dashboard: uploading through the form, what is set on a file, and what others can do there."""

import re
from typing import Any

import pytest
from sqlalchemy import select

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser, hidden, said, window
from tests.support.files import PNG, new_file
from waypost.db.schema import accounts, orphan_objects, plans

_NEW = "/files/new"
_TOKEN = re.compile(r'name="token" value="([^"]+)"')


def _upload(browser: Browser, *files: tuple[str, bytes], headers: Any = None, **fields: str) -> Any:
    """The answer to the form for uploads, as a browser sends it."""
    found = _TOKEN.search(browser.get(_NEW).text)
    assert found is not None
    sent = [("file", (name, content, "application/octet-stream")) for name, content in files]
    return browser.client.post(
        f"/dashboard{_NEW}", data={"token": found[1], **fields}, files=sent, headers=headers or {}
    )


def _names(person: Person) -> list[str]:
    return [file["name"] for file in person.get("/files")["list"]]


def _details(person: Person, file: int) -> Any:
    return person.get(f"/file/{file}")["details"]


def test_a_file_is_uploaded_with_what_the_form_says(ana: Person, inside: Browser) -> None:
    answer = _upload(
        inside, ("pic.png", PNG), custom="picture", maxdownloads="3", password="geheim", expiry="2999-01-02T03:04"
    )
    assert said(answer, inside) == "Your file is there. go.localhost:8000/picture"
    details = _details(ana, ana.get("/files")["list"][0]["id"])
    assert (details["name"], details["type"], details["size"]) == ("pic.png", "image/png", len(PNG))
    assert (details["maxdownloads"], details["password"], details["expiry"]) == (3, True, "2999-01-02 03:04:00")
    assert details["shorturl"] == f"{BASE}/picture"
    assert inside.client.get("/picture", headers={"Authorization": "Basic OmdlaGVpbQ=="}).content == PNG


def test_several_files_come_in_one_form_and_an_empty_field_is_none(ana: Person, inside: Browser) -> None:
    answer = _upload(inside, *((f"{n}.txt", b"x" * n * 100_000) for n in (1, 2, 3)), expiry="", custom="")
    assert said(answer, inside) == "3 files are uploaded."
    assert [_details(ana, one["id"])["size"] for one in ana.get("/files")["list"]] == [300_000, 200_000, 100_000]
    for files in ((), (("", b""),)):
        answer = (
            _upload(inside, *files)
            if files
            else inside.client.post(f"/dashboard{_NEW}", files={"token": (None, hidden(inside.get(_NEW), "token"))})
        )
        assert answer.status_code == 400
        assert "Choose a file first." in answer.text
    assert len(_names(ana)) == 3


def test_what_is_wrong_stands_beside_its_field_and_nothing_is_kept(ana: Person, ben: Person, inside: Browser) -> None:
    new_file(ben, "b.txt", custom="bens")
    for fields, words in (
        ({"custom": "bens"}, "Short name "),
        ({"maxdownloads": "0"}, "At most downloads "),
        ({"maxdownloads": "many"}, "At most downloads "),
        ({"expiry": "2001-01-01T00:00"}, "Ends must not be in the past"),
        ({"domain": "not-mine.example"}, "Under "),
        ({"password": "x" * 200}, "Password for visitors "),
        ({"custom": "x" * 20_000}, "Short name is too long."),
    ):
        answer = _upload(inside, ("a.txt", b"content"), **fields)
        assert answer.status_code == 400, fields
        assert words in answer.text, fields
    for name in ("../a.txt", "..", "a\u202egpj.exe", "x" * 300):
        answer = _upload(inside, (name, b"content"))
        assert answer.status_code == 400, name
    assert _names(ana) == []
    assert ana.database.read(lambda tx: tx.execute(select(orphan_objects.c.deleting)).scalars().all()) in ([], [True])


def test_a_script_gets_the_answer_as_json(ana: Person, inside: Browser) -> None:
    told = _upload(inside, ("a.txt", b"content"), headers={"Accept": "application/json"}).json()
    assert [(file["name"], file["url"]) for file in told["files"]] == [
        ("a.txt", ana.get("/files")["list"][0]["shorturl"])
    ]
    answer = _upload(inside, ("a.txt", b"content"), headers={"Accept": "application/json"}, maxdownloads="-1")
    assert (answer.status_code, answer.json()["field"]) == (400, "maxdownloads")


def test_the_limits_of_the_plan_are_told_and_held(ana: Person, inside: Browser) -> None:
    ana.write(lambda tx: tx.execute(plans.update().values(upload_limit=50_000, storage_limit=80_000)))
    page = inside.get(_NEW).text
    assert "At most 50 kB a file." in page
    assert "You have room for 80 kB." in page
    answer = _upload(inside, ("large.bin", b"x" * 60_000))
    assert answer.status_code == 400
    assert "large.bin is not uploaded." in answer.text
    assert "your plan allows 50000 bytes a file" in answer.text
    answer = _upload(inside, ("one.bin", b"x" * 45_000), ("two.bin", b"x" * 45_000), ("three.bin", b"x"))
    assert answer.status_code == 400
    assert "two.bin is not uploaded. The 1 before it are." in answer.text
    assert _names(ana) == ["one.bin"]
    assert ana.database.read(lambda tx: tx.execute(select(accounts.c.stored)).scalars().first()) == 45_000


def test_no_file_is_taken_from_a_form_that_was_not_shown_to_this_browser(
    ana: Person, ben: Person, inside: Browser
) -> None:
    client, path = inside.client, f"/dashboard{_NEW}"
    token = hidden(inside.get(_NEW), "token")
    files = {"file": ("a.txt", b"content")}
    other = window(client)
    assert other.client.post(path, data={"token": token}, files=files).headers["location"] == "/dashboard/signin"
    assert other.sign_in("ben").status_code == 303
    assert other.client.post(path, data={"token": token}, files=files).status_code == 403
    assert client.post(path, files=files).status_code == 403
    assert client.post(path, data={"token": "x"}, files=files).status_code == 403
    behind: Any = {"file": ("a.txt", b"content"), "token": (None, token)}
    assert client.post(path, files=behind).status_code == 403, "the token comes first"
    assert _names(ana) == _names(ben) == []


@pytest.mark.parametrize(
    ("kind", "body"),
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
def test_what_is_no_form_is_refused(ana: Person, inside: Browser, kind: str, body: bytes) -> None:
    sent = body.replace(b"TOKEN", hidden(inside.get(_NEW), "token").encode())
    answer = inside.client.post(f"/dashboard{_NEW}", content=sent, headers={"Content-Type": kind})
    assert answer.status_code == 400
    assert _names(ana) == []


def test_a_form_that_breaks_off_in_a_file_leaves_nothing(ana: Person, inside: Browser) -> None:
    token = hidden(inside.get(_NEW), "token")
    head = (
        f'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n{token}\r\n'
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf of'
    )
    answer = inside.client.post(
        f"/dashboard{_NEW}", content=head, headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert answer.status_code == 400
    assert "broke off" in answer.text
    assert _names(ana) == []


def test_a_file_is_changed_and_the_second_of_two_tabs_is_told(ana: Person, inside: Browser) -> None:
    file = new_file(ana, "a.txt", b"content", password="geheim", maxdownloads=5)
    page = inside.get(f"/files/{file}")
    version = hidden(page, "version")
    first = inside.send(f"/files/{file}", name="First", maxdownloads="7", expiry="", password="", version=version)
    assert said(first, inside).startswith("Saved.")
    details = _details(ana, file)
    assert (details["name"], details["maxdownloads"], details["password"]) == ("First", 7, True)
    second = inside.send(f"/files/{file}", name="Second", maxdownloads="5", expiry="", password="", version=version)
    assert second.status_code == 400
    assert "changed since you opened it" in second.text
    assert _details(ana, file)["name"] == "First"
    again = hidden(second, "version")
    inside.send(f"/files/{file}", name="Second", maxdownloads="", expiry="", password="", unlock="on", version=again)
    details = _details(ana, file)
    assert (details["name"], details["maxdownloads"], details["password"]) == ("Second", None, False)


def test_files_are_found_sorted_and_deleted_together(ana: Person, inside: Browser) -> None:
    ids = [new_file(ana, f"{name}.txt", b"x" * size) for name, size in (("Small", 10), ("LARGE", 3000), ("mid", 200))]
    inside.client.get(f"/{_details(ana, ids[2])['shorturl'].rpartition('/')[2]}")

    def shown(query: str) -> list[str]:
        return re.findall(r"<bdi>(.*?)</bdi>", inside.get(f"/files{query}").text)

    assert shown("") == shown("?order=nonsense") == ["mid.txt", "LARGE.txt", "Small.txt"]
    assert shown("?order=size") == ["LARGE.txt", "mid.txt", "Small.txt"]
    assert shown("?order=downloads") == ["mid.txt", "LARGE.txt", "Small.txt"]
    assert shown("?q=large") == ["LARGE.txt"]
    assert shown("?q=l&order=size") == ["LARGE.txt", "Small.txt"]
    assert shown("?q=nothing") == []
    assert said(inside.send("/files/bulk", at="/files"), inside) == "Tick the files that you mean first."
    question = inside.send("/files/bulk", at="/files", id=[ids[0], ids[1]])
    assert "Delete 2 files?" in question.text
    assert len(_names(ana)) == 3, "only asked so far"
    assert said(inside.send("/files/delete", at="/files", id=[ids[0], ids[1]]), inside) == "2 files are deleted."
    assert _names(ana) == ["mid.txt"]


def test_nobody_reaches_the_files_of_another(ana: Person, ben: Person, inside: Browser) -> None:
    file = new_file(ben, "bens secret.txt")
    assert "bens secret" not in inside.get("/files").text
    for path in (f"/files/{file}", f"/files/{file}/delete", f"/files/{file}/stats"):
        assert inside.get(path).status_code == 404, path
    for path in (f"/files/{file}", "/files/delete", "/files/bulk"):
        assert inside.send(path, at="/files", id=file, name="Mine").status_code == 404, path
    assert _names(ben) == ["bens secret.txt"]


def test_a_name_is_never_markup(ana: Person, inside: Browser) -> None:
    name = "<script>alert(1)</script>\"'&.txt"
    file = new_file(ana, "a.txt", name=name[:200])
    for path in ("/files", f"/files/{file}", f"/files/{file}/delete", f"/files/{file}/stats"):
        assert "<script>alert" not in inside.get(path).text
