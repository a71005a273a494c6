"""Pages of the user's own account: e-mail, password, sessions, two-factor authentication and API keys."""

from collections.abc import Sequence
from typing import Annotated
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
from waypost.dashboard.context import HOME, THEME_COOKIE, THEMES, PageContext, safe_redirect_path
from waypost.dashboard.forms import Form, Shape
from waypost.dashboard.routing import Router
from waypost.errors import invalid

pages = Router()
_ACCOUNT, _KEYS, _SESSIONS = "/dashboard/account", "/dashboard/account/keys", "/dashboard/account/sessions"
_TWO_FACTOR = "/dashboard/account/factor"
_SETUP, _SETUP_SECONDS = "app", 900


class NewKey(Body):
    name: Annotated[Name, Field(max_length=64)]
    scope: Scope = "write"
    expires: Expiry | None = None


_KEY_SHAPE = Shape(local_times=("expires",))
_NEW_KEY = {"name": "", "scope": "write", "expires": ""}


@pages.get("/dashboard/account")
def show_account(context: PageContext) -> Response:
    return _account_page(context, Form({"email": context.user.email}))


@pages.post("/dashboard/account/email")
def change_email(context: PageContext) -> Response:
    form = context.form()

    def work() -> None:
        email = ops.checked_email(form.text("email"))
        _check_password(context, form)
        context.write(lambda tx: ops.change(tx, context.account, email=email))

    form.attempt(work)
    if form.errors:
        return _account_page(context, form, status=400)
    return context.redirect(_ACCOUNT, message="Your e-mail address was changed.")


@pages.post("/dashboard/account/password")
def change_password(context: PageContext) -> Response:
    """Change the password and end all sessions; this browser gets a new one."""
    form = context.form()

    def work() -> str:
        password = ops.checked_password(str(form["new"]), field="new")
        _check_password(context, form, field="old")
        hashed = credentials.hash_password(password)

        def change(tx: Connection) -> str:
            current = context.user.session
            agents = (session.agent for session in sessions.of(tx, context.account) if session.id == current)
            agent = next(agents, "")
            ops.change(tx, context.account, password=hashed)
            return sessions.begin(tx, context.account, agent=agent)

        return context.write(change)

    token = form.attempt(work)
    form.values |= {"old": "", "new": "", "email": context.user.email}
    if token is None:
        return _account_page(context, form, status=400)
    return context.set_session_cookie(
        context.redirect(_ACCOUNT, message="Your password was changed. Other browsers were signed out."), token
    )


@pages.get("/dashboard/account/sessions")
def list_sessions(context: PageContext) -> Response:
    active = context.read(lambda tx: sessions.of(tx, context.account))
    return context.render("account/sessions.html", sessions=active)


@pages.post("/dashboard/account/sessions/end")
def end_session(context: PageContext) -> Response:
    """End one session; without an id, all except this one."""
    ids = context.selected_ids()
    if ids:
        context.write(lambda tx: sessions.end(tx, context.account, ids[0]))
    else:
        context.write(lambda tx: sessions.end_others(tx, context.account, keep=context.user.session))
    return context.redirect(_SESSIONS, message="The session was ended.")


@pages.get("/dashboard/account/factor")
def show_two_factor(context: PageContext) -> Response:
    return _two_factor_page(context, Form({}))


@pages.post("/dashboard/account/factor")
def enable_two_factor(context: PageContext) -> Response:
    """Enable it with the password and a code, which proves that the app is set up."""
    form = context.form()

    def work() -> Sequence[str]:
        values = context.services.signer.unsign(_SETUP, form.text("sealed"), bound=context.cookie)
        if values is None:
            raise invalid("code", "Setup timed out. Scan the new QR code.")
        _check_password(context, form)
        step = two_factor.verify(values[0], form.text("code"))
        if step is None:
            raise invalid("code", "Wrong code. Check that your phone's clock is correct.")
        return context.write(lambda tx: two_factor.enable(tx, context.account, secret=values[0], step=step))

    return _codes_page(context, form, form.attempt(work))


@pages.post("/dashboard/account/factor/codes")
def renew_codes(context: PageContext) -> Response:
    """Replace the recovery codes."""
    form = context.form()

    def work() -> Sequence[str]:
        _check_password(context, form)
        return context.write(lambda tx: two_factor.new_codes(tx, context.account))

    return _codes_page(context, form, form.attempt(work))


