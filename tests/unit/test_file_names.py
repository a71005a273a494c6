"""Rules for file names, media types and byte ranges."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.databases import ON_SQLITE
from waypost.core.errors import Problem
from waypost.http import file_names, media_types
from waypost.items.files import range_response
from waypost.items.files.range_response import ByteRange, Unsatisfiable

INVALID: tuple[tuple[bytes, str], ...] = (
    (b"", "must not be empty"),
    (b"%20", "must not be empty"),
    (b"a/b", "not a path"),
    (b"a%2Fb", "not a path"),
    (b"..%2f..%2fetc%2fpasswd", "not a path"),
    (b"a%5Cb", "not a path"),
    (b".", "must not be . or .."),
    (b"%2e%2E", "must not be . or .."),
    (b"a%00.pdf", "control characters"),
    (b"a%0d%0aSet-Cookie:x", "control characters"),
    (b"a%1b", "control characters"),
    (b"a%7f", "control characters"),
    (b"a%C2%85b", "control characters"),
    (b"a%E2%80%A8b", "control characters"),
    (b"invoice%E2%80%AEfdp.exe", "U+202E, which cannot be seen and changes the text direction"),
    (b"%E2%81%A6a", "U+2066"),
    (b"%E2%80%8E%E2%80%8F", "must not be empty"),
    (b"a%zzb", "% that is not followed"),
    (b"100%", "% that is not followed"),
    (b"a%4", "% that is not followed"),
    (b"a%FFb", "percent-encoded UTF-8"),
    (b"a%C3", "percent-encoded UTF-8"),
    (b"a%ED%A0%80", "percent-encoded UTF-8"),
    (b"x" * 256, "at most 255 bytes"),
    (b"%C3%A9" * 128, "at most 255 bytes"),
    (b"x" * 10_000, "at most 255 bytes"),
)


@ON_SQLITE
def test_invalid_file_name_is_rejected(ana: Person) -> None:
    for raw, message in INVALID:
        with pytest.raises(Problem) as caught:
            file_names.from_path(raw)
        assert message in caught.value.message, raw
        response = ana.call("POST", f"/files/upload/{raw.decode()}", content=b"content")
        if b"/" not in raw and raw != b".":  # the client removes them itself
            assert (response.status_code, response.json()["field"]) == (400, "filename"), raw
        assert response.status_code < 500
    assert ana.get("/files")["result"] == 0


VALID: tuple[tuple[bytes, str, str], ...] = (
    (b"a.pdf", "a.pdf", 'attachment; filename="a.pdf"'),
    (b"a%20b.pdf", "a b.pdf", 'attachment; filename="a b.pdf"'),
    (b"a+b.pdf", "a+b.pdf", 'attachment; filename="a+b.pdf"'),
    (b"100%25.pdf", "100%.pdf", "attachment; filename=\"100_.pdf\"; filename*=UTF-8''100%25.pdf"),
    (
        b"percent%2541.txt",
        "percent%41.txt",
        "attachment; filename=\"percent_41.txt\"; filename*=UTF-8''percent%2541.txt",
    ),
    (
        b"na%C3%AFve%252e.txt",
        "naïve%2e.txt",
        "attachment; filename=\"naive_2e.txt\"; filename*=UTF-8''na%C3%AFve%252e.txt",
    ),
    (b"gr%C3%B6%C3%9Fe.pdf", "größe.pdf", "attachment; filename=\"groe.pdf\"; filename*=UTF-8''gr%C3%B6%C3%9Fe.pdf"),
    (b"%E6%96%87.pdf", "文.pdf", "attachment; filename=\"file.pdf\"; filename*=UTF-8''%E6%96%87.pdf"),
    (
        b"semi%22;x=%22y.txt",
        'semi";x="y.txt',
        "attachment; filename=\"semi_;x=_y.txt\"; filename*=UTF-8''semi%22%3Bx%3D%22y.txt",
    ),
    (
        b"%3Cimg%20src=x%3E.html",
        "<img src=x>.html",
        "attachment; filename=\"_img src=x_.html\"; filename*=UTF-8''%3Cimg%20src%3Dx%3E.html",
    ),
    (b"CON", "CON", "attachment; filename=\"_CON\"; filename*=UTF-8''CON"),
    (b"nul.txt", "nul.txt", "attachment; filename=\"_nul.txt\"; filename*=UTF-8''nul.txt"),
    (b"c%EF%BD%8Fn.txt", "c\uff4fn.txt", "attachment; filename=\"_con.txt\"; filename*=UTF-8''c%EF%BD%8Fn.txt"),
    (b"com1.tar.gz", "com1.tar.gz", "attachment; filename=\"_com1.tar.gz\"; filename*=UTF-8''com1.tar.gz"),
    (
        b"it's%20(1)%20*.txt",
        "it's (1) *.txt",
        "attachment; filename=\"it's (1) _.txt\"; filename*=UTF-8''it%27s%20%281%29%20%2A.txt",
    ),
    (b"trailing.", "trailing.", "attachment; filename=\"trailing\"; filename*=UTF-8''trailing."),
    (b"console.log", "console.log", 'attachment; filename="console.log"'),
    (b"a.%20", "a. ", "attachment; filename=\"a\"; filename*=UTF-8''a.%20"),
    (b".env", ".env", 'attachment; filename=".env"'),
    (b"...a", "...a", 'attachment; filename="...a"'),
    (b"%E2%80%8EWhatsApp%20Chat.zip", "WhatsApp Chat.zip", 'attachment; filename="WhatsApp Chat.zip"'),
    (b"%E2%80%8Fa%D8%9C.txt%E2%80%8E", "a.txt", 'attachment; filename="a.txt"'),
    (b"x" * 255 + b"%E2%80%8E", "x" * 255, f'attachment; filename="{"x" * 255}"'),
    (b"x" * 255, "x" * 255, f'attachment; filename="{"x" * 255}"'),
)


@pytest.mark.parametrize(("raw", "name", "header"), VALID)
def test_valid_file_name_is_encoded_for_every_system(raw: bytes, name: str, header: str) -> None:
    assert file_names.from_path(raw) == name
    assert file_names.disposition(name) == header
    assert header.isascii()


@pytest.mark.parametrize(
    ("name", "replaced"),
    [("../a\\b", ".._a_b"), ("a\r\nb", "a__b"), ("a\x85\u2028b", "a__b"), ("a\u202e\u200fb", "a_b"), ("\ud800", "_")],
)
def test_unsafe_characters_of_name_are_replaced_in_download(name: str, replaced: str) -> None:
    assert file_names.disposition(name) == f'attachment; filename="{replaced}"'


MEDIA_TYPES = (
    (b"\x89PNG\r\n\x1a\n<script>", "image/png"),
    (b"\xff\xd8\xff\xe0", "image/jpeg"),
    (b"GIF89a/*<html>", "image/gif"),
    (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    (b"RIFF\x00\x00\x00\x00WAVE", "audio/wav"),
    (b"\x00\x00\x00\x1cftypavif", "image/avif"),
    (b"\x00\x00\x00\x1cftypisom", "video/mp4"),
    (b"%PDF-1.7", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"<svg xmlns=", media_types.UNKNOWN),
    (b"<!doctype html>", media_types.UNKNOWN),
    (b"\xef\xbb\xbf<html>", media_types.UNKNOWN),
    (b"<?xml version=", media_types.UNKNOWN),
    (b"#!/bin/sh", media_types.UNKNOWN),
    (b"", media_types.UNKNOWN),
)


def test_media_type_is_detected_from_first_bytes() -> None:
    for start, media_type in MEDIA_TYPES:
        assert media_types.detect(start) == media_type
    assert not {image for image in media_types.IMAGES if "svg" in image or "html" in image}
    assert media_types.describe("image/png") == ("%(format)s picture", "PNG")
    assert media_types.describe(media_types.UNKNOWN)[0] == ""


@pytest.mark.parametrize(
    ("kind", "name", "described", "icon"),
    [
        (media_types.UNKNOWN, "Prices 2026.CSV", "CSV table", "document-text"),
        (media_types.UNKNOWN, "notes.md", "MD document", "document-text"),
        (media_types.UNKNOWN, "meeting.ics", "ICS file", "document-text"),
        (media_types.UNKNOWN, "ana.vcf", "VCF file", "document-text"),
        (media_types.UNKNOWN, "logo.svg", "SVG picture", "photo"),
        ("application/zip", "offer.docx", "DOCX document", "document-text"),
        ("application/zip", "offer.zip", "ZIP archive", "archive-box"),
        ("image/png", "picture.csv", "PNG picture", "photo"),
        (media_types.UNKNOWN, "program.exe", "", "document"),
        (media_types.UNKNOWN, "csv", "", "document"),
    ],
)
def test_text_is_described_by_its_name_and_never_sent_by_it(kind: str, name: str, described: str, icon: str) -> None:
    description, shown_format = media_types.describe(kind, name)
    assert (description % {"format": shown_format}, media_types.icon(kind, name)) == (described, icon)
    assert media_types.detect(b"name,price\n") == media_types.UNKNOWN


def _ranges(*positions: int) -> list[ByteRange]:
    return [ByteRange(start, end) for start, end in zip(positions[::2], positions[1::2], strict=True)]


RANGES: tuple[tuple[str, Any], ...] = (
    ("bytes=0-", _ranges(0, 1000)),
    ("bytes=0-0", _ranges(0, 1)),
    ("bytes=10-19", _ranges(10, 20)),
    ("BYTES=10-19", _ranges(10, 20)),
    ("bytes=990-2000", _ranges(990, 1000)),
    ("bytes=-10", _ranges(990, 1000)),
    ("bytes=-5000", _ranges(0, 1000)),
    ("bytes= 1-2 , 5-6 ", _ranges(1, 3, 5, 7)),
    ("bytes=5-6,1-2", _ranges(5, 7, 1, 3)),
    ("bytes=1-2,,5-6,", _ranges(1, 3, 5, 7)),
    ("bytes=1-2,2000-", _ranges(1, 3)),
    ("bytes=1000-", Unsatisfiable),
    ("bytes=5000-6000", Unsatisfiable),
    ("bytes=-0", Unsatisfiable),
    ("bytes=2000-,3000-", Unsatisfiable),
    ("bytes=", None),
    ("bytes=,", None),
    ("bytes=-", None),
    ("bytes=a-b", None),
    ("bytes=5-1", None),
    ("bytes=1-2;3-4", None),
    ("bytes=٣-٤", None),
    ("bytes=" + "9" * 30 + "-", Unsatisfiable),
    ("bytes=0-" + "9" * 5000, _ranges(0, 1000)),
    ("bytes=-" + "9" * 30, _ranges(0, 1000)),
    ("bytes=" + "0" * 30 + "5-6", _ranges(5, 7)),
    ("lines=1-2", None),
    ("nonsense", None),
    ("", None),
    ("bytes=0-100,50-150", _ranges(0, 151)),
    ("bytes=0-0,0-", _ranges(0, 1000)),
    ("bytes=8-9,0-5,2-3", _ranges(0, 6, 8, 10)),
    ("bytes=" + ",".join(f"{n}-{n}" for n in range(0, 34, 2)), None),
)


def test_range_header_is_parsed_or_ignored_as_in_rfc_9110() -> None:
    for header, expected in RANGES:
        if expected is Unsatisfiable:
            with pytest.raises(Unsatisfiable):
                range_response.parse_range(header, 1000)
        else:
            assert range_response.parse_range(header, 1000) == expected, header
