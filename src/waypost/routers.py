"""Every router of the API and every page of the dashboard. Only `app.py` and the command line import it."""

from functools import cache
from typing import Any

from fastapi import FastAPI

from waypost.accounts.api import router as accounts_router
from waypost.accounts.login_pages import pages as entering_pages
from waypost.accounts.pages import pages as account_pages
from waypost.admin.accounts import pages as people_pages
from waypost.admin.status import pages as health_pages
from waypost.api import openapi
from waypost.api.app import route_api
from waypost.bios.api import router as bios_router
from waypost.bios.pages import pages as bios_pages
from waypost.campaigns.api import router as campaigns_router
from waypost.campaigns.pages import pages as campaigns_pages
from waypost.channels.api import router as channels_router
from waypost.channels.pages import pages as channels_pages
from waypost.domains.api import router as domains_router
from waypost.domains.pages import pages as domains_pages
from waypost.files.api import router as files_router
from waypost.files.pages import pages as files_pages
from waypost.links.api import router as links_router
from waypost.links.pages import pages as links_pages
from waypost.moderation.pages import pages as abuse_pages
from waypost.overlays.api import router as overlays_router
from waypost.overlays.pages import pages as overlays_pages
from waypost.pixels.api import router as pixels_router
from waypost.pixels.pages import pages as pixels_pages
from waypost.qr.api import router as qr_router
from waypost.qr.pages import pages as codes_pages
from waypost.settings import Settings
from waypost.splash.api import router as splash_router
from waypost.splash.pages import pages as splash_pages
from waypost.statistics.api import router as statistics_router
from waypost.statistics.pages import pages as overview_pages

API_ROUTERS = (
    accounts_router,
    files_router,
    campaigns_router,
    splash_router,
    qr_router,
    channels_router,
    pixels_router,
    domains_router,
    overlays_router,
    links_router,
    bios_router,
    statistics_router,
)
"""In the order of the API document."""

DASHBOARD_PAGES = (
    *overview_pages.routes,
    *links_pages.routes,
    *files_pages.routes,
    *codes_pages.routes,
    *bios_pages.routes,
    *campaigns_pages.routes,
    *channels_pages.routes,
    *splash_pages.routes,
    *overlays_pages.routes,
    *pixels_pages.routes,
    *domains_pages.routes,
    *account_pages.routes,
    *entering_pages.routes,
    *people_pages.routes,
    *abuse_pages.routes,
    *health_pages.routes,
)


@cache
def fastapi_app() -> FastAPI:
    """The routes of the whole API; built once in a process."""
    return route_api(API_ROUTERS)


def api_document(settings: Settings) -> dict[str, Any]:
    """OpenAPI 3.1 of the API, without a database."""
    return {**openapi.describe(fastapi_app()), "servers": [{"url": settings.base}]}
