"""Pages of channels, splash pages, overlays, pixels and domains: create, edit, delete and access rules."""

import re
from typing import Any

import pytest
from sqlalchemy import Connection, delete

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, form_version, hidden_field, new_browser
from tests.support.databases import ON_SQLITE
from tests.support.visits import new_link
from waypost.db.schema import submissions as submissions_table
from waypost.items.overlays import submissions
from waypost.items.overlays.submissions import Answers
from waypost.items.pixels.ops import TYPES
from waypost.items.pixels.pages import PROVIDERS

# For each resource: its API path, a form that creates one, a change, an invalid value and its error message.
RESOURCES: dict[str, dict[str, Any]] = {
    "channels": {
        "api": "/channel",
        "form": {"name": "Letter", "color": "#112233", "description": "by post", "starred": "on"},
        "change": {"name": "Post", "color": "#445566", "description": "", "starred": ""},
        "wrong": {"color": "red"},
        "error": "Color must be a color",
        "edit": "/edit",
    },
    "splash": {
        "api": "/splash",
        "form": {"name": "Spring", "title": "Hello", "counter": "8", "skip": "3", "link": "https://shop.example/"},
        "change": {"name": "Summer", "title": "<b>Hi</b>", "counter": "0", "skip": "0", "link": ""},
        "wrong": {"counter": "soon"},
        "error": "Redirect after must",
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
        "error": "Answers must",
        "edit": "",
    },
    "pixels": {
        "api": "/pixel",
        "form": {"name": "Shop", "type": "analyticspixel", "tag": "G-1"},
        "change": {"name": "Shop 2", "tag": "G-2"},
        "wrong": {"tag": "G 1"},
        "error": "Tag cannot have",
        "edit": "",
    },
    "utm": {
        "api": "/utm",
        "form": {"name": "Newsletter", "utm_source": "newsletter", "utm_medium": "email"},
        "change": {"name": "Post", "utm_source": "", "utm_medium": "<b>"},
        "wrong": {"utm_term": "x" * 256},
        "error": "Term must be at most 255 characters",
        "edit": "",
    },
    "domains": {
        "api": "/domain",
        "form": {"domain": "https://go.brand.example", "redirectroot": "https://brand.example/"},
        "change": {"redirectroot": "", "redirect404": "https://brand.example/lost"},
        "wrong": {"redirect404": "javascript:alert(1)"},
        "error": "Redirect for unknown aliases must",
        "edit": "",
    },
}
each_resource = pytest.mark.parametrize("name", list(RESOURCES))


def _create(dashboard: Browser, name: str) -> int:
    at = f"/{name}/new" + ("?type=poll" if name == "overlays" else "")
    at += "?domain=go.brand.example" if name == "domains" else ""
    response = dashboard.submit(f"/{name}/new", at=at, **RESOURCES[name]["form"])
    assert response.status_code == 303, response.text
    listed = dashboard.get(f"/{name}").text
    match = re.search(rf'href="/dashboard/{name}/(\d+)"', listed)
    assert match is not None
    return int(match[1])


@each_resource
def test_resource_is_created_changed_and_deleted(ana: Person, dashboard: Browser, name: str) -> None:
    resource = RESOURCES[name]
    assert "Your first" in dashboard.get(f"/{name}").text
    item = _create(dashboard, name)
    page = dashboard.get(f"/{name}/{item}{resource['edit']}")
    form = {"token": hidden_field(page, "token"), "version": form_version(page, f"/{name}/{item}")}
    wrong = dashboard.client.post(f"/dashboard/{name}/{item}", data={**form, **resource["change"], **resource["wrong"]})
    assert wrong.status_code == 400
    assert resource["error"] in wrong.text
    assert dashboard.client.post(f"/dashboard/{name}/{item}", data={**form, **resource["change"]}).status_code == 303
    late = dashboard.client.post(f"/dashboard/{name}/{item}", data={**form, **resource["form"]})
    assert late.status_code == 400
    assert "changed since you opened it" in late.text
    assert dashboard.get(f"/{name}/{item}/delete").status_code == 200
    assert "deleted" in dashboard.submit_for_message(f"/{name}/{item}/delete")
    assert dashboard.get(f"/{name}/{item}").status_code == 404


