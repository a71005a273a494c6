"""Uploads as multipart/form-data: the one file of a form, and the text fields before it (decision 58)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import Message

from waypost.core.errors import invalid
from waypost.http.multipart import MultipartReader, Part

# The number of parts, as Dropzone, Plupload, Fine Uploader, Resumable.js and flow.js send it with each part of a file.
_PART_COUNTS = frozenset(("dztotalchunkcount", "chunks", "qqtotalparts", "resumabletotalchunks", "flowtotalchunks"))
_ONE = frozenset(("", "0", "1"))


@dataclass(frozen=True)
class FormFile:
    """The file of a form. The body of `request` is the file; `fields` are the settings that precede it."""

    filename: str
    fields: Mapping[str, str]
    request: Request


def is_form(request: Request) -> bool:
    """Return whether the body is a form, and not the file itself."""
    media_type = request.headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() == "multipart/form-data"


async def open_form(request: Request, settings: Collection[str], *, seconds: float) -> FormFile:
    """Read the form up to its file. `settings` are the names of text fields with a meaning; others are ignored.

    Raises INVALID, also while the file's request is read: nothing but the file and unknown fields may follow.
    """
    reader = MultipartReader(request, field_seconds=seconds)
    fields: dict[str, str] = {}
    refuse_parts(request.query_params)
    while (part := await reader.next_part()) is not None:
        if part.filename:
            return FormFile(part.filename, fields, _file_request(reader, part, settings))
        if part.filename is None and part.name in settings:
            if part.name in fields:
                raise _repeated(part.name)
            fields[part.name] = await part.text()
        elif part.filename is None and part.name.lower() in _PART_COUNTS:
            refuse_parts({part.name: await part.text()})
    raise invalid("file", "The form must have one file: a part whose Content-Disposition has a filename.")


def refuse_parts(fields: Mapping[str, str]) -> None:
    """Raise INVALID on the field that says that a program uploads a file in parts: each would be stored as a file."""
    for name, count in fields.items():
        if name.lower() in _PART_COUNTS and count.strip() not in _ONE:
            message = f"{name}: a file must be uploaded as a whole. Turn off chunks in the program that uploads it."
            raise invalid(name, message)


def merge(query: Mapping[str, str], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the query and of the form. Raises INVALID for one that both have."""
    for name in fields:
        if name in query:
            raise _repeated(name)
    return {**query, **fields}


def _file_request(reader: MultipartReader, part: Part, settings: Collection[str]) -> Request:
    async def receive() -> Message:
        chunk = await reader.read_chunk(part)
        if chunk is None:  # before the upload is stored
            await _check_end(reader, settings)
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


async def _check_end(reader: MultipartReader, settings: Collection[str]) -> None:
    """Read the form to its end."""
    while (part := await reader.next_part()) is not None:
        if part.filename:
            raise invalid("file", "The form must have one file, but it has more. Send each file in a request.")
        if part.filename is None and part.name in settings:
            raise invalid(part.name, f"{part.name} must precede the file in the form.")
        if part.filename is None and part.name.lower() in _PART_COUNTS:
            refuse_parts({part.name: await part.text()})


def _repeated(name: str) -> Exception:
    return invalid(name, f"{name} must be sent only once.")
