"""Files with a password: the form, HTTP Basic, and the rate limit (decision 22)."""

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.files import CONTENT, download, downloads_left, new_file, open_page
from tests.support.visits import ACCEPT_HTML, CURL, click_totals, visit

pytestmark = ON_SQLITE
PASSWORD = "open sésame"


def test_password_unlocks_page_and_download(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", password=PASSWORD, maxdownloads=5)
    page = open_page(service)
    assert (page.status_code, "This file is protected by a password." in page.text) == (401, True)
    assert "a.bin" not in page.text
    for response in (
        download(service),
        open_page(service, "mine?download=1"),
        visit(service, "mine", "HEAD"),
        download(service, "mine+"),
    ):
        assert response.status_code in (401, 404)
        assert response.headers.get("content-length") != str(len(CONTENT))
    wrong = visit(service, "mine", "POST", data={"password": "guess"}, headers=ACCEPT_HTML)
    assert (wrong.status_code, "Wrong password." in wrong.text) == (401, True)
    right = visit(service, "mine", "POST", data={"password": PASSWORD}, headers=ACCEPT_HTML)
    assert (right.status_code, right.headers["location"]) == (303, "/mine")
    token = right.headers["set-cookie"].partition(";")[0]
    service.cookies.clear()
    assert "a.bin" in open_page(service, Cookie=token).text
    assert open_page(service, "mine?download=1", Cookie=token).content == CONTENT
    button = visit(service, "mine?download=1", "POST", headers={**ACCEPT_HTML, "Cookie": token})
    assert (button.status_code, button.headers["location"]) == (303, "/mine?download=1")
    service.cookies.clear()
    assert open_page(service).status_code == 401  # other visitors still need the password
    ana.update("file", file, password="another word")
    assert open_page(service, Cookie=token).status_code == 401
    assert downloads_left(ana, file) == 4


def test_reached_limit_is_shown_before_password(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine", password=PASSWORD, maxdownloads=1)
    assert open_page(service).status_code == 401
    assert service.get("/mine", auth=("any", PASSWORD.encode()), headers={"User-Agent": CURL}).content == CONTENT
    page = open_page(service)
    assert (page.status_code, "This file has reached its download limit" in page.text) == (410, True)
    assert 'type="password"' not in page.text
    assert download(service).status_code == 401  # a program can resume its download with the password


def test_program_sends_password_by_http_basic(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", password=PASSWORD)
    challenge = download(service)
    assert (challenge.status_code, challenge.headers["www-authenticate"][:6]) == (401, "Basic ")
    right, wrong = ("any", PASSWORD.encode()), ("any", b"guess")
    assert service.get("/mine", auth=right, headers={"User-Agent": CURL}).content == CONTENT
    assert service.get("/mine", auth=wrong, headers={"User-Agent": CURL}).status_code == 401
    assert visit(service, "mine", "POST", agent=CURL, data={"password": PASSWORD}).content == CONTENT
    assert click_totals(ana, f"/file/{file}") == {"clicks": 2, "uniqueClicks": 1}


def test_too_many_wrong_passwords_return_429(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine", password=PASSWORD)
    new_file(ana, "b.bin", CONTENT, custom="other", password=PASSWORD)
    for _ in range(10):
        assert visit(service, "mine", "POST", data={"password": "guess"}, headers=ACCEPT_HTML).status_code == 401
    limited = visit(service, "mine", "POST", data={"password": PASSWORD}, headers=ACCEPT_HTML)
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "60")
    assert visit(service, "other", "POST", data={"password": PASSWORD}, headers=ACCEPT_HTML).status_code == 303
