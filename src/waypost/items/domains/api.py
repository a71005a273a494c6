"""`/domains` and `/domain/…` (API document, section Branded domains; decisions 39 and 41)."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from waypost.api import pagination
from waypost.api.context import Change, Context, RequestContext
from waypost.api.request_body import Body, Partial
from waypost.api.responses import CreatedResponse, MessageResponse, ReportResponse, Success
from waypost.api.types import Color, Id, PathId, RequestedSpan, Url
from waypost.core.errors import Problem
from waypost.items.domains import ops, ownership_check
from waypost.media.branding import store as brands
from waypost.media.branding.brand import MAX_NAME, checked_name
from waypost.media.pictures import picture_fetch
from waypost.urls import hostnames
from waypost.urls.short_urls import origin

_MAX_LOGO_LENGTH = 3 * 1024 * 1024  # characters: Base64 takes four for three bytes
router = APIRouter(tags=["Branded domains"])
_DOMAIN = Field(description="Scheme and host name of the domain.", examples=["https://go.brand.example"])
_ROOT = Field(description="Destination of visits to the root of the domain.", examples=["https://brand.example/"])
_IGNORE_CASE = Field(description="True if aliases are found in upper and lower case alike.", examples=[False])
_ALSO_WWW = Field(
    description="True if the same host is answered with and without `www.`. Only this domain can have both names then.",
    examples=[False],
)
_BRAND_NAME = Field(
    description=f"Name on the pages of the domain, at most {MAX_NAME} characters; the installation's by default.",
    examples=["Brand"],
)
_BRAND_COLOR = Field(description="Color of these pages, `#RRGGBB`.", examples=["#0A5CFF"])
_BRAND_LOGO = Field(
    max_length=_MAX_LOGO_LENGTH,
    description="Logo on these pages: a PNG or JPEG picture of at most 2 MiB as a `data:` URL. The service keeps a PNG"
    " of at most 24 KiB.",
    examples=[
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGPgivkPAAHZAWb+dIQ1AAAAAElFTkSuQmCC"
    ],
)
_NOT_FOUND = Field(description="Destination of visits to unknown aliases.", examples=["https://brand.example/404"])


class DomainOut(BaseModel):
    """A branded domain."""

    id: Id
    domain: str = _DOMAIN
    redirectroot: str = _ROOT
    redirect404: str = _NOT_FOUND


class DomainWithBrand(DomainOut):
    """A branded domain, with the brand of its pages."""

    alsowww: bool = _ALSO_WWW
    brandname: str = _BRAND_NAME
    brandcolor: str = _BRAND_COLOR
    brandlogo: str = _BRAND_LOGO


class DomainDetails(Success):
    """One branded domain."""

    details: DomainWithBrand = Field(description="The domain.")


def _brand_field(field: str, check: Callable[..., str]) -> AfterValidator:
    """Validate a field of the brand. Here and not in `ops`: the copy of a logo takes long and needs no transaction."""

    def validate(value: str) -> str:
        try:
            return check(value, field=field) if value else ""
        except Problem as problem:
            raise ValueError(problem.message.removeprefix(f"{field} ").removesuffix(".")) from None

    return AfterValidator(validate)


_BrandName = Annotated[str, _brand_field("brandname", checked_name), _BRAND_NAME]
_BrandColor = Annotated[Color, _BRAND_COLOR]
_BrandLogo = Annotated[str, _brand_field("brandlogo", picture_fetch.brand_logo_of_url), _BRAND_LOGO]


class NewDomain(Body):
    """A new branded domain."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"domain": "https://go.brand.example"}]})

    domain: Annotated[Url, _DOMAIN]
    redirectroot: Annotated[Url | None, _ROOT] = None
    redirect404: Annotated[Url | None, _NOT_FOUND] = None
    ignorecase: Annotated[bool | None, _IGNORE_CASE] = None
    alsowww: Annotated[bool | None, _ALSO_WWW] = None
    brandname: _BrandName | None = None
    brandcolor: _BrandColor | None = None
    brandlogo: _BrandLogo | None = None


