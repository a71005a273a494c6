"""A signed-in client of a running service that reads the server-sent events of new visits."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2

from tests.conftest import PASSWORD
from tests.support.server import Server
from tests.support.visits import CHROME

HOST = "go.localhost"
_TOKEN = re.compile(r'name="token" value="([^"]+)"')


@dataclass(frozen=True)
class Message:
    """A message of a stream: its event, its id, and the ids of the visits in it."""

    event: str
    id: int
    visits: list[int]


class LiveStream:
    """The messages of a response, as they arrive."""

    def __init__(self, response: httpx2.Response) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self._lines = response.iter_lines()

    def messages(self) -> Iterator[Message]:
        """Yield messages until the server ends the stream."""
        fields: dict[str, str] = {}
        for line in self._lines:
            name, _, value = line.partition(": ")
            if line and name:
                fields[name] = f"{fields.get(name, '')}{value}\n"
            elif "event" in fields:
                visits = [int(each) for each in re.findall(r'<tr data-id="(\d+)"', fields["data"])]
                yield Message(fields["event"].strip(), int(fields["id"]), visits)
                fields = {}

    def next(self) -> Message:
        """Return the next message."""
        return next(self.messages())

    def visits(self, count: int) -> list[int]:
        """Return the ids of the next visits, oldest first, as soon as there are so many."""
        ids: list[int] = []
        for message in self.messages():
            assert message.event == "visits", message
            ids += [each for each in sorted(message.visits) if each not in ids]
            if len(ids) >= count:
                return ids
        raise AssertionError(f"the stream ended after {ids}")


class Viewer:
    """A browser session of an account."""

    def __init__(self, server: Server, name: str) -> None:
        self._client = server.client
        self._headers = {"Host": f"{HOST}:{urlsplit(server.url).port}", "User-Agent": CHROME}
        match = _TOKEN.search(self._client.get("/dashboard/signin", headers=self._headers).text)
        assert match is not None
        cookies = {"Cookie": f"waypost={self._client.cookies['waypost']}"}
        fields = {"name": name, "password": PASSWORD, "token": match[1]}
        signed_in = self._client.post("/dashboard/signin", data=fields, headers={**self._headers, **cookies})
        assert signed_in.status_code == 303, signed_in.text
        self._headers["Cookie"] = f"waypost={self._client.cookies['waypost']}"
        self._client.cookies.clear()

    @contextmanager
    def watching(self, query: str = "", *, last_id: int | None = None) -> Iterator[LiveStream]:
        """Open a stream with a query, after the message with an id if given."""
        resumed = {} if last_id is None else {"Last-Event-ID": str(last_id)}
        path = f"/dashboard/visits/live{query}"
        with self._client.stream("GET", path, headers={**self._headers, **resumed}) as response:
            yield LiveStream(response)

    def page(self, query: str = "") -> str:
        """Return the page of visits."""
        return self._client.get(f"/dashboard/visits{query}", headers=self._headers).text


def visit(server: Server, alias: str, *, agent: str = CHROME) -> None:
    """Click on a link."""
    headers = {"Host": HOST, "User-Agent": agent}
    assert server.call("GET", f"/{alias}", headers=headers, follow_redirects=False).status_code == 302
