"""The pages of one's own account: address and password, sessions, the authenticator app, API keys."""

from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from waypost import clock, credentials
from waypost.accounts import factors, keys, ops, sessions
from waypost.accounts.keys import Scope
from waypost.api.bodies import Body
from waypost.api.fields import Expiry, Name
from waypost.dashboard import pictures
from waypost.dashboard.desk import HOME, THEME, Desk, own_path
from waypost.dashboard.forms import Form, Shape
from waypost.dashboard.pages import Pages
from waypost.errors import Kind, Problem, invalid

pages = Pages()
_ACCOUNT, _KEYS, _SESSIONS = "/dashboard/account", "/dashboard/account/keys", "/dashboard/account/sessions"
_FACTOR = "/dashboard/account/factor"
_PROPOSAL, _PROPOSAL_SECONDS = "app", 900


class NewKey(Body):
    name: Annotated[Name, Field(max_length=64)]
    scope: Scope = "write"
    expires: Expiry | None = None


_KEY = Shape(moments=("expires",))


@pages.get("/dashboard/account")
def show_account(desk: Desk) -> Response:
    return _account_page(desk, Form({"email": desk.you.email}))


@pages.post("/dashboard/account/email")
def change_email(desk: Desk) -> Response:
    form = desk.typed()

    def work() -> bool:
        email = ops.checked_email(form.text("email"))
        _must_know(desk, form)
        desk.write(lambda tx: ops.change(tx, desk.account, email=email))
        return True

    if form.attempt(work):
        return desk.go(_ACCOUNT, said="Your e-mail address is changed.")
    return _account_page(desk, form, status=400)


@pages.post("/dashboard/account/password")
def change_password(desk: Desk) -> Response:
    """Every session ends with it; this browser gets a new one."""
    form = desk.typed()

    def work() -> str:
        password = ops.checked_password(str(form["new"]), field="new")
        _must_know(desk, form, field="old")
        hashed = credentials.hash_password(password)

        def change(tx: Connection) -> str:
            agent = next((one.agent for one in sessions.of(tx, desk.account) if one.id == desk.you.session), "")
            ops.change(tx, desk.account, password=hashed)
            return sessions.begin(tx, desk.account, agent=agent)

        return desk.write(change)

    token = form.attempt(work)
    form.values |= {"old": "", "new": "", "email": desk.you.email}
    if token is None:
        return _account_page(desk, form, status=400)
    return desk.keep_session(desk.go(_ACCOUNT, said="Your password is changed. Other browsers are signed out."), token)


@pages.get("/dashboard/account/sessions")
def list_sessions(desk: Desk) -> Response:
    found = desk.read(lambda tx: sessions.of(tx, desk.account))
    return desk.page("account/sessions.html", sessions=found)


@pages.post("/dashboard/account/sessions/end")
def end_session(desk: Desk) -> Response:
    """One of them, or without an id all but this."""
    picked = desk.picked()
    if picked:
        desk.write(lambda tx: sessions.end(tx, desk.account, picked[0]))
    else:
        desk.write(lambda tx: sessions.end_others(tx, desk.account, keep=desk.you.session))
    return desk.go(_SESSIONS, said="Signed out there.")


@pages.get("/dashboard/account/factor")
def show_factor(desk: Desk) -> Response:
    return _factor_page(desk, Form({}))


@pages.post("/dashboard/account/factor")
def switch_factor_on(desk: Desk) -> Response:
    """With the password, and a code of the app that shows that it works."""
    form = desk.typed()

    def work() -> list[str]:
        told = desk.kit.seals.open(_PROPOSAL, form.text("sealed"), bound=desk.cookie)
        if told is None:
            raise invalid("code", "That took too long. Please scan the new picture.")
        _must_know(desk, form)
        step = factors.fits(told[0], form.text("code"))
        if step is None:
            raise invalid("code", "This code is not right. Is the clock of your phone?")
        return list(desk.write(lambda tx: factors.switch_on(tx, desk.account, secret=told[0], step=step)))

    codes = form.attempt(work)
    if codes is None:
        return _factor_page(desk, form, status=400)
    return desk.page("account/codes.html", codes=codes)


@pages.post("/dashboard/account/factor/codes")
def renew_codes(desk: Desk) -> Response:
    """Fresh recovery codes."""
    form = desk.typed()

    def work() -> list[str]:
        _must_know(desk, form)
        return list(desk.write(lambda tx: factors.new_codes(tx, desk.account)))

    codes = form.attempt(work)
    return _factor_page(desk, form, status=400) if codes is None else desk.page("account/codes.html", codes=codes)


