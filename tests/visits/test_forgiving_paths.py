"""Addresses with what mail and chat programs append to them."""

from urllib.parse import quote

from sqlalchemy import text

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.files import CONTENT, download, new_file
from tests.support.public_pages import shared_statistics
from tests.support.visits import DESTINATION, clicks, new_link, visit

pytestmark = ON_BOTH_DATABASES  # look-ups
APPENDED = (
    *(
        "/",
        "//",
        ".",
        ",",
        ";",
        ":",
        "!",
        "?",
        ")",
        "]",
        "}",
        ">",
        '"',
        "'",
        "*",
        "_",
        "-",
        "~",
        "`",
        ").",
        '>,"',
        "/.",
    ),
    *("\u2019", "\u201d", "\u00bb", "\u2026", "\u3002", "\uff09", "\u3001"),
    *(
        " ",
        "\u00a0",
        "\u3000",
        "\t",
        "\n",
        "\u200b",
        "\u200e",
        "\u2060",
        "\ufeff",
        "\u00ad",
        "\ufe0f",
        "\u2800",
        "\u3164",
    ),
)
BRAND = "https://go.brand.example"


def _location(service: AsgiClient, path: str) -> str | None:
    location: str | None = visit(service, path).headers.get("location")
    return location


def test_appended_characters_lead_to_the_same_link(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    for appended in APPENDED:
        assert _location(service, f"spring{quote(appended)}?x=1") == f"{DESTINATION}?x=1", ascii(appended)
    assert clicks(ana, link)[0] == len(APPENDED)
    assert visit(service, "spring+.").status_code == 200  # the preview
    for path in ("spring/a", "spring.a", "spring+a", "spring" + "." * 100, "...", "spring%2B%2B"):
        assert visit(service, path).status_code == 404, path


def test_exact_alias_wins(ana: Person, service: AsgiClient) -> None:
    for alias in ("spring", "spring-", "spring_-"):
        new_link(ana, alias, url=f"https://example.com/{alias}")
    for path in ("spring", "spring-", "spring_-"):
        assert _location(service, path) == f"https://example.com/{path}"
    assert _location(service, "spring-/") == "https://example.com/spring-"
    assert _location(service, "spring_-).") == "https://example.com/spring_-"
    assert _location(service, "spring_/") == _location(service, "spring--") == "https://example.com/spring"


def test_branded_domain_is_forgiving(ana: Person, service: AsgiClient) -> None:
    ana.add("domain", domain=BRAND, redirect404="https://example.com/404", ignorecase=True)
    for alias in ("spring", "a/b", "v1.", "gr\u00fc\u00df", "api", "x/qr"):
        new_link(ana, alias, domain=BRAND, url=f"https://example.com/{quote(alias)}")
    for alias in ("spring", "a/b", "v1.", "gr\u00fc\u00df", "api", "x/qr"):
        for appended in ("", "/", "/)", "\u200b", "/?"):
            path = quote(f"{alias.upper() if alias.isascii() and alias != 'api' else alias}{appended}")
            assert _location(service, f"{BRAND}/{path}") == f"https://example.com/{quote(alias)}", path
    for path in ("a.", "a", "v1", "spring/a.", "...", "spring.a"):
        assert _location(service, f"{BRAND}/{path}") == "https://example.com/404", path
    assert _location(service, f"{BRAND}/robots.txt/") is None
    assert visit(service, f"{BRAND}/spring/qr/").headers["content-type"] == "image/png"


@ON_SQLITE
def test_every_kind_of_address_is_forgiving(ana: Person, service: AsgiClient) -> None:
    bio = ana.add(
        "bio",
        name="Bio",
        alias="pot",
        title="My page",
        blocks=[{"type": "link", "title": "L", "url": "https://l.example/"}],
    )
    block = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    campaign = ana.add("campaign", name="Reading", slug="reading", public=True)
    ana.add("campaign", name="Other", slug="reading-", public=True)
    new_link(ana, "one", campaign=campaign)
    new_file(ana, "a.bin", CONTENT, custom="mine")
    ana.post("/qr/add", {"type": "text", "data": "Some words", "custom": "words", "dynamic": True})
    shared = shared_statistics(ana)[0]
    for appended in ("/", ").", "_", "%E2%80%8B"):
        assert "My page" in visit(service, f"pot{appended}").text, appended
        assert _location(service, f"pot/{block}{appended}") == "https://l.example/"
        assert "Reading" in visit(service, f"u/ana/reading-{campaign}{appended}").text
        assert _location(service, f"r/reading{appended}") == DESTINATION
        assert download(service, f"mine{appended}").content == CONTENT
        assert "Some words" in visit(service, f"words{appended}").text
        assert visit(service, f"qr/words.png{appended}").headers["content-type"] == "image/png"
        assert visit(service, f"one/qr{appended}").headers["content-type"] == "image/png"
        assert "Report a link" in visit(service, f"report{appended}").text
        assert "Statistics of" in service.get(f"/{shared}{appended}", follow_redirects=True).text
    assert visit(service, "r/reading-").status_code in (302, 404)
    assert _location(service, "r/reading-") != DESTINATION  # that is another campaign


@ON_SQLITE
def test_share_link_of_version_1_can_end_with_punctuation(ana: Person, service: AsgiClient) -> None:
    token = shared_statistics(ana)[0].removeprefix("stats/")
    ended = f"{token[:-1]}_"
    change = text("UPDATE shares SET token = :ended WHERE token = :token")
    ana.write(lambda tx: tx.execute(change, {"ended": ended, "token": token}))
    for appended in ("", "/", ").", "%E2%80%8B"):
        page = service.get(f"/stats/{ended}{appended}", follow_redirects=True).text
        assert "Statistics of" in page, appended


@ON_SQLITE
def test_misses_are_cached(ana: Person, service: AsgiClient) -> None:
    for path in ("nothing_.", "nothing_-/", "other"):
        assert visit(service, path).status_code == 404
    ana.write(lambda tx: tx.execute(text("ALTER TABLE aliases RENAME TO hidden")))
    for path in ("nothing_.", "nothing_", "nothing", "nothing/", "nothing_-!", "other", "other),", "other" + "/" * 60):
        assert visit(service, path).status_code == 404, path
    assert visit(service.another(raises=False), "another/").status_code >= 500  # it would be read
