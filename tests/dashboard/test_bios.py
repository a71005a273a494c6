"""Dashboard pages of bio pages: builder with and without scripts, preview, and access by other accounts."""

import html
import re
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.bios import FORM_BLOCKS
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.html import Page
from waypost.items.bios.form import PARTS


def _fields(blocks: list[dict[str, str]]) -> dict[str, Any]:
    """Return the form fields of blocks. The keys are in reverse order; the field `order` decides."""
    keys = [f"k{100 - index}" for index in range(len(blocks))]
    fields = {f"{key}.{part}": value for key, block in zip(keys, blocks, strict=True) for part, value in block.items()}
    return {**fields, "order": keys}


def _send(
    browser: Browser,
    path: str,
    blocks: list[dict[str, str]] | None = None,
    at: str = "/bios/new",
    **fields: Any,
) -> Any:
    defaults = {"name": "Ana", "alias": "", "title": "", "description": "", "base": "ocean", "mode": "dark"}
    return browser.submit(
        path, at=at, **{**defaults, **_fields(blocks if blocks is not None else FORM_BLOCKS), **fields}
    )


def _new(person: Person, **fields: Any) -> int:
    return person.add("bio", **{"name": "Ana", "blocks": FORM_BLOCKS, **fields})


def _order(page: Any) -> list[str]:
    """Return the types of the blocks in the builder, in order."""
    return re.findall(r'name="b\d+\.type" value="([a-z]+)"', page.text)


def test_page_with_all_block_types_is_created_and_saved_unchanged(ana: Person, dashboard: Browser) -> None:
    response = _send(
        dashboard, "/bios/new", alias="ana-costa", title="Ana Costa", description="One\r\nTwo", sensitive="on"
    )
    assert dashboard.flash_message(response) == "Your page is ready. go.localhost:8000/ana-costa"
    bio = ana.get("/bios")["data"]["bios"][0]["id"]
    details = ana.details("bio", bio)
    assert (details["title"], details["description"], details["theme"]) == ("Ana Costa", "One\nTwo", "ocean-dark")
    assert details["sensitive"] is True
    stored = [{name: value for name, value in block.items() if value} for block in details["blocks"]]
    assert stored == FORM_BLOCKS
    page = dashboard.get(f"/bios/{bio}")
    assert _order(page) == [block["type"] for block in FORM_BLOCKS]
    path = f"/bios/{bio}"
    again = _send(dashboard, path, at=path, alias="ana-costa", name="New", version=hidden_field(page, "version"))
    assert dashboard.flash_message(again) == "Saved."
    assert (ana.details("bio", bio)["name"], ana.details("bio", bio)["sensitive"]) == ("New", False)


def test_block_buttons_without_scripts_rearrange_form_and_save_nothing(ana: Person, dashboard: Browser) -> None:
    bio = _new(ana)
    path = f"/bios/{bio}"
    types = [block["type"] for block in FORM_BLOCKS]
    for do, expected in (
        ("add-text", [*types, "text"]),
        ("up-1", ["heading", "link", *types[2:]]),
        ("down-0", ["heading", "link", *types[2:]]),
        ("up-0", types),
        ("down-5", types),
        ("remove-0", types[1:]),
        ("duplicate-0", ["link", *types]),
        ("hide-0", types),
    ):
        page = _send(dashboard, path, at=path, do=do, name="Edited")
        assert page.status_code == 200, do
        assert _order(page) == expected, do
        assert "Edited" in page.text
    for do in ("up-99", "remove-99", "duplicate-99", "hide-x", "add-nothing", "up-x", "nonsense"):
        assert _send(dashboard, path, at=path, do=do, version="x").status_code == 400, (
            "an unknown button submits the form"
        )
    assert [block["type"] for block in ana.details("bio", bio)["blocks"]] == types
    assert ana.details("bio", bio)["name"] == "Ana"


def test_menu_of_a_block_duplicates_hides_and_shows_it_without_scripts(ana: Person, dashboard: Browser) -> None:
    bio = _new(ana)
    path = f"/bios/{bio}"

    def sent(do: str, block: dict[str, str]) -> Any:
        return Page(_send(dashboard, path, [block], at=path, do=do))

    copied = sent("duplicate-0", {**FORM_BLOCKS[0], "id": "7"})
    fields = [
        [copied.one("input", name=f"b{number}.{part}").attributes["value"] for part in ("id", "title")]
        for number in (1, 2)
    ]
    assert fields == [["7", "Shop"], ["", "Shop"]]
    for do, hidden in (("hide-0", True), ("show-0", False)):
        for block in (FORM_BLOCKS[0], {**FORM_BLOCKS[0], "hidden": "on"}):
            switch = sent(do, block).one("input", name="b1.hidden")
            assert ("checked" in switch.attributes) == hidden, do


