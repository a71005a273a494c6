"""The bodies of requests and responses for bio pages (decision 45)."""

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from waypost.api.request_body import Body
from waypost.api.responses import Success
from waypost.api.types import Alias, Color, CreatedAt, Id, ItemId, Line, Name, NewAlias, Paragraph, ShortUrl, Url
from waypost.clicks.stats.reports import Clicks, StatisticsBlock, UniqueClicks
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.items.bios.embeds import SERVICE_NAMES
from waypost.items.bios.pictures import MAX_BYTES
from waypost.media.qrcode import vcard

_NAME = Field(description="Name for yourself.", examples=["Ana's links"])
_TITLE = Field(description="Heading of the page; the name by default.", examples=["Ana Silva, potter"])
_DESCRIPTION = Field(description="Text below the heading.", examples=["Bowls and cups from Lisbon."])
_THEME = Field(
    description="default, ocean, forest, sunset, paper or mono. Follows the system setting of the visitor"
    " unless it ends with -light or -dark. Any other value means default.",
    examples=["ocean"],
)
_AVATAR = Field(description="URL of the picture above the heading; empty for none.", examples=[""])
_SENSITIVE = Field(description="True to warn visitors before they see the page.", examples=[False])
_BLOCKS = "Blocks of the page, from top to bottom: link, heading, text, image, social, embed, form or vcard."
_LINK_BLOCK: dict[str, Any] = {"type": "link", "title": "My shop", "url": "https://example.com/"}
_BLOCK_TYPE = Field(description="Kind of the block.")
_DAY = 86_400
_MAX_PICTURE = 4 * MAX_BYTES // 3 + 100  # the largest picture as a data: URL
_PICTURE = (
    "A PNG, JPEG or WebP: its URL, a data: URL, or the short URL or alias of a file of yours. The page gets a small"
    " copy of it. The URL of a picture that the page has keeps it."
)
_BLOCK_URL = Annotated[Url, Field(description="Destination of the block.", examples=["https://example.com/"])]


class BioOut(BaseModel):
    """A bio page in a list."""

    id: Id
    name: str = _NAME
    alias: Alias
    shorturl: ShortUrl
    title: str = _TITLE
    description: str = _DESCRIPTION
    theme: str = _THEME
    clicks: Clicks
    uniqueclicks: UniqueClicks
    date: CreatedAt


class DesignOut(BaseModel):
    """Own colors and background; parts are empty as in a request."""

    background: str = Field(description="Color of the background.", examples=["#fff4e0"])
    gradient: str = Field(description="Color of the background at the bottom.", examples=["#ffd9c0"])
    picture: str = Field(description="URL of the picture behind the color.", examples=[""])
    text: str = Field(description="Color of text on the background.", examples=[""])
    button: str = Field(description="Color of buttons and cards.", examples=["#3d1522"])
    buttontext: str = Field(description="Color of text on them.", examples=[""])


class BioDetails(BioOut):
    """A bio page with its blocks as they were sent."""

    avatar: str = _AVATAR
    design: DesignOut | None = Field(description="Own colors and background; null for those of the theme.")
    blocks: list[dict[str, Any]] = Field(description=_BLOCKS, examples=[[_LINK_BLOCK]])
    sensitive: bool = _SENSITIVE


class BlockClicks(BaseModel):
    """The clicks of a block. Its short URL is `shorturl`/`id`."""

    id: int = Field(description="Id of the block.", examples=[1])
    type: str = Field(description="Kind of the block.", examples=["link"])
    title: str = Field(description="Title of the block.", examples=["My shop"])
    url: str = Field(
        description="Destination of the block; empty for a contact card.", examples=["https://example.com/"]
    )
    clicks: Clicks
    uniqueClicks: UniqueClicks  # noqa: N815  # the name in all statistics


class BioAnswer(Success):
    """A bio page with its statistics."""

    details: BioDetails = Field(description="The page.")
    data: StatisticsBlock = Field(description="Its statistics.")
    blocks: list[BlockClicks] = Field(description="Clicks of the clickable blocks, in the order of the page.")


class BioDone(Success):
    """The response of create."""

    id: Id
    shorturl: ShortUrl


