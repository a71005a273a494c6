"""All routes: of the API, the dashboard and the visitors. Only `app.py` and the command line import this module."""

from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from waypost.accounts.admin_api import router as admin_accounts_router
from waypost.accounts.api import router as accounts_router
from waypost.accounts.deletion_pages import pages as deletion_pages
from waypost.accounts.factor_pages import pages as factor_pages
from waypost.accounts.key_pages import pages as key_pages
from waypost.accounts.login_pages import pages as login_pages
from waypost.accounts.pages import pages as account_pages
from waypost.admin.accounts import pages as admin_account_pages
from waypost.admin.brand import pages as brand_pages
from waypost.admin.status import pages as status_pages
from waypost.api import openapi
from waypost.api.app import create_routes
from waypost.api.endpoints import EndpointTable
from waypost.bios.api import router as bios_router
from waypost.bios.pages import pages as bios_pages
from waypost.bios.preview_pages import pages as bio_preview_pages
from waypost.bios.public import BIOS, visit_block
from waypost.bulk import api as bulk_api
from waypost.campaigns.api import router as campaigns_router
from waypost.campaigns.list_page import visit_list
from waypost.campaigns.pages import pages as campaigns_pages
from waypost.campaigns.public import visit_rotator
from waypost.channels.api import router as channels_router
from waypost.channels.pages import pages as channels_pages
from waypost.connections.pages import pages as connections_pages
from waypost.connections.web_app import pages as web_app_pages
from waypost.dashboard.brand_assets import pages as brand_asset_pages
from waypost.dashboard.trash import pages as trash_pages
from waypost.domains.api import router as domains_router
from waypost.domains.brand_pages import pages as domain_brand_pages
from waypost.domains.ownership_check import PATH as CHALLENGE_PATH
from waypost.domains.pages import pages as domains_pages
from waypost.domains.public import answer_challenge
from waypost.exports.pages import pages as export_pages
from waypost.files.api import router as files_router
from waypost.files.deletion import delete_by_url
from waypost.files.pages import pages as files_pages
from waypost.files.public import FILES
from waypost.imports.api import router as imports_router
from waypost.imports.pages import pages as import_pages
from waypost.interstitials.consent import answer_consent
from waypost.interstitials.render import CONSENT_PATH, MAX_CONSENT_QUERY
from waypost.links.api import router as links_router
from waypost.links.bulk_pages import pages as link_bulk_pages
from waypost.links.list_pages import pages as link_list_pages
from waypost.links.pages import pages as links_pages
from waypost.links.preview_pages import pages as link_preview_pages
from waypost.links.public import LINKS
from waypost.moderation.pages import pages as moderation_pages
from waypost.moderation.public import report
from waypost.overlays.api import router as overlays_router
from waypost.overlays.pages import pages as overlays_pages
from waypost.overlays.public import submit_form
from waypost.palette.pages import pages as palette_pages
from waypost.pixels.api import router as pixels_router
from waypost.pixels.pages import pages as pixels_pages
from waypost.qr.api import router as qr_router
from waypost.qr.images import qr_image, short_url_image
from waypost.qr.pages import pages as qr_pages
from waypost.qr.public import QR_CODES
from waypost.settings import Settings
from waypost.shares.api import router as shares_router
from waypost.shares.pages import pages as shares_pages
from waypost.shares.shared_pages import pages as shared_statistics_pages
from waypost.splash.api import router as splash_router
from waypost.splash.pages import pages as splash_pages
from waypost.statistics.api import router as statistics_router
from waypost.statistics.pages import pages as overview_pages
from waypost.statistics.visits_page import pages as visits_pages
from waypost.utm.api import router as utm_router
from waypost.utm.pages import pages as utm_pages
from waypost.visits import host_routes
from waypost.visits.alias import alias_handler, domain_alias_handler
from waypost.visits.app import PublicRoute
from waypost.visits.avatar import account_avatar


def _item_endpoints() -> EndpointTable:
    """Return the endpoints for the items of bulk requests."""
    return endpoint_table()


API_ROUTERS = (
    accounts_router,
    files_router,
    campaigns_router,
    splash_router,
    qr_router,
    channels_router,
    pixels_router,
    utm_router,
    domains_router,
    overlays_router,
    shares_router,
    links_router,
    bios_router,
    imports_router,
    statistics_router,
    admin_accounts_router,
    bulk_api.create_router(_item_endpoints),
)
"""Routers in the order of the API document."""

