"""Stream a ZIP archive. Memory use does not grow with the number of files."""

import io
import time
import zipfile
from collections.abc import Iterable, Iterator

from waypost import clock


def stream(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Yield an archive of (name, content) in chunks."""
    buffer = _Buffer()
    created = time.gmtime(clock.now())[:6]
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, created)
            # PNG and PDF are already compressed.
            archive.writestr(info, content, zipfile.ZIP_DEFLATED if name.endswith(".svg") else zipfile.ZIP_STORED)
            yield buffer.take()
    yield buffer.take()


class _Buffer(io.RawIOBase):
    """Write buffer. It is not seekable, so the archive stores sizes after the files."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        chunk = bytes(data)  # type: ignore[call-overload]  # any buffer
        self._bytes += chunk
        return len(chunk)

    def take(self) -> bytes:
        """Return and clear the buffered bytes."""
        chunk = bytes(self._bytes)
        self._bytes.clear()
        return chunk
