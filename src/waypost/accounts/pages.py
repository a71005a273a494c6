"""The pages of one's own account: address and password, sessions, the authenticator app, API keys."""

from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from waypost import clock, credentials
from waypost.accounts import ops
from waypost.api.request_body import Body
from waypost.api.types import Expiry, Name
from waypost.auth import api_keys, sessions, two_factor
from waypost.auth.api_keys import Scope
from waypost.dashboard import qr_image
from waypost.dashboard.context import HOME, THEME_COOKIE, PageContext, safe_redirect_path
from waypost.dashboard.forms import Form, Shape
from waypost.dashboard.routing import Router
from waypost.errors import Kind, Problem, invalid

pages = Router()
_ACCOUNT, _KEYS, _SESSIONS = "/dashboard/account", "/dashboard/account/keys", "/dashboard/account/sessions"
_FACTOR = "/dashboard/account/factor"
_PROPOSAL, _PROPOSAL_SECONDS = "app", 900


class NewKey(Body):
    name: Annotated[Name, Field(max_length=64)]
    scope: Scope = "write"
    expires: Expiry | None = None


_KEY = Shape(moments=("expires",))


@pages.get("/dashboard/account")
def show_account(context: PageContext) -> Response:
    return _account_page(context, Form({"email": context.user.email}))


@pages.post("/dashboard/account/email")
def change_email(context: PageContext) -> Response:
    form = context.form()

    def work() -> bool:
        email = ops.checked_email(form.text("email"))
        _must_know(context, form)
        context.write(lambda tx: ops.change(tx, context.account, email=email))
        return True

    if form.attempt(work):
        return context.redirect(_ACCOUNT, said="Your e-mail address is changed.")
    return _account_page(context, form, status=400)


@pages.post("/dashboard/account/password")
def change_password(context: PageContext) -> Response:
    """Every session ends with it; this browser gets a new one."""
    form = context.form()

    def work() -> str:
        password = ops.checked_password(str(form["new"]), field="new")
        _must_know(context, form, field="old")
        hashed = credentials.hash_password(password)

        def change(tx: Connection) -> str:
            agent = next((one.agent for one in sessions.of(tx, context.account) if one.id == context.user.session), "")
            ops.change(tx, context.account, password=hashed)
            return sessions.begin(tx, context.account, agent=agent)

        return context.write(change)

    token = form.attempt(work)
    form.values |= {"old": "", "new": "", "email": context.user.email}
    if token is None:
        return _account_page(context, form, status=400)
    return context.set_session_cookie(
        context.redirect(_ACCOUNT, said="Your password is changed. Other browsers are signed out."), token
    )


@pages.get("/dashboard/account/sessions")
def list_sessions(context: PageContext) -> Response:
    found = context.read(lambda tx: sessions.of(tx, context.account))
    return context.render("account/sessions.html", sessions=found)


@pages.post("/dashboard/account/sessions/end")
def end_session(context: PageContext) -> Response:
    """One of them, or without an id all but this."""
    picked = context.selected_ids()
    if picked:
        context.write(lambda tx: sessions.end(tx, context.account, picked[0]))
    else:
        context.write(lambda tx: sessions.end_others(tx, context.account, keep=context.user.session))
    return context.redirect(_SESSIONS, said="Signed out there.")


@pages.get("/dashboard/account/factor")
def show_factor(context: PageContext) -> Response:
    return _factor_page(context, Form({}))


@pages.post("/dashboard/account/factor")
def switch_factor_on(context: PageContext) -> Response:
    """With the password, and a code of the app that shows that it works."""
    form = context.form()

    def work() -> list[str]:
        told = context.services.signer.unsign(_PROPOSAL, form.text("sealed"), bound=context.cookie)
        if told is None:
            raise invalid("code", "That took too long. Please scan the new picture.")
        _must_know(context, form)
        step = two_factor.fits(told[0], form.text("code"))
        if step is None:
            raise invalid("code", "This code is not right. Is the clock of your phone?")
        return list(context.write(lambda tx: two_factor.switch_on(tx, context.account, secret=told[0], step=step)))

    codes = form.attempt(work)
    if codes is None:
        return _factor_page(context, form, status=400)
    return context.render("account/codes.html", codes=codes)


