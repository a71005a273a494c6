"""The way in: signing in and out, registering, and choosing a new password."""

from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from waypost import credentials
from waypost.accounts import email_links, ops
from waypost.auth import sessions, two_factor
from waypost.clicks.classify import classifier
from waypost.dashboard.context import HOME, PageContext, safe_redirect_path
from waypost.dashboard.forms import Form
from waypost.dashboard.routing import Router
from waypost.errors import Kind, Problem, invalid

pages = Router()
# Of a password that nobody knows: an unknown name's is held against it, so that it takes as long as a known one's.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$QncMPTHJ/71CytvU0LxiRA$2TLrVg+nzfi4iQ3glhqt2SN6sUU8Wbg2WVOtrhBFSfo"
_WRONG = invalid("password", "No account has this name and password.")
_CODE_SECONDS = 300
_SECOND = "second"


@pages.get("/dashboard/signin", public=True)
def ask(context: PageContext) -> Response:
    """The form to sign in."""
    if context.session is not None:
        return RedirectResponse(HOME, status_code=303)
    return _sign_in_page(context, Form({"next": safe_redirect_path(context.query("next", HOME, most=500))}))


@pages.post("/dashboard/signin", public=True)
def sign_in(context: PageContext) -> Response:
    """A name and a password; then a code, where the account wants one."""
    form = context.form()
    account = form.attempt(lambda: _known(context, form))
    form.values["password"] = ""
    if account is None:
        return _sign_in_page(context, form, status=400)
    goal = safe_redirect_path(form.text("next"))
    if context.read(lambda tx: two_factor.of(tx, account)) is None:
        return _enter(context, account, goal)
    sealed = context.services.signer.sign(_SECOND, str(account), goal, life=_CODE_SECONDS, bound=context.cookie)
    return context.render("entering/code.html", form=Form({"sealed": sealed}))


@pages.post("/dashboard/signin/code", public=True)
def take_code(context: PageContext) -> Response:
    """The code of the app, or a recovery code."""
    form = context.form()
    told = context.services.signer.unsign(_SECOND, form.text("sealed"), bound=context.cookie)
    if told is None:
        return context.redirect("/dashboard/signin", said="That took too long. Please sign in again.", tone="bad")
    account, goal = int(told[0]), told[1]
    _take_a_try(f"code {account}", context)
    if context.write(lambda tx: two_factor.accept(tx, account, form.text("code"))):
        return _enter(context, account, goal)
    form.faults["code"] = "This code is not right, or was used before. The app shows a new one every 30 seconds."
    return context.render("entering/code.html", status=400, form=form)


@pages.post("/dashboard/signout", public=True)
def sign_out(context: PageContext) -> Response:
    """End this session."""
    if context.session is not None:
        context.write(lambda tx: sessions.end(tx, context.account, context.user.session))
    response = context.redirect("/dashboard/signin", said="You are signed out.")
    response.delete_cookie(
        context.services.cookie, path="/", secure=context.services.secure, httponly=True, samesite="lax"
    )
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


@pages.get("/dashboard/register", public=True)
def ask_who(context: PageContext) -> Response:
    """The form for a new account: with letters, first the e-mail address, then the rest by the link in a letter."""
    _must_be_open(context)
    sealed = context.query("pass", most=2000)
    email = email_links.email_of(context.services.signer, sealed) if sealed else ""
    return _register_page(context, Form({"pass": sealed, "email": email}))


@pages.post("/dashboard/register", public=True)
def register(context: PageContext) -> Response:
    """Make an account, or write to who wants one."""
    _must_be_open(context)
    form = context.form()
    _take_a_try("register", context)
    if context.services.mailer.can_send and not form.text("pass"):
        return _write_to(context, form)
    account = form.attempt(lambda: _new_account(context, form))
    form.values["password"] = ""
    return _register_page(context, form, status=400) if account is None else _enter(context, account, HOME)


@pages.get("/dashboard/forgot", public=True)
def ask_address(context: PageContext) -> Response:
    """The form for who forgot the password."""
    return context.render("entering/forgot.html", form=Form({}), can_send=context.services.mailer.can_send)


@pages.post("/dashboard/forgot", public=True)
def remind(context: PageContext) -> Response:
    """Write a letter to who has such an account; the answer and its work are the same for who has none."""
    form = context.form()
    _take_a_try("forgot", context)
    name = form.text("name")
    if context.services.mailer.can_send:
        found = context.read(lambda tx: _address_and_link(tx, context, name))
        if found is not None:
            context.services.mailer.send(found[0], "A new password for waypost", _RESET_LETTER.format(link=found[1]))
    return context.render("entering/sent.html", name=name)


@pages.get("/dashboard/reset", public=True)
def ask_password(context: PageContext) -> Response:
    """The form for a new password."""
    sealed = context.query("pass", most=2000)
    account = context.read(lambda tx: ops.get(tx, email_links.account_of(tx, context.services.signer, sealed)))
    return context.render("entering/reset.html", form=Form({"pass": sealed}), account=account)


