"""A running demo with every kind of page, and the paths of its pages, for pictures and audits."""

import re
import subprocess
import sys
import tempfile
import time
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
SIGNED_OUT = ("/dashboard/signin", "/dashboard/forgot", "/dashboard/offline")
PUBLIC = (
    *("/juniper", "/u/owner/autumn-launch-1", "/everything+", "/prices", "/picture", "/report", "/locked", "/off"),
    *("/unknown", "/waiting", "/measured", "/with-poll", "/private-bio"),
    *("/stats/shared-1", "/stats/unknown"),
)


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
    with tempfile.NamedTemporaryFile("w") as log:
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
    while not (value := re.search(rf"^  {label} +(\S+)$", log.read_text(), re.MULTILINE)):
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
        _add(api, "bio", name="Private", alias="private-bio", title="Juniper, for adults", sensitive=True, blocks=[])
        for name, content in (("picture.png", picture.read_bytes()), ("prices.pdf", b"%PDF-1.7 " + bytes(2_000_000))):
            query = {"custom": Path(name).stem}
            api.post(f"/api/files/upload/{name}", content=content, params=query).raise_for_status()
        _add(api, "share", type="link", itemid=_PICTURE_LINK, slug="shared", days=30)
        removed = _add(api, "url", url=_TARGET, custom="removed", title="A deleted link")
        api.delete(f"/api/url/{removed}/delete").raise_for_status()


def _link_fields(splash: int, overlay: int, pixel: int) -> Mapping[str, Mapping[str, Any]]:
    return {
        "locked": {"password": "a password"},
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


def _add(api: httpx2.Client, noun: str, **fields: Any) -> int:
    response = api.post(f"/api/{noun}/add", json=fields)
    assert response.is_success, response.text
    return int(response.json()["id"])


def dashboard_paths() -> Sequence[str]:
    """Return the paths of all pages of the dashboard, of the items with a page."""
    return every_dashboard_path(link=_PICTURE_LINK)
