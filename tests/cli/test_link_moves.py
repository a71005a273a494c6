"""`waypost account move-links`: what it moves, what links lose, and what stays."""

from contextlib import closing
from typing import Any

import pytest

from tests.support.cli import ANA, CommandResult, RunCommand, call, opened
from tests.support.clicks import run_out
from waypost.clicks.ingest.ingester import Ingester
from waypost.core.settings import Settings
from waypost.db.database import Database

_HOST = "go.brand.example"
_MOVE = ("account", "move-links", "ana", "ben")


@pytest.fixture
def ana(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> str:
    """The API key of Ana. She has a domain, and the links sale and menu on the service's host."""
    monkeypatch.setenv("WAYPOST_DOMAIN_CHECK", "off")
    key = str(run_migrated(*ANA, "--json").json["apikey"])
    assert call(key, "POST", "/api/domain/add", json={"domain": f"https://{_HOST}"})["error"] == 0
    for alias in ("sale", "menu"):
        _add(key, alias)
    return key


@pytest.fixture
def ben(run_migrated: RunCommand, ana: str) -> str:
    """The API key of Ben. He has nothing."""
    assert ana
    account = ("account", "add", "--email", "ben@example.com", "--username", "ben", "--json")
    return str(run_migrated(*account).json["apikey"])


def _add(key: str, alias: str, **fields: object) -> int:
    return int(call(key, "POST", "/api/url/add", json={"url": "https://example.com/", "custom": alias, **fields})["id"])


def _count_clicks() -> None:
    settings = Settings()
    with closing(Database(settings.database)) as database:
        run_out(Ingester(settings, database))


def _campaign(key: str) -> int:
    with opened() as client:
        headers = {"Authorization": f"Bearer {key}"}
        return int(client.request("POST", "/api/campaign/add", headers=headers, json={"name": "Spring"}).json()["id"])


def _links(key: str) -> dict[str, Any]:
    return {link["shorturl"].partition("://")[2]: link for link in call(key, "GET", "/api/urls")["data"]["urls"]}


def _row(result: CommandResult, alias: str) -> Any:
    return next(row for row in result.json if row["shorturl"].endswith(f"/{alias}"))


def test_link_keeps_id_address_and_statistics_and_loses_items_of_old_account(
    run_migrated: RunCommand, ana: str, ben: str
) -> None:
    campaign = _campaign(ana)
    channel = call(ana, "POST", "/api/channel/add", json={"name": "News"})["id"]
    pixel = call(ana, "POST", "/api/pixel/add", json={"type": "gtmpixel", "name": "Ads", "tag": "GTM-ABCDE"})["id"]
    link = _add(ana, "spring", campaign=campaign, channel=[channel], pixels=[pixel])
    with opened() as client:
        assert client.request("GET", "/sale", headers={"User-Agent": "curl/8"}).status_code == 302
    planned = run_migrated(*_MOVE, "spring", "sale", "--dry-run", "--json")
    assert _row(planned, "spring")["loses"] == 'campaign "Spring", channel "News", pixel "Ads"'
    assert (_row(planned, "sale")["loses"], _row(planned, "sale")["stays"]) == ("", "")
    assert set(_links(ana)) == {"go.localhost:8000/spring", "go.localhost:8000/sale", "go.localhost:8000/menu"}

    refused = run_migrated(*_MOVE, "spring", "sale")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    moved = run_migrated(*_MOVE, "spring", "sale", "--yes")
    assert (moved.code, moved.out) == (0, "2 links moved from ana to ben.\n"), moved.err
    _count_clicks()
    assert set(_links(ana)) == {"go.localhost:8000/menu"}
    links = _links(ben)
    assert links["go.localhost:8000/spring"]["id"] == link
    assert links["go.localhost:8000/sale"]["clicks"] == 1
    shown = call(ben, "GET", f"/api/url/{link}")["details"]
    assert (shown["campaign"], shown["channel"], shown["pixels"]) == (None, [], [])
    assert "0 differences" in run_migrated("clicks", "verify").out
    with opened() as client:
        assert client.request("GET", "/spring", headers={"User-Agent": "curl/8"}).status_code == 302
        unknown = client.request("GET", f"/api/url/{link}", headers={"Authorization": f"Bearer {ana}"})
        assert unknown.status_code == 404


def test_links_are_selected_by_name_campaign_or_all(run_migrated: RunCommand, ana: str, ben: str) -> None:
    campaign = _campaign(ana)
    _add(ana, "spring", campaign=campaign)
    for arguments in (
        (),
        ("sale", "--all"),
        ("--all", "--campaign", "Spring"),
        ("sale", "--domain", "a", "--with-domains"),
    ):
        assert run_migrated(*_MOVE, *arguments, "--yes").code == 2, arguments
    assert "ana has no link missing." in run_migrated(*_MOVE, "sale", "missing", "--yes").err
    assert "no campaign Autumn" in run_migrated(*_MOVE, "--campaign", "Autumn", "--yes").err
    assert run_migrated("account", "move-links", "ana", "ana", "--all", "--yes").code == 1
    assert "There is no account" in run_migrated("account", "move-links", "ana", "unknown", "--all", "--yes").err
    assert set(_links(ben)) == set()
    assert run_migrated(*_MOVE, "--campaign", "spring", "--yes").code == 0
    assert set(_links(ben)) == {"go.localhost:8000/spring"}
    assert "has no links" in run_migrated(*_MOVE, "--campaign", "Spring", "--yes").err
    again = run_migrated(*_MOVE, "http://go.localhost:8000/spring", "sale", "--yes")  # the first has moved already
    assert again.out == "1 link moved from ana to ben.\n", again.err
    assert run_migrated(*_MOVE, "--all", "--yes").code == 0
    assert (len(_links(ben)), len(_links(ana))) == (3, 0)


def test_link_on_domain_of_old_account_stays_or_changes_domain(run_migrated: RunCommand, ana: str, ben: str) -> None:
    for alias in ("offer", "taken"):
        _add(ana, alias, domain=f"https://{_HOST}")
    _add(ben, "taken")
    stays = run_migrated(*_MOVE, "--all", "--yes")
    assert (stays.code, stays.out) == (1, "2 links moved from ana to ben.\n")
    assert f"https://{_HOST}/offer stays: The new account does not have its domain {_HOST}." in stays.err
    assert "must be one of" in run_migrated(*_MOVE, "--all", "--domain", "else.example", "--yes").err
    changed = run_migrated(*_MOVE, "--all", "--domain", "go.localhost", "--yes")
    assert (changed.code, changed.out) == (1, "1 link moved from ana to ben.\n")
    assert f"https://{_HOST}/taken stays: That alias is taken." in changed.err
    assert "go.localhost:8000/offer" in _links(ben)
    assert set(_links(ana)) == {f"{_HOST}/taken"}
    names = [f"https://{_HOST}/{alias}" for alias in ("offer", "taken")]
    again = run_migrated(*_MOVE, *names, "--domain", "go.localhost", "--yes")  # the first has moved already
    assert "has no link" not in again.err
    assert f"{names[1]} stays" in again.err


def test_domain_moves_with_its_links_unless_it_has_other_items(run_migrated: RunCommand, ana: str, ben: str) -> None:
    for alias in ("offer", "shop"):
        _add(ana, alias, domain=f"https://{_HOST}")
    refused = run_migrated(*_MOVE, f"https://{_HOST}/offer", "--with-domains", "--yes")
    assert (refused.code, "has other items of the old account" in refused.err) == (1, True)
    moved = run_migrated(*_MOVE, "--all", "--with-domains", "--yes")
    assert (moved.code, moved.out) == (0, "4 links moved from ana to ben.\n"), moved.err
    assert {f"{_HOST}/offer", f"{_HOST}/shop"} < set(_links(ben))
    assert call(ben, "GET", "/api/domains")["data"]["domains"][0]["domain"] == f"https://{_HOST}"
    assert call(ana, "GET", "/api/domains")["data"]["result"] == 0
    with opened() as client:
        headers = {"Host": _HOST, "User-Agent": "curl/8"}
        assert client.request("GET", "/offer", headers=headers).status_code == 302


def test_plan_of_new_account_limits_the_move(run_migrated: RunCommand, ana: str, ben: str) -> None:
    assert run_migrated("plan", "add", "small", "--item-limit", "2").code == 0
    assert run_migrated("account", "plan", "ben", "small").code == 0
    _add(ben, "own")
    for host in ("a.example", "b.example"):
        assert call(ben, "POST", "/api/domain/add", json={"domain": f"https://{host}"})["error"] == 0
    _add(ana, "offer", domain=f"https://{_HOST}")
    refused = run_migrated(*_MOVE, f"https://{_HOST}/offer", "--with-domains", "--dry-run")
    assert (refused.code, "allows 2 domains: it has 2 and would get 1 more." in refused.err) == (1, True)
    assert call(ana, "DELETE", f"/api/url/{_links(ana)[f'{_HOST}/offer']['id']}/delete")["error"] == 0
    refused = run_migrated(*_MOVE, "--all", "--yes")
    assert (refused.code, "The plan of ben allows 2 links: it has 1 and would get 2 more." in refused.err) == (1, True)
    assert len(_links(ana)) == 2
    assert run_migrated(*_MOVE, "sale", "--yes").code == 0
    assert run_migrated("account", "delete", "ben", "--yes").code == 0
    assert "ben is going to be deleted" in run_migrated(*_MOVE, "menu", "--dry-run").err
