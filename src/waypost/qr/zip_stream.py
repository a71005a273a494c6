"""Files as a ZIP archive, made while it is sent: memory does not grow with their number."""

import io
import zipfile
from collections.abc import Iterable, Iterator

from waypost import clock


def stream(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """The archive of (name, content), piece by piece."""
    out = _Pipe()
    stamp = clock.text(clock.now())
    date = tuple(int(part) for part in stamp.replace(" ", "-").replace(":", "-").split("-"))
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files:
            told = zipfile.ZipInfo(name, (date[0], date[1], date[2], date[3], date[4], date[5]))
            # Pictures and PDFs are packed already.
            archive.writestr(told, content, zipfile.ZIP_DEFLATED if name.endswith(".svg") else zipfile.ZIP_STORED)
            yield out.taken()
    yield out.taken()


class _Pipe(io.RawIOBase):
    """What is written, until it is taken; there is no way back, so the archive says sizes behind the files."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]  # any buffer
        self._held += piece
        return len(piece)

    def taken(self) -> bytes:
        """What was written since the last time."""
        piece = bytes(self._held)
        self._held.clear()
        return piece
