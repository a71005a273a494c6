"""The brand of the installation and of domains in the dashboard: forms, pages, manifest, icons and e-mail."""

import json
import re
from io import BytesIO
from urllib.parse import urlsplit

import pytest
from PIL import Image

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.brands import ADMIN, COLOR, data_url, logo, save_brand
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_SQLITE
from tests.support.mailbox import mailbox
from tests.support.visits import ACCEPT_HTML, CHROME, new_link, visit
from waypost.core.settings import Settings
from waypost.dashboard.assets import style_path
from waypost.db.database import Database
from waypost.media.branding import store
from waypost.media.branding.brand import NO_BRAND, Brand, dashboard_style
from waypost.server.app import build

_NAME = "Acme <b>&</b> Söhne"
_ESCAPED = "Acme &lt;b&gt;&amp;&lt;/b&gt; Söhne"


def _stored(database: Database) -> Brand:
    return database.read(store.of_installation)


def _domain(person: Person, host: str = "go.acme.example") -> str:
    return f"/domains/{person.add('domain', domain=f'https://{host}')}/brand"


def test_brand_of_installation_is_on_every_page_of_the_dashboard(
    ana: Person, dashboard: Browser, service: AsgiClient, database: Database
) -> None:
    response = save_brand(dashboard, name=f" {_NAME} ", color="0A5CFF", picture=logo())
    assert dashboard.flash_message(response) == "Saved."
    brand = _stored(database)
    assert (brand.name, brand.color) == (_NAME, COLOR)
    stranger = new_browser(service)
    for page in (dashboard.get(""), dashboard.get("/links"), stranger.get("/signin"), dashboard.get("/none")):
        assert f"· {_ESCAPED}</title>" in page.text
        assert f"<span>{_ESCAPED}</span>" in page.text
        assert "<b>" not in page.text
    page = stranger.get("/signin").text
    for suffix, media_type in ((".css", "text/css; charset=utf-8"), (".png", "image/png")):
        path = next(part for part in page.split('"') if part.startswith("/dashboard/brand/") and suffix in part)
        asset = stranger.client.get(path)
        assert (asset.status_code, asset.headers["content-type"]) == (200, media_type)
        assert "immutable" in asset.headers["cache-control"]
    assert stranger.get("/brand/0123456789abcdef.css").status_code == 404
    assert 'data-theme="' not in page
    assert COLOR in dashboard_style(COLOR)


def test_pages_without_a_brand_have_nothing_of_it(dashboard: Browser) -> None:
    page = dashboard.get("/links").text
    assert " · waypost</title>" in page
    assert "<span>waypost</span>" in page
    assert "/dashboard/brand/" not in page
    assert '<link rel="manifest" href="/dashboard/app.webmanifest">' in page


def test_empty_form_removes_the_brand(dashboard: Browser, database: Database) -> None:
    save_brand(dashboard, name="Acme", color=COLOR, picture=logo())
    assert dashboard.flash_message(save_brand(dashboard, name="Acme")) == "Saved."
    assert (_stored(database).color, bool(_stored(database).logo)) == ("", True)
    save_brand(dashboard, name="", removelogo="on")
    assert _stored(database) == NO_BRAND


@ON_SQLITE
def test_all_errors_are_shown_at_their_fields_and_nothing_is_lost(
    ana: Person, dashboard: Browser, database: Database
) -> None:
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    for path in (ADMIN, _domain(ana)):
        response = save_brand(dashboard, path, name="a\u202eb", color='"><script>', picture=svg)
        assert response.status_code == 400
        assert "Not saved: 3 problems" in response.text
        assert "Name must not have line breaks, control characters or invisible characters." in response.text
        assert "Color must be a color of the form #RRGGBB" in response.text
        assert "Logo must be a PNG or JPEG picture." in response.text
        assert 'value="&#34;&gt;&lt;script&gt;"' in response.text
    assert _stored(database) == NO_BRAND


@ON_SQLITE
@pytest.mark.parametrize(
    ("fields", "picture", "message"),
    [
        ({"name": "x" * 10_000}, None, "Name must have at most 60 characters."),
        ({"name": "", "color": COLOR}, logo(), "Name is required with a logo"),
        ({"name": "Acme"}, b"x" * (2 * 1024 * 1024 + 5), "Logo must be at most"),
        ({"name": "Acme"}, logo()[:300], "Logo is damaged or incomplete."),
    ],
)
def test_invalid_brand_is_rejected(
    dashboard: Browser, database: Database, fields: dict[str, str], picture: bytes | None, message: str
) -> None:
    response = save_brand(dashboard, picture=picture, **fields)
    assert response.status_code == 400
    assert message in response.text
    assert _stored(database) == NO_BRAND


@ON_SQLITE
def test_form_that_is_no_form_with_files_is_rejected(dashboard: Browser) -> None:
    token = hidden_field(dashboard.get(ADMIN), "token")
    assert dashboard.client.post(f"/dashboard{ADMIN}", data={"token": token, "name": "x"}).status_code == 400
    files = {"name": (None, "x"), "token": (None, token)}
    assert dashboard.client.post(f"/dashboard{ADMIN}", files=files).status_code == 403


