"""Concurrent requests of API keys, sessions, plans, reports and accounts are answered or refused, never with an error.

Two nodes on PostgreSQL, two workers on SQLite.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyotp
import pytest
from sqlalchemy import Connection, update

from tests.contract.resources import RESOURCES
from tests.contract.service import Service, running
from tests.support.server import at_once
from waypost.auth import api_keys, sessions, two_factor
from waypost.auth.api_keys import MAX_KEYS
from waypost.core import credentials
from waypost.core.errors import Problem
from waypost.db.schema import accounts
from waypost.db.signing import installation_signer
from waypost.items.accounts import ops
from waypost.items.moderation import reports

_ROUNDS = 4
_COPIES = 6
_PASSWORD = "a password of Ana"
_BROWSERS = 3
_KEYS_PER_BROWSER = 10
"""Passwords that one browser can enter in a minute."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service on each database. Ana is an administrator."""
    hashed = credentials.hash_password(_PASSWORD)
    folder = tmp_path_factory.mktemp("account_races")
    with running(request, folder, trusted_proxies="127.0.0.1") as service:
        service.database.write(lambda tx: tx.execute(update(accounts).values(password=hashed)))
        yield service


def _all_at_once(calls: Sequence[Callable[[], int]]) -> Counter[int]:
    """Make all calls at once, in random order; count the statuses."""
    return Counter(at_once(random.sample(calls, len(calls))))


def test_parallel_creation_of_keys_stops_at_the_limit(service: Service) -> None:
    fields = {"name": "new", "scope": "write", "expires": "", "password": _PASSWORD}
    browsers = [service.signed_in() for _ in range(_BROWSERS)]
    calls = [partial(browser.open, "POST", "/dashboard/account/keys", fields) for browser in browsers]
    keys = service.database.read(lambda tx: api_keys.of(tx, 1))
    outcome = _all_at_once(calls * _KEYS_PER_BROWSER)
    free = MAX_KEYS - len(keys)
    assert outcome == {200: free, 400: _BROWSERS * _KEYS_PER_BROWSER - free}
    created = service.database.read(lambda tx: api_keys.of(tx, 1))
    assert len(created) == MAX_KEYS
    for key in created[:free]:
        service.database.write(lambda tx, key=key.id: api_keys.revoke(tx, 1, key))  # type: ignore[misc]


def test_key_is_revoked_once_while_it_is_used(service: Service) -> None:
    for _ in range(_ROUNDS):
        secret = service.database.write(lambda tx: api_keys.add(tx, 1, name="short-lived"))
        key = service.database.read(lambda tx: api_keys.of(tx, 1))[0]
        browser = service.signed_in()
        revoke = partial(browser.open, "POST", "/dashboard/account/keys/revoke", {"id": str(key.id)})

        def use(secret: str = secret) -> int:
            return random.choice(service.nodes).call("GET", "/api/account", key=secret).status_code

        pages = partial(browser.open, "GET", "/dashboard/account/keys")
        outcome = _all_at_once([revoke, use, pages] * _COPIES)
        assert outcome.keys() <= {200, 303, 401, 404}, outcome
        assert outcome[303] == 1, outcome


def test_session_is_ended_once_while_it_is_used(service: Service) -> None:
    for _ in range(_ROUNDS):
        ended, other = service.signed_in(), service.signed_in()
        session = service.database.read(lambda tx: sessions.of(tx, 1))[1]  # the last but one
        end = partial(other.open, "POST", "/dashboard/account/sessions/end", {"id": str(session.id)})
        outcome = _all_at_once([end] * _COPIES)
        assert outcome == {303: 1, 404: _COPIES - 1}
        assert ended.open("GET", "/dashboard/account") == 303, "it leads to the sign-in"
        browsers = [service.signed_in() for _ in range(_COPIES)]
        everywhere = [partial(browser.open, "POST", "/dashboard/account/sessions/end") for browser in browsers]
        leave = [partial(browser.open, "POST", "/dashboard/signout") for browser in browsers]
        pages = [partial(browser.open, "GET", "/dashboard/account/sessions") for browser in browsers]
        outcome = _all_at_once(everywhere + leave + pages)
        assert outcome.keys() <= {200, 303, 403, 404}, outcome  # 403: the form of a session that ended


def test_concurrent_changes_of_the_second_factor_leave_ten_recovery_codes(service: Service) -> None:
    signer = service.database.read(installation_signer)
    for n in range(_ROUNDS):
        account = _add_account(service, f"factor-{n}")
        browser = service.signed_in(account)
        secret = two_factor.new_secret()
        path = "/dashboard/account/factor"
        sealed = signer.sign("app", secret, life=900, bound=browser.cookie)
        form = {"sealed": sealed, "code": pyotp.TOTP(secret).now(), "password": _PASSWORD}
        outcome = _all_at_once([partial(browser.open, "POST", path, form)] * _COPIES)
        # 303: the session has been replaced already.
        assert outcome.keys() <= {200, 303, 400}, outcome
        assert outcome[200] == 1, "only one response shows codes, and these are valid"
        codes = service.database.write(lambda tx, owner=account: two_factor.new_codes(tx, owner))  # type: ignore[misc]
        browsers = [service.signed_in(account) for _ in range(2)]
        renewals = [
            partial(browsers[k % 2].open, "POST", f"{path}/codes", {"password": _PASSWORD, "code": code})
            for k, code in enumerate(codes[:_COPIES])
        ]
        outcome = _all_at_once(renewals)
        assert outcome.keys() <= {200, 400}, outcome  # 400: another renewal has replaced the code
        factor = service.database.read(lambda tx, owner=account: two_factor.of(tx, owner))  # type: ignore[misc]
        assert factor is not None
        assert factor.codes == 10


