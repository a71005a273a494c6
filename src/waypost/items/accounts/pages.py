"""Pages of the user's own account: e-mail, password, sessions and preferences, and its deletion."""

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.auth import api_keys, people, sessions, two_factor
from waypost.core import clock, credentials, formats
from waypost.core.languages import LANGUAGES
from waypost.dashboard import preferences
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.preferences import LANGUAGE_COOKIE, SHORTCUTS_COOKIE, THEME_COOKIE, THEMES
from waypost.dashboard.routing import Router
from waypost.items.accounts import deletion, emails, login_changes, ops, password_rules, profile, proof

pages = Router()
_ACCOUNT, _SESSIONS = "/dashboard/account", "/dashboard/account/sessions"
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
    change = form.attempt(lambda: login_changes.change(context, context.person, lambda *_: None, email=email))
    if change is None:
        return _account_page(context, email_form=form, status=400)
    message = "Open the link that was sent to the new address to confirm it." if change.is_pending else _CHANGED
    return context.redirect(_ACCOUNT, message=message)


@pages.post("/dashboard/account/password")
def change_password(context: PageContext) -> Response:
    """Change the password and end all sessions; this browser gets a new one."""
    form = context.form()
    form.attempt(lambda: proof.require_password(context, form, field="old"))
    names = (context.user.username, context.user.email)
    password = form.attempt(lambda: password_rules.checked_password(str(form["new"]), names, field="new"))
    if password is None or form.errors:
        return _account_page(context, password_form=form, status=400)
    agent = context.read(lambda tx: sessions.agent_of(tx, context.user.session))
    hashed = credentials.hash_password(password)

    def start_session(tx: Connection, _is_pending: object) -> str:
        if form.text("revoke"):
            api_keys.revoke_all(tx, context.account)
        return sessions.begin(tx, context.person, agent=agent)

    token = login_changes.change(context, context.person, start_session, password=hashed).result
    return context.set_session_cookie(
        context.redirect(_ACCOUNT, message="Your password was changed. Other browsers were signed out."),
        token,
        context.person,
    )


@pages.post("/dashboard/account/timezone")
def choose_time_zone(context: PageContext) -> Response:
    """Set the time zone of the person; without one, it is that of the browser."""
    form = context.form()
    name = form.text(profile.ZONE_FIELD)
    form.attempt(lambda: context.write(lambda tx: profile.choose_time_zone(tx, context.person, name)))
    if form.errors:
        return _account_page(context, time_zone_form=form, status=400)
    return context.redirect(_ACCOUNT, message="Saved.")


@pages.post("/dashboard/account/sender")
def choose_sender(context: PageContext) -> Response:
    """Set the name that visitors of files see."""
    form = context.form()
    context.submit(form, profile.Sender, lambda tx, fields: profile.choose_sender(tx, context.account, **fields))
    if form.errors:
        return _account_page(context, sender_form=form, status=400)
    return context.redirect(_ACCOUNT, message="Saved.")


@pages.get("/dashboard/account/sessions")
def list_sessions(context: PageContext) -> Response:
    active = context.read(lambda tx: sessions.of(tx, context.person))
    return context.render("account/sessions.html", sessions=active)


@pages.post("/dashboard/account/sessions/end")
def end_session(context: PageContext) -> Response:
    """End one session; without an id, all except this one."""
    ids = context.selected_ids()
    if ids:
        context.write(lambda tx: sessions.end(tx, context.person, ids[0]), in_maintenance=True)
        return context.redirect(_SESSIONS, message="The session was ended.")

    def end_others(tx: Connection) -> None:
        sessions.end_others(tx, context.person, keep=context.user.session)
        if context.form().text("revoke"):
            api_keys.revoke_all(tx, context.account)

    context.write(end_others, in_maintenance=True)
    return context.redirect(_SESSIONS, message="The session was ended.")


@pages.post("/dashboard/theme", public=True)
def choose_theme(context: PageContext) -> Response:
    """Set the theme: light, dark or the system's."""
    theme = context.form().text("theme")
    return preferences.store(context, THEME_COOKIE, theme if theme in THEMES else "")


@pages.post("/dashboard/language", public=True)
def choose_language(context: PageContext) -> Response:
    """Set the language of the browser, and of the person if there is a session."""
    language = context.form().text("language")
    if language in LANGUAGES and context.session:
        context.write(lambda tx: profile.choose_language(tx, context.person, language))
    return preferences.store(context, LANGUAGE_COOKIE, language if language in LANGUAGES else "")


@pages.post("/dashboard/shortcuts")
def switch_shortcuts(context: PageContext) -> Response:
    """Turn the shortcuts of single keys on or off."""
    return preferences.store(context, SHORTCUTS_COOKIE, "off" if context.form().text("shortcuts") == "off" else "")


def _account_page(
    context: PageContext,
    *,
    email_form: Form | None = None,
    password_form: Form | None = None,
    time_zone_form: Form | None = None,
    sender_form: Form | None = None,
    status: int = 200,
) -> Response:
    account = context.read(lambda tx: ops.get(tx, context.account))
    factor = context.read(lambda tx: two_factor.of(tx, context.person))
    return context.render(
        "account/account.html",
        status=status,
        email_form=email_form or Form({"email": account.email}),
        password_form=password_form or Form({}),
        time_zone_form=time_zone_form or Form({profile.ZONE_FIELD: context.user.timezone}),
        sender_form=sender_form or Form({"sender": context.read(lambda tx: profile.sender_of(tx, context.account))}),
        time_zones=[(name, name) for name in profile.time_zone_names()],
        account=account,
        factor=factor,
    )


@pages.get("/dashboard/account/delete")
def show_deletion(context: PageContext) -> Response:
    """Show the items that a deletion deletes, and offer an export."""
    return _deletion_page(context, Form({}))


@pages.post("/dashboard/account/delete")
def schedule_deletion(context: PageContext) -> Response:
    """Schedule the deletion, with the password, and tell the owner."""
    form = context.form()
    is_confirmed = proof.check_password_and_code(context, form)
    due = (
        form.attempt(lambda: context.write(lambda tx: deletion.schedule(tx, context.account))) if is_confirmed else None
    )
    if due is None:
        return _deletion_page(context, form, status=400)
    person = context.read(lambda tx: people.get(tx, context.person))
    login_changes.tell(context, person, emails.DELETION, time=_time_for_owner(context, due))
    return context.redirect(_ACCOUNT, message="The deletion of your account is scheduled.")


@pages.post("/dashboard/account/delete/cancel")
def cancel_deletion(context: PageContext) -> Response:
    """Keep the account."""
    context.write(lambda tx: deletion.cancel(tx, context.account))
    return context.redirect(_ACCOUNT, message="Your account is not deleted.")


def _time_for_owner(context: PageContext, due: int) -> str:
    """Return the time in the language and time zone of the person, with the name of the zone."""
    zone, language = context.time_zone, login_changes.language_of(context, context.person)
    return f"{formats.day_and_time(clock.local(due, zone), language)} ({zone.key})"


def _deletion_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    contents, factor = context.read(
        lambda tx: (deletion.contents(tx, context.account), two_factor.of(tx, context.person))
    )
    items = [(label, number) for label, number in contents.items.items() if number]
    days = deletion.GRACE_SECONDS // 86_400
    return context.render("account/delete.html", status=status, form=form, items=items, factor=factor, days=days)
