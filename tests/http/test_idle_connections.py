"""Idle connections: those of visitors end soon, those of trusted proxies stay open."""

from collections.abc import Iterator

import pytest

from tests.support.databases import ON_SQLITE
from tests.support.protocol import ProtocolClient, protocol_client
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.http.connection import LimitedProtocol
from waypost.visits.fast_path import FastPathProtocol

pytestmark = ON_SQLITE
GET = b"GET /unknown HTTP/1.1\r\nHost: go.localhost:8000\r\n\r\n"


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[ProtocolClient]:
    """An application behind a proxy on 127.0.0.1."""
    with protocol_client(settings.model_copy(update={"trusted_proxies": "127.0.0.1"}), database) as client:
        yield client


def test_idle_connection_is_closed(client: ProtocolClient) -> None:
    idle, busy = (client.connect(peer="203.0.113.7") for _ in range(2))
    for _ in range(4):
        client.send(busy, [GET])
        client.wait(4)
    assert idle.is_closing()
    assert not busy.is_closing()
    client.wait(6)
    client.wait(6)
    assert busy.is_closing()


def test_idle_connection_of_a_proxy_stays_open_longer(client: ProtocolClient) -> None:
    pipe, unused = client.connect(), client.connect()
    client.send(pipe, [GET])
    client.wait(74)
    assert not pipe.is_closing()
    client.send(pipe, [GET])
    for _ in range(3):
        client.wait(75)
    assert pipe.is_closing()
    assert unused.is_closing()


@pytest.mark.parametrize("received", [b"", GET, GET[:20]], ids=["new", "used", "in headers"])
@pytest.mark.parametrize("protocol", [FastPathProtocol, LimitedProtocol])
def test_request_that_arrived_during_a_suspension_is_answered(
    client: ProtocolClient, received: bytes, protocol: type[LimitedProtocol]
) -> None:
    pipe = client.connect(protocol, peer="203.0.113.7")
    client.send(pipe, [received])
    client.wait(4)
    client.send(pipe, [received] if received == GET else [])
    pipe.receive()
    client.suspend(60, pipe, GET[20:] if received == GET[:20] else GET)
    assert pipe.receive().startswith(b"HTTP/1.1 404")
    client.wait(4)
    assert not pipe.is_closing()
    client.wait(6)
    client.wait(6)
    assert pipe.is_closing()


def test_unused_connection_of_a_proxy_does_not_delay_a_shutdown(client: ProtocolClient) -> None:
    pipe = client.connect()
    assert pipe.protocol is not None
    pipe.protocol.shutdown()
    client.wait(4)
    assert not pipe.is_closing()
    client.wait(2)
    assert pipe.is_closing()