DASHBOARD_PAGES = (
    *overview_pages.routes,
    *visits_pages.routes,
    *shares_pages.routes,
    *shared_statistics_pages.routes,
    *palette_pages.routes,
    *link_list_pages.routes,
    *link_bulk_pages.routes,
    *links_pages.routes,
    *link_preview_pages.routes,
    *files_pages.routes,
    *qr_pages.routes,
    *bios_pages.routes,
    *bio_preview_pages.routes,
    *campaigns_pages.routes,
    *channels_pages.routes,
    *splash_pages.routes,
    *overlays_pages.routes,
    *pixels_pages.routes,
    *utm_pages.routes,
    *domains_pages.routes,
    *domain_brand_pages.routes,
    *trash_pages.routes,
    *account_pages.routes,
    *factor_pages.routes,
    *deletion_pages.routes,
    *export_pages.routes,
    *import_pages.routes,
    *key_pages.routes,
    *connections_pages.routes,
    *web_app_pages.routes,
    *login_pages.routes,
    *admin_account_pages.routes,
    *moderation_pages.routes,
    *brand_pages.routes,
    *brand_asset_pages.routes,
    *status_pages.routes,
)

ALIAS_KINDS = (LINKS, QR_CODES, FILES, BIOS)
"""The kinds of records that an alias can belong to."""

PUBLIC_ROUTES = (
    PublicRoute("/", host_routes.root),
    PublicRoute(CHALLENGE_PATH + "{challenge}", answer_challenge, ("GET",)),
    PublicRoute("/tls/ask", host_routes.tls_ask),
    PublicRoute("/robots.txt", host_routes.robots),
    PublicRoute("/favicon.ico", host_routes.favicon),
    PublicRoute("/u/{username}/avatar.svg", account_avatar),
    PublicRoute("/u/{username}/{name}", visit_list),
    PublicRoute("/u/{username}", host_routes.profile),
    PublicRoute("/r/{slug}", visit_rotator),
    PublicRoute("/report", report, ("GET", "HEAD", "POST")),
    PublicRoute("/overlay/{overlay}", submit_form, ("POST",)),
    PublicRoute("/files/delete/{file}/{signature}", delete_by_url, ("GET", "HEAD", "POST", "DELETE")),
    PublicRoute(CONSENT_PATH, answer_consent, ("GET",), max_query=MAX_CONSENT_QUERY),
    PublicRoute("/qr/{name}", qr_image),
    PublicRoute("/{alias}/qr", short_url_image),
    PublicRoute("/{alias}/{block}", visit_block),
    PublicRoute("/{alias}", alias_handler(ALIAS_KINDS), ("GET", "HEAD", "POST")),
    PublicRoute("/{rest:path}", host_routes.not_found),
)
"""The routes of visitors: the first one that matches a path handles it."""

DOMAIN_ROUTES = (
    PublicRoute("/", host_routes.root),
    PublicRoute(CHALLENGE_PATH + "{challenge}", answer_challenge, ("GET",)),
    PublicRoute("/robots.txt", host_routes.robots),
    PublicRoute("/favicon.ico", host_routes.favicon),
    PublicRoute("/overlay/{overlay}", submit_form, ("POST",)),
    PublicRoute(CONSENT_PATH, answer_consent, ("GET",), max_query=MAX_CONSENT_QUERY),
    PublicRoute(
        "/{alias:path}",
        domain_alias_handler(alias_handler(ALIAS_KINDS), short_url_image),
        ("GET", "HEAD", "POST"),
    ),
)
"""The routes of branded domains. All paths before the last one are reserved there (waypost.urls.alias_rules)."""


@cache
def fastapi_app() -> FastAPI:
    """Return the FastAPI app that documents all routes, built once per process."""
    return create_routes(API_ROUTERS)


@cache
def endpoint_table() -> EndpointTable:
    """Return the endpoints of the API, built once per process."""
    routers = (*API_ROUTERS, openapi.create_router(fastapi_app))
    return EndpointTable(route for router in routers for route in router.routes if isinstance(route, APIRoute))


def api_document(settings: Settings) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the API. Needs no database."""
    return {**openapi.describe(fastapi_app()), "servers": [{"url": settings.base}]}
