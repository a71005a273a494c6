"""Links with a password: form, HTTP Basic and rate limit (decisions 22, 47 and 50)."""

from collections import Counter
from typing import Any

import pytest
import time_machine

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.server import at_once
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, CURL, DESTINATION, click_totals, clicks, new_link, visit

pytestmark = ON_SQLITE
WORD = "open sésame & more"
NOW = 1_800_000_000


@pytest.fixture
def link(ana: Person) -> int:
    """Ana's link with a password."""
    return new_link(ana, "locked", password=WORD)


def _guess(service: AsgiClient, word: str, path: str = "locked", **headers: str) -> Any:
    return visit(service, path, "POST", data={"password": word}, headers={**ACCEPT_HTML, **headers})


def test_protected_link_asks_for_password_without_revealing_destination(
    ana: Person, service: AsgiClient, link: int
) -> None:
    page = visit(service, "locked?a=b", headers=ACCEPT_HTML)
    assert (page.status_code, page.headers["cache-control"]) == (401, "private, no-store")
    assert '<form method="post">' in page.text  # posts to the same URL, which keeps the query
    assert 'type="password"' in page.text
    assert "form-action" not in page.headers["content-security-policy"]  # it would stop the redirect of the right word
    response = visit(service, "locked")
    assert response.json()["code"] == "locked"
    assert response.headers["www-authenticate"].startswith("Basic ")
    for protected in (page, response, visit(service, "locked+", headers=ACCEPT_HTML), visit(service, "locked", "HEAD")):
        assert protected.status_code in (401, 404)
        assert "example.com" not in protected.text + str(protected.headers)
    assert click_totals(ana, f"/url/{link}") == {}


def test_part_or_compressed_form_is_rejected(service: AsgiClient, link: int) -> None:
    assert link
    for header, value in (("Content-Range", "bytes 0-9/20"), ("Content-Encoding", "gzip")):
        headers = {**ACCEPT_JSON, header: value}
        response = visit(service, "locked", "POST", data={"password": WORD}, headers=headers)
        assert (response.status_code, response.json()["field"]) == (400, header)


def test_correct_password_redirects_and_counts_one_click(ana: Person, service: AsgiClient, link: int) -> None:
    assert visit(service, "locked", headers=ACCEPT_HTML).status_code == 401
    response = _guess(service, WORD, "locked?a=b")
    assert (response.status_code, response.headers["location"]) == (303, f"{DESTINATION}?a=b")
    assert response.headers["cache-control"] == "private, no-store"
    assert clicks(ana, link) == (1, 1)
    assert visit(service, "locked", headers=ACCEPT_HTML).status_code == 401  # other visitors stay locked out
    assert visit(service, f"locked?password={WORD}").status_code == 401  # nor by a URL, which others get to see
    assert click_totals(ana, f"/url/{link}") == {"clicks": 1, "uniqueClicks": 1}


def test_wrong_password_shows_error_without_echo(ana: Person, service: AsgiClient, link: int) -> None:
    wrong = 'S3same"><script>'
    page = _guess(service, wrong)
    assert page.status_code == 401
    assert "Wrong password." in page.text
    assert "S3same" not in page.text + str(page.headers)
    assert "Wrong password." not in visit(service, "locked", headers=ACCEPT_HTML).text
    assert clicks(ana, link) == (0, 0)


@pytest.mark.parametrize(
    ("user", "word", "status"),
    [("", WORD, 302), ("ana", WORD, 302), ("ana", f"{WORD}:", 401), (WORD, "", 401)],
)
def test_password_is_accepted_by_http_basic(
    ana: Person, service: AsgiClient, link: int, user: str, word: str, status: int
) -> None:
    response = visit(service, "locked", agent=CURL, auth=(user.encode(), word.encode()))
    assert response.status_code == status
    assert clicks(ana, link) == ((1, 1) if status == 302 else (0, 0))


