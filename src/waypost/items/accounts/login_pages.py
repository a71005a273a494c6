"""Pages without a session: sign-in, sign-out, registration and password reset."""

from collections.abc import Callable
from functools import wraps

from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from waypost.auth import api_keys, people, sessions, two_factor
from waypost.auth.people import Person
from waypost.core import credentials
from waypost.core.errors import Kind, Problem
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.list_position import HOME, safe_redirect_path
from waypost.dashboard.routing import Router
from waypost.http.mail import Email
from waypost.items.accounts import (
    email_links,
    emails,
    login_changes,
    lost_phone,
    ops,
    password_rules,
    proof,
)
from waypost.items.accounts.login import Login, check_password, sign_in_again, start_session

pages = Router()
_CODE_SECONDS = 300
_SECOND_FACTOR = "second"
_TIMED_OUT = "Sign-in timed out. Please sign in again."
_Handler = Callable[[PageContext], Response]


def _offers_new_link(path: str) -> Callable[[_Handler], _Handler]:
    """Return a decorator of pages that links of e-mails open: for an expired link, they offer a new one at `path`."""

    def decorate(handler: _Handler) -> _Handler:
        @wraps(handler)
        def handle(context: PageContext) -> Response:
            try:
                return handler(context)
            except email_links.ExpiredLink:
                return context.render("login/expired.html", status=400, path=path)

        return handle

    return decorate


@pages.get("/dashboard/signin", public=True)
def show_sign_in(context: PageContext) -> Response:
    if context.session is not None:
        return RedirectResponse(HOME, status_code=303)
    next_path = safe_redirect_path(context.query("next", HOME, max_length=500))
    return _sign_in_page(context, Form({"next": next_path, "unsaved": context.query("unsaved")}))


@pages.post("/dashboard/signin", public=True)
def sign_in(context: PageContext) -> Response:
    """Check name and password; people with two-factor authentication are asked for a code next."""
    form = context.form()
    login = form.attempt(lambda: check_password(context, form))
    form.values["password"] = ""
    if login is None:
        return _sign_in_page(context, form, status=400)
    next_path = safe_redirect_path(form.text("next"))
    if context.read(lambda tx: two_factor.of(tx, login.person)) is None:
        return start_session(context, login, next_path, kept=form.text("kept"))
    token = context.services.signer.sign(
        _SECOND_FACTOR, str(login.person), login.state, next_path, life=_CODE_SECONDS, bound=context.cookie
    )
    return context.render("login/code.html", form=Form({"sealed": token, "next": next_path, "kept": form["kept"]}))


@pages.post("/dashboard/signin/code", public=True)
def check_code(context: PageContext) -> Response:
    """Check a code of the authenticator app, or a recovery code. After the latter, offer the setup of a new phone."""
    form = context.form()
    values = context.services.signer.unsign(_SECOND_FACTOR, form.text("sealed"), bound=context.cookie)
    if values is None:
        return _code_timed_out(context, form)
    login, next_path = Login(int(values[0]), values[1]), values[2]
    is_recovery = form.attempt(lambda: proof.require_code(context, login.person, form.text("code")))
    if form.errors:
        return context.render("login/code.html", status=400, form=form)
    kept = form.text("kept")
    path = lost_phone.NEW_PHONE if is_recovery and not kept else next_path
    response = start_session(context, login, path, kept=kept, has_passed_code=True)
    return lost_phone.remember_recovery(context, response, login.person) if is_recovery else response


def _code_timed_out(context: PageContext, form: Form) -> Response:
    """Ask for the password again, with the form that is kept."""
    if not form.text("kept"):
        return sign_in_again(context, _TIMED_OUT)
    form.errors[""] = _TIMED_OUT
    return _sign_in_page(context, form, status=400)


@pages.post("/dashboard/signout", public=True)
def sign_out(context: PageContext) -> Response:
    """End the session."""
    if context.session is not None:
        context.write(lambda tx: sessions.end(tx, context.person, context.user.session), in_maintenance=True)
    response = context.redirect("/dashboard/signin", message="You signed out.")
    response.delete_cookie(
        context.services.cookie, path="/", secure=context.services.secure, httponly=True, samesite="lax"
    )
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


