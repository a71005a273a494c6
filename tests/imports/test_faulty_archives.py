"""Archives that are damaged or forged: a reason for each, and nothing else is lost."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.support.archives import Move, export, plan
from tests.support.databases import ON_SQLITE
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.storage.factory import open_store
from waypost.transfer.imports import apply
from waypost.transfer.imports.archives.reader import MAGIC
from waypost.transfer.imports.archives.staging import Staging
from waypost.transfer.imports.file_source import open_file


def _changed(path: Path, target: Path, name: str, content: bytes | None) -> Path:
    """Copy an archive with another content of an entry, or without it."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as copy:
        for entry in source.namelist():
            if entry != name:
                copy.writestr(entry, source.read(entry))
        if content is not None:
            copy.writestr(name, content, zipfile.ZIP_DEFLATED)
    return target


@ON_SQLITE
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manifest.json", None, "manifest.json is missing"),
        ("manifest.json", b'{"format": 2}', "format that this version cannot read"),
        ("manifest.json", b"[", "not valid JSON"),
        ("links.jsonl", b'{"id": 1', "links.jsonl: line 1 is not valid JSON"),
        ("links.jsonl", b"7\n", "links.jsonl: line 1 is not an object"),
        ("links.jsonl", b'{"a": ' + b"[" * 20_000, "not valid JSON"),
        ("links.jsonl", b'{"a": ' + b"[" * 200_000, "line 1 has more than 50,000 values"),
        ("links.jsonl", b" " * (2 << 20), "line 1 has more than 1 MB"),
        ("links.jsonl", bytes(200 << 20), "too large for its size"),
    ],
)
def test_faulty_archive_is_rejected_with_reason(
    ana: Person, settings: Settings, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    ana.add("url", url="https://example.com/")
    archive = _changed(export(ana, settings, tmp_path / "a.zip"), tmp_path / "b.zip", name, content)
    with pytest.raises(Problem, match=message):
        plan(ana, settings, archive)


@ON_SQLITE
def test_page_keeps_four_mebibytes_of_pictures(tmp_path: Path, settings: Settings, ana: Person) -> None:
    """Behind many small pages, so that the batch is nearly as large as it can be."""
    links = [{"id": number, "url": "https://example.com/", "description": "x" * 4000} for number in range(400)]
    blocks = [{"id": number, "type": "image", "picture": f"picture-{number}"} for number in range(1, 6)]
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("links.jsonl", "".join(json.dumps(link) + "\n" for link in links))
        archive.writestr("bio_pages.jsonl", json.dumps({"id": 1, "name": "B", "alias": "b", "blocks": blocks}))
        for block in blocks:
            archive.writestr(f"bio/{block['picture']}.webp", bytes(1_000_000))
        archive.writestr("manifest.json", '{"format": 1, "service": "https://old.example.com"}')
    staging = Staging(ana.database, open_store(settings), settings, ana.account)
    with open_file(path, {}, staging=staging) as source:
        *_, page = source
    assert ["picture" in block for block in page.fields["blocks"]] == [True] * 4 + [False]
    assert page.losses == ["its picture is left out: the pictures of a page can have 4 MB"]


@ON_SQLITE
def test_cut_or_damaged_archive_is_rejected(ana: Person, settings: Settings, tmp_path: Path) -> None:
    ana.add("url", url="https://example.com/")
    archive = export(ana, settings, tmp_path / "a.zip")
    content = archive.read_bytes()
    for damaged in (
        content[: len(content) // 2],
        content.replace(b"links.jsonl", b"links.xxxxx", 1),
        MAGIC + bytes(50),
    ):
        archive.write_bytes(damaged)
        with pytest.raises(Problem, match="damaged or not complete"):
            plan(ana, settings, archive)


@ON_SQLITE
def test_invalid_rows_of_archive_lose_nothing_else(ana: Person, settings: Settings, cleo: Move, tmp_path: Path) -> None:
    ana.add("url", url="https://example.com/", custom="good")
    archive = export(ana, settings, tmp_path / "a.zip")
    rows = [
        {"id": 1, "alias": "script", "url": "javascript:alert(1)"},
        {"id": "x", "alias": None, "url": 7, "geotarget": "text", "channels": {}, "pixels": ["a", 1 << 70]},
        {"id": -1, "alias": "a/../b", "url": "https://example.com/", "title": "\x00\ud800", "clicks": -5},
        {"id": 2, "alias": "good", "url": "https://example.com/", "clicks": 1 << 80, "expiry": "never"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    visits = b'{"kind": "link", "item": 2, "at": "36812-01-01 00:00:00", "clicks": 1}\n{"kind": "account", "item": 1}\n'
    changed = _changed(archive, tmp_path / "b.zip", "links.jsonl", lines)
    changed = _changed(changed, tmp_path / "c.zip", "clicks_by_time.jsonl", visits)
    new, new_settings = cleo
    fates = plan(new, new_settings, changed)
    assert (fates["create"], fates["impossible"]) == (1, 3)
    assert "2 invalid rows of clicks_by_time" in new.get("/import")["details"]["ignored"]
    apply.apply(new.database, new.account, new_settings)
    assert new.client.get("/good").status_code == 302


@ON_SQLITE
@pytest.mark.parametrize(
    ("sheet", "row", "reason"),
    [
        (
            "domains",
            {"scheme": "https", "host": "go.brand.example", "redirectroot": "javascript:alert(1)"},
            "redirectroot",
        ),
        (
            "domains",
            {"scheme": "https", "host": "go.brand.example", "redirectroot": "https://go.brand.example/"},
            "loop",
        ),
        ("splash_pages", {"name": "S", "link": "javascript:alert(1)"}, "link"),
        ("overlays", {"name": "O", "type": "message", "message": "Hi", "link": "javascript:alert(1)"}, "link"),
        ("overlays", {"name": "O", "type": "image"}, "image is required"),
        ("pixels", {"name": "P", "type": "socialapixel", "tag": "'><script>"}, 'tag cannot have "\'"'),
        ("pixels", {"name": "P", "type": "unknown", "tag": "1"}, "type must be"),
        ("campaigns", {"name": "C", "slug": "a/b"}, "slug"),
        ("campaigns", {"name": "C", "slug": "taken"}, "taken"),
    ],
)
def test_items_that_the_api_refuses_are_impossible(
    ana: Person, settings: Settings, cleo: Move, tmp_path: Path, sheet: str, row: dict[str, str], reason: str
) -> None:
    archive = export(ana, settings, tmp_path / "a.zip")
    changed = _changed(archive, tmp_path / "b.zip", f"{sheet}.jsonl", json.dumps({"id": 1, **row}).encode())
    new, new_settings = cleo
    new.add("campaign", name="Mine", slug="taken")
    assert plan(new, new_settings, changed) == {"impossible": 1}
    assert reason in new.get("/import/rows")["data"]["rows"][0]["reason"]