@pages.post("/dashboard/account/factor/off")
def switch_factor_off(desk: Desk) -> Response:
    form = desk.typed()

    def work() -> bool:
        _must_know(desk, form)
        desk.write(lambda tx: factors.switch_off(tx, desk.account))
        return True

    if form.attempt(work):
        return desk.go(_FACTOR, said="The second factor is off.")
    return _factor_page(desk, form, status=400)


@pages.get("/dashboard/account/keys")
def list_keys(desk: Desk) -> Response:
    return _keys_page(desk, Form({"name": "", "scope": "write", "expires": ""}))


@pages.post("/dashboard/account/keys")
def add_key(desk: Desk) -> Response:
    """The answer shows the key, this once."""
    form = desk.typed(_KEY)

    def work() -> str:
        body = form.read(NewKey, desk.zone, _KEY)
        until = None if body.expires is None else clock.last_second(body.expires)
        new = {"name": body.name, "scope": body.scope, "expires": until}
        return desk.write(lambda tx: keys.add(tx, desk.account, **new))  # type: ignore[arg-type]  # as the model says

    made = form.attempt(work)
    if made is None:
        return _keys_page(desk, form, status=400)
    return _keys_page(desk, Form({"name": "", "scope": "write", "expires": ""}), made=made)


@pages.post("/dashboard/account/keys/revoke")
def revoke_key(desk: Desk) -> Response:
    for key in desk.picked()[:1]:
        desk.write(lambda tx, key=key: keys.revoke(tx, desk.account, key))  # type: ignore[misc]  # bound now
    return desk.go(_KEYS, said="The key is revoked. Who used it gets 401 from now on.")


@pages.post("/dashboard/theme", public=True)
def choose_theme(desk: Desk) -> Response:
    """Light, dark, or as the system has it."""
    came_from = urlsplit(desk.request.headers.get("referer", ""))
    back = own_path(came_from.path + (f"?{came_from.query}" if came_from.query else ""))
    response = RedirectResponse(back, status_code=303)
    response.set_cookie(THEME, desk.typed().text("theme")[:5], max_age=365 * 86_400, path=HOME, samesite="lax")
    return response


def _account_page(desk: Desk, form: Form, *, status: int = 200) -> Response:
    account = desk.read(lambda tx: ops.get(tx, desk.account))
    factor = desk.read(lambda tx: factors.of(tx, desk.account))
    return desk.page("account/account.html", status=status, form=form, account=account, factor=factor)


def _factor_page(desk: Desk, form: Form, *, status: int = 200) -> Response:
    """What there is; or a new secret as a picture, which only this browser can switch on."""
    factor = desk.read(lambda tx: factors.of(tx, desk.account))
    if factor is not None:
        return desk.page("account/factor.html", status=status, form=form, factor=factor)
    proposed = desk.kit.seals.open(_PROPOSAL, form.text("sealed"), bound=desk.cookie)
    secret = proposed[0] if proposed else factors.new_secret()
    form.values["sealed"] = desk.kit.seals.seal(_PROPOSAL, secret, life=_PROPOSAL_SECONDS, bound=desk.cookie)
    address = factors.address(secret, username=desk.you.username, issuer=f"waypost ({desk.settings.own_host})")
    told: dict[str, Any] = {"secret": secret, "picture": pictures.code(address)}
    return desk.page("account/factor.html", status=status, form=form, factor=None, **told)


def _keys_page(desk: Desk, form: Form, *, status: int = 200, made: str = "") -> Response:
    found = desk.read(lambda tx: keys.of(tx, desk.account))
    return desk.page("account/keys.html", status=status, form=form, keys=found, made=made, base=desk.settings.base)


def _must_know(desk: Desk, form: Form, *, field: str = "password") -> None:
    """Raise INVALID unless the form has the account's password: a window left open is not enough for what matters."""
    if wait := desk.kit.tries.wait(f"account {desk.account}", desk.network):
        raise Problem(Kind.RATE_LIMITED, f"Too many tries. Please wait {wait} seconds.", retry_after=wait)
    hashed = desk.read(lambda tx: ops.hashed_password(tx, desk.account)) or ""
    if not credentials.password_matches(hashed, str(form[field])[:1000]):
        raise invalid(field, "This is not your password.")
    form.values[field] = ""
