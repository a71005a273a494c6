"""Administration pages: accounts, plans, reports, blocklist and health; other users get 404."""

import re
from collections.abc import Sequence
from functools import partial
from html import unescape
from urllib.parse import urlencode

import pytest
from sqlalchemy import insert

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.files import new_file
from tests.support.logins import service_with_mail
from tests.support.visits import new_link
from waypost import __version__
from waypost.admin import account_use
from waypost.auth import sessions
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import accounts
from waypost.db.schema.accounts import UNLIMITED
from waypost.items.accounts import ops
from waypost.items.moderation import blocklist, reports
from waypost.server.app import build
from waypost.server.routers import DASHBOARD_PAGES

ADMIN_PAGES = [page for page in DASHBOARD_PAGES if page.path.startswith("/dashboard/admin")]
TARGET = "https://shop.bad.example/offer"
NEW = "another password"


@pytest.fixture
def dashboard(service: AsgiClient, ana: Person, ben: Person) -> Browser:
    """Ana, an administrator because her account is the first."""
    browser = Browser(service)
    assert browser.sign_in("ana").status_code == 303
    return browser


@pytest.fixture
def ben_dashboard(service: AsgiClient, dashboard: Browser) -> Browser:
    """Ben, an ordinary user."""
    browser = new_browser(service)
    assert browser.sign_in("ben").status_code == 303
    return browser


def _add_report(
    database: Database, alias: str, comment: str = "It asks for my card", reporter: bytes = b"net-one!"
) -> int:
    def work(tx: object) -> int:
        assert reports.add(tx, host="", alias=alias, reason="phishing", comment=comment, reporter=reporter)  # type: ignore[arg-type]
        return max(report.id for report in reports.list_all(tx))  # type: ignore[arg-type]

    return database.write(work)


@ON_SQLITE
def test_admin_pages_return_404_for_ordinary_users(
    ana: Person,
    ben: Person,
    dashboard: Browser,
    ben_dashboard: Browser,
    service: AsgiClient,
    database: Database,
) -> None:
    ana.post("/url/add", {"url": TARGET, "custom": "offer"})
    _add_report(database, "offer")
    assert len(ADMIN_PAGES) > 10
    token = hidden_field(ben_dashboard.get("/links"), "token")
    unknown_page = unescape(ben_dashboard.get("/no-such-page").text)
    for page in ADMIN_PAGES:
        path = page.path.replace("{id:int}", "1")
        if page.method == "GET":
            response = ben_dashboard.client.get(path)
            assert new_browser(service).client.get(path).headers["location"].startswith("/dashboard/signin")
        else:
            fields = {"suspended": "yes", "plan": "pro", "decision": "disable", "name": "x", "values": "a.example"}
            response = ben_dashboard.client.post(path, data={"token": token, **fields})
        assert response.status_code == 404, path
        assert "There is no page at this address." in response.text
        assert "There is no page at this address." in unknown_page
    assert "/dashboard/admin" not in ben_dashboard.get("").text
    assert "/dashboard/admin" in dashboard.get("").text
    assert database.read(blocklist.list_all) == []
    assert len(database.read(reports.list_all)) == 1
    assert ana.get("/account")["error"] == 0
    assert ana.get("/url/1")["details"]["status"] == "public"


def test_admin_role_is_granted_and_revoked(
    ana: Person, ben: Person, dashboard: Browser, ben_dashboard: Browser
) -> None:
    path = f"/admin/accounts/{ben.account}"
    wrong = dashboard.submit(f"{path}/rights", at=path, admin="yes", rights_password="wrong")
    assert (wrong.status_code, "Wrong password." in wrong.text) == (400, True)
    assert ben_dashboard.get("/admin/accounts").status_code == 404
    assert dashboard.submit_for_message(f"{path}/rights", at=path, rights_password=PASSWORD, admin="yes") == "Saved."
    assert ben_dashboard.get("/admin/accounts").status_code == 200
    own = f"/admin/accounts/{ana.account}"
    refused = dashboard.submit(f"{own}/rights", at=path, rights_password=PASSWORD, admin="no")
    assert (refused.status_code, "You cannot change your own admin rights." in refused.text) == (400, True)
    assert dashboard.submit_for_message(f"{path}/rights", at=path, rights_password=PASSWORD, admin="no") == "Saved."
    assert ben_dashboard.get("/admin/accounts").status_code == 404
    assert dashboard.get("/admin/accounts").status_code == 200


