"""Pages of the user's own account: e-mail, password, sessions and two-factor authentication."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection
from starlette.responses import Response

from waypost import credentials
from waypost.accounts import account_language, emails, login_changes, ops, proof
from waypost.auth import api_keys, sessions, two_factor
from waypost.dashboard import preferences, qr_image
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.preferences import LANGUAGE_COOKIE, SHORTCUTS_COOKIE, THEME_COOKIE, THEMES
from waypost.dashboard.routing import Router
from waypost.errors import invalid
from waypost.languages import LANGUAGES

pages = Router()
_ACCOUNT, _SESSIONS = "/dashboard/account", "/dashboard/account/sessions"
_TWO_FACTOR = "/dashboard/account/factor"
_SETUP, _SETUP_SECONDS = "app", 900
_CHANGED = "Your e-mail address was changed."


@pages.get("/dashboard/account")
def show_account(context: PageContext) -> Response:
    return _account_page(context)


@pages.post("/dashboard/account/email")
def change_email(context: PageContext) -> Response:
    form = context.form()
    email = form.attempt(lambda: ops.checked_email(form.text("email")))
    form.attempt(lambda: proof.require_password(context, form))
    if form.errors:
        return _account_page(context, email_form=form, status=400)
    change = form.attempt(lambda: login_changes.change(context, lambda *_: None, email=email))
    if change is None:
        return _account_page(context, email_form=form, status=400)
    message = "Open the link that was sent to the new address to confirm it." if change.is_pending else _CHANGED
    return context.redirect(_ACCOUNT, message=message)


@pages.post("/dashboard/account/password")
def change_password(context: PageContext) -> Response:
    """Change the password and end all sessions; this browser gets a new one."""
    form = context.form()
    form.attempt(lambda: proof.require_password(context, form, field="old"))
    password = form.attempt(lambda: ops.checked_password(str(form["new"]), field="new"))
    if password is None or form.errors:
        return _account_page(context, password_form=form, status=400)
    agent = context.read(lambda tx: sessions.agent_of(tx, context.user.session))
    hashed = credentials.hash_password(password)

    def start_session(tx: Connection, _is_pending: object) -> str:
        if form.text("revoke"):
            api_keys.revoke_all(tx, context.account)
        return sessions.begin(tx, context.account, agent=agent)

    token = login_changes.change(context, start_session, password=hashed).result
    return context.set_session_cookie(
        context.redirect(_ACCOUNT, message="Your password was changed. Other browsers were signed out."),
        token,
        context.account,
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
        context.write(lambda tx: sessions.end(tx, context.account, ids[0]), in_maintenance=True)
        return context.redirect(_SESSIONS, message="The session was ended.")

    def end_others(tx: Connection) -> None:
        sessions.end_others(tx, context.account, keep=context.user.session)
        if context.form().text("revoke"):
            api_keys.revoke_all(tx, context.account)

    context.write(end_others, in_maintenance=True)
    return context.redirect(_SESSIONS, message="The session was ended.")


@pages.get("/dashboard/account/factor")
def show_two_factor(context: PageContext) -> Response:
    return _two_factor_page(context, Form({}))


@pages.post("/dashboard/account/factor")
def enable_two_factor(context: PageContext) -> Response:
    """Enable it with the password and a code, which proves that the app is set up.

    End all sessions; this browser gets a new one.
    """
    form = context.form()

    def check() -> tuple[str, int]:
        values = context.services.signer.unsign(_SETUP, form.text("sealed"), bound=context.cookie)
        if values is None:
            raise invalid("code", "Setup timed out. Scan the new QR code.")
        step = two_factor.verify(values[0], form.text("code"))
        if step is None:
            raise invalid("code", "Wrong code. Check that your phone's clock is correct.")
        return values[0], step

    checked = form.attempt(check)
    form.attempt(lambda: proof.require_password(context, form))
    if checked is None or form.errors:
        return _codes_page(context, form, None)
    secret, step = checked

    def enable(tx: Connection) -> tuple[Sequence[str], str]:
        codes = two_factor.enable(tx, context.account, secret=secret, step=step)
        return codes, sessions.renew(tx, context.account, context.user.session)

    enabled = form.attempt(lambda: context.write(enable))
    if enabled is None:
        return _codes_page(context, form, None)
    codes, token = enabled
    _tell(context, emails.FACTOR_ENABLED)
    page = _codes_page(replace(context, cookie=token), form, codes, is_enabled=True)
    return context.set_session_cookie(page, token, context.account)


@pages.post("/dashboard/account/factor/codes")
def renew_codes(context: PageContext) -> Response:
    """Replace the recovery codes."""
    form = context.form()
    if not proof.check_password_and_code(context, form):
        return _codes_page(context, form, None)
    return _codes_page(
        context, form, form.attempt(lambda: context.write(lambda tx: two_factor.new_codes(tx, context.account)))
    )


@pages.post("/dashboard/account/factor/off")
def disable_two_factor(context: PageContext) -> Response:
    """Disable it with the password and a code. End all sessions; this browser gets a new one."""
    form = context.form()

    def disable(tx: Connection) -> str:
        two_factor.disable(tx, context.account)
        return sessions.renew(tx, context.account, context.user.session)

    proof.check_password_and_code(context, form)
    token = None if form.errors else form.attempt(lambda: context.write(disable))
    if token is None:
        return _two_factor_page(context, form, status=400)
    _tell(context, emails.FACTOR_DISABLED)
    message = "Two-factor authentication was disabled. Other browsers were signed out."
    return context.set_session_cookie(context.redirect(_TWO_FACTOR, message=message), token, context.account)


@pages.post("/dashboard/theme", public=True)
def choose_theme(context: PageContext) -> Response:
    """Set the theme: light, dark or the system's."""
    theme = context.form().text("theme")
    return preferences.store(context, THEME_COOKIE, theme if theme in THEMES else "")


