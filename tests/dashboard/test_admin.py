"""The operator's pages: accounts, plans, reports, what is blocked, health. For everybody else there are none."""

import re
from html import unescape

import pytest
from sqlalchemy import insert

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import Inside
from tests.support.dashboard_client import Browser, hidden, said, window
from waypost import __version__
from waypost.accounts import ops
from waypost.db.database import Database
from waypost.db.schema import accounts
from waypost.moderation import ops as abuse
from waypost.routers import DASHBOARD_PAGES

ONLY_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
OPERATORS = [page for page in DASHBOARD_PAGES if page.path.startswith("/dashboard/admin")]
TARGET = "https://shop.bad.example/offer"
NEW = "another password"


@pytest.fixture
def inside(service: Inside, ana: Person, ben: Person) -> Browser:
    """Ana, whose account is the first one."""
    browser = Browser(service)
    assert browser.sign_in("ana").status_code == 303
    return browser


@pytest.fixture
def outside(service: Inside, inside: Browser) -> Browser:
    """Ben, who is nobody special."""
    browser = window(service)
    assert browser.sign_in("ben").status_code == 303
    return browser


def _report(database: Database, alias: str, comment: str = "It asks for my card", reporter: bytes = b"net-one!") -> int:
    def work(tx: object) -> int:
        assert abuse.report(tx, host="", alias=alias, reason="phishing", comment=comment, reporter=reporter)  # type: ignore[arg-type]
        return max(one.id for one in abuse.reports_of(tx))  # type: ignore[arg-type]

    return database.write(work)


@ONLY_SQLITE
def test_there_are_no_such_pages_for_anybody_else(
    ana: Person, ben: Person, inside: Browser, outside: Browser, service: Inside, database: Database
) -> None:
    ana.post("/url/add", {"url": TARGET, "custom": "offer"})
    _report(database, "offer")
    assert len(OPERATORS) > 10
    token = hidden(outside.get("/links"), "token")
    nowhere = unescape(outside.get("/no-such-page").text)
    for page in OPERATORS:
        path = page.path.replace("{id:int}", "1")
        if page.method == "GET":
            told = outside.client.get(path)
            assert window(service).client.get(path).headers["location"].startswith("/dashboard/signin")
        else:
            fields = {"suspended": "yes", "plan": "pro", "decision": "disable", "name": "x", "values": "a.example"}
            told = outside.client.post(path, data={"token": token, **fields})
        assert told.status_code == 404, path
        assert "There is no page at this address." in told.text
        assert "There is no page at this address." in nowhere
    assert "/dashboard/admin" not in outside.get("").text
    assert "/dashboard/admin" in inside.get("").text
    assert database.read(abuse.blocks_of) == []
    assert len(database.read(abuse.reports_of)) == 1
    assert ana.get("/account")["error"] == 0
    assert ana.get("/url/1")["details"]["status"] == "public"


def test_operators_are_made_and_unmade(
    ana: Person, ben: Person, inside: Browser, outside: Browser, database: Database
) -> None:
    database.write(lambda tx: ops.make_operator(tx, ben.account, operator=True))
    assert outside.get("/admin/accounts").status_code == 200
    database.write(lambda tx: ops.make_operator(tx, ben.account, operator=False))
    assert outside.get("/admin/accounts").status_code == 404
    assert inside.get("/admin/accounts").status_code == 200


def test_accounts_are_found_suspended_and_let_in_again(
    ana: Person, ben: Person, inside: Browser, outside: Browser
) -> None:
    assert set(re.findall(r'accounts/(\d+)"', inside.get("/admin/accounts").text)) == {
        str(ana.account),
        str(ben.account),
    }
    assert re.findall(r'accounts/(\d+)"', inside.get("/admin/accounts?q=BEN@").text) == [str(ben.account)]
    assert "Nobody like that" in inside.get("/admin/accounts?q=%25").text
    path = f"/admin/accounts/{ben.account}"
    told = inside.send(f"{path}/suspend", at=path, suspended="yes")
    assert said(told, inside) == "The account is suspended. Its links go on working."
    assert outside.get("/links").status_code == 303
    assert ben.call("GET", "/urls").status_code == 403
    assert said(inside.send(f"{path}/suspend", at=path, suspended="no"), inside) == "The account is active again."
    assert outside.get("/links").status_code == 200