@pytest.mark.parametrize(
    "authorization", ["Basic", "Basic ", "Basic !!!", "Basic b3Blbg", "Basic /////w==", "Bearer b3Blbg==", "basic YTpi"]
)
def test_malformed_authorization_does_not_unlock(service: AsgiClient, link: int, authorization: str) -> None:
    assert visit(service, "locked", headers={"Authorization": authorization}).status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"password",
        b"password=",
        b"other=1",
        b"password=%ff%fe%00",
        b"\xff\xfe",
        b"password=" + b"x" * 10_000,
        b"x" * 5_000_000,
        b"&" * 4000,
        b'{"password": "open"}',
        b"--x\r\nContent-Disposition: form-data; name=password\r\n\r\nopen\r\n--x--\r\n",
    ],
)
def test_malformed_password_form_is_answered(service: AsgiClient, link: int, body: bytes) -> None:
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data", ""):
        response = visit(service, "locked", "POST", content=body, headers={**ACCEPT_HTML, "Content-Type": kind})
        assert response.status_code in (401, 429)


def test_long_unicode_password_works(ana: Person, service: AsgiClient) -> None:
    longest = "\U0001f600" * 128
    new_link(ana, "longest", password=longest)
    assert _guess(service, longest, "longest").status_code == 303
    assert _guess(service, longest[:-1], "longest").status_code == 401


def test_password_attempts_are_limited_to_ten_per_minute_link_and_address(
    ana: Person, proxied: AsgiClient, link: int
) -> None:
    new_link(ana, "other", password=WORD)
    client, same_network, other_network = ({"X-Forwarded-For": f"2001:db8:{host}"} for host in ("1::1", "1::2", "2::1"))
    with time_machine.travel(NOW, tick=False) as clock:
        for _ in range(10):
            assert _guess(proxied, "wrong", **client).status_code == 401
        for headers in (client, same_network):
            stopped = _guess(proxied, WORD, **headers)
            assert (stopped.status_code, stopped.headers["retry-after"]) == (429, "60")
            assert "wait a minute" in stopped.text
            assert visit(proxied, "locked", auth=("", "x"), headers=headers).json()["code"] == "guessing"
        assert visit(proxied, "locked", headers={**ACCEPT_HTML, **client}).status_code == 401  # the form is still there
        assert _guess(proxied, WORD, **other_network).status_code == 303
        assert _guess(proxied, WORD, "other", **client).status_code == 303
        clock.shift(60)
        assert _guess(proxied, WORD, **client).status_code == 303


def test_attempts_of_one_network_do_not_block_others(ana: Person, proxied: AsgiClient, link: int) -> None:
    client, other_client = {"X-Forwarded-For": "203.0.113.7"}, {"X-Forwarded-For": "203.0.113.8"}
    for number in range(11):
        new_link(ana, f"other{number}", password=WORD)
    with time_machine.travel(NOW, tick=False):
        for number in range(100):
            assert _guess(proxied, "wrong", f"other{number // 10}", **client).status_code == 401
        assert _guess(proxied, WORD, "other10", **client).status_code == 429
        assert _guess(proxied, WORD, "other10", **other_client).status_code == 303


def test_concurrent_password_attempts_are_limited_to_ten(service: AsgiClient, link: int) -> None:
    answers = at_once([lambda: _guess(service, "wrong").status_code for _ in range(24)])
    assert Counter(answers) == {401: 10, 429: 14}


def test_correct_passwords_are_not_limited(ana: Person, service: AsgiClient, link: int) -> None:
    answers = at_once([lambda: _guess(service, WORD).status_code for _ in range(12)])
    assert Counter(answers) == {303: 12}
    assert clicks(ana, link) == (12, 1)


def test_click_limit_counts_unlocked_visits_only(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "once", password=WORD, clicklimit=1)
    assert _guess(service, "wrong", "once").status_code == 401
    assert _guess(service, WORD, "once").status_code == 303
    assert _guess(service, WORD, "once").status_code == 410
    assert click_totals(ana, f"/url/{link}") == {"clicks": 1, "uniqueClicks": 1, "late": 1}


def test_new_password_applies_at_once(ana: Person, service: AsgiClient, link: int) -> None:
    assert _guess(service, WORD).status_code == 303
    ana.update("url", link, password="another one")
    assert _guess(service, WORD).status_code == 401
    assert _guess(service, "another one").status_code == 303
    ana.update("url", link, password=None)
    assert visit(service, "locked").status_code == 302


def test_form_for_link_without_password_is_not_a_visit(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "open")
    for path in ("open", "open?a=b"):
        response = _guess(service, "whatever", path)
        assert (response.status_code, response.headers["location"]) == (303, f"/{path}")
    assert clicks(ana, link) == (0, 0)
