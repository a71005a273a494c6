"""All routes: of the API, the dashboard and the visitors. Only `app.py` and the command line import this module."""

from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from waypost.admin.accounts import pages as admin_account_pages
from waypost.admin.brand import pages as brand_pages
from waypost.admin.plans import pages as plan_pages
from waypost.admin.status import pages as status_pages
from waypost.api import openapi
from waypost.api.endpoints import EndpointTable
from waypost.api.openapi import create_routes
from waypost.audit.api import router as audit_router
from waypost.audit.pages import pages as audit_pages
from waypost.bulk import api
from waypost.core.settings import Settings
from waypost.dashboard.assets import pages as asset_pages
from waypost.dashboard.trash import pages as trash_pages
from waypost.email_reports.pages import pages as email_reports_pages
from waypost.integrations.connections.pages import pages as connections_pages
from waypost.integrations.connections.web_app import pages as web_app_pages
from waypost.interstitials.consent import answer_consent
from waypost.interstitials.link_visits import LINKS
from waypost.interstitials.render import CONSENT_PATH, MAX_CONSENT_QUERY
from waypost.items.accounts.admin_api import router as admin_accounts_router
from waypost.items.accounts.api import router as accounts_router
from waypost.items.accounts.factor_pages import pages as factor_pages
from waypost.items.accounts.login_pages import pages as login_pages
from waypost.items.accounts.pages import pages as account_pages
from waypost.items.bios.api import router as bios_router
from waypost.items.bios.pages import pages as bios_pages
from waypost.items.bios.preview_pages import pages as bio_preview_pages
from waypost.items.bios.public import BIOS, visit_block
from waypost.items.campaigns.api import router as campaigns_router
from waypost.items.campaigns.list_page import visit_list
from waypost.items.campaigns.pages import pages as campaigns_pages
from waypost.items.campaigns.public import visit_rotator
from waypost.items.channels.api import router as channels_router
from waypost.items.channels.pages import pages as channels_pages
from waypost.items.domains.api import router as domains_router
from waypost.items.domains.brand_pages import pages as domain_brand_pages
from waypost.items.domains.ownership_check import PATH as CHALLENGE_PATH
from waypost.items.domains.ownership_check import answer_challenge
from waypost.items.domains.pages import pages as domains_pages
from waypost.items.files.api import router as files_router
from waypost.items.files.deletion import delete_by_url
from waypost.items.files.pages import pages as files_pages
from waypost.items.files.public import FILES
from waypost.items.links.api import router as links_router
from waypost.items.links.bulk_pages import pages as link_bulk_pages
from waypost.items.links.list_pages import pages as link_list_pages
from waypost.items.links.pages import pages as links_pages
from waypost.items.links.preview_pages import pages as link_preview_pages
from waypost.items.links.views import pages as link_views_pages
from waypost.items.moderation.pages import pages as moderation_pages
from waypost.items.moderation.public import report
from waypost.items.overlays.api import router as overlays_router
from waypost.items.overlays.pages import pages as overlays_pages
from waypost.items.overlays.public import submit_form
from waypost.items.pixels.api import router as pixels_router
from waypost.items.pixels.pages import pages as pixels_pages
from waypost.items.qr.api import router as qr_router
from waypost.items.qr.images import qr_image, short_url_image
from waypost.items.qr.pages import pages as qr_pages
from waypost.items.qr.public import QR_CODES
from waypost.items.shares.api import router as shares_router
from waypost.items.shares.pages import pages as shares_pages
from waypost.items.shares.shared_pages import pages as shared_statistics_pages
from waypost.items.splash.api import router as splash_router
from waypost.items.splash.pages import pages as splash_pages
from waypost.items.statistics.api import router as statistics_router
from waypost.items.statistics.pages import pages as overview_pages
from waypost.items.statistics.visits_page import pages as visits_pages
from waypost.items.utm.api import router as utm_router
from waypost.items.utm.pages import pages as utm_pages
from waypost.palette.pages import pages as palette_pages
from waypost.transfer.exports.pages import pages as export_pages
from waypost.transfer.imports.api import router as imports_router
from waypost.transfer.imports.pages import pages as import_pages
from waypost.visits import host_routes
from waypost.visits.alias import alias_handler, domain_alias_handler
from waypost.visits.app import PublicRoute
from waypost.visits.avatar import account_avatar
from waypost.webhooks.api import router as webhooks_router
from waypost.webhooks.pages import pages as webhook_pages


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
    audit_router,
    webhooks_router,
    admin_accounts_router,
    api.create_router(_item_endpoints),
)
"""Routers in the order of the API document."""

DASHBOARD_PAGES = (
    *overview_pages.routes,
    *visits_pages.routes,
    *shares_pages.routes,
    *shared_statistics_pages.routes,
    *palette_pages.routes,
    *link_list_pages.routes,
    *link_views_pages.routes,
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
    *audit_pages.routes,
    *webhook_pages.routes,
    *email_reports_pages.routes,
    *account_pages.routes,
    *factor_pages.routes,
    *export_pages.routes,
    *import_pages.routes,
    *connections_pages.routes,
    *web_app_pages.routes,
    *login_pages.routes,
    *admin_account_pages.routes,
    *plan_pages.routes,
    *moderation_pages.routes,
    *brand_pages.routes,
    *asset_pages.routes,
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