def test_only_administrator_keeps_the_admin_rights(ana: Person, ben: Person, database: Database) -> None:
    with pytest.raises(Problem, match="This is the only administrator"):
        database.write(lambda tx: ops.set_admin(tx, ana.account, admin=False))
    database.write(lambda tx: ops.set_admin(tx, ben.account, admin=True))
    database.write(lambda tx: ops.set_admin(tx, ana.account, admin=False))
    assert [account.username for account in database.read(ops.everyone) if account.owner] == ["ben"]


def test_account_is_found_suspended_and_reactivated(
    ana: Person, ben: Person, dashboard: Browser, ben_dashboard: Browser
) -> None:
    assert set(re.findall(r'accounts/(\d+)[?"]', dashboard.get("/admin/accounts").text)) == {
        str(ana.account),
        str(ben.account),
    }
    account_ids = re.findall(r'accounts/(\d+)[?"]', dashboard.get("/admin/accounts?q=BEN@").text)
    assert set(account_ids) == {str(ben.account)}
    assert "No matching accounts" in dashboard.get("/admin/accounts?q=%25").text
    path = f"/admin/accounts/{ben.account}"
    assert (
        dashboard.submit_for_message(f"{path}/suspend", at=path, suspended="yes")
        == "The account was suspended. Its links still work."
    )
    assert ben_dashboard.get("/links").status_code == 303
    assert ben.call("GET", "/urls").status_code == 403
    message = dashboard.submit_for_message(f"{path}/suspend", at=path, suspended="no")
    assert message == "The account is active again, and so are its API keys."
    assert ben_dashboard.get("/links").status_code == 303, "its sessions ended for good"
    assert ben.call("GET", "/urls").status_code == 200


def test_admin_cannot_suspend_own_account(ana: Person, dashboard: Browser) -> None:
    path = f"/admin/accounts/{ana.account}"
    response = dashboard.submit(f"{path}/suspend", at=path, suspended="yes")
    assert response.status_code == 400
    assert "your own account" in response.text
    assert dashboard.get("/admin/accounts").status_code == 200
    assert dashboard.get("/admin/accounts/999").status_code == 404
    assert dashboard.submit("/admin/accounts/999/suspend", at=path, suspended="yes").status_code == 404


def test_reset_link_from_admin_works_once(
    ben: Person, dashboard: Browser, ben_dashboard: Browser, service: AsgiClient
) -> None:
    path = f"/admin/accounts/{ben.account}"
    response = dashboard.submit(f"{path}/reset", at=path)
    match = re.search(r"<code>(http[^<]+)</code>", response.text)
    assert match is not None
    assert "content-encoding" not in response.headers, "a secret is never compressed next to user input"
    link = "/" + unescape(match[1]).split("/", 3)[3]
    other = new_browser(service)
    page = other.client.get(link)
    fields = {"token": hidden_field(page, "token"), "pass": hidden_field(page, "pass"), "password": NEW}
    assert other.client.post("/dashboard/reset", data=fields).status_code == 303
    assert ben_dashboard.get("/links").status_code == 303, "signed out everywhere"
    assert other.client.get(link).status_code == 400
    assert new_browser(service).sign_in("ben", NEW).status_code == 303
    assert new_browser(service).sign_in("ben", PASSWORD).status_code == 400


def test_unlimited_plan_is_shown_without_numbers(ana: Person, dashboard: Browser) -> None:
    ana.write(ops.add_unlimited_plan)
    page = " ".join(dashboard.get("/admin/plans").text.split())
    assert "Unlimited API requests · Files of any size · Unlimited storage" in page
    ana.write(lambda tx: ops.move(tx, ana.account, plan="unlimited"))
    assert "Maximum file size" not in dashboard.get("/files/new").text


def test_empty_lists_of_moderation_are_cards(dashboard: Browser) -> None:
    for path in ("/admin/reports", "/admin/reports?closed=1", "/admin/blocks"):
        rows = dashboard.get(path).text.partition('<div id="rows">')[2]
        assert " ".join(rows.split()).startswith('<div class="card"><div class="empty'), path


