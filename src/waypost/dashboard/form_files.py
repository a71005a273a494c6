"""Forms with small files, such as pictures: they are read as a whole, and their text fields are those of any form."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request

from waypost.core.errors import Kind, Problem
from waypost.dashboard import forms
from waypost.http.multipart import MultipartReader, Part

MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_KEPT_BYTES = 2 * MAX_FILE_BYTES  # of all files together
_MAX_READ_BYTES = 8 * MAX_FILE_BYTES
_MAX_PARTS = 5000


@dataclass(frozen=True)
class SubmittedForm:
    """The text fields of a form, and its files by field. A file is None if it is too large."""

    fields: Mapping[str, list[str]]
    files: Mapping[str, bytes | None]


NO_FORM = SubmittedForm({}, {})


def is_multipart(request: Request) -> bool:
    """Return whether the request has a form with files."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


async def read_multipart(request: Request, *, field_seconds: float) -> SubmittedForm:
    """Return the form, which may take `field_seconds` in total. Raises INVALID, TOO_LARGE and TOO_SLOW."""
    reader = MultipartReader(request, field_seconds=field_seconds, max_parts=_MAX_PARTS)
    fields: dict[str, list[str]] = {}
    files: dict[str, bytes | None] = {}
    text_bytes = kept_bytes = read_bytes = 0
    while (part := await reader.next_part()) is not None:
        if part.filename is None:
            value = await part.text(max_bytes=forms.MAX_BYTES)
            text_bytes += len(value)
            fields.setdefault(part.name, []).append(value)
            if text_bytes > 2 * forms.MAX_BYTES:
                raise _too_large(2 * forms.MAX_BYTES)
            continue
        async with reader.field_time():
            content, size = await _read_file(reader, part, min(MAX_FILE_BYTES, _MAX_KEPT_BYTES - kept_bytes))
        kept_bytes += len(content or b"")
        read_bytes += size
        if read_bytes > _MAX_READ_BYTES:
            raise _too_large(_MAX_READ_BYTES)
        if part.filename:
            files[part.name] = content
    return SubmittedForm(fields, files)


async def _read_file(reader: MultipartReader, part: Part, max_bytes: int) -> tuple[bytes | None, int]:
    """Return a file and its size; None instead of the bytes of one that is too large."""
    content, size = bytearray(), 0
    while (chunk := await reader.read_chunk(part)) is not None and size <= _MAX_READ_BYTES:
        size += len(chunk)
        if size <= max_bytes:
            content += chunk
        else:
            content.clear()
    return (bytes(content) if size <= max_bytes else None), size


def _too_large(max_bytes: int) -> Problem:
    return Problem(Kind.TOO_LARGE, f"The form is too large: at most {max_bytes} bytes are allowed.")
