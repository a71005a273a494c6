"""The search page, whose results the command palette shows."""

from starlette.responses import Response

from waypost.dashboard import navigation
from waypost.dashboard.context import PageContext
from waypost.dashboard.list_position import HOME
from waypost.dashboard.routing import Router
from waypost.palette import commands
from waypost.palette.search import find

pages = Router()
_MAX_LENGTH = 200


@pages.get("/dashboard/search")
def show_results(context: PageContext) -> Response:
    q = context.query("q", max_length=_MAX_LENGTH).strip()
    return context.render(
        "palette/search.html",
        q=q,
        entries={entry.path.removeprefix(f"{HOME}/"): entry for entry in navigation.MAIN},
        matches=context.read(lambda tx: find(tx, context.account, context.search_words(tx, q))),
        actions=commands.actions(q),
        pages=commands.pages(q, is_admin=bool(context.user.owner)),
    )