def test_plans_and_reports_are_searched(ana: Person, dashboard: Browser) -> None:
    ana.write(lambda tx: ops.add_plan(tx, name="Large", status="pro", rate_limit=1, upload_limit=1))
    paths = re.findall(r'href="(/dashboard/admin/plans/\d+)" dir', dashboard.get("/admin/plans?q=lARGE").text)
    assert len(paths) == 1
    assert "No matching entries" in dashboard.get("/admin/plans?q=nothing").text
    add = partial(reports.add, host="", reason="phishing", reporter=b"somebody")
    ana.write(partial(add, alias="one", comment="Asks for 100% of my money"))
    ana.write(partial(add, alias="two", comment="Bad"))
    for q, number in (("one", 1), ("TWO", 1), ("100%", 1), ("%", 1), ("", 2), ("nothing", 0)):
        page = dashboard.get("/admin/reports?" + urlencode({"q": q})).text
        assert len(re.findall(r'href="/dashboard/admin/reports/\d+"', page)) == number, q


def test_sizes_of_plan_are_typed_and_shown_with_units(ana: Person, dashboard: Browser) -> None:
    fields = {"name": "Large", "status": "pro", "rate_limit": "600", "upload_limit": " 1.5 GB", "storage_limit": "2TiB"}
    assert dashboard.submit_for_message("/admin/plans/new", **fields) == "The plan Large was created."
    plan = next(plan for plan in ana.write(ops.all_plans) if plan.name == "Large")
    assert (plan.upload_limit, plan.storage_limit) == (1_500_000_000, 2 * 2**40)
    page = " ".join(dashboard.get("/admin/plans").text.split())
    assert "Files up to 1.5 GB · 2 TiB of storage" in page
    # A size that is shown rounded stays exact.
    path = f"/admin/plans/{plan.id}"
    for storage in (str(2 * 2**40 + 1), "2.2 TB"):
        version = hidden_field(dashboard.get(path), "version")
        sizes = {"upload_limit": "2 GB", "storage_limit": storage, "version": version}
        assert dashboard.submit_for_message(path, **{**fields, **sizes}) == "Saved."
    assert (_plan(ana, "Large").upload_limit, _plan(ana, "Large").storage_limit) == (2_000_000_000, 2 * 2**40 + 1)


def test_wrong_sizes_of_plan_are_refused(dashboard: Browser) -> None:
    fields = {"name": "", "status": "pro", "rate_limit": "600"}
    wrong = dashboard.submit(
        "/admin/plans/new", **{**fields, "name": "", "upload_limit": "2 apples", "storage_limit": "-1"}
    )
    assert "Maximum file size</a> must be a size, such as 500 MB or 2 GB." in wrong.text
    assert "Not saved: 3 problems" in wrong.text


def _plan(person: Person, name: str) -> ops.Plan:
    plans: Sequence[ops.Plan] = person.write(ops.all_plans)
    return next(plan for plan in plans if plan.name == name)


def test_plan_is_edited_and_deleted_when_no_account_uses_it(ben: Person, dashboard: Browser) -> None:
    fields = {"name": "Large", "status": "pro", "rate_limit": "600", "upload_limit": "1000", "storage_limit": ""}
    dashboard.submit("/admin/plans/new", **fields)
    path = f"/admin/plans/{_plan(ben, 'Large').id}"
    changes = {"name": "Larger", "status": "free", "rate_limit": "", "upload_limit": "2 GB", "storage_limit": "50 GB"}
    changes["version"] = hidden_field(dashboard.get(path), "version")
    assert dashboard.submit_for_message(path, **{**changes, "item_limit": "7"}) == "Saved."
    larger = _plan(ben, "Larger")
    assert (larger.rate_limit, larger.upload_limit, larger.storage_limit) == (UNLIMITED, 2 * 10**9, 50 * 10**9)
    assert (larger.status, larger.item_limit) == ("free", 7)
    wrong = dashboard.submit(path, **{**changes, "name": "free", "upload_limit": "2 apples"})
    assert (wrong.status_code, 'id="upload_limit-error"' in wrong.text) == (400, True)
    account = f"/admin/accounts/{ben.account}"
    dashboard.submit(f"{account}/plan", at=account, plan="Larger")
    assert "1 account uses it. Put it on another plan first." in " ".join(dashboard.get(f"{path}/delete").text.split())
    refused = dashboard.submit(f"{path}/delete", at=account)
    assert (refused.status_code, "One account uses the plan Larger." in refused.text) == (400, True)
    dashboard.submit(f"{account}/plan", at=account, plan="free")
    assert dashboard.submit_for_message(f"{path}/delete") == "The plan Larger was deleted."
    assert dashboard.get(path).status_code == 404


