"""The queue of webhooks: the slow server of one account delays no webhook of another."""

import threading
from collections.abc import Iterable

from tests.support import fake_internet
from tests.support.fake_internet import PUBLIC, FakeInternet
from tests.support.load import until
from waypost.http.webhooks import Webhooks

_SLOW = "93.184.216.35"


def test_slow_server_of_one_account_does_not_delay_webhooks_of_others(internet: FakeInternet) -> None:
    released, slow_requests, requests = threading.Event(), list[bytes](), list[bytes]()

    def answer_slowly(request: bytes) -> Iterable[bytes]:
        slow_requests.append(request)
        released.wait(30)
        return [fake_internet.ok(b"")]

    def answer(request: bytes) -> Iterable[bytes]:
        requests.append(request)
        return [fake_internet.ok(b"")]

    with fake_internet.server(answer_slowly) as slow, fake_internet.server(answer) as quick:
        for name, address, server in (("slow.example", _SLOW, slow), ("quick.example", PUBLIC, quick)):
            internet.add_host(name, address)
            internet.routes[address] = server
        webhooks = Webhooks()
        for _ in range(200):
            webhooks.send(1, "http://slow.example/", {})
        until(lambda: slow_requests)
        for number in range(3):
            webhooks.send(2, "http://quick.example/", {"number": number})
        until(lambda: len(requests) == 3)
        assert [request.rpartition(b"\r\n\r\n")[2] for request in requests] == [b'{"number": %d}' % n for n in range(3)]
        assert len(slow_requests) == 1
        released.set()
        until(lambda: len(slow_requests) == 50)