@pages.post("/dashboard/reset", public=True)
def reset(context: PageContext) -> Response:
    """Set the password; who knew the old one is signed out everywhere."""
    form = context.form()
    sealed, password = form.text("pass"), str(form["password"])
    account = context.read(lambda tx: ops.get(tx, email_links.account_of(tx, context.services.signer, sealed)))
    if form.attempt(lambda: ops.checked_password(password)) is None:
        form.values["password"] = ""
        return context.render("entering/reset.html", status=400, form=form, account=account)
    hashed = credentials.hash_password(password)

    def work(tx: Connection) -> None:
        ops.change(tx, email_links.account_of(tx, context.services.signer, sealed), password=hashed)

    context.write(work)
    if context.read(lambda tx: two_factor.of(tx, account.id)) is not None:  # a letter is one factor, not two
        return context.redirect("/dashboard/signin", said="Your password is changed. Please sign in.")
    return _enter(context, account.id, HOME)


def _sign_in_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    return context.render(
        "entering/signin.html", status=status, form=form, can_register=context.settings.registration == "on"
    )


def _register_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    by_letter = context.services.mailer.can_send and not form.text("pass")
    return context.render("entering/register.html", status=status, form=form, by_letter=by_letter)


def _known(context: PageContext, form: Form) -> int:
    """The account with that name and password. Raises INVALID; the same, after the same work, whoever it was."""
    name, password = form.text("name"), str(form["password"])[:1000]
    found = context.read(lambda tx: ops.password_of(tx, name))
    account, hashed = found or (0, _NOBODY)
    _take_a_try(f"account {account}" if account else f"name {name.casefold()[:200]}", context)
    if not credentials.password_matches(hashed, password) or not account:
        raise _WRONG
    if context.read(lambda tx: ops.get(tx, account)).suspended:
        raise invalid("password", "This account is suspended. Please ask the operator of this service.")
    return account


def _enter(context: PageContext, account: int, goal: str) -> Response:
    """Sign in with a new token, whatever the browser had before."""
    program = classifier.agent(context.request.headers.get("user-agent", "")[:500])
    agent = program.browser if program.os == "Unknown" else f"{program.browser} on {program.os}"
    token = context.write(lambda tx: sessions.begin(tx, account, agent=agent))
    return context.set_session_cookie(RedirectResponse(goal, status_code=303), token)


def _new_account(context: PageContext, form: Form) -> int:
    sealed = form.text("pass")
    email = email_links.email_of(context.services.signer, sealed) if sealed else ops.checked_email(form.text("email"))
    password = ops.checked_password(str(form["password"]))
    hashed = credentials.hash_password(password)
    try:
        made = context.write(lambda tx: ops.add(tx, email=email, username=form.text("username"), password=hashed))
    except Problem as problem:
        if problem.kind is Kind.TAKEN:  # not which of the two: who has an account here is nobody's business
            raise invalid("username", "This username or e-mail address cannot be used. Please try another.") from None
        raise
    return made.id


def _write_to(context: PageContext, form: Form) -> Response:
    """A letter to the address, with a link to go on by; to who has an account already, that it is there."""
    email = form.attempt(lambda: ops.checked_email(form.text("email")))
    if email is None:
        return _register_page(context, form, status=400)
    known = context.read(lambda tx: ops.password_of(tx, email))
    link = email_links.register_link(context.services.signer, context.settings.base, email)
    letter = (
        _KNOWN_LETTER.format(link=f"{context.settings.base}/dashboard/signin")
        if known
        else _NEW_LETTER.format(link=link)
    )
    context.services.mailer.send(email, "Your account at waypost", letter)
    return context.render("entering/sent.html", name=email)


def _address_and_link(tx: Connection, context: PageContext, name: str) -> tuple[str, str] | None:
    found = ops.password_of(tx, name)
    if found is None:
        return None
    return ops.get(tx, found[0]).email, email_links.reset_link(tx, context.settings.base, found[0])


def _must_be_open(context: PageContext) -> None:
    if context.settings.registration == "off":
        raise Problem(Kind.NOT_FOUND, "Accounts are made by the operator of this service. Please ask there.")


def _take_a_try(thing: str, context: PageContext) -> None:
    if wait := context.services.login_throttle.wait(thing, context.network):
        raise Problem(Kind.RATE_LIMITED, f"Too many tries. Please wait {wait} seconds.", retry_after=wait)


_RESET_LETTER = """\
Somebody asked for a new password for your account at waypost.
Choose it here, within an hour:

{link}

If that was not you, there is nothing to do.
"""
_NEW_LETTER = """\
Welcome to waypost. Make your account here, within an hour:

{link}

If you did not ask for one, there is nothing to do.
"""
_KNOWN_LETTER = """\
Somebody, perhaps you, asked for an account at waypost with this address. There is one already.
Sign in here:

{link}
"""
