"""Pages that are the response to a form or need a token, so that no list of paths contains them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playwright.sync_api import Page

from tests.conftest import BASE, PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.dashboard_paths import SIGNED_OUT
from tests.support.files import new_file
from tests.support.html import Page as HtmlPage
from tests.support.overlays import form_fields
from tests.support.visits import ACCEPT_HTML, new_link, visit
from waypost.dashboard.trash import one_by_one
from waypost.db.crud import PageRequest
from waypost.items.accounts import email_links
from waypost.items.overlays import submissions
from waypost.items.overlays.submissions import Answers
from waypost.items.qr import ops as qr_codes
from waypost.trash import ops as trash

_TARGET = "https://target.example/page"
# Submits the token or all fields of a form on the page, and other fields, to a path.
_SUBMIT = """([path, source, fields]) => {
  const form = document.createElement("form");
  form.method = "post";
  const origin = document.querySelector(source);
  const own = origin.localName === "form" ? [...new FormData(origin)] : [[origin.name, origin.value]];
  form.action = path || origin.action;
  for (const [name, value] of [...own, ...Object.entries(fields)]) {
    const field = document.createElement("input");
    field.type = "hidden";
    [field.name, field.value] = [name, value];
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}"""


@dataclass(frozen=True)
class FormPage:
    """The response to a form: the page with the form, the fields, a text of the response, and its path in a dashboard.

    Without a `path`, it is the form for answers or reports of a public page.
    """

    at: str
    fields: Mapping[str, str]
    says: str
    path: str = ""

    @property
    def name(self) -> str:
        """A name for messages."""
        return f"{self.path or self.at} {self.says}"


def signed_out_paths(person: Person) -> Sequence[str]:
    """Return the paths of all pages for signing in, with the tokens of e-mails where they need one."""
    address = "an-address-of-ana@long-name.example"
    urls = (
        person.write(lambda tx: email_links.reset_link(tx, "", person.account)),
        person.write(lambda tx: email_links.change_link(tx, "", person.account, address)),
    )
    return (*SIGNED_OUT, *urls)


def form_pages(person: Person) -> list[FormPage]:
    """Create items and return the confirmations of their deletion, and other responses to forms of the dashboard."""
    link = new_link(person, "to-confirm", url=_TARGET, title="A link")
    removed = person.add("qr", type="text", data="in the trash")
    file = new_file(person, "picture.txt", b"text")
    code = person.add("qr", type="text", data="words")
    bio = person.add("bio", name="A page", alias="to-confirm-page")
    overlay = person.add("overlay", name="Write", type="contact", message="Write to me")
    answers = Answers(name="Zoë", email="zoe@example.com", message="Hello")
    person.write(lambda tx: submissions.add(tx, person.account, overlay, answers, link=link))
    dashboard = "/dashboard"
    factor = f"{dashboard}/account/factor"
    submitted = f"{dashboard}/overlays/{overlay}/answers"
    delete = {"action": "delete", "id": str(link)}
    return [
        FormPage(f"{dashboard}/links", delete, "Delete", f"{dashboard}/links/bulk"),
        FormPage(f"{dashboard}/links", {"action": "delete", "all": "1"}, "Delete", f"{dashboard}/links/bulk"),
        FormPage(f"{dashboard}/links", {**delete, "action": "expiry"}, "expir", f"{dashboard}/links/bulk"),
        FormPage(f"{dashboard}/files", {"id": str(file)}, "Delete", f"{dashboard}/files/bulk"),
        FormPage(f"{dashboard}/qr", {"id": str(code)}, "Delete", f"{dashboard}/qr/bulk"),
        FormPage(f"{dashboard}/bios", {"id": str(bio)}, "Delete", f"{dashboard}/bios/bulk"),
        FormPage(submitted, {"id": "1"}, "Delete", f"{submitted}/bulk"),
        FormPage(f"{dashboard}/trash", _purge(person, removed), "Delete", f"{dashboard}/trash/bulk"),
        FormPage(factor, {"password": PASSWORD}, "Recovery codes", f"{factor}/codes"),
    ]


def public_form_pages(person: Person, poll: str) -> list[FormPage]:
    """Return the responses to a report and to a vote; `poll` is the path of a page with the poll of `OVERLAYS`."""
    report = {"url": f"{BASE}/{poll}", "reason": "phishing", "comment": "It asks for my password."}
    return [FormPage("/report", report, "Thank you"), FormPage(f"/{poll}", {"choice": "Celadon, as it was"}, "100%")]


def submit_in_browser(page: Page, address: str, form_page: FormPage) -> None:
    """Show the response to a form in a browser."""
    page.goto(f"{address}{form_page.at}")
    source = "[name=token]" if form_page.path else "main form[method=post], form#answer"
    with page.expect_navigation():
        page.evaluate(_SUBMIT, [form_page.path, source, dict(form_page.fields)])


def submit(client: AsgiClient, form_page: FormPage, language: str = "en") -> str:
    """Return the response to a form as HTML."""
    headers = {**ACCEPT_HTML, "Accept-Language": language}
    if form_page.path:
        prefix = "/dashboard"
        at, path = form_page.at.removeprefix(prefix), form_page.path.removeprefix(prefix)
        return str(Browser(client).submit(path, at, **form_page.fields).text)
    page = HtmlPage(visit(client, form_page.at.lstrip("/"), headers=headers))
    form = next(form for form in page.all("form") if form.attributes.get("method") == "post")
    data = form_fields(page, **form_page.fields)
    return str(visit(client, form.attributes["action"].lstrip("/"), "POST", data=data, headers=headers).text)


def _purge(person: Person, code: int) -> dict[str, str]:
    """Move a QR code to the trash; return the fields that delete it for good."""
    remove = one_by_one(qr_codes.remove)
    person.write(lambda tx: trash.move(tx, person.account, "qr", [code], remove))
    newest = person.database.read(lambda tx: trash.page(tx, person.account, PageRequest())).items[0]
    return {"action": "purge", "id": str(newest.id)}
