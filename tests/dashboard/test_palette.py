"""The search page, whose results the command palette shows: things of all kinds, pages and actions."""

import re
from html import unescape

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.files import new_file
from tests.support.visits import DESTINATION
from waypost.palette import commands


def _results(dashboard: Browser, q: str) -> dict[str, list[str]]:
    """Return the names of the results by heading."""
    page = dashboard.get("/search", params={"q": q}).text
    sections = re.findall(r"<section.*?<h2[^>]*>(.*?)</h2>(.*?)</section>", page, re.DOTALL)
    names = r'class="result.*?<span[^>]*>(.*?)</span>'
    return {label: [unescape(name) for name in re.findall(names, content, re.DOTALL)] for label, content in sections}


def test_search_returns_things_of_all_kinds_of_this_account_only(ana: Person, ben: Person, dashboard: Browser) -> None:
    for person in (ana, ben):
        person.add("url", url=DESTINATION, title=f"Äpfel of {person.username}", custom=f"fruit-{person.username}")
        person.add("campaign", name=f"Äpfel campaign of {person.username}")
        person.add("channel", name=f"Äpfel channel of {person.username}")
        person.add("qr", type="text", data="hello", name=f"Äpfel code of {person.username}")
        person.add("splash", name=f"Äpfel page of {person.username}", title="x", message="x")
        person.add("pixel", type="gtmpixel", name=f"Äpfel pixel of {person.username}", tag="GTM-ABCDE")
    assert _results(dashboard, "äpfel ANA") == {
        "Links": ["Äpfel of ana"],
        "QR codes": ["Äpfel code of ana"],
        "Campaigns": ["Äpfel campaign of ana"],
        "Channels": ["Äpfel channel of ana"],
        "Splash pages": ["Äpfel page of ana"],
        "Pixels": ["Äpfel pixel of ana"],
    }


def test_search_returns_files_bio_pages_and_domains(ana: Person, dashboard: Browser) -> None:
    new_file(ana, "report_2026.txt")
    ana.add("bio", name="Spring report", alias="spring-bio")
    assert _results(dashboard, "report") == {
        "Files": ["report_2026.txt"],
        "Bio pages": ["Spring report"],
        "Administration": ["Abuse reports"],
    }
    assert _results(dashboard, "spring-b") == {"Bio pages": ["Spring report"]}


def test_names_and_aliases_that_begin_with_the_word_come_before_those_that_contain_it_and_destinations(
    ana: Person, dashboard: Browser
) -> None:
    ana.add("url", url=DESTINATION, title="Autumn sale", custom="sale")
    ana.add("url", url=DESTINATION, title="Catalog", custom="autumn-catalog")
    ana.add("url", url=DESTINATION, title="The autumn mugs", custom="mail")
    for number in range(6):
        ana.add("url", url=f"{DESTINATION}?utm_campaign=autumn", title=f"Newer {number}")
    assert _results(dashboard, "autumn")["Links"][:4] == ["Catalog", "Autumn sale", "The autumn mugs", "Newer 5"]
    ana.add("campaign", name="Autumn launch")
    for number in range(6):
        ana.add("campaign", name=f"Late autumn {number}")
    assert _results(dashboard, "autumn")["Campaigns"][:2] == ["Autumn launch", "Late autumn 5"]


def test_empty_search_shows_all_pages_and_actions_but_no_things(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION, title="Spring")
    results = _results(dashboard, "")
    groups = ["Create", "Measure", "Organize", "Before the redirect"]
    assert list(results) == ["Actions", "Pages", *groups, "Your account", "Administration"]
    assert "New QR code" in results["Actions"]
    assert results["Create"] == ["Links", "QR codes", "Bio pages", "Files"]
    assert "API keys" in results["Your account"]


