"""Profiles of bio pages: names of users become URLs at networks that are known; the API accepts complete URLs only."""

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from waypost.items.bios.profile_urls import profile_url

pytestmark = ON_SQLITE
_PROFILES = [
    ("Instagram", "@juniperceramics", "https://www.instagram.com/juniperceramics"),
    ("instagram", " juniper.ceramics ", "https://www.instagram.com/juniper.ceramics"),
    ("Instagram", "instagram.com/ana", "https://instagram.com/ana"),
    ("X", "ana_silva", "https://x.com/ana_silva"),
    ("X", "@ana.silva", "https://x.com/ana.silva"),
    ("X", "x.com/ana", "https://x.com/ana"),
    ("TikTok", "@ana", "https://www.tiktok.com/@ana"),
    ("YouTube", "ana", "https://www.youtube.com/@ana"),
    ("Bluesky", "ana", "https://bsky.app/profile/ana.bsky.social"),
    ("Bluesky", "@ana.example", "https://bsky.app/profile/ana.example"),
    ("LinkedIn", "andré-silva", "https://www.linkedin.com/in/andr%C3%A9-silva"),
    ("Bandcamp", "ana", "https://ana.bandcamp.com/"),
    ("Mastodon", "@ana@Example.social", "https://example.social/@ana"),
    ("PeerTube", "ana@example.tube", "https://example.tube/a/ana"),
    ("Mastodon", "example.social/@ana", "https://example.social/@ana"),
    ("Medium", "ana.medium.com", "https://ana.medium.com"),
    ("Facebook", "m.facebook.com", "https://m.facebook.com"),
    ("Threads", "threads.com", "https://threads.com"),
    ("Website", "ana.example", "https://ana.example"),
    ("GitHub", "https://github.com/ana", "https://github.com/ana"),
    ("Email", "mailto:ana@example.com", "mailto:ana@example.com"),
]


@pytest.mark.parametrize(("network", "typed", "url"), _PROFILES)
def test_typed_profile_becomes_its_url(ana: Person, dashboard: Browser, network: str, typed: str, url: str) -> None:
    fields = {"name": "A", "order": "b", "b.type": "social", "b.network": network, "b.url": typed}
    response = dashboard.submit("/bios/new", **fields)
    assert response.status_code == 303, response.text
    assert ana.details("bio", 1)["blocks"][0]["url"] == url
    assert profile_url(network, url) == url


@pytest.mark.parametrize(
    ("network", "typed"),
    [
        ("Unknown", "@ana"),
        ("Mastodon", "@ana"),
        ("Discord", "ana"),
        ("Instagram", "@"),
        ("Instagram", ""),
        ("Instagram", "@ana silva"),
        ("Instagram", "@../ana"),
        ("Instagram", "javascript:alert(1)"),
        ("Bandcamp", "@ana_silva"),
        ("X", "@" + "a" * 101),
    ],
)
def test_profile_that_cannot_become_a_url_is_refused_at_its_field(dashboard: Browser, network: str, typed: str) -> None:
    fields = {"name": "A", "order": "b", "b.type": "social", "b.network": network, "b.url": typed}
    response = dashboard.submit("/bios/new", **fields)
    assert (response.status_code, 'id="b1.url-error"' in response.text) == (400, True)


def test_api_refuses_a_profile_without_a_complete_url(ana: Person) -> None:
    for typed in ("@ana", "ana", "instagram.com/ana"):
        block = {"type": "social", "network": "Instagram", "url": typed}
        error = ana.call("POST", "/bio/add", {"name": "A", "blocks": [block]}).json()
        assert (error["error"], error["field"]) == (1, "blocks")
