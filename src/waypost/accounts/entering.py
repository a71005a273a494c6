"""The way in: signing in and out, registering, and choosing a new password."""

from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from waypost import credentials
from waypost.accounts import factors, ops, sessions
from waypost.clicks import classify
from waypost.dashboard import passes
from waypost.dashboard.desk import HOME, Desk, own_path
from waypost.dashboard.forms import Form
from waypost.dashboard.pages import Pages
from waypost.errors import Kind, Problem, invalid

pages = Pages()
# Of a password that nobody knows: an unknown name's is held against it, so that it takes as long as a known one's.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$QncMPTHJ/71CytvU0LxiRA$2TLrVg+nzfi4iQ3glhqt2SN6sUU8Wbg2WVOtrhBFSfo"
_WRONG = invalid("password", "No account has this name and password.")
_CODE_SECONDS = 300
_SECOND = "second"


@pages.get("/dashboard/signin", public=True)
def ask(desk: Desk) -> Response:
    """The form to sign in."""
    if desk.person is not None:
        return RedirectResponse(HOME, status_code=303)
    return _sign_in_page(desk, Form({"next": own_path(desk.asked("next", HOME, most=500))}))


@pages.post("/dashboard/signin", public=True)
def sign_in(desk: Desk) -> Response:
    """A name and a password; then a code, where the account wants one."""
    form = desk.typed()
    account = form.attempt(lambda: _known(desk, form))
    form.values["password"] = ""
    if account is None:
        return _sign_in_page(desk, form, status=400)
    goal = own_path(form.text("next"))
    if desk.read(lambda tx: factors.of(tx, account)) is None:
        return _enter(desk, account, goal)
    sealed = desk.kit.seals.seal(_SECOND, str(account), goal, life=_CODE_SECONDS, bound=desk.cookie)
    return desk.page("entering/code.html", form=Form({"sealed": sealed}))


@pages.post("/dashboard/signin/code", public=True)
def take_code(desk: Desk) -> Response:
    """The code of the app, or a recovery code."""
    form = desk.typed()
    told = desk.kit.seals.open(_SECOND, form.text("sealed"), bound=desk.cookie)
    if told is None:
        return desk.go("/dashboard/signin", said="That took too long. Please sign in again.", tone="bad")
    account, goal = int(told[0]), told[1]
    _take_a_try(f"code {account}", desk)
    if desk.write(lambda tx: factors.accept(tx, account, form.text("code"))):
        return _enter(desk, account, goal)
    form.faults["code"] = "This code is not right, or was used before. The app shows a new one every 30 seconds."
    return desk.page("entering/code.html", status=400, form=form)


@pages.post("/dashboard/signout", public=True)
def sign_out(desk: Desk) -> Response:
    """End this session."""
    if desk.person is not None:
        desk.write(lambda tx: sessions.end(tx, desk.account, desk.you.session))
    response = desk.go("/dashboard/signin", said="You are signed out.")
    response.delete_cookie(desk.kit.cookie, path="/", secure=desk.kit.secure, httponly=True, samesite="lax")
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


@pages.get("/dashboard/register", public=True)
def ask_who(desk: Desk) -> Response:
    """The form for a new account: with letters, first the e-mail address, then the rest by the link in a letter."""
    _must_be_open(desk)
    sealed = desk.asked("pass", most=2000)
    email = passes.email_of(desk.kit.seals, sealed) if sealed else ""
    return _register_page(desk, Form({"pass": sealed, "email": email}))


@pages.post("/dashboard/register", public=True)
def register(desk: Desk) -> Response:
    """Make an account, or write to who wants one."""
    _must_be_open(desk)
    form = desk.typed()
    _take_a_try("register", desk)
    if desk.kit.post.can_send and not form.text("pass"):
        return _write_to(desk, form)
    account = form.attempt(lambda: _new_account(desk, form))
    form.values["password"] = ""
    return _register_page(desk, form, status=400) if account is None else _enter(desk, account, HOME)


@pages.get("/dashboard/forgot", public=True)
def ask_address(desk: Desk) -> Response:
    """The form for who forgot the password."""
    return desk.page("entering/forgot.html", form=Form({}), can_send=desk.kit.post.can_send)


@pages.post("/dashboard/forgot", public=True)
def remind(desk: Desk) -> Response:
    """Write a letter to who has such an account; the answer and its work are the same for who has none."""
    form = desk.typed()
    _take_a_try("forgot", desk)
    name = form.text("name")
    if desk.kit.post.can_send:
        found = desk.read(lambda tx: _address_and_link(tx, desk, name))
        if found is not None:
            desk.kit.post.send(found[0], "A new password for waypost", _RESET_LETTER.format(link=found[1]))
    return desk.page("entering/sent.html", name=name)


