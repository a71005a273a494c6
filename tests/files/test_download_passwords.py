"""Files with a password: the form, the way for programs, and how guessing ends (decision 22)."""

import pytest

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.files import CONTENT, browse, downloads_left, fetch, new_file
from tests.support.visits import CURL, PAGE, sums, visit

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
WORD = "open sésame"


def test_a_password_is_asked_for_and_opens_the_page(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", password=WORD, maxdownloads=5)
    page = browse(service)
    assert (page.status_code, "This file is protected by a password." in page.text) == (401, True)
    assert "a.bin" not in page.text
    for answer in (
        fetch(service),
        browse(service, "mine?download=1"),
        visit(service, "mine", "HEAD"),
        fetch(service, "mine+"),
    ):
        assert answer.status_code in (401, 404)
        assert answer.headers.get("content-length") != str(len(CONTENT))
    wrong = visit(service, "mine", "POST", data={"password": "guess"}, headers=PAGE)
    assert (wrong.status_code, "That is not the password." in wrong.text) == (401, True)
    right = visit(service, "mine", "POST", data={"password": WORD}, headers=PAGE)
    assert (right.status_code, right.headers["location"]) == (303, "/mine")
    token = right.headers["set-cookie"].partition(";")[0]
    service.cookies.clear()
    assert "a.bin" in browse(service, Cookie=token).text
    assert browse(service, "mine?download=1", Cookie=token).content == CONTENT
    service.cookies.clear()
    assert browse(service).status_code == 401  # nobody else is let in by that
    ana.put(f"/file/{file}/update", {"password": "another word"})
    assert browse(service, Cookie=token).status_code == 401
    assert downloads_left(ana, file) == 4


def test_programs_send_the_password_by_http_basic(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", password=WORD)
    asked = fetch(service)
    assert (asked.status_code, asked.headers["www-authenticate"][:6]) == (401, "Basic ")
    right, wrong = ("any", WORD.encode()), ("any", b"guess")
    assert service.get("/mine", auth=right, headers={"User-Agent": CURL}).content == CONTENT
    assert service.get("/mine", auth=wrong, headers={"User-Agent": CURL}).status_code == 401
    assert visit(service, "mine", "POST", agent=CURL, data={"password": WORD}).content == CONTENT
    assert sums(ana, f"/file/{file}") == {"clicks": 2, "uniqueClicks": 1}


def test_guessing_is_limited(ana: Person, service: Inside) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine", password=WORD)
    new_file(ana, "b.bin", CONTENT, custom="other", password=WORD)
    for _ in range(10):
        assert visit(service, "mine", "POST", data={"password": "guess"}, headers=PAGE).status_code == 401
    late = visit(service, "mine", "POST", data={"password": WORD}, headers=PAGE)
    assert (late.status_code, late.headers["retry-after"]) == (429, "60")
    assert visit(service, "other", "POST", data={"password": WORD}, headers=PAGE).status_code == 303
