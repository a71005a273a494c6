"""Searching links by text (`q`), finding them by short URL (`short`), and their order (decision 42)."""

import itertools
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES
from waypost.db import schema
from waypost.items.links import list_search, search_index

pytestmark = ON_BOTH_DATABASES  # searches


@pytest.fixture(autouse=True, params=["few links", "many links", "many matches"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with the plan for few links, and with the trigram index for few and for many matches."""
    if request.param != "few links":
        monkeypatch.setattr(list_search, "FEW_LINKS", -1)
    if request.param == "many matches":
        monkeypatch.setattr(search_index, "_MAX_TESTED", -1)


LINKS: dict[str, dict[str, str]] = {
    "shop": {
        "title": "Winter SALE 50%",
        "url": "https://shop.example/Coats?size=a_b&x=50%25",
        "custom": "Winter-Sale",
        "description": 'Say "coat" *now*\nand save, it\'s <b>cheap</b> \\o/',
    },
    "fruit": {
        "title": "\u00c4PFEL und \u00d6l",
        "url": "https://example.com/obst?q=\u00dcber",
        "custom": "fruit_1",
        "description": "Stra\u00dfe in \u0130stanbul"
        " \u03a3\u0399\u03a3\u03a5\u03a6\u039f\u03a3 \u65e5\u672c\u8a9e \U0001f98a",
    },
    "bare": {"url": "https://example.com/plain", "custom": "plain-one"},
}
MATCHES: dict[str, set[str]] = {
    # in each of the four fields
    "winter sale": {"shop"},
    "shop.example/coats": {"shop"},
    "winter-sale": {"shop"},
    "cheap": {"shop"},
    "https://": {"shop", "fruit", "bare"},
    "plain": {"bare"},
    # in any case
    "SALE": {"shop"},
    "sAlE 5": {"shop"},
    "FRUIT_1": {"fruit"},
    "\u00e4pfel": {"fruit"},
    "\u00c4pfel": {"fruit"},
    "\u00dcBER": {"fruit"},
    "\u00fcber": {"fruit"},
    "stra\u00dfe": {"fruit"},
    "STRASSE": {"fruit"},
    "\u0130stanbul": {"fruit"},
    "\u0130STANBUL": {"fruit"},
    "\u03c3\u03b9\u03c3\u03c5\u03c6\u03bf\u03c2": {"fruit"},
    # of one, two and three characters
    "w": {"shop"},
    "W": {"shop"},
    "wi": {"shop"},
    "win": {"shop"},
    "5": {"shop"},
    "1": {"fruit"},
    "\u00f6": {"fruit"},
    "\u00d6L": {"fruit"},
    "\u00e4p": {"fruit"},
    "\u00c4PF": {"fruit"},
    "\u0130": {"shop", "fruit", "bare"},  # compared without its dot, as i
    "\u0130s": {"fruit"},
    "\u672c": {"fruit"},
    "\u65e5\u672c": {"fruit"},
    "\u65e5\u672c\u8a9e": {"fruit"},
    "\U0001f98a": {"fruit"},
    # no character has a special meaning
    "%": {"shop"},
    "%%": set(),
    "0%": {"shop"},
    "50%25": {"shop"},
    "5_%": set(),
    "w%r": set(),
    "w_nter": set(),
    "a_b": {"shop"},
    "_b": {"shop"},
    "_": {"shop", "fruit"},
    "__": set(),
    "___": set(),
    "*": {"shop"},
    "*now*": {"shop"},
    "wint*": set(),
    '"': {"shop"},
    '"coat"': {"shop"},
    '""': set(),
    '"winter"': set(),
    "'s <b>": {"shop"},
    "\\": {"shop"},
    "\\o/": {"shop"},
    "\\%": set(),
    "/%": set(),
    "/_": set(),
    "now*\nand": {"shop"},
    "e i": {"fruit"},  # "strasse in", after case folding
    "winter OR fruit": set(),
    "AND": {"shop"},
    "NOT winter": set(),
    "NEAR(winter sale)": set(),
    "title:winter": set(),
    "search:win": set(),
    "^win": set(),
    "win + sale": set(),
    "-sale": {"shop"},
    "'; DROP TABLE links; --": set(),
    "' OR '1'='1": set(),
    "nowhere": set(),
    "zzz": set(),
    "k": set(),
}


def _create_links(person: Person) -> dict[int, str]:
    return {person.add("url", **body): name for name, body in LINKS.items()}


def _search(person: Person, q: str, **params: Any) -> list[int]:
    page = person.get("/urls", q=q, **params)["data"]
    assert page["result"] == len(page["urls"]) or params
    return [link["id"] for link in page["urls"]]


def test_search_finds_literal_substring_in_any_case(ana: Person, ben: Person) -> None:
    names = _create_links(ana)
    assert {q: {names[link] for link in _search(ana, q)} for q in MATCHES} == MATCHES
    assert {q: _search(ben, q) for q in MATCHES} == {q: [] for q in MATCHES}


def test_empty_search_finds_all_links(ana: Person) -> None:
    names = _create_links(ana)
    assert _search(ana, "") == sorted(names, reverse=True)


def test_search_does_not_match_across_two_fields(ana: Person) -> None:
    fields = {"title": "aaab", "url": "https://c.example/ccd", "custom": "eeef", "description": "gggh"}
    ana.post("/url/add", {**fields, "title": "aaab"})
    pairs = itertools.permutations(fields.values(), 2)
    ends = [(first[-n:], second[:n]) for first, second in pairs for n in (1, 2)]
    across = [end + separator + start for end, start in ends for separator in ("", " ", "\n", "%", "*")]
    assert {q: _search(ana, q) for q in across} == {q: [] for q in across}
    assert all(_search(ana, field) for field in fields.values())


def test_search_with_control_characters_is_rejected(ana: Person) -> None:
    _create_links(ana)
    for q in ("\x00", "a\x00b", "winter\x00", "\x1f", "%\x1f", "\x1fhttps", "\x01", "\x7f"):
        refused(ana.call("GET", "/urls", params={"q": q}), 400, "q")


def test_search_over_255_characters_is_rejected(ana: Person) -> None:
    ana.post("/url/add", {"url": "https://example.com/", "description": "\u00df" * 255})
    assert len(_search(ana, "\u00df" * 255)) == 1
    refused(ana.call("GET", "/urls", params={"q": "x" * 256}), 400, "q")


CHANGES: tuple[tuple[dict[str, Any], set[str]], ...] = (  # the fields sent, and the searches that no longer match
    ({"title": "Summer"}, {"winter sale"}),
    ({"title": None}, {"summer"}),
    ({"url": "https://new.example/"}, {"shop.example", "coats"}),
    ({"custom": "summer-1"}, {"winter-s"}),
    ({"clicklimit": 5}, set()),
    ({"description": "Gone"}, {"cheap", "*"}),
    ({"description": None}, {"gone"}),
)


def test_search_matches_current_values_after_each_change(ana: Person) -> None:
    link = ana.add("url", **LINKS["shop"])
    terms = {"winter sale", "shop.example", "coats", "winter-s", "cheap", "*"}
    for change, gone in CHANGES:
        assert {q for q in terms if _search(ana, q) == [link]} == terms
        ana.update("url", link, **change)
        terms = (terms - gone) | {str(value).lower() for value in change.values() if isinstance(value, str)}
        assert {q for q in gone if _search(ana, q)} == set()
    assert {q for q in terms if _search(ana, q) == [link]} == terms == {"summer-1", "https://new.example/"}


def test_search_does_not_find_deleted_links(ana: Person) -> None:
    first, second = (ana.add("url", url="https://example.com/", title="Winter") for _ in range(2))
    ana.remove("url", second)
    assert [_search(ana, q) for q in ("w", "wi", "win", "winter")] == [[first]] * 4
    ana.remove("url", first)
    assert [_search(ana, q) for q in ("w", "wi", "win", "winter")] == [[]] * 4


def test_search_results_are_paginated(ana: Person) -> None:
    titles = ["Winter", "Other", "winter 2", "WINTER", "Spring", "a winter", "Winter"]
    ids = [ana.add("url", url="https://e.com/", title=title) for title in titles]
    for q in ("in", "winter"):  # "Spring" contains only the first
        matching = [link for link, title in zip(ids, titles, strict=True) if q in title.lower()][::-1]
        pages = [ana.get("/urls", q=q, limit=2, page=page)["data"] for page in (1, 2, 3, 4)]
        assert [[link["id"] for link in page["urls"]] for page in pages] == [
            matching[start : start + 2] for start in (0, 2, 4, 6)
        ]
        assert {(page["result"], page["maxpage"]) for page in pages} == {(len(matching), 3)}


def _link_with_clicks(person: Person, clicks: int) -> int:
    link = person.add("url", url="https://example.com/", title=f"Title {clicks}")
    set_clicks = update(schema.links).where(schema.links.c.id == link).values(clicks=clicks)
    person.write(lambda tx: tx.execute(set_clicks))
    return link


def test_links_are_ordered_by_clicks_or_date(ana: Person, ben: Person) -> None:
    a, b, c, d, e = (_link_with_clicks(ana, clicks) for clicks in (5, 0, 12, 5, 100))
    _link_with_clicks(ben, 7)
    by_click, by_date = [e, c, d, a, b], [e, d, c, b, a]
    for order, expected in {
        "click": by_click,
        "date": by_date,
        "": by_date,
        "clicks": by_date,
        "CLICK": by_date,
    }.items():
        assert [link["id"] for link in ana.get("/urls", order=order)["data"]["urls"]] == expected, order
    assert [link["id"] for link in ana.get("/urls")["data"]["urls"]] == by_date
    assert [link["clicks"] for link in ana.get("/urls", order="click")["data"]["urls"]] == [100, 12, 5, 5, 0]


def test_order_by_clicks_works_with_pages_and_search(ana: Person) -> None:
    a, b, c, d, e = (_link_with_clicks(ana, clicks) for clicks in (5, 0, 12, 5, 100))
    pages = [ana.get("/urls", order="click", limit=2, page=page)["data"]["urls"] for page in (1, 2, 3, 4)]
    assert [[link["id"] for link in page] for page in pages] == [[e, c], [d, a], [b], []]
    assert _search(ana, "title 5", order="click") == [d, a]
    assert _search(ana, "title 1", order="click") == [e, c]
    assert _search(ana, "1", order="click", limit=1, page=2) == [c]


def test_link_is_found_by_alias_or_short_url(ana: Person, ben: Person) -> None:
    link = ana.add("url", url="https://example.com/", custom="spring")
    body = ana.get(f"/url/{link}")
    forms = (
        "spring",
        f"{BASE}/spring",
        "go.localhost:8000/spring",
        "go.localhost/spring",
        "https://GO.localhost/spring",
    )
    for form in (*forms, " spring "):
        answer = ana.get("/urls", short=form)
        assert (answer["data"].pop("result"), [item["id"] for item in answer["data"].pop("urls")]) == (1, [link]), form
        assert answer == body, form
    assert (body["details"]["id"], body["data"]["clicks"]) == (link, 0)
    others = (
        *("Spring", "sprin", "springs", "", "/", BASE, f"{BASE}/", f"{BASE}/x/spring", f"{BASE}/r/spring", "%00"),
        *("https://elsewhere.example/spring", "elsewhere.example/spring", "spring?x", "https://[::1/spring"),
    )
    unknown = _not_found(ben, "unknown")
    for form in others:
        assert _not_found(ana, form) == unknown, form
    for form in forms:
        assert _not_found(ben, form) == unknown, form


def test_link_on_branded_domain_is_found_by_short_url(ana: Person, ben: Person) -> None:
    ana.post("/domain/add", {"domain": "https://b\u00fccher.example"})
    body = {"url": "https://example.com/", "custom": "spring", "domain": "b\u00fccher.example"}
    link = ana.add("url", **body)
    forms = (
        "https://xn--bcher-kva.example/spring",
        "xn--bcher-kva.example/spring",
        "http://XN--bcher-kva.example:80/spring",
    )
    for form in (*forms, "https://b\u00fccher.example/spring", "B\u00dcCHER.example/spring"):
        assert ana.get("/urls", short=form)["details"]["id"] == link, form
        _not_found(ben, form)
    for form in ("spring", f"{BASE}/spring", "https://www.xn--bcher-kva.example/spring"):
        _not_found(ana, form)


def test_alias_of_bio_page_is_not_found_as_link(ana: Person) -> None:
    ana.post("/bio/add", {"name": "Ana", "alias": "about-ana"})
    _not_found(ana, "about-ana")


def _not_found(person: Person, short: str) -> str:
    """Search for an unknown short URL; return the message, which comes with status 200 (decision 55)."""
    response = person.call("GET", "/urls", params={"short": short})
    body = response.json()
    assert (response.status_code, body["error"], set(body)) == (200, 1, {"error", "message"})
    return str(body["message"])
