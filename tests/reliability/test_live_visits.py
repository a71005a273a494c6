"""New visits on open pages: server-sent events of a running service, resumed by id, and ended with the service."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.conftest import PASSWORD
from tests.support.databases import ON_POSTGRESQL, ON_SQLITE
from tests.support.live_visits import HOST, Viewer, visit
from tests.support.server import Server, free_port, serving
from waypost.auth import api_keys
from waypost.core import credentials
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts

_PAGE = 50  # visits
_BOT = "Googlebot/2.1 (+http://www.google.com/bot.html)"


def _add_account(tx: Connection, name: str) -> str:
    hashed = credentials.hash_password(PASSWORD)
    account = accounts.add(tx, email=f"{name}@example.com", username=name, password=hashed, rate_limit=1000)
    return api_keys.add(tx, account.id, name="first key")


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Server]:
    """A service with two accounts, each with two links."""
    database = Database(database_url)
    keys = {name: database.write(partial(_add_account, name=name)) for name in ("ana", "ben")}
    database.close()
    port = free_port()
    with serving(tmp_path / "node", database_url=database_url, port=port, base_url=f"http://{HOST}:{port}") as running:
        for name, key in keys.items():
            for alias in (f"of-{name}", f"other-of-{name}"):
                body = {"url": "https://example.com", "custom": alias}
                assert running.call("POST", "/api/url/add", key=key, json=body).status_code == 200
        yield running
        assert "Traceback" not in running.output()


def test_visit_is_sent_to_open_pages_of_its_account_only(server: Server) -> None:
    ana, ben = Viewer(server, "ana"), Viewer(server, "ben")
    with ana.watching() as first, ana.watching() as second, ben.watching() as other:
        assert first.headers["content-type"].startswith("text/event-stream")
        assert first.headers["x-accel-buffering"] == "no"
        visit(server, "of-ana")
        visit(server, "other-of-ana")
        seen = first.visits(2)
        assert second.visits(2) == seen
        visit(server, "of-ben")
        (of_ben,) = other.visits(1)
        assert of_ben not in seen


def test_stream_continues_after_the_last_message(server: Server) -> None:
    ana = Viewer(server, "ana")
    with ana.watching() as stream:
        visit(server, "of-ana")
        message = stream.next()
        assert (message.event, message.visits) == ("visits", [message.id])
    for _ in range(3):
        visit(server, "of-ana")
    with ana.watching(last_id=message.id) as resumed:
        visit(server, "of-ana")
        continued = resumed.visits(4)
    assert min(continued) > message.id
    with ana.watching(f"?after={continued[1]}") as of_page:
        assert of_page.visits(2) == continued[2:]


@ON_SQLITE
def test_page_that_missed_more_than_a_page_is_loaded_again(server: Server) -> None:
    ana = Viewer(server, "ana")
    with ana.watching() as stream:
        visit(server, "of-ana")
        first = stream.next().id
        for _ in range(_PAGE):
            visit(server, "of-ana")
        newest = max(stream.visits(_PAGE))
    with ana.watching(last_id=first) as resumed:
        message = resumed.next()
        assert (message.event, message.id, message.visits) == ("gap", newest, [])


@ON_SQLITE
def test_page_gets_only_the_visits_that_it_shows(server: Server) -> None:
    ana = Viewer(server, "ana")
    with ana.watching("?sort=bot") as bots, ana.watching("?kind=link&item=2") as of_link:
        visit(server, "of-ana")
        visit(server, "of-ana", agent=_BOT)
        visit(server, "other-of-ana")
        ((bot,), (of_second,)) = bots.visits(1), of_link.visits(1)
        assert of_second > bot


@ON_SQLITE
def test_stream_needs_a_session(server: Server) -> None:
    response = server.call("GET", "/dashboard/visits/live", headers={"Host": HOST}, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (
        303,
        "/dashboard/signin?next=/dashboard/visits/live",
    )


@ON_SQLITE
def test_stopping_service_ends_streams_and_does_not_wait_for_them(server: Server) -> None:
    ana = Viewer(server, "ana")
    with ExitStack() as stack:
        streams = [stack.enter_context(ana.watching()) for _ in range(5)]
        visit(server, "of-ana")
        assert {stream.next().event for stream in streams} == {"visits"}
        server.process.terminate()
        for stream in streams:
            assert list(stream.messages()) == []  # complete: a broken response would raise an error
        assert server.process.wait(60) == 0
    assert "forced" not in server.output()


@ON_POSTGRESQL
def test_visit_of_another_node_is_sent_too(server: Server, database_url: str, tmp_path: Path) -> None:
    port = server.url.rpartition(":")[2]
    options = {"database_url": database_url, "base_url": f"http://{HOST}:{port}"}
    with serving(tmp_path / "second", **options) as second, Viewer(server, "ana").watching() as stream:
        visit(second, "of-ana")
        visit(server, "other-of-ana")
        assert len(stream.visits(2)) == 2