def _moment(value: str, *, is_end: bool) -> str:
    """Return a time as `YYYY-MM-DD HH:MM:SS`; a date alone begins or ends with the day."""
    if not value:
        return ""
    try:
        second = clock.last_second(value)
    except ValueError:
        raise ValueError(
            "must be a date, YYYY-MM-DD, or YYYY-MM-DD HH:MM:SS in UTC or with an offset such as +02:00"
        ) from None
    return clock.text(second - _DAY + 1 if clock.is_day(value) and not is_end else second)


class _Block(Body):
    """The fields of every block."""

    hidden: Annotated[
        bool,
        Field(
            description="True to hide the block from visitors. It keeps its clicks; its short URL answers 404.",
            examples=[False],
        ),
    ] = False
    showfrom: Annotated[
        str,
        AfterValidator(partial(_moment, is_end=False)),
        Field(max_length=64, description="First day or second in UTC in which visitors see the block.", examples=[""]),
    ] = ""
    showuntil: Annotated[
        str,
        AfterValidator(partial(_moment, is_end=True)),
        Field(max_length=64, description="Last day or second in UTC in which visitors see it.", examples=[""]),
    ] = ""

    @field_validator("showuntil")
    @classmethod
    def _follow_start(cls, value: str, info: ValidationInfo) -> str:
        if value and value < info.data.get("showfrom", ""):
            raise ValueError("must not be before the start")
        return value


class LinkBlock(_Block):
    """A button."""

    type: Annotated[Literal["link"], _BLOCK_TYPE]
    title: Annotated[Name, Field(description="Text of the button.", examples=["My shop"])]
    url: _BLOCK_URL
    thumbnail: Annotated[
        str, Field(max_length=_MAX_PICTURE, description=f"Picture on the button. {_PICTURE}", examples=[""])
    ] = ""


class TextBlock(_Block):
    """A heading or a text."""

    type: Annotated[Literal["heading", "text"], _BLOCK_TYPE]
    text: Annotated[Paragraph, Field(min_length=1, description="The text.", examples=["Open on Saturdays."])]


class ImageBlock(_Block):
    """A picture."""

    type: Annotated[Literal["image"], _BLOCK_TYPE]
    picture: Annotated[
        str,
        Field(max_length=_MAX_PICTURE, description="Picture of the page, sent like `thumbnail`.", examples=[""]),
    ] = ""
    image: Annotated[
        Url,
        Field(
            description="URL of a picture on another server, if there is no `picture`.",
            examples=["https://example.com/bowl.jpg"],
            validate_default=True,
        ),
    ] = ""
    link: Annotated[Url, Field(description="Destination of the picture.", examples=["https://example.com/bowls"])] = ""
    alt: Annotated[Line, Field(description="Alternative text of the picture.", examples=["A blue bowl"])] = ""

    @field_validator("image")
    @classmethod
    def _require_picture(cls, value: str, info: ValidationInfo) -> str:
        if not value and not info.data.get("picture"):
            raise ValueError("must not be empty without a picture")
        return value


class SocialBlock(_Block):
    """A profile in a social network."""

    type: Annotated[Literal["social"], _BLOCK_TYPE]
    network: Annotated[Name, Field(description="Name of the network; known ones get an icon.", examples=["Mastodon"])]
    url: _BLOCK_URL


class EmbedBlock(_Block):
    """A video, track or playlist, whose player is loaded when the visitor presses play."""

    type: Annotated[Literal["embed"], _BLOCK_TYPE]
    url: Annotated[
        Url, Field(description=f"Its page at {', '.join(SERVICE_NAMES)}.", examples=["https://vimeo.com/22439234"])
    ]
    title: Annotated[Line, Field(description="Title; by default the service.", examples=["In my workshop"])] = ""


class FormBlock(_Block):
    """A form for visitors: that of an overlay, which also keeps the responses."""

    type: Annotated[Literal["form"], _BLOCK_TYPE]
    overlay: Annotated[
        ItemId, Field(description="Id of an overlay of type `contact` or `newsletter` of yours.", examples=[1])
    ]