@ON_SQLITE
def test_change_in_another_tab_is_not_overwritten_unseen(dashboard: Browser, database: Database) -> None:
    page = dashboard.get(ADMIN)
    version, token = hidden_field(page, "version"), hidden_field(page, "token")
    save_brand(dashboard, name="First")
    files = {"token": (None, token), "version": (None, version), "name": (None, "Second"), "color": (None, "")}
    response = dashboard.client.post(f"/dashboard{ADMIN}", files=files)
    assert (response.status_code, "This was changed since you opened it" in response.text) == (400, True)
    assert _stored(database).name == "First"


def test_only_administrators_change_the_brand_and_only_owners_that_of_a_domain(
    ana: Person, ben: Person, dashboard: Browser, service: AsgiClient, database: Database
) -> None:
    other = new_browser(service)
    other.sign_in("ben")
    token = hidden_field(other.get("/links"), "token")
    path = _domain(ana)
    for page in (ADMIN, path):
        files = {"token": (None, token), "name": (None, "Evil")}
        assert other.client.post(f"/dashboard{page}", files=files).status_code == 404, page
        for suffix in ("", "/preview"):
            assert other.get(page + suffix).status_code == 404, page
    assert _stored(database) == NO_BRAND
    assert new_browser(service).get(ADMIN).headers["location"].startswith("/dashboard/signin")
    save_brand(dashboard, path, name="Acme")
    assert ana.details("domain", 1)["brandname"] == "Acme"


def test_brand_of_domain_is_saved_and_previewed(ana: Person, dashboard: Browser) -> None:
    path = _domain(ana)
    save_brand(dashboard, name="Service", color="#112233")
    assert "Service" in dashboard.get(f"{path}/preview").text
    assert (
        dashboard.flash_message(save_brand(dashboard, path, name="Acme", color="#ffe000", picture=logo())) == "Saved."
    )
    details = ana.details("domain", 1)
    assert (details["brandname"], details["brandcolor"]) == ("Acme", "#ffe000")
    assert details["brandlogo"].startswith("data:image/png;base64,")
    page = dashboard.get(path)
    assert "frame-src 'self'" in page.headers["content-security-policy"]
    assert "pages use #" in page.text
    preview = dashboard.get(f"{path}/preview")
    assert "<bdi>Acme</bdi>" in preview.text
    assert details["brandlogo"] in preview.text
    assert "frame-ancestors 'self'" in preview.headers["content-security-policy"]
    assert "sandbox" in preview.headers["content-security-policy"]


@ON_SQLITE
def test_emails_show_the_name(ana: Person, settings: Settings, database: Database) -> None:
    database.write(lambda tx: store.set_of_installation(tx, Brand("Acme {x} %s")))
    with mailbox() as (port, emails):
        options = {"smtp_url": f"smtp://127.0.0.1:{port}", "smtp_tls": "off", "registration": "on"}
        opened = Settings.model_validate({**settings.model_dump(), **options})
        with AsgiClient(build(opened, database)) as client:
            browser = Browser(client)
            browser.submit("/forgot", name="ana")
            browser.submit("/register", email="eve@example.com")
    assert [email["subject"] for email in emails][:2] == ["Reset your Acme {x} %s password", "Your Acme {x} %s account"]
    assert all("Acme {x} %s" in email["text"] and "waypost" not in email["text"] for email in emails)


