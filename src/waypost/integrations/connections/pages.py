"""The page that connects other programs with the account."""

from starlette.responses import Response

from waypost.dashboard.context import PageContext
from waypost.dashboard.routing import Router
from waypost.integrations.connections import recipes

pages = Router()


@pages.get("/dashboard/account/connections")
def show_connections(context: PageContext) -> Response:
    base = context.settings.base
    return context.render(
        "connections/connections.html",
        base=base,
        bookmarklet=recipes.bookmarklet(context.settings.dashboard),
        search_url=recipes.search_url(context.settings.dashboard),
        recipes=recipes.all_recipes(base, recipes.PLACEHOLDER),
        key=recipes.PLACEHOLDER,
    )
