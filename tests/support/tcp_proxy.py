"""A TCP relay in front of a server, by which a test gets in its way: slow, cut off, silent."""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_RESET = struct.pack("ii", 1, 0)  # a close without waiting is a reset


@dataclass(eq=False)
class _Line:
    """One connection and its other half."""

    writers: list[asyncio.StreamWriter]
    is_dead: bool = False
    is_lost: bool = False  # with its next answer


@dataclass
class Relay:
    """Connections to `port` here go on to `target` on this machine. The methods may be called from any thread."""

    target: int
    port: int = 0
    delay: float = 0.0
    """Seconds that each piece of data is held back, either way."""
    loses: bytes = b""
    """Whoever says these words is heard, and loses the connection instead of the answer."""
    accepted: int = 0
    """How many connections there have been."""
    _lines: set[_Line] = field(default_factory=set)
    _is_cut: bool = False
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def cut(self) -> None:
        """Reset every connection, and every new one, until `mend`."""
        self._is_cut = True
        self.reset()

    def mend(self) -> None:
        """Let new connections through again."""
        self._is_cut = False

    def reset(self) -> None:
        """Reset the connections that there are."""
        self._call(self._reset)

    def silence(self) -> None:
        """From now on the connections that there are say nothing any more, and never will; new ones work."""
        self._call(self._kill)

    def _reset(self) -> None:
        for line in self._lines:
            for writer in line.writers:
                _abort(writer)

    def _kill(self) -> None:
        for line in self._lines:
            line.is_dead = True

    def _call(self, work: Callable[[], None]) -> None:
        done = threading.Event()

        def run() -> None:
            work()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(10)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.accepted += 1
        if self._is_cut:
            _abort(writer)
            return
        line = _Line([writer])
        self._lines.add(line)
        with suppress(OSError, asyncio.CancelledError):
            there, on = await asyncio.open_connection("127.0.0.1", self.target)
            line.writers.append(on)
            await asyncio.gather(self._pump(line, reader, on, asks=True), self._pump(line, there, writer))
        self._lines.discard(line)
        for end in line.writers:
            end.close()

    async def _pump(
        self, line: _Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, asks: bool = False
    ) -> None:
        while data := await reader.read(65536):
            if asks and self.loses and self.loses in data:
                line.is_lost = True
            elif line.is_lost:
                for end in line.writers:
                    _abort(end)
                return
            if self.delay:
                await asyncio.sleep(self.delay)
            if not line.is_dead:
                writer.write(data)
                await writer.drain()
        if not line.is_dead:
            with suppress(OSError):
                writer.write_eof()

    async def _serve(self, ready: threading.Event, over: asyncio.Event) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await over.wait()
        server.close()
        self._reset()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _abort(writer: asyncio.StreamWriter) -> None:
    line = writer.get_extra_info("socket")
    if line is not None:
        with suppress(OSError):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


@contextmanager
def relaying(target: int) -> Iterator[Relay]:
    """A relay to the port `target`, until the block ends."""
    relay, ready, over = Relay(target), threading.Event(), asyncio.Event()
    thread = threading.Thread(target=lambda: relay._loop.run_until_complete(relay._serve(ready, over)))
    thread.start()
    assert ready.wait(10)
    try:
        yield relay
    finally:
        relay._loop.call_soon_threadsafe(over.set)
        thread.join(20)
        relay._loop.close()