@pytest.mark.parametrize(
    ("blocks", "fields", "message"),
    [
        ([{"type": "link", "title": "", "url": "https://example.com/"}], {}, "Title must"),
        (
            [FORM_BLOCKS[1], {"type": "link", "title": "A", "url": "javascript:alert(1)"}],
            {},
            "Destination URL must begin",
        ),
        ([{"type": "link", "title": "x" * 10_000, "url": "https://example.com/"}], {}, "Title must be at most"),
        ([{"type": "nothing"}], {}, "Block 1"),
        ([{"type": "text", "text": "x"}] * 201, {}, "Content must"),
        ([], {"name": ""}, "Name must"),
        ([], {"alias": "a b"}, "Alias "),
        ([], {"alias": "taken"}, "Alias "),
        ([], {"base": "No Such"}, "Theme"),
    ],
)
def test_invalid_page_shows_message_and_keeps_entered_values(
    ana: Person,
    ben: Person,
    dashboard: Browser,
    blocks: list[dict[str, str]],
    fields: dict[str, str],
    message: str,
) -> None:
    ben.post("/url/add", {"url": "https://example.com/", "custom": "taken"})
    response = _send(dashboard, "/bios/new", blocks, description="Typed", **fields)
    assert response.status_code == 400
    assert message in html.unescape(response.text)
    assert "Typed" in response.text
    assert ana.get("/bios")["data"]["result"] == 0


def test_preview_shows_entered_values_without_scripts_and_working_links(ana: Person, dashboard: Browser) -> None:
    script = "<script>alert(1)</script>"
    blocks = [
        *FORM_BLOCKS,
        {"type": "link", "title": script, "url": "javascript:alert(1)"},
        {"type": "link"},
        {"type": "x"},
    ]
    page = _send(dashboard, "/bios/phone", blocks, title=script)
    assert page.status_code == 200
    assert script not in page.text
    assert html.escape(script, quote=False) in page.text
    assert "javascript:" not in page.text
    assert "<body inert " in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'self'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert page.headers["x-frame-options"] == "SAMEORIGIN"
    assert ana.get("/bios")["data"]["result"] == 0, "nothing is saved"
    builder = dashboard.get("/bios/new")
    assert builder.headers["content-security-policy"].endswith("; frame-src 'self'")
    assert "frame-ancestors 'none'" in builder.headers["content-security-policy"]
    assert "frame-src" not in dashboard.get("/bios").headers["content-security-policy"]


def test_new_page_begins_without_a_block_and_untouched_blocks_are_dropped(ana: Person, dashboard: Browser) -> None:
    assert _order(dashboard.get("/bios/new")) == []
    blocks = [{"type": kind} for kind in PARTS]
    assert _order(_send(dashboard, "/bios/new", blocks, do="draft")) == list(PARTS)
    errors = Page(_send(dashboard, "/bios/new", [blocks[0], {"type": "link", "title": "Shop"}]))
    assert errors.one("input", name="b1.title").attributes["value"] == "Shop", "the first block is gone"
    message = dashboard.flash_message(_send(dashboard, "/bios/new", [FORM_BLOCKS[1], *blocks]))
    assert f"Your page is ready. {len(PARTS)} empty blocks were not saved." in message
    (page,) = ana.get("/bios")["data"]["bios"]
    assert [block["type"] for block in ana.details("bio", page["id"])["blocks"]] == [FORM_BLOCKS[1]["type"]]


def test_builder_marks_blocks_that_visitors_do_not_see(ana: Person, dashboard: Browser) -> None:
    form = ana.add("overlay", name="Ask", type="contact", message="Questions?")
    blocks = [{"type": "form", "overlay": form}, {"type": "text", "text": "Hello"}]
    bio = ana.add("bio", name="Ana", alias="ana-costa", blocks=blocks)
    assert "Form deleted" not in dashboard.get(f"/bios/{bio}").text
    ana.remove("overlay", form)
    assert dashboard.get(f"/bios/{bio}").text.count("Form deleted: not shown") == 1
    sent = [{"type": "text", "text": "Hello"}, {"type": "text"}, {"type": "link", "title": "Shop"}]
    page = Page(_send(dashboard, f"/bios/{bio}", sent, do="draft", version=""))
    marks = page.all("span", class_="tag warning")[: len(sent)]
    assert [mark.text for mark in marks] == ["Empty: not shown"] * len(sent)
    assert ["hidden" in mark.attributes for mark in marks] == [True, False, True]


def test_preview_shows_a_placeholder_for_each_incomplete_block(ana: Person, dashboard: Browser) -> None:
    blocks = [*({"type": kind} for kind in PARTS), {"type": "text", "text": "Hello"}, {"type": "link", "hidden": "on"}]
    page = Page(_send(dashboard, "/bios/phone", blocks))
    labels = ["Link", "Heading", "Text", "Image", "Profile", "Video or music", "Form", "Contact"]
    assert [element.text for element in page.all("p", class_="text ghost")] == labels
    assert page.one("body").attributes["data-blocks"] == " ".join(map(str, range(len(PARTS) + 1)))


def test_preview_of_a_page_without_blocks_shows_where_they_come(ana: Person, dashboard: Browser) -> None:
    assert Page(dashboard.get("/bios/phone")).one("p", class_="text ghost").text == "Add a block"


