# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: files."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class File(Record):
    """A file in a list."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name that visitors see; the file name by default."""
    downloads: int = 0
    """Number of downloads."""
    shorturl: str = ""
    """Short URL."""
    date: str = ""
    """Time of creation, in UTC."""


@dataclass(frozen=True, kw_only=True)
class FileDone(Record):
    """The response to an upload."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    shorturl: str = ""
    """Short URL."""
    deleteurl: str = ""
    """Page that deletes the file without a key. DELETE and POST delete it at once."""


@dataclass(frozen=True, kw_only=True)
class FileDetails(Record):
    """A file with all metadata."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name that visitors see; the file name by default."""
    downloads: int = 0
    """Number of downloads."""
    shorturl: str = ""
    """Short URL."""
    date: str = ""
    """Time of creation, in UTC."""
    filename: str = ""
    """Name under which visitors save the file."""
    size: int = 0
    """Size in bytes."""
    type: str = ""
    """Media type, detected from the first bytes of the file."""
    sha256: str = ""
    """SHA-256 of the file, in hexadecimal digits."""
    password: bool = False
    """True if visitors must enter a password."""
    expiry: str = ""
    """Last second before the item expires, in UTC; empty if it does not expire."""
    maxdownloads: int | None = None
    """Number of downloads that are allowed; null for no limit."""
    uniquedownloads: int = 0
    """Distinct visitors that downloaded the file, per day."""
    available: bool = False
    """True if the file can be downloaded: not expired, download limit not reached."""
    kept: bool = False
    """True while the file's bytes are stored."""