def test_administrators_that_remove_each_others_rights_leave_one(service: Service) -> None:
    def change(account: int, *, admin: bool) -> int:
        try:
            service.database.write(lambda tx: ops.set_admin(tx, account, admin=admin))
        except Problem as problem:
            return 400 if "only administrator" in problem.message else 500
        return 303

    other = _add_account(service, "administrator")
    for _ in range(_ROUNDS):
        assert [change(account, admin=True) for account in (1, other)] == [303, 303]
        removals = [partial(change, account, admin=False) for account in (1, other)]
        assert _all_at_once(removals) == {303: 1, 400: 1}
    assert [change(1, admin=True), change(other, admin=False)] == [303, 303]


def test_plan_name_is_taken_once(service: Service) -> None:
    service = service.signed_in()
    for n in range(_ROUNDS):
        fields = {"name": f"plan {n}", "status": "pro", "rate_limit": "30", "upload_limit": "1000"}
        add = partial(service.open, "POST", "/dashboard/admin/plans/new", fields)
        assert _all_at_once([add] * _COPIES) == {303: 1, 400: _COPIES - 1}
        account = _add_account(service, f"planned-{n}")
        path = f"/dashboard/admin/accounts/{account}"
        calls = [partial(service.open, "POST", f"{path}/plan", {"plan": f"plan {k}"}) for k in range(n + 1)]
        calls += [partial(service.open, "POST", f"{path}/suspend", {"suspended": word}) for word in ("yes", "")]
        calls += [partial(service.open, "POST", f"{path}/reset"), partial(service.open, "GET", path)]
        assert _all_at_once(calls * 2).keys() == {200, 303}


def test_report_is_decided_concurrently(service: Service) -> None:
    service = service.signed_in()
    for n in range(_ROUNDS):
        alias = f"reported-{random.getrandbits(40)}"
        service.call("POST", "/api/url/add", {"url": f"https://bad{n}.example/", "custom": alias})
        for reporter in (b"first", b"second"):
            service.database.write(partial(_report, alias=alias, reporter=reporter + alias.encode()))
        first, second = service.database.read(reports.list_all)[-2:]
        calls: list[Callable[[], int]] = []
        for report in (first, second):
            path = f"/dashboard/admin/reports/{report.id}"
            for decision in ("dismiss", "block", "disable"):
                fields = {"decision": decision, "value": f"bad{n}.example"}
                calls.append(partial(service.open, "POST", path, fields))
            calls.append(partial(service.open, "GET", path))
        calls += [
            partial(service.open, "POST", "/dashboard/admin/blocks", {"kind": "host", "values": f"bad{n}.example"}),
            partial(
                service.open, "POST", "/dashboard/admin/blocks/remove", {"kind": "host", "value": f"bad{n}.example"}
            ),
            partial(service.open, "GET", "/dashboard/admin/reports"),
        ]
        outcome = _all_at_once(calls * 2)
        assert outcome.keys() <= {200, 303, 404}, outcome
        assert not [report for report in service.database.read(reports.list_all) if report.alias == alias]


def test_requests_of_an_account_that_is_deleted_return_401_or_404(service: Service) -> None:
    seen: Counter[int] = Counter()
    for n in range(6 * _ROUNDS):
        name = f"leaving-{n}"
        account = _add_account(service, name)
        key = service.database.write(lambda tx, owner=account: api_keys.add(tx, owner, name="key"))  # type: ignore[misc]
        browsers = [service.signed_in(account) for _ in range(2)]

        def send(path: str, key: str = key, **options: object) -> int:
            node = random.choice(service.nodes)
            return node.call("POST", f"/api{path}", key=key, headers=_stranger(), **options).status_code

        calls = [
            partial(send, f"{resource.path}/add", json=resource.body(random.getrandbits(40))) for resource in RESOURCES
        ]
        calls.append(partial(send, "/files/upload/a.bin", content=b"content"))
        new_key = {"name": "new", "scope": "write", "expires": "", "password": _PASSWORD}
        for browser in browsers:
            calls.append(partial(browser.open, "POST", "/dashboard/account/keys", new_key))
            calls.append(
                partial(browser.open, "POST", "/dashboard/signin", {"name": name, "password": _PASSWORD}, **_stranger())
            )
        calls *= 2
        calls.append(partial(_delete_account, service, account))
        seen += _all_at_once(calls)
    assert seen.keys() <= {0, 200, 201, 303, 400, 401, 404}, seen  # 400: wrong name or password
    assert seen[401] + seen[404] > 0, "some requests met the deletion"


def _stranger() -> dict[str, str]:
    """Return the header of a client in a network of its own, which the limits of bad keys and logins count alone."""
    return {"X-Forwarded-For": f"203.0.{random.randrange(256)}.{random.randrange(256)}"}


def _add_account(service: Service, name: str) -> int:
    hashed = credentials.hash_password(_PASSWORD)

    def work(tx: Connection) -> int:
        return ops.add(tx, email=f"{name}@example.com", username=name, password=hashed, rate_limit=10_000).id

    return service.database.write(work)


def _delete_account(service: Service, account: int) -> int:
    """Delete an account as an administrator of the database can; there is no command for it."""
    service.database.write(lambda tx: tx.execute(accounts.delete().where(accounts.c.id == account)))
    return 0


def _report(tx: Connection, *, alias: str, reporter: bytes) -> bool:
    return reports.add(tx, host="", alias=alias, reason="spam", comment="", reporter=reporter)
