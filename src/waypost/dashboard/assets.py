"""The built files of the front end: each under a name that changes with its content, so kept for ever."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

_MEDIA = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_FOR_EVER = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
_PACKED = (("br", ".br"), ("gzip", ".gz"))


@cache
def _built() -> dict[str, Path]:
    """Every file that may be asked for, by name."""
    with as_file(files("waypost.dashboard").joinpath("static")) as folder:
        return {path.name: path for path in folder.iterdir() if path.suffix in (*_MEDIA, ".br", ".gz")}


@cache
def _bytes(name: str) -> bytes:
    """What is in such a file: less than a megabyte in all; a browser's first page waits for no disk, no thread."""
    return _built()[name].read_bytes()


async def asset(request: Request) -> Response:
    """A built file, compressed where the browser can read that."""
    name = request.path_params["name"]
    media = _MEDIA.get(Path(name).suffix)
    if media is None or name not in _built():
        return Response("Not found.", 404, media_type="text/plain")
    taken = {part.partition(";")[0].strip() for part in request.headers.get("accept-encoding", "").split(",")}
    for encoding, suffix in _PACKED:
        if encoding in taken and name + suffix in _built():
            return _answer(name + suffix, media, {**_FOR_EVER, "Content-Encoding": encoding})
    return _answer(name, media, _FOR_EVER)


def _answer(name: str, media: str, headers: Mapping[str, str]) -> Response:
    return Response(_bytes(name), headers=headers, media_type=media)