@pages.post("/dashboard/language", public=True)
def choose_language(context: PageContext) -> Response:
    """Set the language of the browser, and of the account if there is a session."""
    language = context.form().text("language")
    if language in LANGUAGES and context.session:
        context.write(lambda tx: account_language.choose(tx, context.account, language))
    return preferences.store(context, LANGUAGE_COOKIE, language if language in LANGUAGES else "")


@pages.post("/dashboard/shortcuts")
def switch_shortcuts(context: PageContext) -> Response:
    """Turn the shortcuts of single keys on or off."""
    return preferences.store(context, SHORTCUTS_COOKIE, "off" if context.form().text("shortcuts") == "off" else "")


def _account_page(
    context: PageContext, *, email_form: Form | None = None, password_form: Form | None = None, status: int = 200
) -> Response:
    account = context.read(lambda tx: ops.get(tx, context.account))
    factor = context.read(lambda tx: two_factor.of(tx, context.account))
    return context.render(
        "account/account.html",
        status=status,
        email_form=email_form or Form({"email": account.email}),
        password_form=password_form or Form({}),
        account=account,
        factor=factor,
    )


def _tell(context: PageContext, message: emails.Message) -> None:
    login_changes.tell(context, context.read(lambda tx: ops.get(tx, context.account)), message)


def _two_factor_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    """Show the state, or a new secret as a QR code, which only this browser can enable."""
    factor = context.read(lambda tx: two_factor.of(tx, context.account))
    if factor is not None:
        return context.render("account/two_factor.html", status=status, form=form, factor=factor)
    values = context.services.signer.unsign(_SETUP, form.text("sealed"), bound=context.cookie)
    secret = values[0] if values else two_factor.new_secret()
    form.values["sealed"] = context.services.signer.sign(_SETUP, secret, life=_SETUP_SECONDS, bound=context.cookie)
    issuer = f"{context.service_name.replace(':', ' ')} ({context.settings.own_host})"
    uri = two_factor.provisioning_uri(secret, username=context.user.username, issuer=issuer)
    image = qr_image.qr_data_url(uri)
    return context.render("account/two_factor.html", status=status, form=form, factor=None, secret=secret, image=image)


def _codes_page(context: PageContext, form: Form, codes: Sequence[str] | None, *, is_enabled: bool = False) -> Response:
    """Show new recovery codes; without any, the form with its errors. `is_enabled`: the factor was just enabled."""
    if codes is None:
        return _two_factor_page(context, form, status=400)
    return context.render("account/recovery_codes.html", codes=codes, is_enabled=is_enabled)