def test_plan_of_new_accounts_keeps_limits_while_registration_is_on(
    ana: Person, settings: Settings, database: Database
) -> None:
    """The next start would set them again."""
    with AsgiClient(build(settings.model_copy(update={"registration": "on"}), database)) as client:
        browser = Browser(client)
        browser.sign_in("ana")
        path = f"/admin/plans/{_plan(ana, 'free').id}"
        fields = {"name": "free", "status": "free", "rate_limit": "40", "upload_limit": "1 GB", "item_limit": "50"}
        fields["version"] = hidden_field(browser.get(path), "version")
        refused = browser.submit(path, **fields, storage_limit="")
        assert (refused.status_code, 'id="storage_limit-error"' in refused.text) == (400, True)
        assert browser.submit_for_message(path, **fields, storage_limit="1.25 GB") == "Saved."
    assert _plan(ana, "free").storage_limit == 1_250_000_000


def test_plans_of_every_installation_keep_their_name_and_are_translated(ana: Person, dashboard: Browser) -> None:
    ana.write(ops.add_unlimited_plan)
    free, unlimited = (f"/admin/plans/{_plan(ana, name).id}" for name in ("free", "unlimited"))
    assert "it cannot be renamed or deleted" in dashboard.get(free).text
    fields = {"name": "free", "status": "free", "rate_limit": "40", "upload_limit": "1 GB", "storage_limit": ""}
    fields["version"] = hidden_field(dashboard.get(free), "version")
    fields |= {"storage_limit": "12.5 GB", "item_limit": "50"}
    assert dashboard.submit_for_message(free, **fields) == "Saved."
    assert 'value="12.5 GB"' in dashboard.get(free).text
    assert (_plan(ana, "free").rate_limit, _plan(ana, "free").storage_limit) == (40, 12_500_000_000)
    assert dashboard.submit(free, **{**fields, "name": "x"}).status_code == 400
    assert dashboard.submit(f"{free}/delete", at=free).status_code == 400
    assert dashboard.submit(unlimited, at=free, **fields).status_code == 400
    assert _plan(ana, "unlimited").rate_limit == UNLIMITED
    ana.write(lambda tx: ops.change_plan(tx, "unlimited", item_limit=3))
    assert 'value="3"' in dashboard.get(unlimited).text  # only a plan without limits has no form
    dashboard.client.cookies.set("waypost_language", "de")
    page = dashboard.get("/admin/plans").text
    assert 'dir="auto">Unbegrenzt</a>' in page
    assert 'dir="auto">Kostenlos</a>' in page


