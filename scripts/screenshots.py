"""Draws docs/pictures, the dashboard with sample content: `python -m scripts.screenshots`. Requires Chromium."""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.support.browser import chromium
from tests.support.browser_login import sign_in
from tests.support.server import Server, serving

_PORT, _PASSWORD = 8123, "a sample password"
_TARGET = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_LINKS = (
    ("spring", "Spring catalog", "https://shop.example/spring", 123),
    ("hours", "Opening hours and directions", "https://shop.example/hours", 82),
    ("pod12", "Podcast, episode 12", "https://podcast.example/12", 68),
    ("workshop", "Workshop registration", "https://events.example/workshop", 76),
    ("prices", "Price list 2026", "https://shop.example/prices.pdf", 30),
    ("jobs", "Jobs", "https://shop.example/jobs", 21),
)
_BROWSERS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5"
    " Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:142.0) Gecko/20100101 Firefox/142.0",
)
_REFERRERS = ("https://www.google.com/", "https://news.example/", "https://www.instagram.com/", "")
_BLOCKS = (
    {"type": "link", "title": "The shop", "url": "https://shop.example/"},
    {"type": "link", "title": "Workshops", "url": "https://events.example/workshop"},
    {"type": "social", "network": "Instagram", "url": "https://www.instagram.com/ana"},
    {"type": "text", "text": "Meet me at the market on Saturdays."},
)


def main() -> None:
    """Start a service with sample content, photograph its pages, and stop it."""
    with tempfile.TemporaryDirectory() as folder:
        base_url = f"http://localhost:{_PORT}"
        with serving(Path(folder), port=_PORT, base_url=base_url) as server:
            ids = _add_content(server, _add_account(folder))
            _visit_links(server)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1280, "height": 800}, timezone_id="Europe/Lisbon")
                sign_in(page, base_url, password=_PASSWORD)
                _photograph(page, f"{base_url}/dashboard", ids)
                browser.close()


def _add_account(folder: str) -> str:
    """Create the account and return its API key."""
    waypost = Path(sys.executable).with_name("waypost")
    details = ["--email", "ana@shop.example", "--username", "ana", "--password", _PASSWORD, "--rate-limit", "10000"]
    environment = {**os.environ, "WAYPOST_DATA_DIR": folder}
    printed = subprocess.run(
        [waypost, "account", "add", "--json", *details], env=environment, check=True, capture_output=True
    ).stdout
    return str(json.loads(printed)["apikey"])


def _add_content(server: Server, key: str) -> dict[str, int]:
    """Create links, a campaign, a QR code and a bio page. Return the ids that the pictures need."""

    def create(path: str, body: dict[str, Any]) -> int:
        response = server.call("POST", f"/api{path}", key=key, json=body)
        return int(response.raise_for_status().json()["id"])

    links = [create("/url/add", {"url": url, "custom": alias, "title": title}) for alias, title, url, _ in _LINKS]
    campaign = create("/campaign/add", {"name": "Spring sale", "slug": "spring-sale", "public": True})
    for link in (links[0], links[3]):
        server.call("POST", f"/api/campaign/{campaign}/assign/{link}", key=key).raise_for_status()
    code = {"name": "Poster", "type": "link", "data": "https://shop.example/spring", "foreground": "#0f5c46"}
    bio = {"name": "Ana Costa", "alias": "ana", "title": "Ana Costa", "theme": "ocean", "blocks": list(_BLOCKS)}
    about = "Ceramics from Porto. New pieces every first Friday."
    return {
        "link": links[0],
        "campaign": campaign,
        "qr": create("/qr/add", code),
        "bio": create("/bio/add", {**bio, "description": about}),
    }


def _visit_links(server: Server) -> None:
    choice = random.Random(7).choice
    for alias, _, _, visits in _LINKS:
        for _ in range(visits):
            headers = {"User-Agent": choice(_BROWSERS), "Referer": choice(_REFERRERS)}
            server.call("GET", f"/{alias}", headers=headers, follow_redirects=False)


def _photograph(page: Page, dashboard: str, ids: dict[str, int]) -> None:
    for name, path, scheme in (
        ("overview", "", "light"),
        ("links", "/links", "dark"),
        ("qr-code", f"/qr/{ids['qr']}", "light"),
        ("bio-page", f"/bios/{ids['bio']}", "light"),
        ("campaign", f"/campaigns/{ids['campaign']}", "dark"),
        ("statistics", f"/links/{ids['link']}/stats", "light"),
    ):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal
        page.goto(dashboard + path, wait_until="networkidle")
        page.wait_for_timeout(1000)  # charts and previews are drawn
        target = _TARGET / f"{name}.png"
        page.screenshot(path=target)
        picture = Image.open(target).convert("RGB")
        picture.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
        print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