@each_resource
def test_resource_of_another_account_returns_404(
    ana: Person, ben: Person, service: AsgiClient, dashboard: Browser, name: str
) -> None:
    item, other = _create(dashboard, name), new_browser(service)
    other.sign_in("ben")
    assert "Your first" in other.get(f"/{name}").text
    for page in ("", "/delete", "/edit", "/add", "/answers", "/answers/export", "/stats"):
        assert other.get(f"/{name}/{item}{page}").status_code == 404, page
    for form in ("", "/delete", "/add", "/remove", "/star", "/answers/bulk", "/answers/delete"):
        fields = {**RESOURCES[name]["change"], "item": "links-1", "id": "1"}
        assert other.submit(f"/{name}/{item}{form}", at="/links/new", **fields).status_code in (404, 405), form
    assert dashboard.get(f"/{name}/{item}").status_code == 200


@ON_SQLITE
@each_resource
def test_markup_in_names_is_escaped(ana: Person, dashboard: Browser, name: str) -> None:
    item = _create(dashboard, name)
    if name == "domains":
        return
    for text in ("<script>alert(1)</script>", "حملة الربيع", "x" * 255):
        change = {**RESOURCES[name]["change"], "name": text}
        page = dashboard.get(f"/{name}/{item}{RESOURCES[name]['edit']}")
        form = {"token": hidden_field(page, "token"), "version": form_version(page, f"/{name}/{item}")}
        assert dashboard.client.post(f"/dashboard/{name}/{item}", data={**form, **change}).status_code == 303
        for path in (f"/{name}", f"/{name}/{item}", f"/{name}/{item}/delete"):
            assert "<script>alert" not in dashboard.get(path).text


def test_items_are_searched_added_to_channel_and_removed(ana: Person, ben: Person, dashboard: Browser) -> None:
    channel = _create(dashboard, "channels")
    link, theirs = new_link(ana, "tulips", title="Tulips"), new_link(ben, "theirs", title="Tulips of Ben")
    code = ana.add("qr", type="text", data="Tulips", name="Tulips on a poster")
    bio = ana.add("bio", name="Tulips of Ana") if _has_bios(ana) else None
    add = f"/channels/{channel}/add"
    assert "Tulips" in dashboard.get(f"{add}?q=tUL").text
    assert "Tulips of Ben" not in dashboard.get(add).text
    assert "Tulips on a poster" in dashboard.get(f"{add}?type=qr&q=POSTER").text
    assert "No items found" in dashboard.get(f"{add}?type=qr&q=%25").text
    for wrong in (f"links-{theirs}", "links-x", "cats-1", "links-99999999999999999"):
        assert dashboard.submit(add, item=wrong).status_code == 404, wrong
    things = [f"links-{link}", f"qr-{code}", *([f"bio-{bio}"] if bio else [])]
    assert "items were added" in dashboard.submit_for_message(add, item=things)
    assert ana.get(f"/channel/{channel}")["data"]["result"] == len(things)
    assert "Nothing left to add" in dashboard.get(add).text
    page = f"/channels/{channel}"
    assert "was removed" in dashboard.submit_for_message(f"{page}/remove", at=page, item=things[0])
    assert "Tulips on a poster" in dashboard.get(page).text
    assert ana.get(f"/channel/{channel}")["data"]["result"] == len(things) - 1
    dashboard.submit(f"{page}/star", at="/channels", starred="")
    assert ana.get("/channels")["data"]["channels"][0]["starred"] is False


def _has_bios(person: Person) -> bool:
    return bool(person.call("POST", "/bio/add", {"name": "A try"}).status_code < 300)


