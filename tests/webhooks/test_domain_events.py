"""Events of branded domains: the daily check finds that a domain leads elsewhere, or that its certificate fails."""

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import time_machine
import trustme
from sqlalchemy import select

from tests.support.fake_internet import PUBLIC, FakeInternet
from tests.support.threads import in_thread
from tests.support.webhooks import Hooks
from waypost.core import clock
from waypost.db.schema import audit
from waypost.http import safe_client
from waypost.items.domains import domain_checker, domain_checks, ownership_check
from waypost.items.domains import ops as domains
from waypost.items.domains.domain_checks import DAY, HOUR

_HOST = "go.brand.example"


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[trustme.CA]:
    """An authority that this process trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    safe_client._new_ssl_context.cache_clear()
    yield authority
    safe_client._new_ssl_context.cache_clear()


class Site:
    """The server of the domain. `answer` returns its body, by the path."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self.answer: Callable[[str], bytes] = self.proof
        self.status = 200

    def proof(self, path: str) -> bytes:
        challenge = path.rpartition("/")[2]
        return self._hooks.database.read(lambda tx: ownership_check.proof(tx, challenge)).encode()

    @contextmanager
    def running(self, tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, int]]:
        """Run the server; yield its address."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = site.answer(self.path)
                self.send_response(site.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

            def handle(self) -> None:
                with suppress(OSError):  # the client has ended the connection
                    super().handle()

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        with in_thread(server):
            yield ("127.0.0.1", server.server_port)


def _add(hooks: Hooks, scheme: str = "http", **fields: Any) -> int:
    hooks.update(events=["domain.failed", "domain.recovered"])
    url = f"{scheme}://{_HOST}"
    return hooks.database.write(
        lambda tx: domains.add(tx, hooks.account, domain=url, settings=hooks.settings, **fields)
    ).id


def _check(hooks: Hooks) -> None:
    while domain_checker.step(hooks.database, threading.Event()):
        pass


def _events(hooks: Hooks) -> list[tuple[str, int, str, Any]]:
    c = audit.c
    query = (
        select(c.name, c.item, c.label, c.after).where(c.name.in_(["domain.failed", "domain.recovered"])).order_by(c.id)
    )
    return [tuple(row) for row in hooks.database.read(lambda tx: tx.execute(query).all())]


def test_domain_that_leads_elsewhere_fails_once_and_recovers(hooks: Hooks, internet: FakeInternet) -> None:
    item, site = _add(hooks), Site(hooks)
    internet.add_host(_HOST, PUBLIC)
    with time_machine.travel(clock.now(), tick=False) as time, site.running() as internet.routes[PUBLIC]:
        for _ in range(2):
            _check(hooks)
            time.shift(DAY)
        assert (len(internet.connections), _events(hooks)) == (2, [])
        site.answer, site.status = (lambda _path: b"overloaded"), 503
        for _ in range(2):
            _check(hooks)
            time.shift(DAY)
        assert (len(internet.connections), _events(hooks)) == (4, [])  # this says nothing
        site.answer, site.status = (lambda _path: b"another service"), 404
        _check(hooks)
        assert _events(hooks) == []  # only one failure
        time.shift(HOUR)
        failed = ("domain.failed", item, _HOST, {"problem": "elsewhere"})
        for _ in range(3):
            _check(hooks)
            assert _events(hooks) == [failed]
            time.shift(DAY)
        assert len(internet.connections) == 8  # not more than once a day
        site.answer, site.status = site.proof, 200
        _check(hooks)
        assert _events(hooks) == [failed, ("domain.recovered", item, _HOST, None)]


def test_domain_is_not_said_to_work_before_its_first_check_which_is_at_once(
    hooks: Hooks, internet: FakeInternet
) -> None:
    item, site = _add(hooks), Site(hooks)

    def state() -> Mapping[int, str]:
        return hooks.database.read(lambda tx: domain_checks.problems(tx, hooks.account, [item]))

    assert state() == {item: "unchecked"}
    hooks.database.write(lambda tx: domain_checks.enroll(tx, clock.now()))
    assert state() == {item: "unchecked"}
    internet.add_host(_HOST, PUBLIC)
    with site.running() as internet.routes[PUBLIC]:
        _check(hooks)
    assert state() == {item: ""}


def test_domain_without_address_fails_and_a_slow_one_does_not(hooks: Hooks, internet: FakeInternet) -> None:
    item = _add(hooks)
    internet.add_host(_HOST, "127.0.0.1")  # an internal address is refused, which says nothing about visitors
    with time_machine.travel(clock.now() + DAY, tick=False) as time:
        for _ in range(3):
            _check(hooks)
            time.shift(DAY)
        assert _events(hooks) == []
        del internet.names[_HOST]
        for _ in range(2):
            _check(hooks)
            time.shift(DAY)
        assert _events(hooks) == [("domain.failed", item, _HOST, {"problem": "unreachable"})]


def test_checks_continue_after_the_clock_was_ahead(hooks: Hooks, internet: FakeInternet) -> None:
    item, now = _add(hooks), clock.now()
    with time_machine.travel(now + 365 * DAY, tick=False) as time:
        _check(hooks)
        time.move_to(now)
        for _ in range(2):
            _check(hooks)
            time.shift(HOUR)
        assert _events(hooks) == [("domain.failed", item, _HOST, {"problem": "unreachable"})]


@pytest.mark.parametrize(
    ("days", "name", "problem"), [(6, _HOST, "expiring"), (30, "x.example", "certificate"), (8, _HOST, "")]
)
def test_certificate_of_an_https_domain_is_checked(
    hooks: Hooks, internet: FakeInternet, authority: trustme.CA, days: int, name: str, problem: str
) -> None:
    item, site, now = _add(hooks, "https"), Site(hooks), clock.now()
    internet.add_host(_HOST, PUBLIC)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    end = datetime.fromtimestamp(now + DAY + HOUR + days * DAY, UTC)
    authority.issue_cert(name, not_after=end).configure_cert(tls)
    with time_machine.travel(now, tick=False) as time, site.running(tls) as internet.routes[PUBLIC]:
        for seconds in (DAY, HOUR, 0):
            _check(hooks)
            time.shift(seconds)
    assert _events(hooks) == ([("domain.failed", item, _HOST, {"problem": problem})] if problem else [])
