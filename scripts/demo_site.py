"""A running demo with every kind of page, and the paths of its pages, for pictures and audits."""

import re
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from PIL import Image
from playwright.sync_api import Page

from tests.support.dashboard_paths import dashboard_paths as every_dashboard_path
from tests.support.server import free_port

_SECONDS = 60
_TARGET = "https://shop.juniper.example/"
_PICTURE_LINK = 15
"""The link of the demo with the most visits."""
WITHOUT_TOKEN = ("/dashboard/reset", "/dashboard/confirm")
"""Pages of links in e-mails: 400 without the token of the e-mail."""
_LOCKED = {"password": "a password"}
_OLD_LINKS = """url,custom,title
https://shop.juniper.example/clay,clay,Clay from the Alentejo
https://shop.juniper.example/autumn,autumn,A link with an alias in use
https://,broken,A link without a host
"""
SIGNED_OUT = ("/dashboard/signin", "/dashboard/forgot", "/dashboard/offline")
PUBLIC = (
    *("/juniper", "/u/owner/autumn-launch-1", "/everything+", "/prices", "/picture", "/report", "/locked", "/off"),
    *("/unknown", "/waiting", "/with-poll", "/private-bio", "/studio", "/file-with-password"),
    *("/stats/shared-2", "/stats/locked-3", "/stats/autumn-4", "/stats/unknown"),
    *("/u/owner/autumn-launch-1?q=mugs", "/u/owner/autumn-launch-1?q=nothing", "/u/owner/many-links-3"),
    *("/with-message", "/with-contact", "/with-newsletter", "/with-coupon"),
)
_MANY_LINKS = 160
"""Links of the largest campaign."""
_OVERLAYS: Mapping[str, Mapping[str, str]] = {
    "message": {"label": "See the new glazes", "link": _TARGET},
    "contact": {"button": "Write to us"},
    "newsletter": {"button": "Sign me up"},
    "coupon": {"code": "AUTUMN-10"},
}


@dataclass(frozen=True)
class DemoSite:
    """The address of the running demo, and the credentials of its owner."""

    base: str
    port: int
    password: str
    key: str


@contextmanager
def demo_site(base_url: str = "") -> Iterator[DemoSite]:
    """Run `waypost demo` until the end of the block."""
    port = free_port()
    base = base_url or f"http://localhost:{port}"
    command = [str(Path(sys.executable).with_name("waypost")), "demo", "--port", str(port), "--base-url", base]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603  # fixed
        try:
            values = [_value_in(Path(log.name), label) for label in ("password", "API key")]
            time.sleep(5)  # all visits are counted
            yield DemoSite(base, port, *values)
        finally:
            process.terminate()
            process.wait(_SECONDS)


def _value_in(log: Path, label: str) -> str:
    deadline = time.monotonic() + _SECONDS
    while not (value := re.search(rf"^  {label} +(\S+)$", log.read_text(encoding="utf-8"), re.MULTILINE)):
        assert time.monotonic() < deadline, "the demo did not start"
        time.sleep(0.2)
    return value[1]


