"""The pages of channels, splash pages, overlays, pixels and domains: made, changed, told apart from those of others."""

import re
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.dashboard_client import Browser, hidden, said, version, window
from tests.support.visits import new_link
from waypost.overlays import submissions
from waypost.overlays.submissions import Sent
from waypost.pixels.ops import TYPES
from waypost.pixels.pages import KINDS

ONLY_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


# For each noun: its pages, what it is in the API, what makes one, a change, and what is wrong with it.
NOUNS: dict[str, dict[str, Any]] = {
    "channels": {
        "api": "/channel",
        "form": {"name": "Letter", "color": "#112233", "description": "by post", "starred": "on"},
        "change": {"name": "Post", "color": "#445566", "description": "", "starred": ""},
        "wrong": {"color": "red"},
        "words": "Colour must be a colour",
        "edit": "/edit",
    },
    "splash": {
        "api": "/splash",
        "form": {"name": "Spring", "title": "Hello", "counter": "8", "skip": "3", "link": "https://shop.example/"},
        "change": {"name": "Summer", "title": "<b>Hi</b>", "counter": "0", "skip": "0", "link": ""},
        "wrong": {"counter": "soon"},
        "words": "Goes on after must",
        "edit": "",
    },
    "overlays": {
        "api": "/overlay",
        "form": {"name": "Poll", "type": "poll", "message": "Tea?", "options": ["Yes", "No"], "delay": "0"},
        "change": {
            "name": "Poll 2",
            "type": "poll",
            "message": "Tea?",
            "options": ["Yes", "No", "", "Or"],
            "delay": "4",
        },
        "wrong": {"options": ["Yes", ""]},
        "words": "Answers must",
        "edit": "",
    },
    "pixels": {
        "api": "/pixel",
        "form": {"name": "Shop", "type": "analyticspixel", "tag": "G-1"},
        "change": {"name": "Shop 2", "tag": "G-2"},
        "wrong": {"tag": "G 1"},
        "words": "Tag must be 1 to 64 characters",
        "edit": "",
    },
    "domains": {
        "api": "/domain",
        "form": {"domain": "https://go.brand.example", "redirectroot": "https://brand.example/"},
        "change": {"redirectroot": "", "redirect404": "https://brand.example/lost"},
        "wrong": {"redirect404": "javascript:alert(1)"},
        "words": "What does not exist leads to must",
        "edit": "",
    },
}
noun = pytest.mark.parametrize("name", list(NOUNS))


def _made(inside: Browser, name: str) -> int:
    at = f"/{name}/new" + ("?type=poll" if name == "overlays" else "")
    at += "?domain=go.brand.example" if name == "domains" else ""
    answer = inside.send(f"/{name}/new", at=at, **NOUNS[name]["form"])
    assert answer.status_code == 303, answer.text
    listed = inside.get(f"/{name}").text
    found = re.search(rf'href="/dashboard/{name}/(\d+)"', listed)
    assert found is not None
    return int(found[1])


@noun
def test_a_thing_is_made_changed_and_deleted(ana: Person, inside: Browser, name: str) -> None:
    told = NOUNS[name]
    assert "Your first" in inside.get(f"/{name}").text
    item = _made(inside, name)
    page = inside.get(f"/{name}/{item}{told['edit']}")
    form = {"token": hidden(page, "token"), "version": version(page, f"/{name}/{item}")}
    wrong = inside.client.post(f"/dashboard/{name}/{item}", data={**form, **told["change"], **told["wrong"]})
    assert wrong.status_code == 400
    assert told["words"] in wrong.text
    assert inside.client.post(f"/dashboard/{name}/{item}", data={**form, **told["change"]}).status_code == 303
    late = inside.client.post(f"/dashboard/{name}/{item}", data={**form, **told["form"]})
    assert late.status_code == 400
    assert "changed since you opened it" in late.text
    assert inside.get(f"/{name}/{item}/delete").status_code == 200
    assert "is deleted" in said(inside.send(f"/{name}/{item}/delete"), inside)
    assert inside.get(f"/{name}/{item}").status_code == 404