class CardBlock(_Block):
    """A contact card."""

    type: Annotated[Literal["vcard"], _BLOCK_TYPE]
    fname: Annotated[Line, Field(description="First name.", examples=["Ana"])] = ""
    lname: Annotated[Line, Field(description="Last name.", examples=["Silva"])] = ""
    nickname: Annotated[Line, Field(description="Nickname.", examples=["Anita"])] = ""
    org: Annotated[Line, Field(description="Company.", examples=["Silva Pottery"])] = ""
    title: Annotated[Line, Field(description="Position in the company.", examples=["Potter"])] = ""
    phone: Annotated[Line, Field(description="Telephone number.", examples=["+351 21 000 0000"])] = ""
    cell: Annotated[Line, Field(description="Mobile number.", examples=["+351 91 000 0000"])] = ""
    homephone: Annotated[Line, Field(description="Telephone number at home.", examples=["+351 22 000 0000"])] = ""
    fax: Annotated[Line, Field(description="Fax number.", examples=["+351 21 000 0001"])] = ""
    email: Annotated[Line, Field(description="E-mail address.", examples=["ana@example.com"])] = ""
    site: Annotated[Url, Field(description="Website.", examples=["https://example.com/"])] = ""
    street: Annotated[Line, Field(description="Street and number.", examples=["Rua Nova 1"])] = ""
    city: Annotated[Line, Field(description="City.", examples=["Lisbon"])] = ""
    state: Annotated[Line, Field(description="State or region.", examples=["Lisbon"])] = ""
    zip: Annotated[Line, Field(description="Postal code.", examples=["1000-001"])] = ""
    country: Annotated[Line, Field(description="Country.", examples=["Portugal"])] = ""
    birthday: Annotated[Line, Field(description="Birthday, `YYYY-MM-DD`.", examples=["1990-05-17"])] = ""
    note: Annotated[Paragraph, Field(description="Note.", examples=["Closed on Mondays."])] = ""

    @field_validator(*vcard.CHECKED_FIELDS)
    @classmethod
    def _must_be_usable(cls, value: str, info: ValidationInfo) -> str:
        if not value.strip():
            return ""
        try:
            fault = vcard.checked(str(info.field_name), value)[1]
        except Problem as problem:
            fault = problem.message
        if fault:
            raise ValueError(fault.partition(" ")[2].removesuffix("."))
        return value


AnyBlock = Annotated[
    LinkBlock | TextBlock | ImageBlock | SocialBlock | EmbedBlock | FormBlock | CardBlock, Field(discriminator="type")
]


class DesignIn(Body):
    """Own colors and background. Text must have a contrast of at least 4.5:1."""

    background: Annotated[Color, Field(description="Color of the background.", examples=["#FFF4E0"])]
    gradient: Annotated[
        Color | Literal[""],
        Field(description="Color of the background at the bottom; empty for no gradient.", examples=["#FFD9C0"]),
    ] = ""
    picture: Annotated[
        str,
        Field(
            max_length=_MAX_PICTURE,
            description=f"Picture behind the color, which is as transparent as the text allows. {_PICTURE}",
            examples=[""],
        ),
    ] = ""
    text: Annotated[
        Color | Literal[""],
        Field(description="Color of text on the background; by default black or white.", examples=[""]),
    ] = ""
    button: Annotated[Color, Field(description="Color of buttons and cards.", examples=["#3D1522"])] = "#16202c"
    buttontext: Annotated[
        Color | Literal[""], Field(description="Color of text on them; by default black or white.", examples=[""])
    ] = ""


class BioChange(Body):
    """The fields of a bio page. Absent ones keep their values."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"theme": "ocean", "blocks": [_LINK_BLOCK]}]})

    name: Annotated[Name, _NAME] = ""
    alias: NewAlias | None = None
    title: Annotated[Line | None, _TITLE] = None
    description: Annotated[Paragraph | None, _DESCRIPTION] = None
    theme: Annotated[Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")] | None, _THEME] = None
    avatar: Annotated[
        Annotated[str, Field(max_length=_MAX_PICTURE)] | None,
        Field(description=f"Picture above the heading. {_PICTURE}", examples=["https://example.com/ana.jpg"]),
    ] = None
    design: Annotated[
        DesignIn | None, Field(description="Own colors and background instead of those of the theme.")
    ] = None
    blocks: Annotated[Annotated[list[AnyBlock], Field(max_length=200)] | None, Field(description=_BLOCKS)] = None
    sensitive: Annotated[bool | None, _SENSITIVE] = None

    def sent(self) -> dict[str, Any]:
        """Return the fields that the body contains, with blocks as dicts."""
        return self.model_dump(exclude_unset=True)


class NewBio(BioChange):
    """A new bio page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Ana's links", "blocks": [_LINK_BLOCK]}]})

    name: Annotated[Name, _NAME]
