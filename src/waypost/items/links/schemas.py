"""The bodies of requests and responses for links (decision 43)."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from waypost.api.request_body import Body
from waypost.api.responses import Success
from waypost.api.types import (
    Alias,
    CreatedAt,
    Expiry,
    ExpiryText,
    HasPassword,
    Id,
    ItemId,
    Line,
    NewAlias,
    NewDomain,
    NewPassword,
    Paragraph,
    Positive,
    ShortUrl,
    Url,
    one_message,
)
from waypost.clicks.stats.reports import Clicks, StatisticsBlock, UniqueClicks
from waypost.core import credentials
from waypost.items.links.columns import Status
from waypost.items.links.targeting import read_country, read_device, read_language

_TITLE = Field(description="Title in lists, in the dashboard and on interstitials.", examples=["Spring sale"])
_DESCRIPTION = Field(
    description="Private note. No visitor sees it: `metadescription` is for them.", examples=["Agreed with Ana."]
)
_CAMPAIGN = Field(description="Id of the link's campaign; null without one.", examples=[1])
_STATUS = Field(
    description="`public`; `private`: not on list pages of campaigns; `disabled`: visitors get 403.",
    examples=["public"],
)
_CLICK_LIMIT = Field(description="Clicks after which the link is expired; null for no limit.", examples=[1000])
_EXPIRY_URL = Field(
    description="Destination of visitors after the expiry or the limit; without one they get 410.",
    examples=["https://example.com/sale-is-over"],
)
_DROP_QUERY = Field(
    description="True: the destination does not get the parameters of the visited URL.", examples=[False]
)
_META_TITLE = Field(description="Title of the link's preview in chats and networks.", examples=["Spring sale"])
_META_DESCRIPTION = Field(
    description="Description for visitors, on the default splash page and in link previews.",
    examples=["Two days only."],
)
_META_IMAGE = Field(description="URL of the preview's image.", examples=["https://example.com/boots.jpg"])
_TYPE = (
    "`direct`; `frame`: the destination in a frame; `splash`: a page with the link's title and `metadescription` first;"
    " the id of a splash page; or `overlay-` and the id of an overlay."
)
_PIXELS = Field(description="Ids of the tracking pixels that start before the destination.", examples=[[1]])
_RULE_LINK = Annotated[Url, Field(description="Destination of these visitors.", examples=["https://example.fr/"])]


class LinkOut(BaseModel):
    """A short link in a list."""

    id: Id
    alias: Alias
    shorturl: ShortUrl
    longurl: str = Field(description="Destination.", examples=["https://example.com/spring-sale"])
    title: str = _TITLE
    description: str = _DESCRIPTION
    clicks: Clicks
    uniqueclicks: UniqueClicks
    domain: str = Field(description="Scheme and host of the short URL.", examples=["https://go.example.com"])
    campaign: int | None = _CAMPAIGN
    channel: list[int] = Field(description="Ids of the link's channels.", examples=[[1]])
    date: CreatedAt


class LinkDetails(LinkOut):
    """A short link with all its settings."""

    status: Status = _STATUS
    type: str = Field(description=_TYPE, examples=["direct"])
    password: HasPassword
    importedclicks: int = Field(description="Those of `clicks` that an import brought along.", examples=[0])
    expiry: ExpiryText
    clicklimit: int | None = _CLICK_LIMIT
    expiryurl: str = _EXPIRY_URL
    metatitle: str = _META_TITLE
    metadescription: str = _META_DESCRIPTION
    metaimage: str = _META_IMAGE
    geotarget: list[dict[str, str]] = Field(
        description="Destinations by country.", examples=[[{"location": "France", "link": "https://example.fr/"}]]
    )
    devicetarget: list[dict[str, str]] = Field(
        description="Destinations by device.", examples=[[{"device": "iPhone", "link": "https://example.com/ios"}]]
    )
    languagetarget: list[dict[str, str]] = Field(
        description="Destinations by language.", examples=[[{"language": "de", "link": "https://example.de/"}]]
    )
    deeplink: dict[str, str] = Field(
        description="Destinations of iPhones (`apple`) and Android phones (`google`).",
        examples=[{"apple": "https://apps.apple.com/app/id361309726"}],
    )
    parameters: list[dict[str, str]] = Field(
        description="Parameters that are added to the destination.",
        examples=[[{"name": "utm_source", "value": "newsletter"}]],
    )
    dropquery: bool = _DROP_QUERY
    pixels: list[int] = _PIXELS


class LinkAnswer(Success):
    """A link with its statistics."""

    details: LinkDetails = Field(description="The link.")
    data: StatisticsBlock = Field(description="Its statistics.")


@dataclass(frozen=True, kw_only=True)
class LinkSearchData(StatisticsBlock):
    """The statistics of a link that was found by its short URL, and the link as in a list."""

    result: Annotated[int, Field(description="Number of links that were found: 1.", examples=[1])]
    urls: Annotated[list[LinkOut], Field(description="The link.")]


class FoundLink(Success):
    """The response of a search by short URL."""

    details: LinkDetails = Field(description="The link.")
    data: LinkSearchData = Field(description="Its statistics, and the link as in a list.")


class LinkNotFound(BaseModel):
    """The response of a search by an unknown short URL, with status 200."""

    error: Literal[1] = Field(description="1: there is no such link.", examples=[1])
    message: str = Field(description="The reason, in one sentence.", examples=["No such link in this account."])


class LinkDone(Success):
    """The response of create."""

    id: Id
    shorturl: ShortUrl
    short: ShortUrl


class LinkUpdated(LinkDone):
    """The response of update."""

    message: str = Field(description="Result in one sentence.", examples=["Link has been updated successfully."])


class GeoRule(Body):
    """A destination for visitors of a country."""

    location: Annotated[
        Line,
        Field(min_length=1, description="English name or code of the country.", examples=["France"]),
        AfterValidator(read_country),
    ]
    link: _RULE_LINK


class DeviceRule(Body):
    """A destination for visitors with a device."""

    device: Annotated[
        Line,
        Field(min_length=1, description="A device, system or type, such as iPhone or Windows.", examples=["iPhone"]),
        AfterValidator(read_device),
    ]
    link: _RULE_LINK


class LanguageRule(Body):
    """A destination for visitors with a language."""

    language: Annotated[
        Line,
        Field(
            min_length=1,
            description="Code of the language: `pt` is for every Portuguese, `pt-BR` for that of Brazil only.",
            examples=["de"],
        ),
        AfterValidator(read_language),
    ]
    link: _RULE_LINK


class Deeplink(Body):
    """Destinations of phones, such as an app or its page in a store."""

    apple: Url | None = Field(
        None, description="Destination of iPhones.", examples=["https://apps.apple.com/app/id361309726"]
    )
    google: Url | None = Field(
        None,
        description="Destination of Android phones.",
        examples=["https://play.google.com/store/apps/details?id=org.example"],
    )


class Parameter(Body):
    """A parameter that is added to the destination."""

    name: Line | None = Field(None, description="Name; a parameter without one is dropped.", examples=["utm_source"])
    value: Line | None = Field(None, description="Value.", examples=["newsletter"])


_Type = Annotated[
    Line | ItemId | None, one_message("must be direct, frame, splash, the id of a splash page, or overlay-<id>")
]
_Channels = Annotated[
    ItemId | Annotated[list[ItemId], Field(max_length=100)] | None,
    one_message("must be the id of a channel, or a list of at most 100 of them"),
]


def _optional_list(max_length: int, description: str, examples: Any = None) -> Any:
    return Field(None, max_length=max_length, description=description, examples=examples)


class LinkChange(Body):
    """The fields of a link. Absent ones keep their values."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Spring sale", "clicklimit": 1000}]})

    url: Annotated[Url, Field(description="Destination.", examples=["https://example.com/spring-sale"])] = ""
    custom: NewAlias | None = None
    domain: NewDomain | None = None
    title: Annotated[Line | None, _TITLE] = None
    description: Annotated[Paragraph | None, _DESCRIPTION] = None
    password: NewPassword | None = None
    expiry: Expiry | None = None
    clicklimit: Annotated[Positive | None, _CLICK_LIMIT] = None
    expiryurl: Annotated[Url | None, _EXPIRY_URL] = None
    type: Annotated[_Type, Field(description=_TYPE, examples=["direct"])] = None
    status: Annotated[Status | None, _STATUS] = None
    metatitle: Annotated[Line | None, _META_TITLE] = None
    metadescription: Annotated[Paragraph | None, _META_DESCRIPTION] = None
    metaimage: Annotated[Url | None, _META_IMAGE] = None
    pixels: Annotated[list[ItemId] | None, _PIXELS, Field(max_length=100)] = None
    channel: Annotated[_Channels, Field(description="Id of a channel, or a list of ids.", examples=[[1]])] = None
    campaign: Annotated[ItemId | None, _CAMPAIGN] = None
    geotarget: list[GeoRule] | None = _optional_list(300, "Destinations by country; the first match is used.")
    devicetarget: list[DeviceRule] | None = _optional_list(100, "Destinations by device, after those by country.")
    languagetarget: list[LanguageRule] | None = _optional_list(200, "Destinations by language, after all others.")
    deeplink: Deeplink | None = Field(None, description="Destinations of phones, after those by device.")
    parameters: list[Parameter] | None = _optional_list(50, "Parameters that are added to the destination.")
    dropquery: Annotated[bool | None, _DROP_QUERY] = None

    def sent(self) -> dict[str, Any]:
        """Return the fields that the body contains, nested ones as dicts, the password hashed."""
        fields = self.model_dump(exclude_unset=True)
        if self.password is not None:
            fields["password"] = credentials.hash_password(self.password)
        return fields


class NewLink(LinkChange):
    """A new link: only its destination is required."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"url": "https://example.com/spring-sale", "custom": "summer"}]}
    )

    url: Annotated[Url, Field(description="Destination.", examples=["https://example.com/spring-sale"])]
