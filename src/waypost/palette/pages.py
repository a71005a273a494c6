"""The search page, whose results the command palette shows."""

from starlette.responses import Response

from waypost.dashboard.context import PageContext
from waypost.dashboard.routing import Router
from waypost.db.schema.nouns import NOUNS
from waypost.palette import commands
from waypost.palette.results import find

pages = Router()
_MAX_LENGTH = 200


@pages.get("/dashboard/search")
def show_results(context: PageContext) -> Response:
    q = context.query("q", max_length=_MAX_LENGTH).strip()
    return context.render(
        "palette/search.html",
        q=q,
        nouns=NOUNS,
        matches=context.read(lambda tx: find(tx, context.account, context.search_words(tx, q))),
        actions=commands.actions(q),
        pages=commands.pages(q, is_admin=bool(context.user.owner)),
    )