def test_nobody_shuts_out_oneself(ana: Person, inside: Browser) -> None:
    path = f"/admin/accounts/{ana.account}"
    answer = inside.send(f"{path}/suspend", at=path, suspended="yes")
    assert answer.status_code == 400
    assert "your own account" in answer.text
    assert inside.get("/admin/accounts").status_code == 200
    assert inside.get("/admin/accounts/999").status_code == 404
    assert inside.send("/admin/accounts/999/suspend", at=path, suspended="yes").status_code == 404


def test_a_reset_link_lets_in_once(ben: Person, inside: Browser, outside: Browser, service: Inside) -> None:
    path = f"/admin/accounts/{ben.account}"
    answer = inside.send(f"{path}/reset", at=path)
    found = re.search(r"<code>(http[^<]+)</code>", answer.text)
    assert found is not None
    assert "content-encoding" not in answer.headers, "a secret is never compressed beside words of others"
    link = "/" + unescape(found[1]).split("/", 3)[3]
    other = window(service)
    page = other.client.get(link)
    fields = {"token": hidden(page, "token"), "pass": hidden(page, "pass"), "password": NEW}
    assert other.client.post("/dashboard/reset", data=fields).status_code == 303
    assert outside.get("/links").status_code == 303, "signed out everywhere"
    assert other.client.get(link).status_code == 400
    assert window(service).sign_in("ben", NEW).status_code == 303
    assert window(service).sign_in("ben", PASSWORD).status_code == 400


def test_a_plan_is_made_and_an_account_put_on_it(ben: Person, inside: Browser) -> None:
    fields = {"name": "Large", "status": "pro", "rate_limit": "600", "upload_limit": "1000", "storage_limit": ""}
    assert said(inside.send("/admin/plans", **fields), inside) == "The plan Large is made."
    twice = inside.send("/admin/plans", **fields)
    assert twice.status_code == 400
    assert "There is a plan with that name already" in twice.text
    for name, value in (("rate_limit", "0"), ("upload_limit", "many"), ("name", "")):
        wrong = inside.send("/admin/plans", **{**fields, "name": "Other", name: value})
        assert wrong.status_code == 400
        assert f'id="{name}-fault"' in wrong.text
    path = f"/admin/accounts/{ben.account}"
    assert inside.send(f"{path}/plan", at=path, plan="None such").status_code == 400
    assert said(inside.send(f"{path}/plan", at=path, plan="Large"), inside) == "The account has another plan now."
    assert ben.get("/account")["data"]["status"] == "pro"
    assert ben.call("GET", "/account").headers["x-ratelimit-limit"] == "1000000", "its own limit stays"


def test_a_reported_link_is_switched_off_for_every_report_of_it(
    ben: Person, inside: Browser, database: Database, service: Inside
) -> None:
    ben.post("/url/add", {"url": TARGET, "custom": "offer"})
    first = _report(database, "offer", "<script>alert(1)</script>")
    _report(database, "offer", reporter=b"net-two!")
    _report(database, "other")
    assert inside.get("/admin/reports").text.count("/dashboard/admin/reports/") >= 3
    page = inside.get(f"/admin/reports/{first}")
    assert "shop.bad.example" in page.text
    assert "<script>alert" not in page.text
    assert ">ben</a>" in page.text
    told = inside.send(f"/admin/reports/{first}", decision="disable")
    assert said(told, inside) == "The link is switched off. 2 reports of it are closed."
    assert service.get("/offer").status_code == 404 or "switched it off" in service.get("/offer").text
    assert ben.get("/url/1")["details"]["status"] == "disabled"
    assert [one.alias for one in database.read(abuse.reports_of)] == ["other"]
    assert "offer" in inside.get("/admin/reports?closed=1").text
    last = database.read(abuse.reports_of)[0].id
    nothing = inside.send(f"/admin/reports/{last}", decision="disable")
    assert nothing.status_code == 400
    assert "nothing to switch off" in nothing.text


