"""The server of an API worker: its connections come from the workers, which accept them (ADR 15)."""

import asyncio
import socket
from functools import partial
from itertools import islice
from typing import Any

import uvicorn

from waypost.http import connection_handoff
from waypost.http.connection_handoff import Handoff, HandoffChannel

_MAX_PER_TURN = 16  # of the event loop, so that other API workers take their share


class WorkerConfig(uvicorn.Config):
    """uvicorn's configuration, and the channel from the workers to the API workers, if there are any."""

    api_channel: HandoffChannel | None = None
    is_api_worker = False


class ApiServer(uvicorn.Server):
    """uvicorn's server without a listener."""

    def __init__(self, config: WorkerConfig) -> None:
        super().__init__(config)
        assert config.api_channel is not None
        self._channel = config.api_channel
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        asyncio.get_running_loop().add_reader(self._channel.receiver, self._receive)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the connections that wait in the channel, then stop as uvicorn does."""
        self._is_stopping = True
        asyncio.get_running_loop().remove_reader(self._channel.receiver)
        while self._receive():
            pass
        await asyncio.gather(*self._tasks)
        await super().shutdown(sockets=[])

    def _receive(self) -> bool:
        """Begin with some of the waiting connections. Return whether there were any."""
        handoffs = list(islice(iter(partial(connection_handoff.receive, self._channel), None), _MAX_PER_TURN))
        for handoff in handoffs:
            task = asyncio.get_running_loop().create_task(self._serve_connection(handoff))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return bool(handoffs)

    async def _serve_connection(self, handoff: Handoff) -> None:
        loop = asyncio.get_running_loop()
        protocol: Any = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        protocol.first_data = handoff.data
        try:
            await loop.connect_accepted_socket(lambda: protocol, handoff.connection)
        except OSError:  # the client has left
            handoff.connection.close()
            return
        if self._is_stopping:
            protocol.shutdown()
