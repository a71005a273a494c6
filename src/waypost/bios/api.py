"""`/bios` and `/bio/…` (decision 45)."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from waypost.aliases.urls import short_url
from waypost.api import lists
from waypost.api.answers import Done, Success
from waypost.api.bodies import Body, JsonRoute
from waypost.api.door import Came, Door
from waypost.api.fields import Line, Name, Paragraph, PathId, Target, Timestamp
from waypost.bios import ops

router = APIRouter(route_class=JsonRoute, tags=["Bio pages"])


class BioOut(BaseModel):
    """A bio page, as lists show it."""

    id: int
    name: str
    alias: str
    shorturl: str
    title: str
    description: str
    theme: str
    clicks: int
    uniqueclicks: int
    date: Timestamp


class BioWhole(BioOut):
    """A bio page with its blocks, each as it was sent."""

    blocks: list[dict[str, Any]]


class BioDetails(Success):
    details: BioWhole


class BioDone(Success):
    id: int
    shorturl: str


class _LinkBlock(Body):
    type: Literal["link"]
    title: Name
    url: Target


class _TextBlock(Body):
    type: Literal["heading", "text"]
    text: Annotated[Paragraph, Field(min_length=1)]


class _ImageBlock(Body):
    type: Literal["image"]
    image: Target
    link: Target = ""


class _SocialBlock(Body):
    type: Literal["social"]
    network: Name
    url: Target


class _CardBlock(Body):
    """The fields of decision 32."""

    type: Literal["vcard"]
    fname: Line = ""
    lname: Line = ""
    org: Line = ""
    title: Line = ""
    phone: Line = ""
    cell: Line = ""
    fax: Line = ""
    email: Line = ""
    site: Target = ""
    street: Line = ""
    city: Line = ""
    state: Line = ""
    zip: Line = ""
    country: Line = ""


_Block = Annotated[_LinkBlock | _TextBlock | _ImageBlock | _SocialBlock | _CardBlock, Field(discriminator="type")]


class BioChange(Body):
    name: Name = ""
    alias: Annotated[Line, Field(min_length=1)] | None = None
    title: Line | None = None
    description: Paragraph | None = None
    theme: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")] | None = None
    blocks: Annotated[list[_Block], Field(max_length=200)] | None = None

    def sent(self) -> dict[str, Any]:
        """The fields that stood in the body; blocks as plain values."""
        return self.model_dump(exclude_unset=True)


class NewBio(BioChange):
    name: Name


@router.get("/bios", response_model=lists.envelope("bios", BioOut))
def list_bios(door: Came, asked: lists.Asked) -> Any:
    page = door.read_counts(lambda tx: ops.page(tx, door.account, asked))
    return lists.answer("bios", page, lambda bio: BioOut(**_shown(bio, door)))


@router.get("/bio/{id}")
def read_bio(door: Came, id: PathId) -> BioDetails:
    bio = door.read_counts(lambda tx: ops.own(tx, door.account, id))
    return BioDetails(details=BioWhole(**_shown(bio, door), blocks=[dict(block) for block in bio.blocks]))


@router.post("/bio/add")
def add_bio(door: Came, body: NewBio) -> BioDone:
    bio = door.write(lambda tx: ops.add(tx, door.account, settings=door.settings, **body.sent()))
    return BioDone(id=bio.id, shorturl=_url(bio, door))


@router.put("/bio/{id}/update")
def update_bio(door: Came, id: PathId, body: BioChange) -> Done:
    door.write(lambda tx: ops.change(tx, door.account, id, settings=door.settings, **body.sent()))
    return Done(message="Bio page has been updated successfully.")


@router.delete("/bio/{id}/delete")
def delete_bio(door: Came, id: PathId) -> Done:
    door.write(lambda tx: ops.remove(tx, door.account, id))
    return Done(message="Bio page has been deleted successfully.")


def _url(bio: ops.Bio, door: Door) -> str:
    return short_url(door.settings.base, "", None, bio.alias)


def _shown(bio: ops.Bio, door: Door) -> dict[str, Any]:
    same = ("id", "name", "alias", "title", "description", "theme", "clicks", "uniqueclicks")
    return {**{name: getattr(bio, name) for name in same}, "shorturl": _url(bio, door), "date": bio.created}