def test_a_reported_host_is_blocked_or_a_report_let_be(
    ben: Person, inside: Browser, database: Database, service: Inside
) -> None:
    ben.post("/url/add", {"url": TARGET, "custom": "offer"})
    ben.post("/url/add", {"url": "https://good.example/", "custom": "good"})
    bad, good = _report(database, "offer"), _report(database, "good", reporter=b"net-two!")
    assert inside.send(f"/admin/reports/{bad}", decision="").status_code == 400
    wrong = inside.send(f"/admin/reports/{bad}", decision="block", value="not a host")
    assert (wrong.status_code, 'id="value-fault"' in wrong.text) == (400, True)
    assert len(database.read(abuse.reports_of)) == 2
    told = said(inside.send(f"/admin/reports/{bad}", decision="block", value="bad.example"), inside)
    assert told == "bad.example is blocked from now on."
    assert said(inside.send(f"/admin/reports/{good}", decision="dismiss"), inside).startswith("The report is closed.")
    assert database.read(abuse.reports_of) == []
    assert service.get("/good").status_code == 302
    assert service.get("/offer").status_code != 302
    assert inside.get("/admin/reports/999").status_code == 404


def test_hosts_and_words_are_blocked_together_or_not_at_all(ben: Person, inside: Browser, database: Database) -> None:
    assert said(inside.send("/admin/blocks", kind="host", values="a.example\r\n\r\nhttps://b.example/x"), inside) == (
        "2 are blocked from now on."
    )
    assert said(inside.send("/admin/blocks", kind="word", values="Casino"), inside) == "Blocked from now on."
    for kind, values in (
        ("host", "c.example\nnot a host"),
        ("word", "ab"),
        ("host", " \n"),
        ("host", "x.example\n" * 1001),
    ):
        answer = inside.send("/admin/blocks", kind=kind, values=values)
        assert (answer.status_code, 'id="values-fault"' in answer.text) == (400, True)
    assert {one.value for one in database.read(abuse.blocks_of)} == {"a.example", "b.example", "casino"}
    assert ben.call("POST", "/url/add", {"url": "https://x.a.example/"}).status_code == 400
    assert "casino" not in inside.get("/admin/blocks?q=example").text
    gone = inside.send("/admin/blocks/remove", at="/admin/blocks", kind="host", value="a.example")
    assert said(gone, inside) == "a.example is no longer blocked."
    assert ben.call("POST", "/url/add", {"url": "https://x.a.example/"}).status_code == 200
    assert inside.send("/admin/blocks/remove", at="/admin/blocks", kind="host", value="a.example").status_code == 404


def test_health_says_version_and_tries_the_storage_when_asked(inside: Browser) -> None:
    page = inside.get("/admin/health").text
    assert f"<dd>{__version__}</dd>" in page
    assert "All visits are counted." in page
    assert "written, read and removed" not in page
    assert "A file was written, read and removed." in inside.get("/admin/health?try=storage").text


@ONLY_SQLITE
def test_many_accounts_come_in_pages(inside: Browser, database: Database) -> None:
    row = {"password": "x", "password_changed": 0, "plan": 1, "registered": 0}
    many = [
        {
            **row,
            "email": f"u{n}@e.example",
            "email_key": f"u{n}@e.example",
            "username": f"u{n}",
            "username_key": f"u{n}",
        }
        for n in range(60)
    ]
    database.write(lambda tx: tx.execute(insert(accounts), many))
    assert "of 62" in inside.get("/admin/accounts?page=3").text
    assert "of 60" in inside.get("/admin/accounts?q=E.example").text
