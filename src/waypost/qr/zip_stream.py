"""Stream a ZIP archive. Memory use does not grow with the number of files."""

import io
import zipfile
from collections.abc import Iterable, Iterator

from waypost import clock


def stream(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Yield an archive of (name, content) in chunks."""
    out = _Pipe()
    stamp = clock.text(clock.now())
    date = tuple(int(part) for part in stamp.replace(" ", "-").replace(":", "-").split("-"))
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, (date[0], date[1], date[2], date[3], date[4], date[5]))
            # PNG and PDF are already compressed.
            archive.writestr(info, content, zipfile.ZIP_DEFLATED if name.endswith(".svg") else zipfile.ZIP_STORED)
            yield out.taken()
    yield out.taken()


class _Pipe(io.RawIOBase):
    """Write buffer. It is not seekable, so the archive stores sizes after the files."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]  # any buffer
        self._held += piece
        return len(piece)

    def taken(self) -> bytes:
        """Return and clear the buffered bytes."""
        piece = bytes(self._held)
        self._held.clear()
        return piece