def sign_in(page: Page, site: DemoSite) -> None:
    """Sign in as the owner."""
    page.goto(f"{site.base}/dashboard/signin")
    page.get_by_label("Username or e-mail").fill("owner")
    page.get_by_label("Password").fill(site.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{site.base}/dashboard")


@contextmanager
def signed_in(site: DemoSite) -> Iterator[httpx2.Client]:
    """Sign in as the owner, with the forms of the dashboard."""
    with httpx2.Client(base_url=site.base, trust_env=False, headers={"Origin": site.base}) as client:
        _submit(client, "/dashboard/signin", name="owner", password=site.password)
        yield client


def _submit(client: httpx2.Client, path: str, at: str = "", **fields: str) -> None:
    """Submit a form to `path`, with the CSRF token of the page `at`."""
    token = re.search(r'name="token"[^>]* value="([^"]+)"', client.get(at or path).text)
    assert token, f"the page {at or path} has no form"
    response = client.post(path, data={"token": token[1], **fields})
    assert response.is_success or response.is_redirect, response.text


def add_other_items(site: DemoSite, folder: Path) -> None:
    """Create one item of each kind that the demo lacks, with a page for visitors."""
    picture = folder / "picture.png"
    Image.new("RGB", (1200, 800), "#7c2d12").save(picture)
    with httpx2.Client(base_url=site.base, trust_env=False, headers={"Authorization": f"Bearer {site.key}"}) as api:
        splash = _add(api, "splash", name="Shop", title="Autumn sale", message="Today only.", link=_TARGET, counter=600)
        poll = {"type": "poll", "message": "Which glaze next?", "options": ["Celadon", "Tenmoku"], "label": "Vote"}
        overlay = _add(api, "overlay", name="Poll", **poll)
        pixel = _add(api, "pixel", type="qapixel", name="Questions", tag="TAG-1")
        for alias, fields in _link_fields(splash, overlay, pixel).items():
            _add(api, "url", url=_TARGET, custom=alias, title=f"A link: {alias}", **fields)
        _add_bios(api, picture.read_bytes())
        _add_campaign(api)
        for kind, values in _OVERLAYS.items():
            shown = _add(api, "overlay", name=kind, type=kind, message="A word before you go.", **values)
            _add(api, "url", url=_TARGET, custom=f"with-{kind}", type=f"overlay-{shown}")
        for name, content in (("picture.png", picture.read_bytes()), ("prices.pdf", b"%PDF-1.7 " + bytes(2_000_000))):
            _upload(api, name, content, custom=Path(name).stem)
        _upload(api, "offer.txt", b"For one visitor", custom="file-with-password", **_LOCKED)
        _add_shares(api)
        _import(api, _upload(api, "old-links.csv", _OLD_LINKS.encode(), custom="old-links"))
        removed = _add(api, "url", url=_TARGET, custom="removed", title="A deleted link")
    with signed_in(site) as client:
        _submit(
            client, "/dashboard/links/delete", at=f"/dashboard/links/{removed}/delete", id=str(removed), confirmed="1"
        )
        _submit(client, "/dashboard/admin/blocks", kind="host", values="evil.example")
        report = {"url": f"{site.base}/waiting", "reason": "phishing", "comment": "It asks for my password."}
        client.post("/report", data=report).raise_for_status()


def _import(api: httpx2.Client, file: int) -> None:
    """Import a file, so that there is a plan, and an import to undo."""
    for path, body, state in (("add", {"file": file}, "planned"), ("apply", {}, "applied")):
        api.post(f"/api/import/{path}", json=body).raise_for_status()
        deadline = time.monotonic() + _SECONDS
        while api.get("/api/import").json()["details"]["state"] != state:
            assert time.monotonic() < deadline, f"the import is not {state}"
            time.sleep(0.2)


def _add_bios(api: httpx2.Client, picture: bytes) -> None:
    """Create a page with a warning, and one with own colors and a block of every type."""
    _add(api, "bio", name="Private", alias="private-bio", title="Juniper, for adults", sensitive=True, blocks=[])
    form = _add(api, "overlay", name="Write to us", type="contact", message="Questions? Write to us.")
    url = f"data:image/png;base64,{b64encode(picture).decode()}"
    blocks = [
        {"type": "link", "title": "Bowls and plates for a table of twelve", "url": _TARGET, "thumbnail": url},
        {"type": "link", "title": "Hidden for now", "url": f"{_TARGET}later", "hidden": True},
        {"type": "link", "title": "Until the end of the decade", "url": f"{_TARGET}2030", "showuntil": "2030-01-01"},
        {"type": "heading", "text": "In the studio"},
        {"type": "text", "text": "Every piece is thrown by hand.\nVisitors are welcome on Saturdays."},
        {"type": "embed", "url": "https://vimeo.com/22439234", "title": "A day at the wheel"},
        {"type": "social", "network": "Mastodon", "url": "https://social.example/@juniper"},
        {"type": "vcard", "fname": "Ana", "lname": "Costa", "org": "Juniper Ceramics", "title": "Potter"},
        {"type": "form", "overlay": form},
    ]
    design = {"background": "#fff4e0", "gradient": "#ffd9c0", "button": "#3d1522"}
    page = {"alias": "studio", "title": "Juniper, the studio", "description": "Stoneware from Porto.", "avatar": url}
    _add(api, "bio", name="Studio", design=design, blocks=blocks, **page)


def _add_campaign(api: httpx2.Client) -> None:
    """Create a campaign with many links."""
    campaign = _add(api, "campaign", name="Many links", slug="many-links", public=True)
    for n in range(_MANY_LINKS):
        _add(api, "url", url=f"{_TARGET}{n}", custom=f"many-{n}", title=f"Bowl number {n}", campaign=campaign)


def _add_shares(api: httpx2.Client) -> None:
    """Create share links: of a link, with a password, and of a campaign."""
    _add(api, "share", type="link", itemid=_PICTURE_LINK, slug="shared", days=30)
    _add(api, "share", type="link", itemid=_PICTURE_LINK, slug="locked", **_LOCKED)
    _add(api, "share", type="campaign", itemid=1, slug="autumn", days=90)


def _link_fields(splash: int, overlay: int, pixel: int) -> Mapping[str, Mapping[str, Any]]:
    return {
        "locked": _LOCKED,
        "off": {"status": "disabled"},
        "waiting": {"type": str(splash)},
        "measured": {"pixels": [pixel]},
        "with-poll": {"type": f"overlay-{overlay}"},
        "everything": {
            "geotarget": [{"location": "Germany", "link": f"{_TARGET}de"}],
            "expiry": "2030-01-01",
            "clicklimit": 5000,
            "description": "A description",
        },
    }


def _upload(api: httpx2.Client, name: str, content: bytes, **query: str) -> int:
    response = api.post(f"/api/files/upload/{name}", content=content, params=query)
    assert response.is_success, response.text
    return int(response.json()["id"])


def _add(api: httpx2.Client, noun: str, **fields: Any) -> int:
    response = api.post(f"/api/{noun}/add", json=fields)
    assert response.is_success, response.text
    return int(response.json()["id"])


def dashboard_paths() -> Sequence[str]:
    """Return the paths of all pages of the dashboard, of the items with a page."""
    return (*every_dashboard_path(link=_PICTURE_LINK), "/dashboard/campaigns/3", "/dashboard/campaigns/3/stats")