@pages.post("/dashboard/account/factor/codes")
def renew_codes(context: PageContext) -> Response:
    """Fresh recovery codes."""
    form = context.form()

    def work() -> list[str]:
        _must_know(context, form)
        return list(context.write(lambda tx: two_factor.new_codes(tx, context.account)))

    codes = form.attempt(work)
    return (
        _factor_page(context, form, status=400) if codes is None else context.render("account/codes.html", codes=codes)
    )


@pages.post("/dashboard/account/factor/off")
def switch_factor_off(context: PageContext) -> Response:
    form = context.form()

    def work() -> bool:
        _must_know(context, form)
        context.write(lambda tx: two_factor.switch_off(tx, context.account))
        return True

    if form.attempt(work):
        return context.redirect(_FACTOR, said="The second factor is off.")
    return _factor_page(context, form, status=400)


@pages.get("/dashboard/account/keys")
def list_keys(context: PageContext) -> Response:
    return _keys_page(context, Form({"name": "", "scope": "write", "expires": ""}))


@pages.post("/dashboard/account/keys")
def add_key(context: PageContext) -> Response:
    """The answer shows the key, this once."""
    form = context.form(_KEY)

    def work() -> str:
        body = form.read(NewKey, context.time_zone, _KEY)
        until = None if body.expires is None else clock.last_second(body.expires)
        new = {"name": body.name, "scope": body.scope, "expires": until}
        return context.write(lambda tx: api_keys.add(tx, context.account, **new))  # type: ignore[arg-type]  # as the model says

    made = form.attempt(work)
    if made is None:
        return _keys_page(context, form, status=400)
    return _keys_page(context, Form({"name": "", "scope": "write", "expires": ""}), made=made)


@pages.post("/dashboard/account/keys/revoke")
def revoke_key(context: PageContext) -> Response:
    for key in context.selected_ids()[:1]:
        context.write(lambda tx, key=key: api_keys.revoke(tx, context.account, key))  # type: ignore[misc]  # bound now
    return context.redirect(_KEYS, said="The key is revoked. Who used it gets 401 from now on.")


@pages.post("/dashboard/theme", public=True)
def choose_theme(context: PageContext) -> Response:
    """Light, dark, or as the system has it."""
    came_from = urlsplit(context.request.headers.get("referer", ""))
    back = safe_redirect_path(came_from.path + (f"?{came_from.query}" if came_from.query else ""))
    response = RedirectResponse(back, status_code=303)
    response.set_cookie(THEME_COOKIE, context.form().text("theme")[:5], max_age=365 * 86_400, path=HOME, samesite="lax")
    return response


def _account_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    account = context.read(lambda tx: ops.get(tx, context.account))
    factor = context.read(lambda tx: two_factor.of(tx, context.account))
    return context.render("account/account.html", status=status, form=form, account=account, factor=factor)


def _factor_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    """What there is; or a new secret as a picture, which only this browser can switch on."""
    factor = context.read(lambda tx: two_factor.of(tx, context.account))
    if factor is not None:
        return context.render("account/factor.html", status=status, form=form, factor=factor)
    proposed = context.services.signer.unsign(_PROPOSAL, form.text("sealed"), bound=context.cookie)
    secret = proposed[0] if proposed else two_factor.new_secret()
    form.values["sealed"] = context.services.signer.sign(
        _PROPOSAL, secret, life=_PROPOSAL_SECONDS, bound=context.cookie
    )
    address = two_factor.address(
        secret, username=context.user.username, issuer=f"waypost ({context.settings.own_host})"
    )
    told: dict[str, Any] = {"secret": secret, "picture": qr_image.code(address)}
    return context.render("account/factor.html", status=status, form=form, factor=None, **told)


def _keys_page(context: PageContext, form: Form, *, status: int = 200, made: str = "") -> Response:
    found = context.read(lambda tx: api_keys.of(tx, context.account))
    return context.render(
        "account/keys.html", status=status, form=form, keys=found, made=made, base=context.settings.base
    )


def _must_know(context: PageContext, form: Form, *, field: str = "password") -> None:
    """Raise INVALID unless the form has the account's password: a window left open is not enough for what matters."""
    if wait := context.services.login_throttle.wait(f"account {context.account}", context.network):
        raise Problem(Kind.RATE_LIMITED, f"Too many tries. Please wait {wait} seconds.", retry_after=wait)
    hashed = context.read(lambda tx: ops.hashed_password(tx, context.account)) or ""
    if not credentials.password_matches(hashed, str(form[field])[:1000]):
        raise invalid(field, "This is not your password.")
    form.values[field] = ""