@pages.get("/dashboard/register", public=True)
@_offers_new_link("/dashboard/register")
def show_registration(context: PageContext) -> Response:
    """Show the registration form; with SMTP, its second step needs a link from an e-mail."""
    if context.session is not None:
        return RedirectResponse(HOME, status_code=303)
    _require_registration(context)
    token = context.query("pass", max_length=2000)
    email = email_links.email_of(context.services.signer, token) if token else ""
    return _registration_page(context, Form({"pass": token, "email": email}))


@pages.post("/dashboard/register", public=True)
@_offers_new_link("/dashboard/register")
def register(context: PageContext) -> Response:
    """Create an account, or send an e-mail with a link to do so."""
    _require_registration(context)
    form = context.form()
    context.limit_form("register")
    if context.mailer.can_send and not form.text("pass"):
        return _send_registration_link(context, form)
    login = _create_account(context, form)
    if login is None:
        return _registration_page(context, form, status=400)
    return start_session(context, login, HOME)


@pages.get("/dashboard/forgot", public=True)
def show_forgot(context: PageContext) -> Response:
    """Show the form that requests a password reset link."""
    return context.render("login/forgot.html", form=Form({}), can_send=context.mailer.can_send)


@pages.post("/dashboard/forgot", public=True)
def send_reset_link(context: PageContext) -> Response:
    """Send a reset link if the account exists. The response and its time do not reveal whether it does."""
    form = context.form()
    context.limit_form("forgot")
    name, language = form.text("name"), context.language
    if not name:
        form.errors["name"] = "name must not be empty."
        return context.render("login/forgot.html", status=400, form=form, can_send=context.mailer.can_send)
    context.mailer.send_later(lambda: _reset_email(context, name, language))
    return context.render("login/sent.html", name=name)


@pages.get("/dashboard/reset", public=True)
@_offers_new_link("/dashboard/forgot")
def show_reset(context: PageContext) -> Response:
    """Show the form for a new password."""
    token = context.query("pass", max_length=2000)
    form, person = Form({"pass": token}), _person_to_reset(context, token)
    return _password_page(context, form, person)


@pages.post("/dashboard/reset", public=True)
@_offers_new_link("/dashboard/forgot")
def reset(context: PageContext) -> Response:
    """Set the new password and end all sessions of the person."""
    form = context.form()
    token, password = form.text("pass"), str(form["password"])
    person = _person_to_reset(context, token)
    names = (person.username, person.email)
    if form.attempt(lambda: password_rules.checked_password(password, names)) is None:
        form.values["password"] = ""
        return _password_page(context, form, person, status=400)
    hashed = credentials.hash_password(password)

    def work(tx: Connection) -> Login:
        ops.change(tx, email_links.person_of(tx, context.services.signer, token), password=hashed)
        if form.text("revoke"):
            api_keys.revoke_all(tx, person.person)
        return Login.checked(tx, person.person)

    login = context.write(work)
    login_changes.tell_new_password(context, person)
    if context.read(lambda tx: two_factor.of(tx, person.person)) is not None:  # the e-mail is only one factor
        return context.redirect("/dashboard/signin", message="Your password was changed. Please sign in.")
    return start_session(context, login, HOME)


@pages.get("/dashboard/confirm", public=True)
@_offers_new_link("/dashboard/account")
def show_confirmation(context: PageContext) -> Response:
    """Show the form that confirms a new e-mail address. Link previews send GET, so that changes nothing."""
    token = context.query("pass", max_length=2000)
    person, email = context.read(lambda tx: email_links.new_email_of(tx, token))
    username = context.read(lambda tx: people.get(tx, person)).username
    return context.render("login/confirm.html", form=Form({"pass": token}), username=username, email=email)


@pages.post("/dashboard/confirm", public=True)
@_offers_new_link("/dashboard/account")
def confirm_email(context: PageContext) -> Response:
    """Use the new e-mail address."""
    login_changes.confirm(context, context.form().text("pass"))
    path = "/dashboard/account" if context.session is not None else "/dashboard/signin"
    return context.redirect(path, message="Your e-mail address was changed.")


