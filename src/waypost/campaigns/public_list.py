"""`/u/<username>/<slug>-<id>`: the links of a campaign to choose from (decisions 27 and 51)."""

import re
import zlib
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost import clock, credentials
from waypost.auth import api_keys
from waypost.campaigns import list_query
from waypost.campaigns.list_query import PER_PAGE, ListPage, Row, Shown
from waypost.clicks.journal import writer as journal
from waypost.settings import Settings
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import list_url, short_url
from waypost.visits.request import read
from waypost.visits.responses import NO_STORE, PageRenderer, redirect, wants_page
from waypost.visits.visit import VisitService, can_be

_NAME = re.compile(r"(.+)-([1-9][0-9]{0,14})\Z", re.ASCII)
_NUMBER = re.compile(r"[1-9][0-9]{0,8}\Z", re.ASCII)
_LONGEST_SEARCH = 255
_FEW = 5  # links that nobody needs to search


class Lists:
    """Shows list pages: the public ones to everybody, the others to who shows a key of their account."""

    def __init__(self, *, settings: Settings, visitor: VisitService, pages: PageRenderer) -> None:
        self._settings = settings
        self._visitor = visitor
        self._pages = pages

    async def answer(self, request: Request) -> Response:
        """A page of the list. The id finds it; an old slug in front of it leads to the address that it has now."""
        asked = await read(request, request.path_params["name"], self._settings)
        named = _NAME.match(asked.alias)
        whose = request.path_params["username"]
        found = await self._find(int(named[2]), request) if named and asked.host == OWN else None
        if found is None or found[0].username.casefold() != whose.casefold():
            await self._visitor.note_missing(asked)
            return self._pages.refuse(request, "missing")
        it, is_owner = found
        here = list_url(self._settings.base, it.username, it.slug, it.id)
        if not here.endswith(f"/{whose}/{asked.alias}"):
            # Not for good: a slug may come back, and then what browsers remember would go in circles.
            return redirect(f"{here}?{asked.query}" if asked.query else here)
        row, q = await self._row(it, request)
        if not is_owner:
            self._visitor.write(journal.target_of(it.account, "campaign", it.id), asked)
        if not wants_page(request):
            return JSONResponse({"error": 0, "data": self._told(it, row, here)}, headers=NO_STORE)
        return self._page(request, it, row, here, q)

    async def _row(self, it: ListPage, request: Request) -> tuple[Row, str]:
        """The page that the query asks for, and the search."""
        q = request.query_params.get("q", "").strip()[:_LONGEST_SEARCH]
        wanted = request.query_params.get("page", "1")
        number = int(wanted) if _NUMBER.match(wanted) else 1
        if not can_be(q, _LONGEST_SEARCH):
            return Row((), 0, number), q
        now = clock.now()
        return await self._visitor.read(lambda tx: list_query.page(tx, it.id, number=number, q=q, now=now)), q

    async def _find(self, campaign: int, request: Request) -> tuple[ListPage, bool] | None:
        """The campaign, if this visitor may see it, and whether it is the visitor's own."""
        scheme, _, key = request.headers.get("authorization", "").strip().partition(" ")
        key = key.strip() if scheme.lower() in ("bearer", "token") else ""

        def work(tx: Connection) -> tuple[ListPage, bool] | None:
            found = list_query.find_shelf(tx, campaign)
            caller = api_keys.find_caller(tx, credentials.digest(key)) if found and key else None
            is_owner = bool(found and caller and caller.account == found.account and not caller.suspended)
            return (found, is_owner) if found and (found.public or is_owner) else None

        return await self._visitor.read(work)

    def _told(self, it: ListPage, row: Row, here: str) -> dict[str, Any]:
        return {
            "name": it.name,
            "list": here,
            "rotator": f"{self._settings.base}/r/{it.slug}" if it.slug else False,
            "result": row.result,
            "perpage": PER_PAGE,
            "currentpage": row.page,
            "nextpage": row.page + 1 if row.page < row.pages else None,
            "maxpage": row.pages,
            "links": [{"shorturl": self._url(one), "title": one.title, "site": one.site} for one in row.items],
        }

    def _page(self, request: Request, it: ListPage, row: Row, here: str, q: str) -> Response:
        def at(number: int) -> str:
            asked = {**({"q": q} if q else {}), **({"page": number} if number > 1 else {})}
            return f"{here}?{urlencode(asked)}" if asked else here

        tiles = [
            {"url": self._url(one), "title": one.title, "site": one.site, "letter": _letter(one), "hue": _hue(one.site)}
            for one in row.items
        ]
        return self._pages.page(
            "list.html",
            request=request,
            title=list_query.straight(it.name),
            shelf=it,
            row=row,
            tiles=tiles,
            q=q,
            here=here,
            before=at(min(row.page - 1, row.pages)) if row.page > 1 else "",
            after=at(row.page + 1) if row.page < row.pages else "",
            has_search=q or row.pages > 1 or row.result > _FEW,
        )

    def _url(self, one: Shown) -> str:
        return short_url(self._settings.base, one.host, one.scheme, one.alias)


def _hue(site: str) -> int:
    return zlib.crc32(site.encode()) % 360


def _letter(one: Shown) -> str:
    """What stands on a link's tile: the first letter or digit of its site's name."""
    return next((letter for letter in one.site if letter.isalnum()), "#").upper()