def test_accounts_show_their_plan_and_their_use(ana: Person, ben: Person, dashboard: Browser) -> None:
    new_link(ben, "spring")
    new_file(ben, "menu.pdf", custom="menu")
    ben.write(lambda tx: ops.change_plan(tx, "free", storage_limit=10**6))
    page = dashboard.get("/admin/accounts?q=ben").text
    cells = [" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in re.findall(r"<td.*?</td>", page, re.DOTALL)]
    assert cells[1:3] == ["Free", "1 1 link"]
    assert re.fullmatch(r"\d+ bytes · < 1%", unescape(cells[3]))
    assert re.fullmatch(r"\d+ \w+", cells[4]), "ben used his API key"


@ON_BOTH_DATABASES
def test_last_activity_is_that_of_the_last_sign_in_after_sign_out(ana: Person, ben: Person, dashboard: Browser) -> None:
    accounts = (ana.account, ben.account)
    dashboard.submit("/signout", at="/account")
    assert ana.write(lambda tx: sessions.of(tx, ana.account)) == []
    use = ana.write(lambda tx: account_use.of(tx, accounts))
    assert (use[ana.account].last_active or 0) > clock.now() - 60
    assert use[ben.account].last_active is None


def test_plan_is_created_and_assigned(ben: Person, dashboard: Browser) -> None:
    fields = {"name": "Large", "status": "pro", "rate_limit": "600", "upload_limit": "1000", "storage_limit": ""}
    assert dashboard.submit_for_message("/admin/plans/new", **fields) == "The plan Large was created."
    response = dashboard.submit("/admin/plans/new", **fields)
    assert response.status_code == 400
    assert "There is a plan with that name already" in response.text
    for name, value in (("rate_limit", "0"), ("upload_limit", "many"), ("name", "")):
        wrong = dashboard.submit("/admin/plans/new", **{**fields, "name": "Other", name: value})
        assert wrong.status_code == 400
        assert f'id="{name}-error"' in wrong.text
    path = f"/admin/accounts/{ben.account}"
    assert dashboard.submit(f"{path}/plan", at=path, plan="None such").status_code == 400
    assert dashboard.submit_for_message(f"{path}/plan", at=path, plan="Large") == "The plan was changed."
    assert ben.get("/account")["data"]["status"] == "pro"
    assert ben.call("GET", "/account").headers["x-ratelimit-limit"] == "1000000", "its own limit stays"


def test_disabling_reported_link_closes_all_its_reports(
    ben: Person, dashboard: Browser, database: Database, service: AsgiClient
) -> None:
    ben.post("/url/add", {"url": TARGET, "custom": "offer"})
    first = _add_report(database, "offer", "<script>alert(1)</script>")
    _add_report(database, "offer", reporter=b"net-two!")
    _add_report(database, "other")
    assert dashboard.get("/admin/reports").text.count("/dashboard/admin/reports/") >= 3
    page = dashboard.get(f"/admin/reports/{first}")
    assert "shop.bad.example" in page.text
    assert "<script>alert" not in page.text
    assert ">ben</a>" in page.text
    assert (
        dashboard.submit_for_message(f"/admin/reports/{first}", decision="disable")
        == "The link was disabled. 2 reports were closed."
    )
    assert service.get("/offer").status_code == 404 or "disabled it" in service.get("/offer").text
    assert ben.get("/url/1")["details"]["status"] == "disabled"
    assert [report.alias for report in database.read(reports.list_all)] == ["other"]
    assert "offer" in dashboard.get("/admin/reports?closed=1").text
    last = database.read(reports.list_all)[0].id
    nothing = dashboard.submit(f"/admin/reports/{last}", decision="disable")
    assert nothing.status_code == 400
    assert "nothing to disable" in nothing.text


def test_reported_host_is_blocked_or_report_dismissed(
    ben: Person, dashboard: Browser, database: Database, service: AsgiClient
) -> None:
    ben.post("/url/add", {"url": TARGET, "custom": "offer"})
    ben.post("/url/add", {"url": "https://good.example/", "custom": "good"})
    bad_report, good_report = _add_report(database, "offer"), _add_report(database, "good", reporter=b"net-two!")
    assert dashboard.submit(f"/admin/reports/{bad_report}", decision="").status_code == 400
    wrong = dashboard.submit(f"/admin/reports/{bad_report}", decision="block", value="not a host")
    assert (wrong.status_code, 'id="value-error"' in wrong.text) == (400, True)
    assert len(database.read(reports.list_all)) == 2
    message = dashboard.submit_for_message(f"/admin/reports/{bad_report}", decision="block", value="bad.example")
    assert message == "bad.example was blocked."
    assert dashboard.submit_for_message(f"/admin/reports/{good_report}", decision="dismiss").startswith(
        "The report was closed."
    )
    assert database.read(reports.list_all) == []
    assert service.get("/good").status_code == 302
    assert service.get("/offer").status_code != 302
    assert dashboard.get("/admin/reports/999").status_code == 404


def test_blocklist_entries_are_added_all_or_none(ben: Person, dashboard: Browser, database: Database) -> None:
    assert dashboard.submit_for_message(
        "/admin/blocks", kind="host", values="a.example\r\n\r\nhttps://b.example/x"
    ) == ("2 entries were blocked.")
    assert dashboard.submit_for_message("/admin/blocks", kind="word", values="Casino") == "The entry was blocked."
    for kind, values in (
        ("host", "c.example\nnot a host"),
        ("word", "ab"),
        ("host", " \n"),
        ("host", "x.example\n" * 1001),
    ):
        rejected = dashboard.submit("/admin/blocks", kind=kind, values=values)
        assert (rejected.status_code, 'id="values-error"' in rejected.text) == (400, True)
    assert {block.value for block in database.read(blocklist.list_all)} == {"a.example", "b.example", "casino"}
    assert ben.call("POST", "/url/add", {"url": "https://x.a.example/"}).status_code == 400
    assert "casino" not in dashboard.get("/admin/blocks?q=example").text
    assert (
        dashboard.submit_for_message("/admin/blocks/remove", at="/admin/blocks", kind="host", value="a.example")
        == "a.example is no longer blocked."
    )
    assert ben.call("POST", "/url/add", {"url": "https://x.a.example/"}).status_code == 200
    assert (
        dashboard.submit("/admin/blocks/remove", at="/admin/blocks", kind="host", value="a.example").status_code == 404
    )


def test_health_page_tests_the_storage_on_request(dashboard: Browser) -> None:
    page = dashboard.get("/admin/health").text
    assert f"<dd>{__version__}</dd>" in page
    assert "All visits are counted." in page
    assert "written, read and removed" not in page
    assert "A test file was written, read and removed." in dashboard.get("/admin/health?try=storage").text


@ON_SQLITE
def test_account_list_is_paginated(dashboard: Browser, database: Database) -> None:
    row = {"password": "x", "password_changed": 0, "plan": 1, "registered": 0}
    rows = [
        {
            **row,
            "email": f"u{n}@e.example",
            "email_key": f"u{n}@e.example",
            "username": f"u{n}",
            "username_key": f"u{n}",
        }
        for n in range(60)
    ]
    database.write(lambda tx: tx.execute(insert(accounts), rows))
    assert "of 62" in dashboard.get("/admin/accounts?page=3").text
    assert "of 60" in dashboard.get("/admin/accounts?q=E.example").text


@pytest.mark.parametrize(
    ("language", "unit"), [("en", "B"), ("de", "B"), ("es", "B"), ("fr", "o"), ("pt", "B")], ids=lambda value: value
)
def test_sizes_in_form_of_plan_have_units_of_the_language_and_are_accepted(
    ana: Person, dashboard: Browser, language: str, unit: str
) -> None:
    dashboard.client.cookies.set("waypost_language", language)
    fields = {"name": "Large", "status": "pro", "rate_limit": "600", "upload_limit": f"2 Gi{unit}"}
    wrong = dashboard.submit("/admin/plans/new", **{**fields, "storage_limit": "x"})
    for text in (dashboard.get("/admin/plans/new").text, wrong.text):
        sizes = re.findall(r"\d [kMGT]i?([Bo])\b", text)
        assert len(sizes) >= 3
        assert set(sizes) == {unit}, re.findall(r".{60}[0-9] [kMGT]i?B", text)
    (field,) = re.findall(r'<input[^>]* name="upload_limit"[^>]*>', dashboard.get("/admin/plans/new").text)
    typed = field.partition(' value="')[2].partition('"')[0]
    assert dashboard.submit("/admin/plans/new", **{**fields, "storage_limit": typed}).status_code == 303
    plan = next(plan for plan in ana.write(ops.all_plans) if plan.name == "Large")
    assert (plan.upload_limit, plan.storage_limit) == (2 << 30, 500_000_000)


def test_administrator_creates_account_whose_owner_chooses_the_password(ana: Person, dashboard: Browser) -> None:
    fields = {"username": "maria", "email": "maria@example.com", "plan": "free"}
    page = dashboard.submit("/admin/accounts/new", **fields)
    assert (page.status_code, "The account was created" in page.text) == (200, True)
    (link,) = re.findall(r"<code>(http[^<]+/dashboard/reset[^<]+)</code>", page.text)
    owner = new_browser(dashboard.client)
    path = unescape(link).partition("/dashboard")[2]
    assert "Welcome. Choose your password" in owner.get(path).text
    assert (
        owner.submit(path.partition("?")[0], at=path, **{"pass": path.partition("=")[2]}, password=PASSWORD).status_code
        == 303
    )
    assert "maria" in owner.get("/account").text


def test_owner_of_new_account_gets_the_link_by_e_mail_unless_it_is_switched_off(
    ana: Person, settings: Settings, database: Database
) -> None:
    with service_with_mail(settings, database) as (client, sent):
        browser = Browser(client)
        browser.sign_in("ana")
        assert re.search(r'name="send"[^>]* checked', browser.get("/admin/accounts/new").text)
        form = {"plan": "free", "at": "/admin/accounts/new"}
        page = browser.submit("/admin/accounts/new", username="maria", email="maria@acme.example", send="on", **form)
        browser.submit("/admin/accounts/new", username="zoe", email="zoe@acme.example", **form)
    (email,) = sent
    (link,) = re.findall(r"<code>(http[^<]+/dashboard/reset[^<]+)</code>", page.text)
    assert (email["to"], unescape(link) in email["text"]) == ("maria@acme.example", True)
    assert "Your username is maria." in email["text"]
    assert "An e-mail with this link is sent to maria@acme.example" in " ".join(page.text.split())


def test_faults_of_new_account_are_shown_at_their_fields(ana: Person, dashboard: Browser) -> None:
    taken = {"username": "ana", "email": "no address", "plan": "unknown"}
    page = dashboard.submit("/admin/accounts/new", **taken)
    wrong = re.findall(r'id="(username|email|plan)-error"', page.text)
    assert (page.status_code, sorted(set(wrong))) == (400, ["email", "plan", "username"])
    assert dashboard.get("/admin/accounts?q=no+address").text.count("<tr>") <= 1
