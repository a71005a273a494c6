"""Visitors and API clients share a proxy with attackers: each response must be that of the client's own request.

Only on loopback. Attackers, visitors and the proxy have different addresses, so that forged addresses have an effect.
"""

import asyncio
import itertools
import json
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from uuid import uuid4

from httptools import HttpParserError, HttpParserUpgrade

from tests.support.answers import AnswerReader
from tests.support.load_balancers import HOST
from tests.support.shared_nodes import SharedNodes, Victim
from tests.support.smuggling import Attack, Attacks

_ATTACKER, _VICTIM = "127.0.0.2", "127.0.0.3"
_ATTACKERS = 6
_REQUESTS_OF_CONNECTION = 40
_SECONDS = 60
_COUNTING_SECONDS = 30
_PAUSES = (0, 0, 0.001, 0.005, 0.02)  # seconds between two packets: before or after the response to the first one
_RESET = struct.pack("ii", 1, 0)
_METRIC = b"waypost_redirects_total"
FORBIDDEN = (_METRIC, b"//example.com/smuggled", b"//example.com/elsewhere")
"""Parts of responses to requests that were not sent, or that the proxy refuses."""


@dataclass
class Outcome:
    """Counts of a run, and descriptions of the failures."""

    requests: int = 0
    attacks: int = 0
    wrong: list[str] = field(default_factory=list)
    """Responses to victims that were not those of their requests, or missing."""
    overloaded: list[str] = field(default_factory=list)
    """503 with Retry-After: on a loaded machine, a node refuses a few requests. More than a hundredth are a failure."""
    unrequested: list[str] = field(default_factory=list)
    """Responses to victims that had not sent a request."""
    breaches: list[str] = field(default_factory=list)
    """Responses to attackers that they must not get."""
    redirected: Counter[str] = field(default_factory=Counter)
    """Redirects of victims, by alias."""
    miscounted: dict[str, int] = field(default_factory=dict)
    """Clicks that were counted without a request, or not counted, by alias."""

    def failures(self) -> str:
        """Return the number and the first examples of everything that was wrong, as lines."""
        lines = []
        is_refusing = len(self.overloaded) * 100 > self.requests
        for name in ("wrong", "unrequested", "breaches", *(["overloaded"] if is_refusing else [])):
            texts: list[str] = getattr(self, name)
            lines += [f"{len(texts)} {name}", *(f"    {text}" for text in texts[:3])] if texts else []
        return "\n".join(lines + ([f"miscounted: {self.miscounted}"] if self.miscounted else []))


@dataclass(frozen=True)
class _Question:
    """A request of a victim, and the response that belongs to it."""

    data: bytes
    status: int
    marker: bytes
    alias: str = ""


def attack(nodes: SharedNodes, port: int, *, seed: int, requests: int, attacks: int) -> Outcome:
    """Send at least so many requests of victims and attacks through the proxy at `port`, and count clicks."""
    before = nodes.clicks()
    clients = _Clients(port, nodes.victims, seed=seed, requests=requests, attacks=attacks)
    asyncio.run(clients.run())
    outcome = clients.outcome
    for _ in range(_COUNTING_SECONDS * 10):
        differences = nodes.clicks()
        differences.subtract(before)
        differences.subtract(outcome.redirected)
        outcome.miscounted = {alias: difference for alias, difference in differences.items() if difference}
        if all(difference > 0 for difference in outcome.miscounted.values()):
            break
        time.sleep(0.1)
    return outcome


