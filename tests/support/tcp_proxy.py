"""A TCP proxy that injects network faults: delays, resets, unresponsive connections, lost responses."""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_RESET = struct.pack("ii", 1, 0)  # closing with SO_LINGER 0 sends RST


@dataclass(eq=False)
class _Tunnel:
    """A client connection and the connection to the server."""

    writers: list[asyncio.StreamWriter]
    is_blackholed: bool = False
    drops_response: bool = False  # closed on the server's next response


@dataclass
class TcpProxy:
    """Forwards connections to `port` to `target` on this machine. The methods are thread-safe."""

    target: int
    port: int = 0
    buffer: int = 0
    """Bytes that the system keeps for each of its sockets; 0: as many as it likes, up to megabytes."""
    delay: float = 0.0
    """Seconds by which data is delayed, in both directions."""
    drop_response_to: bytes = b""
    """The connection on which a client sends these bytes is reset instead of getting a response."""
    reset_after: int = 0
    """After so many bytes from the server, all connections are reset, once."""
    accepted: int = 0
    """Number of accepted connections."""
    request_lines: list[bytes] = field(default_factory=list)
    """The first lines of the HTTP requests that were forwarded."""
    _tunnels: set[_Tunnel] = field(default_factory=set)
    _is_cut: bool = False
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def cut(self) -> None:
        """Reset all connections and every new one, until `restore`."""
        self._is_cut = True
        self.reset()

    def restore(self) -> None:
        """Accept connections again."""
        self._is_cut = False

    def reset(self) -> None:
        """Reset all open connections."""
        self._call(self._reset)

    def blackhole(self) -> None:
        """Stop forwarding data on open connections, for good. New connections work."""
        self._call(self._blackhole)

    def _reset(self) -> None:
        for tunnel in self._tunnels:
            for writer in tunnel.writers:
                _abort(writer)

    def _reset_once(self, forwarded: int) -> None:
        if self.reset_after:
            self.reset_after = max(0, self.reset_after - forwarded)
            if not self.reset_after:
                self._reset()

    def _blackhole(self) -> None:
        for tunnel in self._tunnels:
            tunnel.is_blackholed = True

    def _call(self, work: Callable[[], None]) -> None:
        done = threading.Event()

        def run() -> None:
            work()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(10)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self._is_cut:
            _abort(writer)
            return
        tunnel = _Tunnel([writer])
        self._tunnels.add(tunnel)
        with suppress(OSError, asyncio.CancelledError):
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target)
            tunnel.writers.append(server_writer)
            self._limit_buffers(tunnel)
            await asyncio.gather(
                self._pump(tunnel, reader, server_writer, from_client=True), self._pump(tunnel, server_reader, writer)
            )
        self._tunnels.discard(tunnel)
        for end in tunnel.writers:
            end.close()
            with suppress(OSError, asyncio.CancelledError):
                await end.wait_closed()

    def _limit_buffers(self, tunnel: _Tunnel) -> None:
        for end in tunnel.writers if self.buffer else ():
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, option, self.buffer)

    async def _pump(
        self, tunnel: _Tunnel, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, from_client: bool = False
    ) -> None:
        while data := await reader.read(65536):
            if from_client and (line := data.partition(b"\r\n")[0]).endswith(b" HTTP/1.1"):
                self.request_lines.append(line)
            if from_client and self.drop_response_to and self.drop_response_to in data:
                tunnel.drops_response = True
            elif tunnel.drops_response:
                for end in tunnel.writers:
                    _abort(end)
                return
            if self.delay:
                await asyncio.sleep(self.delay)
            if not tunnel.is_blackholed:
                writer.write(data)
                await writer.drain()
            if not from_client:
                self._reset_once(len(data))
        if not tunnel.is_blackholed:
            with suppress(OSError):
                writer.write_eof()

    async def _serve(self, ready: threading.Event, stop: asyncio.Event) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()
        server.close()
        # A connection that was just accepted has a task that has not begun.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            self._reset()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # for the end of connections that were aborted


def _abort(writer: asyncio.StreamWriter) -> None:
    raw_socket = writer.get_extra_info("socket")
    if raw_socket is not None:
        with suppress(OSError):
            raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


@contextmanager
def running_proxy(target: int, *, buffer: int = 0) -> Iterator[TcpProxy]:
    """Run a proxy to the port `target` until the block ends."""
    proxy, ready, stop = TcpProxy(target, buffer=buffer), threading.Event(), asyncio.Event()
    thread = threading.Thread(target=lambda: proxy._loop.run_until_complete(proxy._serve(ready, stop)))
    thread.start()
    assert ready.wait(10)
    try:
        yield proxy
    finally:
        proxy._loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        proxy._loop.close()
