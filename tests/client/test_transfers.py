"""Uploads and downloads: constant memory, progress, digests, and downloads that are resumed."""

import hashlib
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from waypost_client import Waypost
from waypost_client.errors import ConnectionLostError, DigestMismatchError, WaypostError
from waypost_client.retry import Retry

from tests.client.conftest import Service, opened
from tests.support.tcp_proxy import TcpProxy, running_proxy

_SIZE = 48 * 1024 * 1024
_MAX_MEMORY = 8 * 1024 * 1024
_KINDS = pytest.mark.parametrize("kind", ["sync", "async"])


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is much larger than the memory that a transfer may use."""
    path = tmp_path_factory.mktemp("files") / "large.bin"
    path.write_bytes(os.urandom(_SIZE))
    return path


class LossyTransport(httpx.HTTPTransport):
    """Loses the connection after `size` bytes of the first response that is larger."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.ranges: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if request.url.path.startswith("/api"):
            return response
        self.ranges.append(request.headers.get("range", ""))
        if len(self.ranges) > 1:
            return response
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _LossyStream(response.stream, self.size)
        return response


class _LossyStream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, size: int) -> None:
        self._stream = stream
        self._size = size

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            yield chunk
            self._size -= len(chunk)
            if self._size < 0:
                raise httpx.ReadError("the connection is lost")

    def close(self) -> None:
        self._stream.close()


@_KINDS
def test_large_file_is_transferred_with_constant_memory(
    service: Service, kind: str, large_file: Path, tmp_path: Path
) -> None:
    uploaded: list[tuple[int, int | None]] = []
    downloaded: list[tuple[int, int | None]] = []
    with opened(kind, service.url, service.ana) as wp:
        wp.read_account()
        tracemalloc.start()
        file = wp.upload(large_file, progress=lambda done, total: uploaded.append((done, total))).id
        result = wp.download_file(
            file, tmp_path / "copy.bin", progress=lambda done, total: downloaded.append((done, total))
        )
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    digest = hashlib.sha256(large_file.read_bytes()).hexdigest()
    assert (result.size, result.sha256) == (_SIZE, digest)
    assert hashlib.sha256((tmp_path / "copy.bin").read_bytes()).hexdigest() == digest
    assert uploaded[-1] == downloaded[-1] == (_SIZE, _SIZE)
    assert [done for done, _ in downloaded] == sorted(done for done, _ in downloaded)
    assert peak < _MAX_MEMORY
    assert [path.name for path in tmp_path.iterdir()] == ["copy.bin"]


def test_lost_download_is_resumed(service: Service, large_file: Path, tmp_path: Path) -> None:
    transport = LossyTransport(_SIZE // 2)
    with Waypost(service.url, service.ana, transport=transport) as wp:
        file = wp.upload(large_file, maxdownloads=1).id
        assert wp.download_file(file, tmp_path / "copy.bin").size == _SIZE
    first, second = transport.ranges
    assert first == ""
    assert int(second.removeprefix("bytes=").removesuffix("-")) >= _SIZE // 2
    assert (tmp_path / "copy.bin").read_bytes() == large_file.read_bytes()


def test_interrupted_download_continues_in_another_process(service: Service, large_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.bin"
    with Waypost(service.url, service.ana, transport=LossyTransport(_SIZE // 2), retry=Retry(retries=0)) as wp:
        file = wp.upload(large_file).id
        with pytest.raises(ConnectionLostError):
            wp.download_file(file, target)
    assert not target.exists()
    (part,) = tmp_path.iterdir()
    assert part.stat().st_size >= _SIZE // 2
    started: list[int] = []
    with Waypost(service.url, service.ana) as wp:
        wp.download_file(file, target, progress=lambda done, _: started.append(done))
    assert started[0] > _SIZE // 2
    assert target.read_bytes() == large_file.read_bytes()


def test_damaged_part_is_discarded(service: Service, tmp_path: Path) -> None:
    with Waypost(service.url, service.ana) as wp:
        file = wp.upload_file("a.txt", b"0123456789").id
        part = tmp_path / f"copy.txt.{hashlib.sha256(b'0123456789').hexdigest()[:16]}.part"
        part.write_bytes(b"xxxx")
        with pytest.raises(DigestMismatchError):
            wp.download_file(file, tmp_path / "copy.txt")
        assert list(tmp_path.iterdir()) == []
        assert wp.download_file(file, tmp_path / "copy.txt").size == 10


@_KINDS
def test_password_of_a_file_is_sent(service: Service, kind: str, tmp_path: Path) -> None:
    with opened(kind, service.url, service.ana) as wp:
        file = wp.upload_file("secret.txt", b"secret", password="open sesame").id
        with pytest.raises(WaypostError):
            wp.download_file(file, tmp_path / "a.txt", password="wrong")
        assert list(tmp_path.iterdir()) == []
        assert wp.download_file(file, tmp_path / "a.txt", password="open sesame").size == 6


def test_stream_of_unknown_size_is_uploaded_once_and_verified(service: Service) -> None:
    read, write = os.pipe()
    os.write(write, b"piped content")
    os.close(write)
    with Waypost(service.url, service.ana) as wp, os.fdopen(read, "rb") as stream:
        details = wp.read_file(wp.upload_file("pipe.txt", stream).id)
    assert (details.size, details.sha256) == (13, hashlib.sha256(b"piped content").hexdigest())


@pytest.fixture
def proxy(service: Service) -> Iterator[TcpProxy]:
    """A TCP proxy to the service."""
    port = urlsplit(service.url).port
    assert port is not None
    with running_proxy(port) as running:
        yield running


@_KINDS
def test_write_whose_response_is_lost_is_executed_once(service: Service, proxy: TcpProxy, kind: str) -> None:
    alias = f"{kind}-once"
    lost: list[WaypostError] = []

    class Restored(Retry):
        """Restores the connection after the first loss."""

        def delay(self, attempt: int, error: WaypostError) -> float | None:
            lost.append(error)
            proxy.drop_response_to = b""
            return super().delay(attempt, error)

    proxy.drop_response_to = alias.encode()
    with opened(kind, f"http://127.0.0.1:{proxy.port}", service.ana, retry=Restored()) as wp:
        link = wp.create_link(url="https://example.com/", custom=alias).id
        assert [each.id for each in wp.links(q=alias)] == [link]
    assert [type(error) for error in lost] == [ConnectionLostError]
