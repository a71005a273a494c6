"""`/utms` and `/utm/…` (decision 116)."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Change, Context
from waypost.api.request_body import Body, Partial
from waypost.api.responses import MessageResponse, Success
from waypost.api.types import CreatedAt, Id, Line, Name, PathId
from waypost.items.utm import ops

router = APIRouter(tags=["UTM templates"])
_NAME = Field(description="Name, unique among your UTM templates.", examples=["Newsletter"])
_SOURCE = Field(description="Value of `utm_source`.", examples=["newsletter"])
_MEDIUM = Field(description="Value of `utm_medium`.", examples=["email"])
_CAMPAIGN = Field(description="Value of `utm_campaign`.", examples=["spring_sale"])
_TERM = Field(description="Value of `utm_term`.", examples=["boots"])
_CONTENT = Field(description="Value of `utm_content`.", examples=["button"])


class TemplateOut(BaseModel):
    """A UTM template. Empty values leave their parameter as it is."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str = _NAME
    utm_source: str = _SOURCE
    utm_medium: str = _MEDIUM
    utm_campaign: str = _CAMPAIGN
    utm_term: str = _TERM
    utm_content: str = _CONTENT
    date: CreatedAt = Field(validation_alias="created")


class TemplateDetails(Success):
    """One UTM template."""

    details: TemplateOut = Field(description="The UTM template.")


class TemplateDone(TemplateOut, MessageResponse):
    """The response to create and update: a message and the UTM template."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class NewTemplate(Body):
    """A new UTM template."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Newsletter", "utm_source": "newsletter", "utm_medium": "email"}]}
    )

    name: Annotated[Name, _NAME]
    utm_source: Annotated[Line | None, _SOURCE] = None
    utm_medium: Annotated[Line | None, _MEDIUM] = None
    utm_campaign: Annotated[Line | None, _CAMPAIGN] = None
    utm_term: Annotated[Line | None, _TERM] = None
    utm_content: Annotated[Line | None, _CONTENT] = None


class TemplateChange(NewTemplate):
    """The fields of a UTM template. Absent ones keep their values."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"utm_campaign": "summer_sale"}]})

    name: Annotated[Name, _NAME] = ""


@router.get("/utms", response_model=pagination.list_model("utms", TemplateOut))
def list_utm_templates(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List UTM templates, newest first."""
    page = context.read(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("utms", page, TemplateOut.model_validate)


@router.get("/utm/{id}")
def read_utm_template(context: Context, id: PathId) -> TemplateDetails:
    """Read a UTM template."""
    template = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return TemplateDetails(details=TemplateOut.model_validate(template))


@router.post("/utm/add")
def create_utm_template(context: Context, body: NewTemplate) -> Change[TemplateDone]:
    """Create a UTM template.

    The dashboard writes its parameters into destinations of links. Programs can set those in `url` themselves.
    """
    return Change(
        lambda tx: ops.add(tx, context.account, **body.sent()),
        lambda template: _done("UTM template has been created successfully.", template),
    )


@router.put("/utm/{id}/update")
def update_utm_template(context: Context, id: PathId, body: Partial[TemplateChange]) -> Change[TemplateDone]:
    """Update a UTM template. Links keep the parameters that they have.

    Fields that are not sent keep their values; `null` clears a value.
    """
    return Change(
        lambda tx: ops.change(tx, context.account, id, **body.sent()),
        lambda template: _done("UTM template has been updated successfully.", template),
    )


@router.delete("/utm/{id}/delete")
def delete_utm_template(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a UTM template. Links keep the parameters that they have."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="UTM template has been deleted successfully."),
    )


def _done(message: str, template: ops.Template) -> TemplateDone:
    return TemplateDone(message=message, **TemplateOut.model_validate(template).model_dump())