@noun
def test_nobody_sees_or_changes_what_is_of_others(
    ana: Person, ben: Person, service: Inside, inside: Browser, name: str
) -> None:
    item, other = _made(inside, name), window(service)
    other.sign_in("ben")
    assert "Your first" in other.get(f"/{name}").text
    for page in ("", "/delete", "/edit", "/add", "/answers", "/answers/export", "/stats"):
        assert other.get(f"/{name}/{item}{page}").status_code == 404, page
    for form in ("", "/delete", "/add", "/remove", "/star", "/answers/bulk", "/answers/delete"):
        told = {**NOUNS[name]["change"], "item": "links-1", "id": "1"}
        assert other.send(f"/{name}/{item}{form}", at="/links/new", **told).status_code in (404, 405), form
    assert inside.get(f"/{name}/{item}").status_code == 200


@ONLY_SQLITE
@noun
def test_words_of_any_kind_are_harmless(ana: Person, inside: Browser, name: str) -> None:
    item = _made(inside, name)
    if name == "domains":
        return
    for words in ("<script>alert(1)</script>", "حملة الربيع", "x" * 255):
        change = {**NOUNS[name]["change"], "name": words}
        page = inside.get(f"/{name}/{item}{NOUNS[name]['edit']}")
        form = {"token": hidden(page, "token"), "version": version(page, f"/{name}/{item}")}
        assert inside.client.post(f"/dashboard/{name}/{item}", data={**form, **change}).status_code == 303
        for path in (f"/{name}", f"/{name}/{item}", f"/{name}/{item}/delete"):
            assert "<script>alert" not in inside.get(path).text


def test_things_are_found_put_on_a_channel_and_taken_off(ana: Person, ben: Person, inside: Browser) -> None:
    channel = _made(inside, "channels")
    link, theirs = new_link(ana, "tulips", title="Tulips"), new_link(ben, "theirs", title="Tulips of Ben")
    code = ana.post("/qr/add", {"type": "text", "data": "Tulips", "name": "Tulips on a poster"})["id"]
    bio = ana.post("/bio/add", {"name": "Tulips of Ana"})["id"] if _has_bios(ana) else None
    add = f"/channels/{channel}/add"
    assert "Tulips" in inside.get(f"{add}?q=tUL").text
    assert "Tulips of Ben" not in inside.get(add).text
    assert "Tulips on a poster" in inside.get(f"{add}?type=qr&q=POSTER").text
    assert "Nothing like that" in inside.get(f"{add}?type=qr&q=%25").text
    for wrong in (f"links-{theirs}", "links-x", "cats-1", "links-99999999999999999"):
        assert inside.send(add, item=wrong).status_code == 404, wrong
    things = [f"links-{link}", f"qr-{code}", *([f"bio-{bio}"] if bio else [])]
    assert "things are on the channel" in said(inside.send(add, item=things), inside)
    assert ana.get(f"/channel/{channel}")["data"]["result"] == len(things)
    assert "Nothing left to add" in inside.get(add).text
    page = f"/channels/{channel}"
    assert "off the channel" in said(inside.send(f"{page}/remove", at=page, item=things[0]), inside)
    assert "Tulips on a poster" in inside.get(page).text
    assert ana.get(f"/channel/{channel}")["data"]["result"] == len(things) - 1
    inside.send(f"{page}/star", at="/channels", starred="")
    assert ana.get("/channels")["data"]["channels"][0]["starred"] is False