def _sign_in_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    return context.render(
        "login/signin.html", status=status, form=form, can_register=context.settings.registration == "on"
    )


def _registration_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    confirms_email = context.mailer.can_send and not form.text("pass")
    return context.render("login/register.html", status=status, form=form, confirms_email=confirms_email)


def _create_account(context: PageContext, form: Form) -> Login | None:
    """Return the login of a new account, or None; the form then has the errors of all fields."""
    token = form.text("pass")
    email = (
        email_links.email_of(context.services.signer, token)
        if token
        else form.attempt(lambda: ops.checked_email(form.text("email")))
    )
    username = form.attempt(lambda: ops.checked_username(form.text("username")))
    names = (email or "", username or "")
    password = form.attempt(lambda: password_rules.checked_password(str(form["password"]), names))
    if email is None or username is None or password is None:
        return None
    hashed = credentials.hash_password(password)

    def add(tx: Connection) -> Login:
        return Login.checked(tx, ops.add(tx, email=email, username=username, password=hashed).id)

    try:
        return context.write(add)
    except Problem as problem:
        if problem.kind is Kind.TAKEN:  # does not say which, so that it does not reveal existing accounts
            form.errors["username"] = "This username or e-mail address cannot be used. Please try another."
            return None
        raise


def _send_registration_link(context: PageContext, form: Form) -> Response:
    """Send an e-mail with a link to continue; if the address has an account, an e-mail that says so."""
    email = form.attempt(lambda: ops.checked_email(form.text("email")))
    if email is None:
        return _registration_page(context, form, status=400)
    language = context.language
    context.mailer.send_later(lambda: _registration_email(context, email, language))
    return context.render("login/sent.html", name=email)


def _registration_email(context: PageContext, email: str, language: str) -> Email | None:
    """Return an e-mail in `language`, or in that of the account if there is one. Called in the mail thread."""

    def read(tx: Connection) -> str | None:
        login = people.named(tx, email)
        return None if login is None else people.language_of(tx, login.person)

    selected = context.read(read)
    if selected is None:
        link = email_links.register_link(context.services.signer, context.settings.dashboard, email)
        message = emails.with_link(context, email, language, emails.REGISTRATION, link, emails.NOT_REQUESTED)
    else:
        link = f"{context.settings.dashboard}/dashboard/signin"
        message = emails.with_link(context, email, selected or language, emails.EXISTING_ACCOUNT, link)
    return login_changes.limited(context, message)


def _reset_email(context: PageContext, name: str, language: str) -> Email | None:
    """Return the e-mail with a reset link; None if there is no such active account, or it got too many.

    Called in the mail thread; `language` is that of the request.
    """
    base = context.settings.dashboard

    def work(tx: Connection) -> tuple[str, str, str] | None:
        login = people.named(tx, name)
        if login is None or login.suspended:
            return None
        person = people.get(tx, login.person)
        return person.email, person.language, email_links.reset_link(tx, base, person.person)

    if (recipient := context.write(work, in_maintenance=True)) is None:
        return None
    email, selected, link = recipient
    message = emails.with_link(context, email, selected or language, emails.RESET, link, emails.NOT_REQUESTED)
    return login_changes.limited(context, message)


def _password_page(context: PageContext, form: Form, person: Person, *, status: int = 200) -> Response:
    """Return the form for a new password; the owner of a new account is welcomed."""
    is_welcome = email_links.is_welcome(form.text("pass"))
    return context.render("login/reset.html", status=status, form=form, person=person, is_welcome=is_welcome)


def _person_to_reset(context: PageContext, token: str) -> Person:
    return context.read(lambda tx: people.get(tx, email_links.person_of(tx, context.services.signer, token)))


def _require_registration(context: PageContext) -> None:
    if context.settings.registration == "off":
        raise Problem(Kind.NOT_FOUND, "Registration is disabled. Ask the administrator for an account.")