def test_stale_builder_form_is_rejected(ana: Person, dashboard: Browser) -> None:
    bio = _new(ana)
    path = f"/bios/{bio}"
    version = hidden_field(dashboard.get(path), "version")
    assert dashboard.flash_message(_send(dashboard, path, at=path, version=version, name="First")) == "Saved."
    second = _send(dashboard, path, FORM_BLOCKS[:1], at=path, version=version, name="Second")
    assert second.status_code == 400
    assert "changed since you opened it" in second.text
    assert len(ana.details("bio", bio)["blocks"]) == len(FORM_BLOCKS)
    _send(dashboard, path, FORM_BLOCKS[:1], at=path, version=hidden_field(second, "version"), name="Second")
    assert (ana.details("bio", bio)["name"], len(ana.details("bio", bio)["blocks"])) == ("Second", 1)


def test_moved_block_keeps_its_click_count(ana: Person, dashboard: Browser) -> None:
    bio = _new(ana, alias="ana-costa")
    block = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    for _ in range(3):
        dashboard.client.get(f"/ana-costa/{block}", headers={"User-Agent": "Mozilla/5.0 (X11; Linux) Firefox/120.0"})
    path = f"/bios/{bio}"

    def tags() -> list[str]:
        return re.findall(r'<span class="tag" data-clicks>([^<]+)</span>', dashboard.get(path).text)

    assert tags() == ["3 clicks", *["No clicks yet"] * 3]
    moved = [FORM_BLOCKS[4], *FORM_BLOCKS[:4], FORM_BLOCKS[5]]
    assert (
        dashboard.flash_message(
            _send(dashboard, path, moved, at=path, version=hidden_field(dashboard.get(path), "version"))
        )
        == "Saved."
    )
    assert tags() == ["No clicks yet", "3 clicks", *["No clicks yet"] * 2]


def test_page_list_supports_bulk_deletion_of_own_pages_only(ana: Person, ben: Person, dashboard: Browser) -> None:
    own_ids, foreign_id = [_new(ana), _new(ana)], _new(ben, name="Bens secret")
    assert "Bens secret" not in dashboard.get("/bios").text
    for path in (
        f"/bios/{foreign_id}",
        f"/bios/{foreign_id}/phone",
        f"/bios/{foreign_id}/delete",
        f"/bios/{foreign_id}/stats",
    ):
        assert dashboard.get(path).status_code == 404, path
    assert _send(dashboard, f"/bios/{foreign_id}").status_code == 404
    for path in ("/bios/delete", "/bios/bulk"):
        message = dashboard.submit_for_message(path, at="/bios", id=[foreign_id])
        assert message == "1 item was deleted already and was skipped.", path
    assert "Bens secret" not in dashboard.submit("/bios/bulk", at="/bios", id=[own_ids[0], foreign_id]).text
    assert dashboard.submit_for_message("/bios/bulk", at="/bios") == "Select at least one page."
    assert "Delete 2 pages?" in dashboard.submit("/bios/bulk", at="/bios", id=own_ids).text
    assert dashboard.submit_for_message("/bios/delete", at="/bios", id=own_ids) == "2 pages were deleted."
    assert (ana.get("/bios")["data"]["result"], ben.get("/bios")["data"]["result"]) == (0, 1)
    assert BASE in ben.details("bio", foreign_id)["shorturl"]


def test_block_is_hidden_by_its_switch_and_stays_hidden_when_saved_again(ana: Person, dashboard: Browser) -> None:
    blocks = [{**FORM_BLOCKS[0], "hidden": "on"}, FORM_BLOCKS[1]]
    _send(dashboard, "/bios/new", blocks)
    bio = ana.get("/bios")["data"]["bios"][0]["id"]
    assert [block.get("hidden", False) for block in ana.details("bio", bio)["blocks"]] == [True, False]
    path = f"/bios/{bio}"
    page = dashboard.get(path)
    assert len(re.findall(r'name="b\d+\.hidden"\s+value="on"\s+checked', page.text)) == 1
    preview = dashboard.get(f"{path}/phone").text
    assert FORM_BLOCKS[0]["title"] not in preview
    assert FORM_BLOCKS[1]["text"] in preview
    moved = _send(dashboard, path, blocks, at=path, do="down-0")
    assert "checked" in moved.text[moved.text.index("b2.hidden") :][:80]
    _send(dashboard, path, [FORM_BLOCKS[0], FORM_BLOCKS[1]], at=path, version=hidden_field(page, "version"))
    assert not any(block.get("hidden") for block in ana.details("bio", bio)["blocks"])


def test_list_leads_to_the_import_of_a_linktree_page(dashboard: Browser) -> None:
    path = Page(dashboard.get("/bios")).one("a", href="/dashboard/import/new?from=linktree").attributes["href"]
    assert "save it as HTML" in dashboard.get(path.removeprefix("/dashboard")).text
    assert "save it as HTML" not in dashboard.get("/import/new").text
