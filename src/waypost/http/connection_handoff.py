"""Hand connections over to other processes of this machine, with the data that was read from them.

Any number of processes may send connections to a channel, and any number of others receive them. The kernel keeps a
connection until a process receives it, also while none does.
"""

import socket
import sys
from typing import NamedTuple

_TYPE = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM  # other systems have no SEQPACKET
_MAX_BYTES = 256 * 1024  # more than the kernel sends in one message


class HandoffChannel(NamedTuple):
    """Both ends of a channel. A process holds both, so that neither is closed while it lives."""

    sender: socket.socket
    receiver: socket.socket


class Handoff(NamedTuple):
    """A connection, and the data that was read from it."""

    connection: socket.socket
    data: bytes


def open_channel() -> HandoffChannel:
    """Return a new channel. It must be inherited by, or passed to, all processes that use it."""
    channel = HandoffChannel(*socket.socketpair(socket.AF_UNIX, _TYPE))
    for end in channel:
        end.settimeout(0)
    return channel


def send(channel: HandoffChannel, descriptor: int, data: bytes) -> bool:
    """Hand a connection over.

    Return False if the queue is full or the channel closed, or if the data is too long for one message.
    """
    try:
        socket.send_fds(channel.sender, [data], [descriptor])
    except OSError:
        return False
    return True


def close(channel: HandoffChannel) -> None:
    """Refuse further connections, from every process. Those that wait can still be received."""
    channel.receiver.shutdown(socket.SHUT_RD)


def receive(channel: HandoffChannel) -> Handoff | None:
    """Return the connection that has waited longest; None if none is waiting.

    None also if the channel is closed, and if this process has too many open files: the kernel has then closed the
    connection.
    """
    try:
        data, descriptors, _, _ = socket.recv_fds(channel.receiver, _MAX_BYTES, 1)
    except BlockingIOError:
        return None
    if not descriptors:
        return None
    connection = socket.socket(fileno=descriptors[0])
    connection.settimeout(0)
    connection.set_inheritable(False)  # as for every socket that Python opens
    return Handoff(connection, data)