@ON_SQLITE
def test_manifest_and_icons_have_the_brand(dashboard: Browser) -> None:
    before = dashboard.get("/icon-192.png").content
    save_brand(dashboard, name="Acme", color=COLOR)
    page = dashboard.get("").text
    path = next(part for part in page.split('"') if part.startswith("/dashboard/app.webmanifest"))
    manifest = json.loads(dashboard.client.get(path).content)
    assert (manifest["name"], manifest["short_name"], manifest["theme_color"]) == ("Acme (go.localhost)", "Acme", COLOR)
    assert manifest["background_color"] == "#f6f6f3"
    icon = dashboard.client.get(manifest["icons"][0]["src"]).content
    assert icon != before
    assert Image.open(BytesIO(icon)).convert("RGB").getpixel((0, 0)) == (10, 92, 255)
    save_brand(dashboard, name="Acme", color=COLOR, picture=logo(ink="#ff0000"))
    for size in (180, 192, 512):
        image = Image.open(BytesIO(dashboard.get(f"/icon-{size}.png").content)).convert("RGB")
        assert image.size == (size, size)
        assert image.getpixel((0, 0)) == (255, 255, 255)
        assert image.getpixel((size // 2, size // 2)) == (255, 0, 0)


def test_api_sets_reads_and_clears_the_brand_of_a_domain(ana: Person, ben: Person) -> None:
    fields = {"brandname": "Acme", "brandcolor": "#0A5CFF", "brandlogo": data_url(logo())}
    domain = ana.add("domain", domain="https://go.acme.example", **fields)
    details = ana.details("domain", domain)
    assert (details["brandname"], details["brandcolor"]) == ("Acme", "#0A5CFF")
    assert details["brandlogo"].startswith("data:image/png;base64,")
    assert "brandlogo" not in ana.get("/domains")["data"]["domains"][0]
    ana.update("domain", domain, brandlogo=None, brandcolor=None)
    details = ana.details("domain", domain)
    assert (details["brandname"], details["brandcolor"], details["brandlogo"]) == ("Acme", "", "")
    for wrong, field in (
        ({"brandname": "a\nb"}, "brandname"),
        ({"brandname": "x" * 61}, "brandname"),
        ({"brandname": None, "brandlogo": data_url(logo())}, "brandname"),
        ({"brandcolor": "red"}, "brandcolor"),
        ({"brandlogo": "https://example.com/logo.png"}, "brandlogo"),
        ({"brandlogo": "data:image/svg+xml,<svg onload=alert(1)>"}, "brandlogo"),
        ({"brandlogo": data_url(b"GIF89a")}, "brandlogo"),
        ({"brandlogo": 5}, "brandlogo"),
    ):
        answer = ana.call("PUT", f"/domain/{domain}/update", wrong)
        assert (answer.status_code, answer.json()["field"]) == (400, field), wrong
    assert ben.call("PUT", f"/domain/{domain}/update", {"brandname": "Evil"}).status_code == 404
    assert ana.details("domain", domain)["brandname"] == "Acme"


@ON_SQLITE
def test_shared_statistics_have_the_brand(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    save_brand(dashboard, name=_NAME, color=COLOR)
    share = ana.post("/share/add", {"type": "link", "itemid": new_link(ana, "spring"), "password": "a password"})
    page = new_browser(service).client.get(urlsplit(share["url"]).path).text
    assert f"<span>{_ESCAPED}</span>" in page
    assert style_path(Brand(color=COLOR)) in page


@ON_SQLITE
@pytest.mark.parametrize(
    ("stored", "typed", "picked", "expected"),
    [
        ("", "", "#112233", "#112233"),
        ("#112233", "#112233", "#445566", "#445566"),
        ("#112233", "#778899", "#112233", "#778899"),
        ("#112233", "#778899", "#445566", "#778899"),
        ("#112233", "", "#112233", ""),
    ],
)
def test_picked_color_counts_if_the_text_field_is_unchanged(
    dashboard: Browser, database: Database, stored: str, typed: str, picked: str, expected: str
) -> None:
    save_brand(dashboard, name="Acme", color=stored)
    before = hidden_field(dashboard.get(ADMIN), "pickedbefore")
    assert before == (stored or "#0d7a58")
    save_brand(dashboard, name="Acme", color=typed, picked=picked, pickedbefore=before)
    assert _stored(database).color == expected


@ON_SQLITE
def test_preview_shows_the_form_without_saving_it(
    ana: Person, ben: Person, dashboard: Browser, database: Database
) -> None:
    for path in (ADMIN, _domain(ana)):
        page = save_brand(dashboard, f"{path}/preview", at=path, picture=logo(), name=_NAME, color=COLOR)
        assert _ESCAPED in page.text
        assert COLOR in page.text
        assert "sandbox" in page.headers["content-security-policy"]
        assert save_brand(dashboard, f"{path}/preview", at=path, name=_NAME, color="yellow").status_code == 204
    assert _stored(database) == NO_BRAND
    others = _domain(ben, "go.ben.example")
    assert save_brand(dashboard, f"{others}/preview", at=ADMIN, name="x").status_code == 404


@ON_SQLITE
@pytest.mark.parametrize("color", ["#ffe000", "#1020a0"])
def test_previews_of_items_have_the_brand_of_the_page_of_visitors(ana: Person, dashboard: Browser, color: str) -> None:
    save_brand(dashboard, picture=logo(), name=_NAME, color=color)
    new_link(ana, "spring", type=str(ana.add("splash", name="Hello", counter=5)))
    page = visit(ana.client, "spring", agent=CHROME, headers=ACCEPT_HTML).text
    brand = Brand(color=color)
    pages = {
        "/splash/preview": dashboard.submit("/splash/preview", at="/splash/new", title="Hi", counter="5").text,
        "/overlays/preview": dashboard.submit(
            "/overlays/preview", at="/overlays/new?type=message", type="message", message="Hi"
        ).text,
        "/bios/phone": dashboard.submit("/bios/phone", at="/bios/new", name="Ana").text,
    }
    assert brand.style in page
    assert [path for path in ("/splash/preview", "/overlays/preview") if brand.style not in pages[path]] == []
    assert _ESCAPED in pages["/bios/phone"]
    for part in (r'<img src="data:image/png[^>]*>', r"<bdi>[^<]*Acme.*?</bdi>", r"header > \.brand \{[^}]*\}"):
        visitors, previewed = (re.findall(part, text) for text in (page, pages["/splash/preview"]))
        assert len(visitors) == 1
        assert previewed == visitors
