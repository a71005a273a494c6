"""Bio pages in the API: blocks, themes and aliases (decision 45)."""

import itertools
from typing import Any

import pytest
from sqlalchemy import insert

from tests.conftest import BASE, Person
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from waypost.core.settings import Settings
from waypost.db.schema import blocklist_entries
from waypost.urls import alias_rules

TAKEN = "That alias is taken. Please choose another one."
BLOCKS: tuple[dict[str, Any], ...] = (
    {"type": "heading", "text": "My links"},
    {"type": "text", "text": "Two\nlines, <b>kept</b> as they are"},
    {"type": "link", "title": "Shop", "url": "https://example.com/shop?a=b#c"},
    {"type": "image", "image": "https://example.com/a.png"},
    {"type": "image", "image": "https://example.com/a.png", "link": "https://example.com/"},
    {"type": "social", "network": "mastodon", "url": "https://example.social/@ana"},
    {"type": "vcard"},
    {
        "type": "vcard",
        **{
            name: name.upper()
            for name in ("fname", "lname", "org", "title", "street", "city", "state", "zip", "country")
        },
        **dict.fromkeys(("phone", "cell", "fax"), "+49 12345"),
        "email": "ana@example.com",
        "site": "https://example.com/",
    },
)
INVALID_BLOCKS: tuple[Any, ...] = (
    *("heading", 5, None, [], {}, {"text": "x"}, {"type": None}, {"type": "Heading"}, {"type": "video", "url": "x"}),
    *({"type": kind} for kind in ("heading", "text", "link", "image", "social")),
    *({"type": "heading", "text": text} for text in ("", None, 5, "a\x00b", "x" * 5001)),
    *({"type": "link", "title": title, "url": "https://a.example/"} for title in ("", " ", None, "a\nb", "x" * 256)),
    *({"type": "link", "title": "x", "url": url} for url in ("", "x", None, "javascript:alert(1)", "\tjavascript:x")),
    *({"type": "image", "image": url} for url in ("", "a.png", "file:///etc/passwd", "data:image/png;base64,AA")),
    {"type": "image", "image": "https://a.example/", "link": "javascript:alert(1)"},
    {"type": "social", "network": "", "url": "https://a.example/"},
    {"type": "social", "network": "x", "url": "vbscript:x"},
    {"type": "vcard", "fname": 5},
    {"type": "vcard", "site": "javascript:alert(1)"},
    {"type": "vcard", "org": "a\nb"},
)


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings of every test, overridden by the parameter of a test."""
    return Settings(**{**settings.model_dump(exclude_unset=True), **getattr(request, "param", {})})


def _add(person: Person, **fields: Any) -> int:
    return person.add("bio", **{"name": "A bio page", **fields})


def test_bio_page_needs_only_a_name(ana: Person) -> None:
    created = ana.post("/bio/add", {"name": " A bio page "})
    details = ana.details("bio", created["id"])
    assert alias_rules.check(details["alias"], field="alias")
    assert created == {"error": 0, "id": details["id"], "shorturl": f"{BASE}/{details['alias']}"}
    rest = {"title": "", "description": "", "theme": "default", "blocks": [], "clicks": 0, "uniqueclicks": 0}
    same = {"name": "A bio page", "shorturl": created["shorturl"]}
    assert {name: details[name] for name in (*rest, *same)} == {**rest, **same}


def test_blocks_are_stored_as_sent_and_in_order(ana: Person) -> None:
    for blocks in (BLOCKS, BLOCKS[::-1], (BLOCKS[0], BLOCKS[0]), ()):
        assert ana.details("bio", _add(ana, blocks=blocks))["blocks"] == list(blocks)
    assert "blocks" not in ana.get("/bios")["data"]["bios"][0]


def test_unknown_block_fields_are_dropped_and_values_trimmed(ana: Person) -> None:
    blocks = [
        {"type": "link", "title": " Shop ", "url": " https://example.com/ ", "colour": "red"},
        {"type": "image", "image": "https://example.com/a.png\n", "link": ""},
    ]
    assert ana.details("bio", _add(ana, blocks=blocks))["blocks"] == [
        {"type": "link", "title": "Shop", "url": "https://example.com/"},
        {"type": "image", "image": "https://example.com/a.png", "link": ""},
    ]


@ON_SQLITE
def test_invalid_block_is_rejected_at_any_position(ana: Person) -> None:
    bio = _add(ana, blocks=BLOCKS)
    answers = {}
    for block, before in itertools.product(INVALID_BLOCKS, ([], [BLOCKS[0]])):
        body = {"name": "x", "blocks": [*before, block]}
        for method, path in (("POST", "/bio/add"), ("PUT", f"/bio/{bio}/update")):
            response = ana.call(method, path, body)
            answers[f"{method} {body['blocks']}"] = (response.status_code, response.json().get("field"))
    assert answers == dict.fromkeys(answers, (400, "blocks"))
    assert ana.details("bio", bio)["blocks"] == list(BLOCKS)


@ON_SQLITE
@pytest.mark.parametrize("settings", [{}, {"link_schemes": "whatsapp"}], indirect=True, ids=["default", "apps"])
def test_block_accepts_mail_phone_and_enabled_schemes(ana: Person, settings: Settings) -> None:
    blocks = [
        {"type": "link", "title": "Write to me", "url": "mailto:ana@example.com"},
        {"type": "image", "image": "https://example.com/a.png", "link": "tel:+4912345"},
        {"type": "social", "network": "phone", "url": "tel:+4912345"},
    ]
    if settings.link_schemes:
        blocks.append({"type": "link", "title": "Chat", "url": "whatsapp://send?text=x"})
    assert ana.details("bio", _add(ana, blocks=blocks))["blocks"] == blocks
    for block in ({"type": "image", "image": "mailto:a@b.example"}, {"type": "link", "title": "x", "url": "sms:+1"}):
        refused(ana.call("POST", "/bio/add", {"name": "x", "blocks": [block]}), 400, "blocks")
    message = _refused_block(ana, {"type": "link", "title": "x", "url": "mailto:a@b.example?subject=a b"})
    assert message.startswith("blocks[17].url must not contain spaces")
    for url in ("tel:+49 30 1234567", "TEL:030\u00a01234567"):
        message = _refused_block(ana, {"type": "link", "title": "x", "url": url})
        assert message.endswith("write its number as in tel:+49301234567.")


def _refused_block(person: Person, block: dict[str, Any]) -> str:
    """Return the message about the 18th block of a page."""
    blocks = [*[{"type": "heading", "text": "x"}] * 17, block]
    return refused(person.call("POST", "/bio/add", {"name": "x", "blocks": blocks}), 400, "blocks")


@ON_SQLITE
@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            {"type": "link", "title": "x", "url": "example.com/x"},
            "blocks[17].url must begin with http://, https://, mailto:",
        ),
        ({"type": "social", "network": "x", "url": "https:///"}, "blocks[17].url must have a valid host"),
        ({"type": "image", "image": "x.png"}, "blocks[17].image must begin with http:// or https://."),
        ({"type": "image", "image": "https://a.example", "link": "x"}, "blocks[17].link must begin with"),
        ({"type": "vcard", "fname": "A", "site": "mailto:a@b.example"}, "blocks[17].site must begin with http:// or"),
        ({"type": "embed", "url": "https://a.example"}, "blocks[17].url must be the URL of a video"),
        ({"type": "link", "title": "x", "url": "https://evil.example"}, "blocks[17].url must not lead to evil.example"),
        ({"type": "form", "overlay": 7}, "blocks[17] must have one of your overlays"),
        ({"type": "image", "picture": "picture-7"}, "blocks[17] has a picture that this page does not have"),
        ({"type": "link", "url": "https://a.example"}, "blocks[17].link.title is required"),
    ],
    ids=["scheme", "host", "image", "link", "site", "player", "blocked", "form", "picture", "missing"],
)
def test_refused_block_is_named(ana: Person, block: dict[str, Any], message: str) -> None:
    ana.write(lambda tx: tx.execute(insert(blocklist_entries).values(kind="host", value="evil.example", created=1)))
    assert _refused_block(ana, block).startswith(message)


@ON_BOTH_DATABASES
def test_update_replaces_all_blocks_or_none(ana: Person) -> None:
    bio = _add(ana, blocks=BLOCKS, title="Ana")
    ana.update("bio", bio, title="Anna")
    assert ana.details("bio", bio)["blocks"] == list(BLOCKS)
    for blocks in (BLOCKS[:1], ()):
        ana.update("bio", bio, blocks=blocks)
        assert (ana.details("bio", bio)["blocks"], ana.details("bio", bio)["title"]) == (list(blocks), "Anna")


def test_theme_accepts_plain_word_only(ana: Person) -> None:
    bio = _add(ana, theme="dark-2")
    assert ana.details("bio", bio)["theme"] == "dark-2"
    for theme in ("Dark", "da rk", "dark\n", "x" * 33, "../dark", "d\u00e4rk"):
        refused(ana.call("PUT", f"/bio/{bio}/update", {"theme": theme}), 400, "theme")


def test_two_bio_pages_can_have_the_same_name(ana: Person) -> None:
    assert _add(ana) != _add(ana)


def test_alias_follows_alias_rules(ana: Person, ben: Person) -> None:
    bio, other = _add(ana, alias="ana-smith"), _add(ben)
    for alias in ("x" * 51, "a b", "a/b", "api", "Bio", "\u00fcn\u00ef"):
        refused(ana.call("POST", "/bio/add", {"name": "x", "alias": alias}), 400, "alias")
        refused(ana.call("PUT", f"/bio/{bio}/update", {"alias": alias}), 400, "alias")
    for person in (ana, ben):
        assert refused(person.call("POST", "/bio/add", {"name": "x", "alias": "ana-smith"}), 400, "alias") == TAKEN
    assert refused(ben.call("PUT", f"/bio/{other}/update", {"alias": "ana-smith", "name": "x"}), 400, "alias") == TAKEN
    assert ben.details("bio", other)["name"] == "A bio page"
    assert ben.details("bio", _add(ben, alias="Ana-Smith"))["shorturl"] == f"{BASE}/Ana-Smith"


@pytest.mark.parametrize("how", ["deleted", "changed"])
def test_previous_alias_stays_reserved_for_account(how: str, ana: Person, ben: Person) -> None:
    bio = _add(ana, alias="ana-smith")
    if how == "deleted":
        ana.remove("bio", bio)
    else:
        ana.update("bio", bio, alias="ana-jones")
        assert ana.details("bio", bio)["shorturl"] == f"{BASE}/ana-jones"
    for path, field in (("/bio/add", "alias"), ("/url/add", "custom")):
        body = {"name": "x", "url": "https://example.com/", field: "ana-smith"}
        assert refused(ben.call("POST", path, body), 400, field) == TAKEN
    again = ana.details("bio", _add(ana, alias="ana-smith"))
    assert (again["clicks"], again["uniqueclicks"]) == (0, 0)


def test_update_with_current_alias_is_accepted(ana: Person) -> None:
    bio = _add(ana, alias="ana-smith")
    for alias in ("ana-smith", None):
        ana.update("bio", bio, alias=alias, title="Ana")
        assert (ana.details("bio", bio)["alias"], ana.details("bio", bio)["title"]) == ("ana-smith", "Ana")
