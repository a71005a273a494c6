# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: utm templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from waypost_client.calls import check_fields
from waypost_client.fields.utm_templates import NewTemplate, TemplateChange
from waypost_client.models.shared import MessageResponse
from waypost_client.models.utm_templates import Template, TemplateDone
from waypost_client.pages import PAGE_SIZE
from waypost_client.sync.requests import Requests

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class UtmTemplatesOperations(Requests):
    """Operations of the API: utm templates."""

    def list_utm_templates(self, *, limit: int | None = None, page: int | None = None) -> Page[Template]:
        """List UTM templates, newest first."""
        return self._page(Template, ("utms",), part="data", collection="utms", query={"limit": limit, "page": page})

    def utm_templates(self, *, page_size: int = PAGE_SIZE) -> Iterator[Template]:
        """Iterate over the items of all pages of `list_utm_templates`."""
        return self._pages(lambda page: self.list_utm_templates(limit=page_size, page=page))

    def read_utm_template(self, id: int) -> Template:
        """Read a UTM template."""
        return self._fetch(Template, "GET", ("utm", id), part="details")

    def create_utm_template(self, *, name: str, **fields: Unpack[NewTemplate]) -> TemplateDone:
        """Create a UTM template.

        The dashboard writes its parameters into destinations of links. Programs can set those in `url`
        themselves.
        """
        return self._fetch(
            TemplateDone,
            "POST",
            ("utm", "add"),
            body={"name": name, **check_fields("create_utm_template", fields, NewTemplate.__annotations__)},
        )

    def update_utm_template(self, id: int, **fields: Unpack[TemplateChange]) -> TemplateDone:
        """Update a UTM template.

        Links keep the parameters that they have.

        Fields that are not sent keep their values; `null` clears a value.
        """
        return self._fetch(
            TemplateDone,
            "PUT",
            ("utm", id, "update"),
            body={**check_fields("update_utm_template", fields, TemplateChange.__annotations__)},
        )

    def delete_utm_template(self, id: int) -> MessageResponse:
        """Delete a UTM template.

        Links keep the parameters that they have.
        """
        return self._fetch(MessageResponse, "DELETE", ("utm", id, "delete"))
