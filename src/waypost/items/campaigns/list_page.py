"""List pages at `/u/<username>/<slug>-<id>`: the links of a campaign, with search (decisions 27, 51).

The links are the usable ones, newest first, paged and searched.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Connection, func, select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.auth import api_keys
from waypost.clicks import journal
from waypost.core import clock, credentials
from waypost.core.settings import Settings
from waypost.core.text_folding import folded
from waypost.db.schema import accounts, campaigns, domains, links
from waypost.items.campaigns.rotator_candidates import usable
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import list_url, rotator_url, short_url
from waypost.urls.validation import host_of
from waypost.visits.alias import respond_missing
from waypost.visits.avatar import hue
from waypost.visits.request import read_visit
from waypost.visits.responses import NO_STORE, redirect, wants_json
from waypost.visits.visit import is_valid_name
from waypost.visits.visitor_services import Services

PER_PAGE = 25
# Bidirectional control characters: in a title, they can make "gnp.exe" look like "exe.png".
_BIDI_CONTROLS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_NAME = re.compile(r"(.+)-([1-9][0-9]{0,14})\Z", re.ASCII)
_NUMBER = re.compile(r"[1-9][0-9]{0,8}\Z", re.ASCII)
_MAX_SEARCH = 255
_MAX_WITHOUT_SEARCH = 5  # links; a longer list has a search field


@dataclass(frozen=True)
class PublicCampaign:
    """A campaign as its list page needs it."""

    id: int
    account: int
    username: str
    name: str
    slug: str | None
    public: bool
    indexable: bool


@dataclass(frozen=True)
class ListedLink:
    """A link in the list. `scheme` is that of its branded domain; `site` is its destination's host without `www.`."""

    host: str
    scheme: str | None
    alias: str
    title: str
    site: str


