"""The built files of the front end. Their names contain a content hash, so they are cached forever."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from waypost.http.compression import content_coding

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_IMMUTABLE = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
_SUFFIXES = {"br": ".br", "gzip": ".gz"}


@cache
def _files() -> dict[str, Path]:
    """Every file that can be requested, by name."""
    with as_file(files("waypost.dashboard").joinpath("static")) as folder:
        return {path.name: path for path in folder.iterdir() if path.suffix in (*_MEDIA_TYPES, ".br", ".gz")}


@cache
def content(name: str) -> bytes:
    """The bytes of a file. All together are less than 2 MB, so that no request waits for a disk or a thread."""
    return _files()[name].read_bytes()


async def asset(request: Request) -> Response:
    """Return a built file, in a compressed form if the browser accepts one."""
    name = request.path_params["name"]
    media_type = _MEDIA_TYPES.get(Path(name).suffix)
    if media_type is None or name not in _files():
        return Response("Not found.", 404, media_type="text/plain")
    coding = content_coding(request.headers.get("accept-encoding", ""))
    if coding and (packed := name + _SUFFIXES[coding]) in _files():
        return _response(packed, media_type, {**_IMMUTABLE, "Content-Encoding": coding})
    return _response(name, media_type, _IMMUTABLE)


def _response(name: str, media_type: str, headers: Mapping[str, str]) -> Response:
    return Response(content(name), headers=headers, media_type=media_type)
