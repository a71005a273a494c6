"""Bio pages in the dashboard: the builder with and without its script, its phone, and what others can do there."""

import html
import re
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser, hidden, said

BLOCKS: list[dict[str, str]] = [
    {"type": "link", "title": "Shop", "url": "https://shop.example/"},
    {"type": "heading", "text": "Hello"},
    {"type": "text", "text": "One\nTwo"},
    {"type": "image", "image": "https://pictures.example/a.png", "link": "https://example.com/", "alt": "A cat"},
    {"type": "social", "network": "Mastodon", "url": "https://mastodon.example/@ana"},
    {"type": "vcard", "fname": "Ana", "email": "ana@example.com"},
]


def _fields(blocks: list[dict[str, str]]) -> dict[str, Any]:
    """The blocks as the form sends them; their keys say nothing about their order."""
    keys = [f"k{100 - place}" for place in range(len(blocks))]
    told = {f"{key}.{part}": value for key, block in zip(keys, blocks, strict=True) for part, value in block.items()}
    return {**told, "order": keys}


def _send(
    browser: Browser, path: str, blocks: list[dict[str, str]] | None = None, at: str = "/bios/new", **fields: Any
) -> Any:
    usual = {"name": "Ana", "alias": "", "title": "", "description": "", "base": "ocean", "mode": "dark"}
    return browser.send(path, at=at, **{**usual, **_fields(blocks if blocks is not None else BLOCKS), **fields})


def _new(person: Person, **fields: Any) -> int:
    return int(person.post("/bio/add", {"name": "Ana", "blocks": BLOCKS, **fields})["id"])


def _details(person: Person, bio: int) -> Any:
    return person.get(f"/bio/{bio}")["details"]


def _order(page: Any) -> list[str]:
    """The types of the blocks in the builder, in their order."""
    return re.findall(r'name="b\d+\.type" value="([a-z]+)"', page.text)


def test_a_page_is_built_of_every_kind_of_block_and_saved_again_as_it_was(ana: Person, inside: Browser) -> None:
    answer = _send(inside, "/bios/new", alias="ana-costa", title="Ana Costa", description="One\r\nTwo", sensitive="on")
    assert said(answer, inside) == "Your page is there. go.localhost:8000/ana-costa"
    bio = ana.get("/bios")["data"]["bios"][0]["id"]
    details = _details(ana, bio)
    assert (details["title"], details["description"], details["theme"]) == ("Ana Costa", "One\nTwo", "ocean-dark")
    assert details["sensitive"] is True
    kept = [{name: value for name, value in block.items() if value} for block in details["blocks"]]
    assert kept == BLOCKS
    page = inside.get(f"/bios/{bio}")
    assert _order(page) == [block["type"] for block in BLOCKS]
    path = f"/bios/{bio}"
    again = _send(inside, path, at=path, alias="ana-costa", name="New", version=hidden(page, "version"))
    assert said(again, inside) == "Saved."
    assert (_details(ana, bio)["name"], _details(ana, bio)["sensitive"]) == ("New", False)


def test_without_a_script_blocks_are_added_moved_and_removed_by_buttons_and_nothing_is_saved(
    ana: Person, inside: Browser
) -> None:
    bio = _new(ana)
    path = f"/bios/{bio}"
    types = [block["type"] for block in BLOCKS]
    for do, expected in (
        ("add-text", [*types, "text"]),
        ("up-1", ["heading", "link", *types[2:]]),
        ("down-0", ["heading", "link", *types[2:]]),
        ("up-0", types),
        ("down-5", types),
        ("remove-0", types[1:]),
    ):
        page = _send(inside, path, at=path, do=do, name="Typed meanwhile")
        assert page.status_code == 200, do
        assert _order(page) == expected, do
        assert "Typed meanwhile" in page.text
    for do in ("up-99", "remove-99", "add-nothing", "up-x", "nonsense"):
        assert _send(inside, path, at=path, do=do, version="x").status_code == 400, "an unknown button is not pressed"
    assert [block["type"] for block in _details(ana, bio)["blocks"]] == types
    assert _details(ana, bio)["name"] == "Ana"