@dataclass(frozen=True)
class LinkPage:
    """One page of links; `result` is the number of all that match."""

    items: Sequence[ListedLink]
    result: int
    number: int

    @property
    def pages(self) -> int:
        """Number of pages, at least one."""
        return max(1, -(-self.result // PER_PAGE))


def find_campaign(tx: Connection, campaign: int) -> PublicCampaign | None:
    """Return a campaign of any account."""
    c = campaigns.c
    columns = (c.id, c.account, accounts.c.username, c.name, c.slug, c.public, c.indexable)
    row = tx.execute(select(*columns).join(accounts, accounts.c.id == c.account).where(c.id == campaign)).first()
    return PublicCampaign(*row) if row else None


def list_links(tx: Connection, campaign: PublicCampaign, *, number: int, q: str, now: int) -> LinkPage:
    """Return a page of usable links. `q` searches what the page shows: titles, sites and aliases."""
    c = links.c
    start = (number - 1) * PER_PAGE
    key = (campaign.account, campaign.id, now)
    query = usable(select(c.host, domains.c.scheme, c.alias, c.title, c.url), *key).order_by(c.id.desc())
    if q:
        term = folded(q)
        # The search column also contains private text such as descriptions, so it only narrows the candidates.
        rows = tx.execute(query.where(c.search.contains(term, autoescape=True)))
        matches = [link for link in map(_listed_link, rows) if _matches(link, term)]
        return LinkPage(matches[start : start + PER_PAGE], len(matches), number)
    total = tx.execute(usable(select(func.count(c.id)), *key)).scalar_one()
    rows_of_page = tx.execute(query.limit(PER_PAGE).offset(start)) if start < total else ()
    return LinkPage([_listed_link(row) for row in rows_of_page], int(total), number)


def _listed_link(row: tuple[str, str | None, str, str, str]) -> ListedLink:
    host, scheme, alias, title, url = row
    site = site_of(url)
    return ListedLink(host, scheme, alias, without_bidi_controls(title).strip() or site, site)


def without_bidi_controls(text: str) -> str:
    """Remove the characters that change the direction of text."""
    return text.translate(_BIDI_CONTROLS)


def site_of(url: str) -> str:
    """Return the host of a destination without `www.`; the scheme of an app link."""
    try:
        host = host_of(url)
    except ValueError:
        host = None
    return (host or url.partition(":")[0]).removeprefix("www.")


def _matches(link: ListedLink, term: str) -> bool:
    return any(term in folded(text) for text in (link.title, link.site, link.alias))


async def visit_list(request: Request, services: Services) -> Response:
    """Show a page of a public list; a private one needs an API key of its account.

    The id finds the campaign. An old slug redirects to the current URL.
    """
    visit = await read_visit(request, request.path_params["name"], services.settings)
    match = _NAME.match(visit.alias)
    username = request.path_params["username"]
    campaign, is_owner = None, False
    if match and visit.host == OWN:
        campaign, is_owner = await _find_campaign(request, services, int(match[2]))
    if campaign is None or campaign.username.casefold() != username.casefold():
        return await respond_missing(request, services, visit)
    url = list_url(services.settings.base, campaign.username, campaign.slug, campaign.id)
    if not url.endswith(f"/{username}/{visit.alias}"):
        # Temporary: if the old slug is used again, cached permanent redirects could form a loop.
        return redirect(f"{url}?{visit.query}" if visit.query else url)
    q = request.query_params.get("q", "").strip()[:_MAX_SEARCH]
    page = await _read_page(request, services, campaign, q)
    if not is_owner:
        services.visits.log_visit(journal.item_fields(campaign.account, "campaign", campaign.id), visit)
    if wants_json(request):
        return JSONResponse({"error": 0, "data": _json(campaign, page, url, services.settings)}, headers=NO_STORE)
    return services.pages.page("list.html", request=request, **_context(campaign, page, url, q, services.settings))


async def _read_page(request: Request, services: Services, campaign: PublicCampaign, q: str) -> LinkPage:
    """Return the requested page of links that match the search `q`."""
    value = request.query_params.get("page", "1")
    number = int(value) if _NUMBER.match(value) else 1
    if not is_valid_name(q, _MAX_SEARCH):
        return LinkPage((), 0, number)
    now = clock.now()
    return await services.visits.read(lambda tx: list_links(tx, campaign, number=number, q=q, now=now))


async def _find_campaign(request: Request, services: Services, campaign: int) -> tuple[PublicCampaign | None, bool]:
    """Return (the campaign if the visitor may see it, whether the visitor owns it)."""
    scheme, _, key = request.headers.get("authorization", "").strip().partition(" ")
    key = key.strip() if scheme.lower() in ("bearer", "token") else ""

    def work(tx: Connection) -> tuple[PublicCampaign | None, bool]:
        record = find_campaign(tx, campaign)
        if record is None:
            return None, False
        caller = api_keys.find_caller(tx, credentials.digest(key)) if key else None
        is_owner = bool(caller and caller.account == record.account and not caller.suspended)
        return (record if record.public or is_owner else None), is_owner

    return await services.visits.read(work)


def _json(campaign: PublicCampaign, page: LinkPage, url: str, settings: Settings) -> dict[str, Any]:
    links = [{"shorturl": _short_url(link, settings), "title": link.title, "site": link.site} for link in page.items]
    return {
        "name": campaign.name,
        "list": url,
        "rotator": rotator_url(settings.base, campaign.slug) or False,
        "result": page.result,
        "perpage": PER_PAGE,
        "currentpage": page.number,
        "nextpage": page.number + 1 if page.number < page.pages else None,
        "maxpage": page.pages,
        "links": links,
    }


def _context(campaign: PublicCampaign, page: LinkPage, url: str, q: str, settings: Settings) -> dict[str, Any]:
    """Return the template values of a page."""

    def page_url(number: int) -> str:
        query = {**({"q": q} if q else {}), **({"page": number} if number > 1 else {})}
        return f"{url}?{urlencode(query)}" if query else url

    return {
        "title": without_bidi_controls(campaign.name),
        "campaign": campaign,
        "page": page,
        "tiles": [_tile(link, settings) for link in page.items],
        "q": q,
        "list_url": url,
        "page_url": page_url(page.number),
        "is_indexable": campaign.public and campaign.indexable and bool(page.items) and not q,
        "previous_url": page_url(min(page.number - 1, page.pages)) if page.number > 1 else "",
        "next_url": page_url(page.number + 1) if page.number < page.pages else "",
        "has_search": q or page.pages > 1 or page.result > _MAX_WITHOUT_SEARCH,
    }


def _tile(link: ListedLink, settings: Settings) -> dict[str, Any]:
    """Return the template values of a link, with the first letter or digit of its site."""
    letter = next((letter for letter in link.site if letter.isalnum()), "#").upper()
    url = _short_url(link, settings)
    return {"url": url, "title": link.title, "site": link.site, "letter": letter, "hue": hue(link.site)}


def _short_url(link: ListedLink, settings: Settings) -> str:
    return short_url(settings.base, link.host, link.scheme, link.alias)