def _has_bios(person: Person) -> bool:
    return bool(person.call("POST", "/bio/add", {"name": "A try"}).status_code < 300)


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("path", "fields", "shown"),
    [
        ("/splash", {"title": "Hello <b>", "message": "Words", "counter": "5", "skip": "1"}, "Hello &lt;b&gt;"),
        ("/splash", {"title": "Hi", "link": "javascript:alert(1)"}, "Hi"),
        *(
            ("/overlays", {"type": kind, "message": "What I say", **more}, "What I say")
            for kind, more in (
                ("message", {}),
                ("contact", {"button": "Go"}),
                ("poll", {"options": ["Yes", "No"]}),
                ("poll", {"options": ["Yes"]}),
                ("newsletter", {"background": "#000000"}),
                ("coupon", {"code": "SPRING"}),
                ("image", {"image": "https://shop.example/a.png"}),
            )
        ),
    ],
)
def test_a_preview_is_what_visitors_see_and_is_fenced_off(
    ana: Person, inside: Browser, path: str, fields: dict[str, Any], shown: str
) -> None:
    answer = inside.send(
        f"{path}/preview", at=path + ("/new?type=message" if path == "/overlays" else "/new"), **fields
    )
    assert answer.status_code == 200
    assert shown in answer.text
    assert "javascript:" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert policy.endswith("; sandbox allow-scripts")
    assert "frame-ancestors 'self'" in policy
    assert "form-action 'none'" in policy or "form-action 'self'" not in policy
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert answer.headers["cache-control"] == "private, no-store"
    broken = inside.send(f"{path}/preview", at="/links/new", **{**fields, "delay": "x", "counter": "x"})
    assert broken.status_code == 204


def test_what_visitors_sent_is_listed_counted_exported_and_deleted(ana: Person, inside: Browser) -> None:
    overlay = _made(inside, "overlays")
    link = new_link(ana, "poll")

    def sent(tx: Connection) -> None:
        for choice in ("Yes", "Yes", "=No"):
            submissions.add(tx, ana.account, overlay, Sent(choice=choice), link=link)

    page = f"/overlays/{overlay}/answers"
    assert "No answers yet" in inside.get(page).text
    ana.write(sent)
    told = inside.get(page).text
    assert re.findall(r'<th scope="row">(.*?)</th><td class="n">(\d+)</td>', told) == [("Yes", "2"), ("=No", "1")]
    sheet = inside.get(f"{page}/export")
    assert sheet.headers["content-type"].startswith("text/csv")
    assert sheet.text.count("\r\n") == 4
    ids = re.findall(r'name="id" value="(\d+)"', told)
    assert "Tick the answers" in said(inside.send(f"{page}/bulk", at=page), inside)
    asked = inside.send(f"{page}/bulk", at=page, id=ids[:2])
    assert "Delete 2 answers?" in asked.text
    assert re.findall(r'name="id" value="(\d+)"', asked.text) == ids[:2]
    assert said(inside.send(f"{page}/delete", at=page, id=ids[:2]), inside) == "2 answers are deleted."
    assert ana.get(f"/overlay/{overlay}/submissions")["data"]["result"] == 1


def test_every_provider_of_pixels_says_where_its_tag_is(ana: Person, inside: Browser) -> None:
    assert list(KINDS) == list(TYPES)
    page = inside.get("/pixels/new").text
    for kind, (words, example, _) in KINDS.items():
        assert words in page
        assert inside.send("/pixels/new", type=kind, name=words, tag=example).status_code == 303
    assert ana.get("/pixels")["data"]["result"] == 13


@ONLY_SQLITE
def test_a_domain_tells_its_records_and_what_its_end_would_mean(ana: Person, inside: Browser) -> None:
    page = inside.get("/domains/new?domain=go.brand.example").text
    assert "CNAME" in page
    assert "go.localhost" in page
    for wrong in ("nothing", "http://10.0.0.1", "https://a b", "https://go.localhost", "https://x.example/path"):
        answer = inside.get("/domains/new", params={"domain": wrong})
        assert answer.status_code == 400, wrong
        assert "Host name must" in answer.text
    domain = _made(inside, "domains")
    taken = inside.send("/domains/new", at="/domains/new?domain=go.brand.example", domain="https://go.brand.example")
    assert "in use already" in taken.text
    new_link(ana, "spring", domain="https://go.brand.example")
    assert "1 link stands under it" in inside.get(f"/domains/{domain}/delete").text
    looks = [inside.get("/domains/check?domain=go.brand.example").text for _ in range(12)]
    assert "has no address in the DNS" in looks[0]
    assert "Too many checks" in looks[-1]
