"""The page that connects other programs with the account, and the pages of the user's API keys."""

from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from waypost.api.request_body import Body
from waypost.api.types import Expiry, Name
from waypost.auth import api_keys, people, two_factor
from waypost.auth.api_keys import Scope
from waypost.core import clock
from waypost.core.errors import not_found
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape
from waypost.dashboard.routing import Router
from waypost.integrations.connections import recipes
from waypost.items.accounts import emails, login_changes, proof

pages = Router()
_KEYS = "/dashboard/account/keys"


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


class NewKey(Body):
    name: Annotated[Name, Field(max_length=64)]
    scope: Scope = "write"
    expires: Expiry | None = None


_KEY_SHAPE = Shape(local_times=("expires",))
_NEW_KEY = {"name": "", "scope": "write", "expires": ""}


@pages.get("/dashboard/account/keys")
def list_keys(context: PageContext) -> Response:
    return _keys_page(context, Form(_NEW_KEY))


@pages.post("/dashboard/account/keys")
def add_key(context: PageContext) -> Response:
    """Create a key with the password, and a code if there is a second factor. Only this response shows it."""
    form = context.form(_KEY_SHAPE)
    body = form.attempt(lambda: form.read(NewKey, context.time_zone, _KEY_SHAPE))
    if not proof.check_password_and_code(context, form) or body is None:
        return _keys_page(context, form, status=400)
    expires = None if body.expires is None else clock.last_second(body.expires)
    key = form.attempt(
        lambda: context.write(
            lambda tx: api_keys.add(tx, context.account, name=body.name, scope=body.scope, expires=expires)
        )
    )
    if key is None:
        return _keys_page(context, form, status=400)
    owner = context.read(lambda tx: people.owner_of(tx, context.account))
    if owner is not None:
        login_changes.tell(context, owner, emails.NEW_KEY, name=body.name)
    return _keys_page(context, Form(_NEW_KEY), new_key=key)


@pages.get("/dashboard/account/keys/{id:int}/revoke")
def confirm_revocation(context: PageContext, id: int) -> Response:
    keys = context.read(lambda tx: api_keys.of(tx, context.account))
    key = next((key for key in keys if key.id == id), None)
    if key is None:
        raise not_found("API key")
    return context.render("account/revoke_key.html", key=key)


@pages.post("/dashboard/account/keys/revoke")
def revoke_key(context: PageContext) -> Response:
    if ids := context.selected_ids():
        context.write(lambda tx: api_keys.revoke(tx, context.account, ids[0]))
    return context.redirect(_KEYS, message="The key was revoked. Requests with it now fail with 401.")


def _keys_page(context: PageContext, form: Form, *, status: int = 200, new_key: str = "") -> Response:
    keys = context.read(lambda tx: api_keys.of(tx, context.account))
    factor = context.read(lambda tx: two_factor.of(tx, context.person))
    return context.render(
        "account/keys.html",
        status=status,
        form=form,
        keys=keys,
        factor=factor,
        new_key=new_key,
        base=context.settings.base,
        recipes=recipes.all_recipes(context.settings.base, new_key),
    )