@pages.get("/dashboard/reset", public=True)
def ask_password(desk: Desk) -> Response:
    """The form for a new password."""
    sealed = desk.asked("pass", most=2000)
    account = desk.read(lambda tx: ops.get(tx, passes.account_of(tx, desk.kit.seals, sealed)))
    return desk.page("entering/reset.html", form=Form({"pass": sealed}), account=account)


@pages.post("/dashboard/reset", public=True)
def reset(desk: Desk) -> Response:
    """Set the password; who knew the old one is signed out everywhere."""
    form = desk.typed()
    sealed, password = form.text("pass"), str(form["password"])
    account = desk.read(lambda tx: ops.get(tx, passes.account_of(tx, desk.kit.seals, sealed)))
    if form.attempt(lambda: ops.checked_password(password)) is None:
        form.values["password"] = ""
        return desk.page("entering/reset.html", status=400, form=form, account=account)
    hashed = credentials.hash_password(password)

    def work(tx: Connection) -> None:
        ops.change(tx, passes.account_of(tx, desk.kit.seals, sealed), password=hashed)

    desk.write(work)
    if desk.read(lambda tx: factors.of(tx, account.id)) is not None:  # a letter is one factor, not two
        return desk.go("/dashboard/signin", said="Your password is changed. Please sign in.")
    return _enter(desk, account.id, HOME)


def _sign_in_page(desk: Desk, form: Form, *, status: int = 200) -> Response:
    return desk.page("entering/signin.html", status=status, form=form, can_register=desk.settings.registration == "on")


def _register_page(desk: Desk, form: Form, *, status: int = 200) -> Response:
    by_letter = desk.kit.post.can_send and not form.text("pass")
    return desk.page("entering/register.html", status=status, form=form, by_letter=by_letter)


def _known(desk: Desk, form: Form) -> int:
    """The account with that name and password. Raises INVALID; the same, after the same work, whoever it was."""
    name, password = form.text("name"), str(form["password"])[:1000]
    found = desk.read(lambda tx: ops.password_of(tx, name))
    account, hashed = found or (0, _NOBODY)
    _take_a_try(f"account {account}" if account else f"name {name.casefold()[:200]}", desk)
    if not credentials.password_matches(hashed, password) or not account:
        raise _WRONG
    if desk.read(lambda tx: ops.get(tx, account)).suspended:
        raise invalid("password", "This account is suspended. Please ask the operator of this service.")
    return account


def _enter(desk: Desk, account: int, goal: str) -> Response:
    """Sign in with a new token, whatever the browser had before."""
    program = classify.agent(desk.request.headers.get("user-agent", "")[:500])
    agent = program.browser if program.os == "Unknown" else f"{program.browser} on {program.os}"
    token = desk.write(lambda tx: sessions.begin(tx, account, agent=agent))
    return desk.keep_session(RedirectResponse(goal, status_code=303), token)


def _new_account(desk: Desk, form: Form) -> int:
    sealed = form.text("pass")
    email = passes.email_of(desk.kit.seals, sealed) if sealed else ops.checked_email(form.text("email"))
    password = ops.checked_password(str(form["password"]))
    hashed = credentials.hash_password(password)
    try:
        made = desk.write(lambda tx: ops.add(tx, email=email, username=form.text("username"), password=hashed))
    except Problem as problem:
        if problem.kind is Kind.TAKEN:  # not which of the two: who has an account here is nobody's business
            raise invalid("username", "This username or e-mail address cannot be used. Please try another.") from None
        raise
    return made.id


def _write_to(desk: Desk, form: Form) -> Response:
    """A letter to the address, with a link to go on by; to who has an account already, that it is there."""
    email = form.attempt(lambda: ops.checked_email(form.text("email")))
    if email is None:
        return _register_page(desk, form, status=400)
    known = desk.read(lambda tx: ops.password_of(tx, email))
    link = passes.register_link(desk.kit.seals, desk.settings.base, email)
    letter = (
        _KNOWN_LETTER.format(link=f"{desk.settings.base}/dashboard/signin") if known else _NEW_LETTER.format(link=link)
    )
    desk.kit.post.send(email, "Your account at waypost", letter)
    return desk.page("entering/sent.html", name=email)


def _address_and_link(tx: Connection, desk: Desk, name: str) -> tuple[str, str] | None:
    found = ops.password_of(tx, name)
    if found is None:
        return None
    return ops.get(tx, found[0]).email, passes.reset_link(tx, desk.settings.base, found[0])


def _must_be_open(desk: Desk) -> None:
    if desk.settings.registration == "off":
        raise Problem(Kind.NOT_FOUND, "Accounts are made by the operator of this service. Please ask there.")


def _take_a_try(thing: str, desk: Desk) -> None:
    if wait := desk.kit.tries.wait(thing, desk.network):
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