@ON_SQLITE
@pytest.mark.parametrize(
    ("path", "fields", "text"),
    [
        ("/splash", {"title": "Hello <b>", "message": "Words", "counter": "5", "skip": "1"}, "Hello &lt;b&gt;"),
        ("/splash", {"title": "Hi", "link": "javascript:alert(1)"}, "Hi"),
        *(
            ("/overlays", {"type": kind, "message": "Ask me anything", **more}, "Ask me anything")
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
def test_preview_shows_public_page_in_a_sandbox(
    ana: Person, dashboard: Browser, path: str, fields: dict[str, Any], text: str
) -> None:
    response = dashboard.submit(
        f"{path}/preview", at=path + ("/new?type=message" if path == "/overlays" else "/new"), **fields
    )
    assert response.status_code == 200
    assert text in response.text
    assert "javascript:" not in response.text
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert policy.endswith("; sandbox allow-scripts")
    assert "frame-ancestors 'self'" in policy
    assert "form-action 'none'" in policy or "form-action 'self'" not in policy
    assert response.headers["x-frame-options"] == "SAMEORIGIN"
    assert response.headers["cache-control"] == "private, no-store"
    broken = dashboard.submit(f"{path}/preview", at="/links/new", **{**fields, "delay": "x", "counter": "x"})
    assert broken.status_code == 204


def test_submissions_are_listed_counted_exported_and_deleted(ana: Person, dashboard: Browser) -> None:
    overlay = _create(dashboard, "overlays")
    link = new_link(ana, "poll")

    def sent(tx: Connection) -> None:
        for choice in ("Yes", "Yes", "=No"):
            submissions.add(tx, ana.account, overlay, Answers(choice=choice), link=link)

    page = f"/overlays/{overlay}/answers"
    assert "No submissions yet" in dashboard.get(page).text
    ana.write(sent)
    text = dashboard.get(page).text
    votes = re.findall(r'<th scope="row"><bdi>(.*?)</bdi></th><td class="num">(\d+)\s*<small>(\d+)%</small></td>', text)
    assert votes == [("Yes", "2", "67"), ("=No", "1", "33")]
    ana.write(lambda tx: submissions.add(tx, ana.account, overlay, Answers(choice="Public"), link=link))
    german = dashboard.get(page, headers={"Accept-Language": "de"}).text
    assert "<bdi>Public</bdi>" in german, "an answer is a visitor's text, not one of ours"
    assert "<small>25\u00a0%</small>" in german
    ana.write(lambda tx: tx.execute(delete(submissions_table).where(submissions_table.c.choice == "Public")))
    sheet = dashboard.get(f"{page}/export")
    assert sheet.headers["content-type"].startswith("text/csv")
    assert sheet.text.count("\r\n") == 4
    ids = re.findall(r'name="id" value="(\d+)"', text)
    assert "Select at least one submission." in dashboard.submit_for_message(f"{page}/bulk", at=page)
    confirmation = dashboard.submit(f"{page}/bulk", at=page, id=ids[:2])
    assert "Delete 2 submissions?" in confirmation.text
    assert re.findall(r'name="id" value="(\d+)"', confirmation.text) == ids[:2]
    assert dashboard.submit_for_message(f"{page}/delete", at=page, id=ids[:2]) == "2 submissions were deleted."
    assert ana.get(f"/overlay/{overlay}/submissions")["data"]["result"] == 1


def test_pixel_page_lists_every_provider(ana: Person, dashboard: Browser) -> None:
    assert list(PROVIDERS) == list(TYPES)
    page = dashboard.get("/pixels/new").text
    for kind, (provider, example, _) in PROVIDERS.items():
        assert provider in page
        assert dashboard.submit("/pixels/new", type=kind, name=provider, tag=example).status_code == 303
    assert ana.get("/pixels")["data"]["result"] == 13


@ON_SQLITE
def test_domain_pages_show_dns_records_check_and_uses(ana: Person, dashboard: Browser) -> None:
    page = dashboard.get("/domains/new?domain=go.brand.example").text
    assert "Only this machine can open short URLs that begin with http://go.localhost:8000" in page
    assert "CNAME" not in page
    for wrong in ("nothing", "http://10.0.0.1", "https://a b", "https://go.localhost", "https://x.example/path"):
        response = dashboard.get("/domains/new", params={"domain": wrong})
        assert response.status_code == 400, wrong
        assert "Host name must" in response.text
        assert "Host name must" in dashboard.get("/domains/check", params={"domain": wrong}).text
    assert "Host name" in dashboard.get("/domains/check").text
    domain = _create(dashboard, "domains")
    taken = dashboard.submit(
        "/domains/new", at="/domains/new?domain=go.brand.example", domain="https://go.brand.example"
    )
    assert "in use already" in taken.text
    new_link(ana, "spring", domain="https://go.brand.example")
    assert "1 link uses it" in dashboard.get(f"/domains/{domain}/delete").text
    checks = [dashboard.get("/domains/check?domain=go.brand.example").text for _ in range(12)]
    assert "has no address in the DNS" in checks[0]
    assert "Too many checks" in checks[-1]
