"""Pages of two-factor authentication: its setup, recovery codes, another phone, and the end of it."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.auth import people, sessions, two_factor
from waypost.core.errors import invalid
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.i18n import gettext_noop
from waypost.dashboard.routing import Router
from waypost.items.accounts import emails, login_changes, lost_phone, proof
from waypost.items.accounts.lost_phone import NEW_PHONE
from waypost.media.qrcode import render

pages = Router()
_TWO_FACTOR = "/dashboard/account/factor"
_SETUP, _SETUP_SECONDS = "app", 900
_ENABLED = gettext_noop("Two-factor authentication was enabled. Other browsers were signed out.")
_REPLACED = gettext_noop("Your new phone is set up. Other browsers were signed out.")


@pages.get("/dashboard/account/factor")
def show_two_factor(context: PageContext) -> Response:
    return _two_factor_page(context, Form({}))


@pages.post("/dashboard/account/factor")
def enable_two_factor(context: PageContext) -> Response:
    """Enable it with the password and a code, which proves that the app is set up.

    End all sessions; this browser gets a new one.
    """
    form = context.form()
    checked = form.attempt(lambda: _checked_secret(context, form, "code"))
    form.attempt(lambda: proof.require_password(context, form))
    if checked is None or form.errors:
        return _codes_page(context, form, None)
    secret, step = checked

    def enable(tx: Connection) -> tuple[Sequence[str], str]:
        codes = two_factor.enable(tx, context.person, secret=secret, step=step)
        return codes, sessions.renew(tx, context.person, context.user.session)

    enabled = form.attempt(lambda: context.write(enable))
    if enabled is None:
        return _codes_page(context, form, None)
    codes, token = enabled
    _tell(context, emails.FACTOR_ENABLED)
    return _enabled_page(context, codes, token, _ENABLED)


@pages.get(NEW_PHONE)
def show_new_phone(context: PageContext) -> Response:
    """Show the secret for another phone; the page to enable a second factor if there is none."""
    if context.read(lambda tx: two_factor.of(tx, context.person)) is None:
        return context.redirect(_TWO_FACTOR)
    return _new_phone_page(context, Form({}))


@pages.post(NEW_PHONE)
def set_up_new_phone(context: PageContext) -> Response:
    """Use another phone, with the password and a code of the old one. Sign-in with a recovery code replaces that code.

    End all sessions; this browser gets a new one. The old codes and recovery codes are void.
    """
    form = context.form()
    checked = form.attempt(lambda: _checked_secret(context, form, "new_code"))
    if lost_phone.has_recovered(context):
        form.attempt(lambda: proof.require_password(context, form))
    else:
        proof.check_password_and_code(context, form)
    if checked is None or form.errors:
        return _new_phone_page(context, form, status=400)
    secret, step = checked

    def use(tx: Connection) -> tuple[Sequence[str], str]:
        codes = two_factor.replace(tx, context.person, secret=secret, step=step)
        return codes, sessions.renew(tx, context.person, context.user.session)

    codes, token = context.write(use)
    _tell(context, emails.FACTOR_REPLACED)
    return _enabled_page(context, codes, token, _REPLACED)


@pages.post("/dashboard/account/factor/codes")
def renew_codes(context: PageContext) -> Response:
    """Replace the recovery codes."""
    form = context.form()
    if not proof.check_password_and_code(context, form):
        return _codes_page(context, form, None)
    return _codes_page(
        context, form, form.attempt(lambda: context.write(lambda tx: two_factor.new_codes(tx, context.person)))
    )


@pages.post("/dashboard/account/factor/off")
def disable_two_factor(context: PageContext) -> Response:
    """Disable it with the password and a code. End all sessions; this browser gets a new one."""
    form = context.form()

    def disable(tx: Connection) -> str:
        two_factor.disable(tx, context.person)
        return sessions.renew(tx, context.person, context.user.session)

    proof.check_password_and_code(context, form)
    token = None if form.errors else form.attempt(lambda: context.write(disable))
    if token is None:
        return _two_factor_page(context, form, status=400)
    _tell(context, emails.FACTOR_DISABLED)
    message = "Two-factor authentication was disabled. Other browsers were signed out."
    return context.set_session_cookie(context.redirect(_TWO_FACTOR, message=message), token, context.person)


def _tell(context: PageContext, message: emails.Message) -> None:
    login_changes.tell(context, context.read(lambda tx: people.get(tx, context.person)), message)


def _two_factor_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    """Show the state, or a new secret as a QR code, which only this browser can enable."""
    factor = context.read(lambda tx: two_factor.of(tx, context.person))
    if factor is not None:
        return context.render("account/two_factor.html", status=status, form=form, factor=factor)
    return context.render("account/two_factor.html", status=status, form=form, factor=None, setup=_setup(context, form))


def _new_phone_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    return context.render(
        "account/new_phone.html",
        status=status,
        form=form,
        factor=context.read(lambda tx: two_factor.of(tx, context.person)),
        has_recovered=lost_phone.has_recovered(context),
        setup=_setup(context, form),
    )


def _setup(context: PageContext, form: Form) -> tuple[str, str]:
    """Return a new secret, or that of the form, and its QR code. Only this browser can use it."""
    values = context.services.signer.unsign(_SETUP, form.text("sealed"), bound=context.cookie)
    secret = values[0] if values else two_factor.new_secret()
    form.values["sealed"] = context.services.signer.sign(_SETUP, secret, life=_SETUP_SECONDS, bound=context.cookie)
    issuer = f"{context.service_name.replace(':', ' ')} ({context.settings.own_host})"
    uri = two_factor.provisioning_uri(secret, username=context.user.username, issuer=issuer)
    return secret, render.qr_data_url(uri)


def _checked_secret(context: PageContext, form: Form, field: str) -> tuple[str, int]:
    """Return the secret of the setup and the time step of the code that proves it. Raises INVALID on `field`."""
    values = context.services.signer.unsign(_SETUP, form.text("sealed"), bound=context.cookie)
    if values is None:
        raise invalid(field, "Setup timed out. Scan the new QR code.")
    step = two_factor.verify(values[0], form.text(field))
    if step is None:
        raise invalid(field, "Wrong code. Check that your phone's clock is correct.")
    return values[0], step


def _codes_page(context: PageContext, form: Form, codes: Sequence[str] | None) -> Response:
    """Show new recovery codes; without any, the form with its errors."""
    if codes is None:
        return _two_factor_page(context, form, status=400)
    return context.render("account/recovery_codes.html", codes=codes, message="")


def _enabled_page(context: PageContext, codes: Sequence[str], token: str, message: str) -> Response:
    """Show the recovery codes of a factor that was just enabled, in the new session `token`."""
    context = replace(context, cookie=token)
    page = context.render("account/recovery_codes.html", codes=codes, message=message)
    return context.set_session_cookie(page, token, context.person)