class _Clients:
    """Attackers and victims of a proxy."""

    def __init__(self, port: int, victims: list[Victim], *, seed: int, requests: int, attacks: int) -> None:
        self._port = port
        self._victims = victims
        self._seed = seed
        self._requests = requests
        self._attacks = attacks
        self._turns = itertools.count(seed)
        self.outcome = Outcome()

    def _is_done(self) -> bool:
        return self.outcome.requests >= self._requests and self.outcome.attacks >= self._attacks

    async def run(self) -> None:
        """Run until there were enough requests and attacks."""
        attackers = [asyncio.create_task(self._attack(number)) for number in range(_ATTACKERS)]
        await asyncio.gather(*(self._be_victim(victim) for victim in self._victims))
        for task in attackers:
            task.cancel()
        for result in await asyncio.gather(*attackers, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    async def _be_victim(self, victim: Victim) -> None:
        random = Random(f"{self._seed} {victim.name}")
        while not self._is_done():
            with _closing(*await asyncio.open_connection("127.0.0.1", self._port, local_addr=(_VICTIM, 0))) as (
                reader,
                writer,
            ):
                answers = AnswerReader(reader)
                for _ in range(_REQUESTS_OF_CONNECTION):
                    if self._is_done() or not await self._ask(self._question(victim, random), answers, writer):
                        break

    async def _ask(self, question: _Question, answers: AnswerReader, writer: asyncio.StreamWriter) -> bool:
        """Send a request and check the response. Return whether the connection can be used again."""
        outcome = self.outcome
        outcome.requests += 1
        line = question.data.partition(b"\r\n")[0].decode()
        try:
            writer.write(question.data)
            answer = await answers.next(_SECONDS)
        except (HttpParserError, HttpParserUpgrade) as error:
            outcome.unrequested.append(f"{line}: {error}")
            return False
        outcome.unrequested += [f"{line}: {extra.status} {extra.content!r}" for extra in answers.drain()]
        if answer is None:
            outcome.wrong.append(f"{line}: no response")
            return False
        is_own = answer.status == question.status and question.marker in answer.content
        if answer.status == 503 and b"retry-after: " in answer.content.lower():
            outcome.overloaded.append(line)
        elif not is_own or any(part in answer.content for part in FORBIDDEN):
            outcome.wrong.append(f"{line}: {answer.status} {answer.content[:300]!r}")
        elif question.alias:
            outcome.redirected[question.alias] += 1
        return b"connection: close" not in answer.content.lower()

    def _question(self, victim: Victim, random: Random) -> _Question:
        kind = random.random()
        authorization = f"Authorization: Bearer {victim.key}\r\n"
        if kind < 0.8:
            alias = random.choice(list(victim.links))
            data = self._request(f"GET /{alias}", "")
            return _Question(data, 302, f"https://example.com/{alias}/end".encode(), alias)
        if kind < 0.97:
            marker = f'"username":"{victim.name}"'
            return _Question(self._request("GET /api/account", authorization), 200, marker.encode())
        alias = f"{victim.name}-{uuid4().hex}"
        body = json.dumps({"url": "https://example.com/new", "custom": alias})
        headers = f"{authorization}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return _Question(self._request("POST /api/url/add", headers) + body.encode(), 200, f'/{alias}"'.encode())

    def _request(self, line: str, headers: str) -> bytes:
        agent = "User-Agent: curl/8.5.0\r\nAccept: */*\r\n"
        return f"{line} HTTP/1.1\r\nHost: {HOST}\r\n{agent}{headers}\r\n".encode()

    async def _attack(self, number: int) -> None:
        random = Random(f"{self._seed} attacker {number}")
        for attack in Attacks(HOST, random):
            connection = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(_ATTACKER, 0))
            with _closing(*connection) as (reader, writer):
                for packet in attack.packets(next(self._turns), random):
                    writer.write(packet)
                    await asyncio.sleep(random.choice(_PAUSES))
                self.outcome.attacks += 1
                if not attack.leaves:
                    await self._check(attack, AnswerReader(reader))

    async def _check(self, attack: Attack, answers: AnswerReader) -> None:
        """Count the responses. The connection stays open for a moment after the last one that is expected."""
        breaches, number = self.outcome.breaches, 0
        try:
            while await answers.next(0.3 if number < attack.answers else 0.01):
                number += 1
        except HttpParserUpgrade:
            breaches.append(f"protocol changed for {attack.data!r}")
        except HttpParserError as error:
            # Caddy 2.6 can write 100 into a response that a node sends before the body.
            if b"HTTP/1.1 100 " not in answers.received:
                breaches.append(f"{error} for {attack.data!r}")
        if number > attack.answers:
            breaches.append(f"{number} responses for {attack.data!r}")
        breaches += [f"{part!r} for {attack.data!r}" for part in FORBIDDEN if part in answers.received]


@contextmanager
def _closing(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Iterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Close a connection at once, so that its port can be used again."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