@pytest.mark.parametrize(
    ("blocks", "fields", "words"),
    [
        ([{"type": "link", "title": "", "url": "https://example.com/"}], {}, "Block 1 link title must"),
        ([BLOCKS[1], {"type": "link", "title": "A", "url": "javascript:alert(1)"}], {}, "A block "),
        ([{"type": "link", "title": "x" * 10_000, "url": "https://example.com/"}], {}, "Block 1 link title"),
        ([{"type": "nothing"}], {}, "Block 1"),
        ([{"type": "text", "text": "x"}] * 201, {}, "A block"),
        ([], {"name": ""}, "Name must"),
        ([], {"alias": "a b"}, "Short name "),
        ([], {"alias": "taken"}, "Short name "),
        ([], {"base": "No Such"}, "theme"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_is_kept(
    ana: Person, ben: Person, inside: Browser, blocks: list[dict[str, str]], fields: dict[str, str], words: str
) -> None:
    ben.post("/url/add", {"url": "https://example.com/", "custom": "taken"})
    answer = _send(inside, "/bios/new", blocks, description="Typed", **fields)
    assert answer.status_code == 400
    assert words in html.unescape(answer.text)
    assert "Typed" in answer.text
    assert ana.get("/bios")["data"]["result"] == 0


def test_the_phone_shows_what_is_typed_and_lets_nothing_run_or_be_followed(ana: Person, inside: Browser) -> None:
    script = "<script>alert(1)</script>"
    blocks = [*BLOCKS, {"type": "link", "title": script, "url": "javascript:alert(1)"}, {"type": "link"}, {"type": "x"}]
    page = _send(inside, "/bios/phone", blocks, title=script)
    assert page.status_code == 200
    assert script not in page.text
    assert html.escape(script, quote=False) in page.text
    assert "javascript:" not in page.text
    assert "<body inert>" in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'self'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert page.headers["x-frame-options"] == "SAMEORIGIN"
    assert ana.get("/bios")["data"]["result"] == 0, "nothing is saved"
    builder = inside.get("/bios/new")
    assert builder.headers["content-security-policy"].endswith("; frame-src 'self'")
    assert "frame-ancestors 'none'" in builder.headers["content-security-policy"]
    assert "frame-src" not in inside.get("/bios").headers["content-security-policy"]


def test_the_second_of_two_tabs_is_told(ana: Person, inside: Browser) -> None:
    bio = _new(ana)
    path = f"/bios/{bio}"
    version = hidden(inside.get(path), "version")
    assert said(_send(inside, path, at=path, version=version, name="First"), inside) == "Saved."
    second = _send(inside, path, BLOCKS[:1], at=path, version=version, name="Second")
    assert second.status_code == 400
    assert "changed since you opened it" in second.text
    assert len(_details(ana, bio)["blocks"]) == len(BLOCKS)
    _send(inside, path, BLOCKS[:1], at=path, version=hidden(second, "version"), name="Second")
    assert (_details(ana, bio)["name"], len(_details(ana, bio)["blocks"])) == ("Second", 1)


def test_each_block_says_how_often_it_was_followed_and_keeps_that_when_it_moves(ana: Person, inside: Browser) -> None:
    bio = _new(ana, alias="ana-costa")
    block = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    for _ in range(3):
        inside.client.get(f"/ana-costa/{block}", headers={"User-Agent": "Mozilla/5.0 (X11; Linux) Firefox/120.0"})
    path = f"/bios/{bio}"

    def tags() -> list[str]:
        return re.findall(r'<span class="tag">(\d+) clicks</span>', inside.get(path).text)

    assert tags() == ["3", "0", "0", "0"]
    moved = [BLOCKS[4], *BLOCKS[:4], BLOCKS[5]]
    assert said(_send(inside, path, moved, at=path, version=hidden(inside.get(path), "version")), inside) == "Saved."
    assert tags() == ["0", "3", "0", "0"]


def test_nobody_reaches_the_pages_of_another_and_several_are_deleted_together(
    ana: Person, ben: Person, inside: Browser
) -> None:
    mine, theirs = [_new(ana), _new(ana)], _new(ben, name="Bens secret")
    assert "Bens secret" not in inside.get("/bios").text
    for path in (f"/bios/{theirs}", f"/bios/{theirs}/phone", f"/bios/{theirs}/delete", f"/bios/{theirs}/stats"):
        assert inside.get(path).status_code == 404, path
    assert _send(inside, f"/bios/{theirs}").status_code == 404
    for path in ("/bios/delete", "/bios/bulk"):
        assert inside.send(path, at="/bios", id=[mine[0], theirs]).status_code == 404
    assert said(inside.send("/bios/bulk", at="/bios"), inside) == "Tick the pages that you mean first."
    assert "Delete 2 pages?" in inside.send("/bios/bulk", at="/bios", id=mine).text
    assert said(inside.send("/bios/delete", at="/bios", id=mine), inside) == "2 pages are deleted."
    assert (ana.get("/bios")["data"]["result"], ben.get("/bios")["data"]["result"]) == (0, 1)
    assert BASE in ben.get(f"/bio/{theirs}")["details"]["shorturl"]