class DomainChange(Body):
    """The fields of a branded domain. Absent ones keep their values."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"redirectroot": "https://brand.example/"}]})

    redirectroot: Annotated[Url | None, _ROOT] = None
    redirect404: Annotated[Url | None, _NOT_FOUND] = None
    ignorecase: Annotated[bool | None, _IGNORE_CASE] = None
    alsowww: Annotated[bool | None, _ALSO_WWW] = None
    brandname: _BrandName | None = None
    brandcolor: _BrandColor | None = None
    brandlogo: _BrandLogo | None = None


@router.get("/domains", response_model=pagination.list_model("domains", DomainOut))
def list_domains(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List branded domains, newest first."""
    return pagination.list_response(
        "domains", context.read(lambda tx: ops.page(tx, context.account, page_request)), _shown
    )


@router.get("/domain/{id}")
def read_domain(context: Context, id: PathId) -> DomainDetails:
    """Read a branded domain."""

    def work(tx: Connection) -> DomainDetails:
        domain, brand = ops.get_owned(tx, context.account, id), brands.of_domain(tx, context.account, id)
        fields = {"brandname": brand.name, "brandcolor": brand.color, "brandlogo": brand.logo}
        return DomainDetails(details=DomainWithBrand(**_shown(domain).model_dump(), alsowww=domain.alsowww, **fields))

    return context.read(work)


@router.get("/domain/{id}/stats")
def read_domain_statistics(context: Context, id: PathId, span: RequestedSpan) -> ReportResponse:
    """Read the visits to aliases that do not exist on a domain."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ReportResponse(data=context.read_report("missing", id, span))


@router.post("/domain/add")
def create_domain(context: Context, body: NewDomain) -> Change[CreatedResponse]:
    """Add a branded domain. Its DNS records must point at the service."""
    refuse_elsewhere(context, body)
    return Change(
        lambda tx: ops.add(tx, context.account, settings=context.settings, **body.sent()),
        lambda domain: CreatedResponse(id=domain.id),
    )


@router.put("/domain/{id}/update")
def update_domain(context: Context, id: PathId, body: Partial[DomainChange]) -> Change[MessageResponse]:
    """Update the redirects and the brand of a branded domain.

    Fields that are not sent keep their values; `null` sets the default.
    """
    refuse_other_elsewhere(context, id, body)
    return Change(
        lambda tx: ops.change(tx, context.account, id, settings=context.settings, **body.sent()),
        lambda _: MessageResponse(message="Domain has been updated successfully."),
    )


@router.delete("/domain/{id}/delete")
def delete_domain(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a branded domain. Its links answer 404 until the domain is added again."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Domain has been deleted successfully."),
    )


def _shown(domain: ops.Domain) -> DomainOut:
    address = origin("", domain.host, domain.scheme)
    return DomainOut(id=domain.id, domain=address, redirectroot=domain.redirectroot, redirect404=domain.redirect404)


def refuse_elsewhere(context: RequestContext, body: NewDomain) -> None:
    """Ask the domain itself where it points, before and outside the transaction that adds it (decision 39)."""
    scheme, host = ops.parse(body.domain, context.settings)
    if context.settings.checks_domains:
        ask(context, scheme, host)
        if body.alsowww and (other := hostnames.other_host(host)):
            ask(context, scheme, other, field="alsowww")


def refuse_other_elsewhere(context: RequestContext, domain: int, body: DomainChange) -> None:
    """Do so for the host with or without `www.`, before a change lets the domain answer it, too."""
    if not body.alsowww or not context.settings.checks_domains:
        return
    before = context.read(lambda tx: ops.get_owned(tx, context.account, domain))
    if not before.alsowww and before.other_host:
        ask(context, before.scheme, before.other_host, field="alsowww")


def ask(context: RequestContext, scheme: str, host: str, *, field: ownership_check.Field = "domain") -> None:
    """Raise INVALID on `field` unless a host points at this service now."""
    challenge = ownership_check.new_challenge()
    expected = context.read(lambda tx: ownership_check.proof(tx, challenge))
    with context.fetch(field, seconds=ownership_check.SECONDS) as seconds:
        ownership_check.must_point_here(
            scheme, host, challenge=challenge, expected=expected, seconds=seconds, field=field
        )
