# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: branded domains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from waypost_client.calls import check_fields
from waypost_client.fields.branded_domains import DomainChange, NewDomain
from waypost_client.models.branded_domains import Domain, DomainWithBrand
from waypost_client.models.shared import CreatedResponse, MessageResponse, Report
from waypost_client.pages import PAGE_SIZE
from waypost_client.sync.requests import Requests

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class BrandedDomainsOperations(Requests):
    """Operations of the API: branded domains."""

    def list_domains(self, *, limit: int | None = None, page: int | None = None) -> Page[Domain]:
        """List branded domains, newest first."""
        return self._page(Domain, ("domains",), part="data", collection="domains", query={"limit": limit, "page": page})

    def domains(self, *, page_size: int = PAGE_SIZE) -> Iterator[Domain]:
        """Iterate over the items of all pages of `list_domains`."""
        return self._pages(lambda page: self.list_domains(limit=page_size, page=page))

    def read_domain(self, id: int) -> DomainWithBrand:
        """Read a branded domain."""
        return self._fetch(DomainWithBrand, "GET", ("domain", id), part="details")

    def read_domain_statistics(
        self,
        id: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        interval: Literal["hour", "day", "week", "month"] | None = None,
        timezone: str | None = None,
    ) -> Report:
        """Read the visits to aliases that do not exist on a domain."""
        return self._fetch(
            Report,
            "GET",
            ("domain", id, "stats"),
            part="data",
            query={"from": from_, "to": to, "interval": interval, "timezone": timezone},
        )

    def create_domain(self, *, domain: str, **fields: Unpack[NewDomain]) -> CreatedResponse:
        """Add a branded domain.

        Its DNS records must point at the service.
        """
        return self._fetch(
            CreatedResponse,
            "POST",
            ("domain", "add"),
            body={"domain": domain, **check_fields("create_domain", fields, NewDomain.__annotations__)},
        )

    def update_domain(self, id: int, **fields: Unpack[DomainChange]) -> MessageResponse:
        """Update the redirects and the brand of a branded domain.

        Fields that are not sent keep their values; `null` sets the default.
        """
        return self._fetch(
            MessageResponse,
            "PUT",
            ("domain", id, "update"),
            body={**check_fields("update_domain", fields, DomainChange.__annotations__)},
        )

    def delete_domain(self, id: int) -> MessageResponse:
        """Delete a branded domain.

        Its links answer 404 until the domain is added again.
        """
        return self._fetch(MessageResponse, "DELETE", ("domain", id, "delete"))