@pages.post("/dashboard/account/factor/off")
def disable_two_factor(context: PageContext) -> Response:
    form = context.form()

    def work() -> None:
        _check_password(context, form)
        context.write(lambda tx: two_factor.disable(tx, context.account))

    form.attempt(work)
    if form.errors:
        return _two_factor_page(context, form, status=400)
    return context.redirect(_TWO_FACTOR, message="Two-factor authentication was disabled.")


@pages.get("/dashboard/account/keys")
def list_keys(context: PageContext) -> Response:
    return _keys_page(context, Form(_NEW_KEY))


@pages.post("/dashboard/account/keys")
def add_key(context: PageContext) -> Response:
    """Create a key; the response is the only page that shows it."""
    form = context.form(_KEY_SHAPE)

    def work() -> str:
        body = form.read(NewKey, context.time_zone, _KEY_SHAPE)
        expires = None if body.expires is None else clock.last_second(body.expires)
        return context.write(
            lambda tx: api_keys.add(tx, context.account, name=body.name, scope=body.scope, expires=expires)
        )

    key = form.attempt(work)
    if key is None:
        return _keys_page(context, form, status=400)
    return _keys_page(context, Form(_NEW_KEY), new_key=key)


@pages.post("/dashboard/account/keys/revoke")
def revoke_key(context: PageContext) -> Response:
    if ids := context.selected_ids():
        context.write(lambda tx: api_keys.revoke(tx, context.account, ids[0]))
    return context.redirect(_KEYS, message="The key was revoked. Requests with it now fail with 401.")


@pages.post("/dashboard/theme", public=True)
def choose_theme(context: PageContext) -> Response:
    """Set the theme: light, dark or the system's."""
    referrer = urlsplit(context.request.headers.get("referer", ""))
    back = safe_redirect_path(referrer.path + (f"?{referrer.query}" if referrer.query else ""))
    response = RedirectResponse(back, status_code=303)
    theme = context.form().text("theme")
    value = theme if theme in THEMES else ""
    context.set_cookie(response, THEME_COOKIE, value, max_age=365 * 86_400, path=HOME)
    return response


def _account_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    account = context.read(lambda tx: ops.get(tx, context.account))
    factor = context.read(lambda tx: two_factor.of(tx, context.account))
    return context.render("account/account.html", status=status, form=form, account=account, factor=factor)


def _two_factor_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    """Show the state, or a new secret as a QR code, which only this browser can enable."""
    factor = context.read(lambda tx: two_factor.of(tx, context.account))
    if factor is not None:
        return context.render("account/two_factor.html", status=status, form=form, factor=factor)
    values = context.services.signer.unsign(_SETUP, form.text("sealed"), bound=context.cookie)
    secret = values[0] if values else two_factor.new_secret()
    form.values["sealed"] = context.services.signer.sign(_SETUP, secret, life=_SETUP_SECONDS, bound=context.cookie)
    issuer = f"waypost ({context.settings.own_host})"
    uri = two_factor.provisioning_uri(secret, username=context.user.username, issuer=issuer)
    image = qr_image.qr_data_url(uri)
    return context.render("account/two_factor.html", status=status, form=form, factor=None, secret=secret, image=image)


def _codes_page(context: PageContext, form: Form, codes: Sequence[str] | None) -> Response:
    """Show new recovery codes; without any, the form with its errors."""
    if codes is None:
        return _two_factor_page(context, form, status=400)
    return context.render("account/recovery_codes.html", codes=codes)


def _keys_page(context: PageContext, form: Form, *, status: int = 200, new_key: str = "") -> Response:
    keys = context.read(lambda tx: api_keys.of(tx, context.account))
    return context.render(
        "account/keys.html", status=status, form=form, keys=keys, new_key=new_key, base=context.settings.base
    )


def _check_password(context: PageContext, form: Form, *, field: str = "password") -> None:
    """Raise INVALID unless the form contains the account's password, so that an open session alone is not enough."""
    context.limit_attempts(f"account {context.account}")
    hashed = context.read(lambda tx: ops.hashed_password(tx, context.account)) or ""
    if not credentials.password_matches(hashed, str(form[field])[:1000]):
        raise invalid(field, "Wrong password.")
    form.values[field] = ""
