"""What somebody meets at the alias of a bio page: the page, a warning before it, and where its blocks lead."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.bios import blocks, themes, view
from waypost.clicks.classify import classifier
from waypost.clicks.journal import writer as journal
from waypost.errors import Problem
from waypost.settings import Settings
from waypost.urls import validation
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import report_url
from waypost.visits.i18n import text
from waypost.visits.lookup import BioView
from waypost.visits.payload_responses import app_redirect, payload_download
from waypost.visits.request import VisitRequest, read
from waypost.visits.responses import NO_STORE, PAGE, PageRenderer, redirect, wants_page
from waypost.visits.visit import VisitService

_GATE = text("Sensitive content")
_SURE = "wp_sure"
_SURE_SECONDS = 86_400
_DESCRIBED = 300  # characters of a description that a link preview shows


class Bios:
    """Answers visits of bio pages."""

    def __init__(self, *, settings: Settings, visitor: VisitService, pages: PageRenderer) -> None:
        self._settings = settings
        self._visitor = visitor
        self._pages = pages

    def answer(self, request: Request, asked: VisitRequest, bio: BioView) -> Response:
        """The page, counted when it is shown. Before a sensitive one a browser gets a warning, which counts nothing."""
        if request.method == "POST":
            return self._agreed(bio)
        if not wants_page(request):
            self._write(asked, bio)
            return JSONResponse(view.told(bio, self._settings.base), headers=NO_STORE)
        if bio.sensitive and not _is_sure(request, bio):
            return self._pages.page(
                "gate.html", request=request, title=self._pages.say(request, _GATE), alias=bio.alias
            )
        self._write(asked, bio)
        return self._page(request, bio)

    async def of_block(self, request: Request) -> Response:
        """`/<alias>/<block>`, and `/<alias>/vcard` for the first card. Counted for the block."""
        asked = await read(request, request.path_params["alias"], self._settings)
        bio = await self._visitor.resolve(asked.host, asked.alias)
        block = view.block_of(bio, request.path_params["block"]) if isinstance(bio, BioView) else None
        if not isinstance(bio, BioView) or block is None:
            return self._pages.refuse(request, "missing")
        if "blocked" in block:
            return self._pages.refuse(request, "blocked")
        if block["type"] == "vcard":
            self._write_block(asked, bio, block)
            system = classifier.agent(asked.agent.decode("utf-8", "replace")).os
            return payload_download(view.card(bio, block), opens_inline=system == "iOS")
        try:
            url = validation.target(blocks.target_of(block), field="blocks", settings=self._settings)
        except Problem:  # a rule of the operator's has changed since: an app scheme that was allowed
            return self._pages.refuse(request, "disabled")
        self._write_block(asked, bio, block)
        if url.lower().startswith(("http://", "https://")):
            return redirect(url)
        return app_redirect(self._pages, request, url, name=blocks.name_of(block))

    def preview(self, request: Request, bio: BioView) -> Response:
        """Where the alias leads, without going there (decision 50)."""
        url = f"{self._settings.base}/{bio.alias}"
        if not wants_page(request):
            return JSONResponse({"error": 0, "url": url, "title": view.heading(bio)}, headers=NO_STORE)
        title = view.heading(bio)
        report = report_url(self._settings.base, OWN, bio.alias)
        return self._pages.page("preview.html", request=request, title=title, url=url, alias=bio.alias, report=report)

    def _page(self, request: Request, bio: BioView) -> Response:
        page = self._pages.page("bio.html", request=request, **self._told(bio))
        page.headers["Content-Security-Policy"] = PAGE["Content-Security-Policy"].replace(
            "img-src data:", f"img-src data: {view.policy(bio)}".replace(" 'none'", "")
        )
        if request.query_params.get("sure") == "1":
            _remember(page, bio)
        return page

    def drawn(self, **fields: Any) -> str:
        """The page of a draft, for who builds it: `fields` are those of a bio page."""
        return self._pages.draw("bio.html", **self._told(BioView(id=0, account=0, sensitive=False, **fields)))

    def _told(self, bio: BioView) -> dict[str, Any]:
        """What the template wants to know."""
        title = view.heading(bio)
        return {
            "bio": bio,
            "title": title,
            "url": f"{self._settings.base}/{bio.alias}",
            "summary": " ".join(bio.description.split())[:_DESCRIBED],
            "style": themes.style(bio.theme),
            "avatar": view.avatar(title, bio.alias),
            "sections": view.sections(bio),
            "report": report_url(self._settings.base, OWN, bio.alias),
        }

    def _agreed(self, bio: BioView) -> Response:
        """On to the page, for browsers without cookies too."""
        answer = redirect(f"/{bio.alias}?sure=1" if bio.sensitive else f"/{bio.alias}", status=303)
        if bio.sensitive:
            _remember(answer, bio)
        return answer

    def _write(self, asked: VisitRequest, bio: BioView) -> None:
        self._visitor.write(journal.target_of(bio.account, "bio", bio.id), asked)

    def _write_block(self, asked: VisitRequest, bio: BioView, block: blocks.Block) -> None:
        self._visitor.write(journal.target_of(bio.account, "block", block["id"]), asked)


def _is_sure(request: Request, bio: BioView) -> bool:
    return request.query_params.get("sure") == "1" or request.cookies.get(_SURE) == str(bio.id)


def _remember(answer: Response, bio: BioView) -> None:
    """For this page alone: the cookie says nothing about any other, and goes nowhere else."""
    path = f"/{bio.alias}"
    answer.set_cookie(_SURE, str(bio.id), max_age=_SURE_SECONDS, path=path, httponly=True, samesite="lax")
