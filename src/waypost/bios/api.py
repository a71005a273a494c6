"""`/bios` and `/bio/…` (decision 45)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from waypost.aliases.urls import short_url
from waypost.api import lists
from waypost.api.answers import Done, Success
from waypost.api.bodies import Body, JsonRoute
from waypost.api.door import Came, Door
from waypost.api.fields import Line, Name, Paragraph, PathId, Target, Timestamp
from waypost.api.spans import AskedSpan
from waypost.bios import blocks, ops
from waypost.clicks import stats
from waypost.clicks.api import ReportAnswer, read_report
from waypost.clicks.stats import Block

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
    sensitive: bool


class BlockClicks(BaseModel):
    """How often a block was followed: a link, a profile or a picture opened, a card taken. At `shorturl`/`id`."""

    id: int
    type: str
    title: str
    url: str
    clicks: int
    uniqueClicks: int  # noqa: N815  # as in the statistics of everything


class BioAnswer(Success):
    """`blocks` has those that lead somewhere, in the order of the page."""

    details: BioWhole
    data: Block
    blocks: list[BlockClicks]


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
    alt: Annotated[Line, Field(description="What the picture shows, for those who do not see it.")] = ""


class _SocialBlock(Body):
    type: Literal["social"]
    network: Name
    url: Target


class CardBlock(Body):
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


_Block = Annotated[_LinkBlock | _TextBlock | _ImageBlock | _SocialBlock | CardBlock, Field(discriminator="type")]


class BioChange(Body):
    name: Name = ""
    alias: Annotated[Line, Field(min_length=1)] | None = None
    title: Line | None = None
    description: Paragraph | None = None
    theme: (
        Annotated[
            str,
            Field(
                pattern=r"^[a-z0-9-]{1,32}$",
                description="default, ocean, forest, sunset, paper or mono, each light or dark as the visitor's system"
                " is; behind it -light or -dark for one of them only. Any other word means default.",
            ),
        ]
        | None
    ) = None
    blocks: Annotated[list[_Block], Field(max_length=200)] | None = None
    sensitive: Annotated[bool, Field(description="Whether visitors are warned first.")] | None = None

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
def read_bio(door: Came, id: PathId) -> BioAnswer:
    def work(tx: Connection) -> tuple[ops.Bio, Block, Mapping[int, tuple[int, int]]]:
        bio = ops.own(tx, door.account, id)
        return bio, stats.block(tx, "bio", id, clicks=bio.clicks, uniques=bio.uniqueclicks), ops.clicks(tx, id)

    bio, data, clicks = door.read_counts(work)
    sent = [{name: value for name, value in block.items() if name != "id"} for block in bio.blocks]
    details = BioWhole(**_shown(bio, door), blocks=sent, sensitive=bio.sensitive)
    return BioAnswer(
        details=details, data=data, blocks=[_counted(block, clicks) for block in bio.blocks if "id" in block]
    )


@router.get("/bio/{id}/stats")
def bio_statistics(door: Came, id: PathId, span: AskedSpan) -> ReportAnswer:
    """The visits of one bio page over time and by every dimension."""
    door.read(lambda tx: ops.own(tx, door.account, id))
    return ReportAnswer(data=read_report(door, "bio", id, span))


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


def _counted(block: blocks.Block, clicks: Mapping[int, tuple[int, int]]) -> BlockClicks:
    number, uniques = clicks.get(block["id"], (0, 0))
    title = blocks.name_of(block)
    told = {"id": block["id"], "type": block["type"], "title": title, "url": blocks.target_of(block)}
    return BlockClicks(**told, clicks=number, uniqueClicks=uniques)
