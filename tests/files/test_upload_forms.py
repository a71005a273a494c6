"""Uploads as multipart/form-data, and with PUT (decision 58)."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.files import CONTENT, objects
from waypost.db.schema import plans

_FILE_PART = "Content-Disposition: form-data; name=file"
_WORD = "=?utf-8?B?Z3LDtsOfZS50eHQ=?="  # größe.txt, as programs on .NET write it


def _form(*parts: tuple[str, bytes], end: bytes = b"--x--\r\n") -> bytes:
    """The body of a form: (headers of a part, its content)."""
    return b"".join(b"--x\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n" for head, content in parts) + end


def _disposition(name: str, filename: str | None = None) -> str:
    suffix = "" if filename is None else f'; filename="{filename}"'
    return f'Content-Disposition: form-data; name="{name}"{suffix}'


def _send(person: Person, body: bytes, path: str = "/files/upload/a.bin", method: str = "POST", **query: Any) -> Any:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    return person.call(method, path, content=body, headers=headers, params=query)


def _is_empty(person: Person, folder: Path) -> bool:
    return person.get("/files")["result"] == 0 and not objects(folder)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_form_with_one_file_stores_its_bytes(method: str, ana: Person, service: Any) -> None:
    response = ana.call(method, "/files/upload/mine.bin?custom=mine", files={"file": ("other.txt", CONTENT)})
    assert response.status_code == 200, response.text
    assert ana.details("file", response.json()["id"])["filename"] == "mine.bin"
    assert service.get("/mine").content == CONTENT


def test_put_stores_body_like_post(ana: Person, service: Any) -> None:
    response = ana.call("PUT", "/files/upload/a.bin?custom=mine", content=CONTENT)
    assert (response.status_code, response.json()["shorturl"]) == (200, f"{BASE}/mine")
    assert service.get("/mine").content == CONTENT


def test_upload_without_key_is_rejected(service: Any) -> None:
    for method, path in (("PUT", "/files/upload/a.bin"), ("POST", "/files/upload")):
        assert service.request(method, f"/api{path}", files={"file": ("a.txt", CONTENT)}).status_code == 401, path


def test_form_without_name_in_path_is_stored_under_name_of_part(ana: Person) -> None:
    for head, name in (
        (_disposition("file", "größe 1.txt"), "größe 1.txt"),
        (_disposition("anything", "a;b.txt"), "a;b.txt"),
        (f"{_FILE_PART}; filename*=utf-8''na%C3%AFve.txt", "naïve.txt"),
        (f"{_FILE_PART}; filename=\"{_WORD}\"; filename*=utf-8''gr%C3%B6%C3%9Fe.txt", "größe.txt"),
        (f"{_FILE_PART}; filename*=utf-8''gr%C3%B6%C3%9Fe.txt; filename=\"plain.txt\"", "größe.txt"),
        (f"{_FILE_PART}; FILENAME*=iso-8859-1'de'%FCber.txt; filename=plain.txt", "über.txt"),
        (f"{_FILE_PART}; filename*=utf-8''%FF.txt; filename=plain.txt", "plain.txt"),
        (f"{_FILE_PART}; filename*=unknown''%FF.txt; filename=plain.txt", "plain.txt"),
        (f'{_FILE_PART}; filename="a;filename*=b.txt"', "a;filename*=b.txt"),
        (_disposition("file", _WORD), "größe.txt"),
        (_disposition("file", "=?ISO-8859-1?q?gr=F6_1.txt?="), "grö 1.txt"),
        (_disposition("file", f"copy of {_WORD}"), f"copy of {_WORD}"),
        (_disposition("file", "=?unknown?b?eA==?="), "=?unknown?b?eA==?="),
        (_disposition("file", "\u200eWhatsApp \u200fChat.zip"), "WhatsApp Chat.zip"),
        (_disposition("file", "C:\\folder\\b.txt"), "b.txt"),
        (_disposition("file", "/home/ana/c.txt"), "c.txt"),
        (_disposition("file", "folder/größe.txt"), "größe.txt"),
        (f"{_FILE_PART}; filename*=utf-8''folder%2Fgr%C3%B6%C3%9Fe.txt", "größe.txt"),
    ):
        created = _send(ana, _form((head, b"content")), "/files/upload")
        assert created.status_code == 200, (head, created.text)
        assert ana.details("file", created.json()["id"])["filename"] == name


def test_name_in_the_characters_of_windows_is_kept(ana: Person) -> None:
    head = _disposition("file", "größe €.txt").encode("cp1252")
    created = _send(ana, b"--x\r\n" + head + b"\r\n\r\ncontent\r\n--x--\r\n", "/files/upload").json()
    assert ana.details("file", created["id"])["filename"] == "größe €.txt"


def test_body_without_form_and_name_is_rejected(ana: Person, tmp_path: Path) -> None:
    response = ana.call("POST", "/files/upload", content=CONTENT)
    assert (response.status_code, response.json()["field"]) == (400, "filename")
    assert ana.call("PUT", "/files/upload", content=CONTENT).status_code == 405
    assert _is_empty(ana, tmp_path)


FILE = (_disposition("file", "a.txt"), b"content")
REJECTED: tuple[tuple[str, bytes, str], ...] = (
    ("no part", _form(), "file"),
    ("a text field only", _form((_disposition("file"), b"content")), "file"),
    ("no file selected", _form((_disposition("file", ""), b"")), "file"),
    ("two files", _form(FILE, FILE), "file"),
    ("an empty second file", _form(FILE, (_disposition("file", "b.txt"), b"")), "file"),
    ("an empty file", _form((_disposition("file", "a.txt"), b"")), "body"),
    ("cut off in the file", _form(FILE, end=b"")[:-4], "form"),
    ("without an end", _form(FILE, end=b""), "form"),
    ("not a form", b"content", "form"),
    ("an empty body", b"", "form"),
    ("base64", _form((f"{FILE[0]}\r\nContent-Transfer-Encoding: Base64", b"Y29udGVudA==")), "file"),
    ("a setting after the file", _form(FILE, (_disposition("password"), b"a secret")), "password"),
    ("a setting sent twice", _form((_disposition("custom"), b"one"), (_disposition("custom"), b"two"), FILE), "custom"),
    ("an invalid setting", _form((_disposition("maxdownloads"), b"many"), FILE), "maxdownloads"),
)


@pytest.mark.parametrize(("case", "body", "field"), REJECTED, ids=[case for case, _, _ in REJECTED])
def test_form_without_exactly_one_file_is_rejected(
    case: str, body: bytes, field: str, ana: Person, tmp_path: Path
) -> None:
    for path in ("/files/upload/a.bin", "/files/upload"):
        response = _send(ana, body, path)
        assert (response.status_code, response.json().get("field")) == (400, field), (case, response.text)
    assert _is_empty(ana, tmp_path)


def test_form_type_without_boundary_is_rejected(ana: Person, tmp_path: Path) -> None:
    for kind in ("multipart/form-data", "Multipart/Form-Data; charset=utf-8", " multipart/form-data ;boundary="):
        response = ana.call("POST", "/files/upload/a.bin", content=_form(FILE), headers={"Content-Type": kind})
        assert (response.status_code, response.json()["field"]) == (400, "form"), kind
    assert _is_empty(ana, tmp_path)


def test_invalid_name_of_part_is_rejected(ana: Person, tmp_path: Path) -> None:
    for name in ("..", "a/..", "a\x1bb", "a\u202eb", "x" * 256):
        response = _send(ana, _form((_disposition("file", name), b"content")), "/files/upload")
        assert (response.status_code, response.json()["field"]) == (400, "filename"), name
    assert _is_empty(ana, tmp_path)


def test_settings_of_form_and_query_are_stored(ana: Person) -> None:
    fields = [(_disposition("custom"), b"mine"), (_disposition("maxdownloads"), b"3"), (_disposition("token"), b"x")]
    created = _send(ana, _form(*fields, FILE, (_disposition("submit"), b"Send")), password="a secret")
    assert created.json()["shorturl"] == f"{BASE}/mine"
    details = ana.details("file", created.json()["id"])
    assert (details["maxdownloads"], details["password"], details["size"]) == (3, True, len(FILE[1]))


def test_setting_in_form_and_query_is_rejected(ana: Person, tmp_path: Path) -> None:
    response = _send(ana, _form((_disposition("custom"), b"mine"), FILE), custom="other")
    assert (response.status_code, response.json()["field"]) == (400, "custom")
    assert _is_empty(ana, tmp_path)


def test_file_of_form_over_plan_limit_is_rejected(ana: Person, tmp_path: Path) -> None:
    ana.write(lambda tx: tx.execute(update(plans).values(upload_limit=10)))
    assert _send(ana, _form((FILE[0], b"x" * 10))).status_code == 200
    assert _send(ana, _form((FILE[0], b"x" * 11))).status_code == 413
    assert len(objects(tmp_path)) == 1


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("coding", ["gzip", "GZIP", "identity, br", "x-unknown"])
def test_compressed_upload_is_rejected(method: str, coding: str, ana: Person, tmp_path: Path) -> None:
    body, headers = gzip.compress(CONTENT), {"Content-Encoding": coding}
    response = ana.call(method, "/files/upload/a.txt", content=body, headers=headers)
    assert (response.status_code, response.json()["field"]) == (400, "Content-Encoding")
    assert "remove the header" in response.json()["message"]
    form = {"Content-Type": "multipart/form-data; boundary=x", **headers}
    content = gzip.compress(_form((_disposition("file", "a.txt"), CONTENT)))
    response = ana.call("POST", "/files/upload", content=content, headers=form)
    assert (response.status_code, response.json()["field"]) == (400, "Content-Encoding")
    assert _is_empty(ana, tmp_path)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_part_of_upload_is_rejected(method: str, ana: Person, tmp_path: Path) -> None:
    for value in ("bytes 2000-2999/5000", "bytes 0-4999/5000", "bytes 2000-2999/*", "nonsense", ""):
        for content in (CONTENT, b""):  # before the body is read
            response = ana.call(method, "/files/upload/a.txt", content=content, headers={"Content-Range": value})
            assert (response.status_code, response.json()["field"]) == (400, "Content-Range"), value
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Content-Range": "bytes 0-9/20"}
    response = ana.call(method, "/files/upload/a.txt", content=_form((FILE[0], CONTENT)), headers=headers)
    assert (response.status_code, response.json()["field"]) == (400, "Content-Range")
    assert _is_empty(ana, tmp_path)


@pytest.mark.parametrize(
    ("header", "value"), [("Content-Range", "bytes 0-9/20"), ("content-encoding", "gzip"), ("Content-Encoding", "br")]
)
def test_part_or_compressed_file_in_form_is_rejected(header: str, value: str, ana: Person, tmp_path: Path) -> None:
    response = _send(ana, _form((f"{FILE[0]}\r\n{header}: {value}", CONTENT)))
    assert (response.status_code, response.json()["field"]) == (400, header.title())
    assert _is_empty(ana, tmp_path)


@pytest.mark.parametrize(
    ("header", "part", "whole"),
    [
        ("Upload-Offset", "2000", "0"),
        ("Upload-Complete", "?0", "?1"),
        ("Upload-Incomplete", "?1", "?0"),
        ("Tus-Resumable", "1.0.0", None),
    ],
)
def test_part_of_resumable_upload_is_rejected(
    header: str, part: str, whole: str | None, ana: Person, tmp_path: Path
) -> None:
    response = ana.call("POST", "/files/upload/a.txt", content=CONTENT, headers={header: part})
    assert (response.status_code, response.json()["field"]) == (400, header)
    assert _is_empty(ana, tmp_path)
    if whole is not None:
        response = ana.call("POST", "/files/upload/a.txt", content=CONTENT, headers={header: whole})
        assert response.status_code == 200


@pytest.mark.parametrize("name", ["dztotalchunkcount", "chunks", "qqtotalparts", "resumableTotalChunks"])
def test_chunk_of_a_file_is_rejected(name: str, ana: Person, tmp_path: Path) -> None:
    count = (_disposition(name), b"3")
    for parts in ((count, FILE), (FILE, count)):
        response = _send(ana, _form(*parts))
        assert (response.status_code, response.json()["field"]) == (400, name)
    for content, headers in ((CONTENT, {}), (_form(FILE), {"Content-Type": "multipart/form-data; boundary=x"})):
        response = ana.call("POST", f"/files/upload/a.txt?{name}=3", content=content, headers=headers)
        assert (response.status_code, response.json()["field"]) == (400, name)
    assert _is_empty(ana, tmp_path)
    assert _send(ana, _form((count[0], b"1"), FILE)).status_code == 200


def test_upload_with_identity_encoding_is_stored(ana: Person, service: Any) -> None:
    headers = {"Content-Encoding": "identity"}
    assert ana.call("POST", "/files/upload/a.txt?custom=mine", content=CONTENT, headers=headers).status_code == 200
    assert service.get("/mine").content == CONTENT


def test_display_name_follows_rules_of_file_name(ana: Person) -> None:
    created = ana.call("POST", "/files/upload/a.txt?name=%E2%80%8EHello%E2%80%8F", content=CONTENT).json()
    assert ana.details("file", created["id"])["name"] == "Hello"
    ana.update("file", created["id"], name="\u200eHi")
    assert ana.details("file", created["id"])["name"] == "Hi"
    for wrong, message in (("\u202eexe.fdp", "name must not contain U+202E"), ("\u200e", "name must not be empty")):
        for method, path in (("POST", "/files/upload/a.txt"), ("PUT", f"/file/{created['id']}/update")):
            sent: Any = (
                {"params": {"name": wrong}, "content": CONTENT} if method == "POST" else {"json": {"name": wrong}}
            )
            response = ana.call(method, path, **sent)
            assert (response.status_code, response.json()["field"]) == (400, "name"), (method, wrong)
            assert message in response.json()["message"]
