"""The bodies of requests and responses for files, and the settings of uploads (decisions 17 to 23)."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from waypost.api import pagination
from waypost.api.request_body import Body, read_fields
from waypost.api.responses import Success
from waypost.api.types import (
    CreatedAt,
    Expiry,
    ExpiryText,
    HasPassword,
    Id,
    Name,
    NewAlias,
    NewDomain,
    NewPassword,
    Positive,
    ShortUrl,
    whole_number,
)
from waypost.core import credentials
from waypost.http import file_names

_NAME = Field(description="Name that visitors see; the file name by default.", examples=["Annual report"])


def _without_direction_marks(value: Any) -> Any:
    return file_names.without_direction_marks(value) if isinstance(value, str) else value


def _direction_kept(value: str) -> str:
    if fault := file_names.direction_fault(value):
        raise ValueError(fault)
    return value


_ShownName = Annotated[Name, BeforeValidator(_without_direction_marks), AfterValidator(_direction_kept)]
"""A name by the rules for file names about characters that people cannot see."""
_MAX_DOWNLOADS = Field(description="Number of downloads that are allowed; null for no limit.", examples=[100])


class FileOut(BaseModel):
    """A file in a list."""

    id: Id
    name: str = _NAME
    downloads: int = Field(description="Number of downloads.", examples=[12])
    shorturl: ShortUrl
    date: CreatedAt


class FileList(pagination.Paging, Success):
    """A page of files. Unlike other lists, it has no `data` object."""

    list: Annotated[list[FileOut], Field(description="The files of this page.")]


class FileDetails(FileOut):
    """A file with all metadata."""

    filename: str = Field(description="Name under which visitors save the file.", examples=["report.pdf"])
    size: int = Field(description="Size in bytes.", examples=[48213])
    type: str = Field(
        description="Media type, detected from the first bytes of the file.", examples=["application/pdf"]
    )
    sha256: str = Field(description="SHA-256 of the file, in hexadecimal digits.", examples=["9f86d081884c7d65…"])
    password: HasPassword
    expiry: ExpiryText
    maxdownloads: int | None = _MAX_DOWNLOADS
    uniquedownloads: int = Field(description="Distinct visitors that downloaded the file, per day.", examples=[9])
    available: bool = Field(
        description="True if the file can be downloaded: not expired, download limit not reached.", examples=[True]
    )
    kept: bool = Field(description="True while the file's bytes are stored.", examples=[True])


class FileAnswer(Success):
    """One file."""

    details: FileDetails = Field(description="The file.")


class FileDone(Success):
    """The response to an upload."""

    id: Id
    one: int = Field(serialization_alias="1", description="The id again, for clients that read it here.", examples=[1])
    shorturl: ShortUrl
    deleteurl: str = Field(
        description="Page that deletes the file without a key. DELETE and POST delete it at once.",
        examples=["https://go.example.com/files/delete/1/0c5sJq3Zk9"],
    )


class FileChange(Body):
    """The settings of a file. Absent ones keep their values."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Annual report", "maxdownloads": 100}]})

    name: Annotated[_ShownName | None, _NAME] = None
    password: NewPassword | None = None
    expiry: Expiry | None = None
    maxdownloads: Annotated[Positive | None, _MAX_DOWNLOADS] = None

    def sent(self) -> dict[str, Any]:
        """Return the fields that the body contains, the password hashed."""
        fields = super().sent()
        if self.password is not None:
            fields["password"] = credentials.hash_password(self.password)
        return fields


class UploadSettings(BaseModel):
    """The settings of an upload: query parameters, or text fields of a form."""

    @model_validator(mode="before")
    @classmethod
    def _read_leniently(cls, fields: Any) -> Any:
        return read_fields(cls, fields) if isinstance(fields, dict) else fields

    name: Annotated[_ShownName | None, _NAME] = None
    custom: NewAlias | None = None
    domain: NewDomain | None = None
    password: NewPassword | None = None
    expiry: Expiry | None = None
    maxdownloads: Annotated[Positive | None, BeforeValidator(whole_number), _MAX_DOWNLOADS] = None