@pytest.mark.parametrize("q", ["%", "_", "'", '"x" OR', "\\", "a" * 500, "\x00", "<script>alert(1)</script>", "٣"])
def test_any_search_text_is_harmless(ana: Person, dashboard: Browser, q: str) -> None:
    ana.add("url", url=DESTINATION, title="Spring")
    response = dashboard.get("/search", params={"q": q})
    assert response.status_code == 200
    assert "<script>alert" not in response.text


def test_search_without_results_says_so(dashboard: Browser) -> None:
    assert "No results for “xyzzy”." in dashboard.get("/search", params={"q": "xyzzy"}).text


def test_count_of_results_is_a_status_and_in_the_title(ana: Person, dashboard: Browser) -> None:
    assert 'role="status" data-results-count' not in dashboard.get("/search").text
    for number in (1, 2):
        ana.add("url", url=DESTINATION, title=f"<Xy {number}>", custom=f"item-{number}")
        page = dashboard.get("/search", params={"q": "<Xy"}).text
        text = "1 result for “&lt;Xy”" if number == 1 else "2 results for “&lt;Xy”"
        assert f'role="status" data-results-count>{text}</p>' in page
        assert re.search(rf"<title>\s*{text}", page)
    dashboard.submit("/language", at="/links", language="fr")
    assert "2 résultats pour «\u00a0&lt;Xy\u00a0»" in dashboard.get("/search", params={"q": "<Xy"}).text


def test_commands_match_beginnings_of_words_and_keywords(dashboard: Browser) -> None:
    assert _results(dashboard, "new qr") == {"Actions": ["New QR code"]}
    assert _results(dashboard, "2fa") == {"Your account": ["Two-factor authentication"]}
    assert _results(dashboard, "locklist") == {}


def test_administration_is_offered_to_administrators_only(dashboard: Browser) -> None:
    offered = {page.path for page in commands.pages("", is_admin=False)}
    assert not [path for path in offered if path.startswith("/dashboard/admin")]
    assert "/dashboard/admin/reports" in {page.path for page in commands.pages("", is_admin=True)}


def test_every_command_leads_somewhere(dashboard: Browser) -> None:
    for command in (*commands.pages("", is_admin=False), *commands.ACTIONS):
        if command.values is None:
            assert dashboard.get(command.path.removeprefix("/dashboard")).status_code == 200, command
    dark = dashboard.submit("/theme", at="/search", theme="dark")
    assert dark.status_code == 303
    assert 'data-theme="dark"' in dashboard.get("/search").text


def test_shortcuts_of_single_keys_can_be_turned_off_and_on(dashboard: Browser) -> None:
    assert 'data-shortcuts="on"' in dashboard.get("/links").text
    for value in ("off", "on"):
        assert dashboard.submit("/shortcuts", at="/links", shortcuts=value).status_code == 303
        assert f'data-shortcuts="{value}"' in dashboard.get("/links").text


@pytest.mark.parametrize(
    ("q", "path"),
    [
        ("recovery", "/dashboard/account/factor"),
        ("bookmarklet", "/dashboard/account/connections"),
        ("broken", "/dashboard/links?status=dead"),
        ("lesezeichen", "/dashboard/account/connections"),
        ("konto entfernen", "/dashboard/account/delete"),
        ("backup", "/dashboard/admin/health"),
        ("export data", "/dashboard/account#data"),
    ],
)
def test_pages_are_found_by_words_in_english_and_in_language_of_page(dashboard: Browser, q: str, path: str) -> None:
    dashboard.submit("/language", at="/account", language="de")
    page = dashboard.get("/search", params={"q": q}).text
    assert f'class="result" href="{path}"' in page
    assert dashboard.client.get(path).status_code == 200


def test_language_is_changed_from_the_palette(dashboard: Browser) -> None:
    assert _results(dashboard, "language fran")["Actions"] == ["Français"]
    dashboard.submit("/language", at="/search?q=language", language="fr")
    assert '<html lang="fr"' in dashboard.get("/account").text
