"""Branded domains and the service's own host, as a visit needs them."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from waypost.core.settings import ROOT_PAGE, Settings
from waypost.db.schema import domains
from waypost.media.branding import store
from waypost.media.branding.brand import NO_BRAND, Brand
from waypost.urls import hostnames
from waypost.urls.alias_namespace import OWN


@dataclass(frozen=True, slots=True)
class DomainView:
    """A branded domain as a visit needs it. The service's own host has id 0 and account 0.

    `host` is that of its aliases, with or without the `www.` of the request.
    """

    id: int
    account: int
    host: str
    scheme: str
    redirectroot: str
    redirect404: str
    ignorecase: bool = False
    brand: Brand = NO_BRAND
    """That of the domain, or of the installation."""
    has_root_page: bool = False
    """True if the root URL of the own host is a page for visitors, not a redirect."""

    @property
    def has_front_page(self) -> bool:
        """Return whether the root URL is for visitors. On the own host it can redirect to the dashboard instead."""
        return self.has_root_page or bool(self.redirectroot)


OWN_HOST = DomainView(0, 0, OWN, "", "", "")
_COLUMNS = ("id", "account", "host", "scheme", "redirectroot", "redirect404", "ignorecase")
_BRAND_COLUMNS = ("brandname", "brandcolor", "brandlogo")
_DOMAIN = select(*(domains.c[name] for name in (*_COLUMNS, *_BRAND_COLUMNS))).where(hostnames.is_named("host"))


def find_domain(tx: Connection, host: str, settings: Settings) -> DomainView | None:
    """Return the branded domain that answers a host name; None for an unregistered host."""
    if host == OWN:
        has_page = settings.root_redirect == ROOT_PAGE
        own = replace(OWN_HOST, redirect404=settings.not_found_redirect, brand=store.of_installation(tx))
        return replace(own, redirectroot="" if has_page else settings.root_redirect, has_root_page=has_page)
    row = tx.execute(_DOMAIN, hostnames.named("host", host)).first()
    if row is None:
        return None
    brand = Brand(*row[len(_COLUMNS) :]).or_else(store.of_installation(tx))
    return replace(DomainView(*row[: len(_COLUMNS)]), brand=brand)
