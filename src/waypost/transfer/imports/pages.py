"""Dashboard pages of imports: the form, the plan with the fate of every row, and undo."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, get_args
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import anyio.to_thread
from pydantic import AfterValidator, BeforeValidator
from starlette.responses import Response

from waypost.api.types import Paragraph
from waypost.core import clock, formats
from waypost.core.errors import Kind, Problem, invalid
from waypost.dashboard import downloads, forms
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape
from waypost.dashboard.i18n import format_time, gettext, gettext_noop
from waypost.dashboard.routing import Router
from waypost.dashboard.templating import without_scheme
from waypost.db.schema.imports import SOURCE_NAMES
from waypost.db.schema.nouns import NOUNS
from waypost.http.multipart import MultipartReader, Part
from waypost.items.files.upload import UploadPace
from waypost.transfer.imports import plan_removal, plans, row_changes, runner, undo, uploads
from waypost.transfer.imports.plans import Fate
from waypost.transfer.imports.schemas import NewImport, hosts_of_lines
from waypost.transfer.imports.sources.csv_files import FIELDS, NO_DESTINATION
from waypost.transfer.imports.sources.registry import (
    LABELS,
    SELF_HOSTED,
    ServiceOptions,
    trusted_hosts,
    with_shared_hosts,
)
from waypost.transfer.imports.uploads import ImportFile
from waypost.urls.validation import is_no_address

pages = Router()
_SIZES = frozenset({Kind.TOO_LARGE, Kind.STORAGE_FULL})
_PATH = "/dashboard/import"
_SHAPE = Shape(flags=("history",), urls=("url",))
_FORM_ERRORS = frozenset(
    {Kind.INVALID, Kind.TOO_LARGE, Kind.TOO_SLOW, Kind.STORAGE_FULL, Kind.IMPORT_STATE, Kind.UNAVAILABLE}
)
_MAX_FIELDS_BYTES = 64 * 1024  # of a form, besides its file
_MAX_DIGITS = 18
_KINDS = {kind: noun.label for kind, noun in NOUNS.items()}
_COLUMNS = {
    "alias": gettext_noop("Alias"),
    "clicklimit": gettext_noop("Click limit"),
    "clicks": gettext_noop("Clicks"),
    "custom": gettext_noop("Alias"),
    "description": gettext_noop("Private note"),
    "devicetarget": gettext_noop("Targeting"),
    "domain": gettext_noop("Domain"),
    "expiry": gettext_noop("Expiry"),
    "folder": gettext_noop("Campaign"),
    "geotarget": gettext_noop("Targeting"),
    "languagetarget": gettext_noop("Targeting"),
    "name": gettext_noop("Name"),
    "password": gettext_noop("Password"),
    "tag": gettext_noop("Channel"),
    "title": gettext_noop("Title"),
    "url": gettext_noop("Destination URL"),
}
"""Labels of the columns of a link, by their names in the API."""
_FIELD_LABELS = {
    "url": gettext_noop("Destination URL"),
    "short": gettext_noop("Short URL"),
    "alias": gettext_noop("Alias"),
    "host": gettext_noop("Domain"),
    "title": gettext_noop("Title"),
    "description": gettext_noop("Private note"),
    "tags": gettext_noop("Channels"),
    "clicks": gettext_noop("Clicks"),
    "created": gettext_noop("Created"),
    "expiry": gettext_noop("Expires"),
    "clicklimit": gettext_noop("Click limit"),
    "password": gettext_noop("Password"),
    "id": gettext_noop("Id in the source"),
}
"""Labels of the fields that a column of a CSV file can be."""
_COLUMN = re.compile(r"(?P<name>[a-z]+)(?:\[(?P<number>[0-9]{1,4})\])?(?:\.[a-z]+)?(?= )")
_UTC_TIME = re.compile(r"\b([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}) UTC\b")
_LEFT_OUT = " is left out: "
_NO_DESTINATION = gettext_noop("Select which column is the destination.")
_MAX_HOSTS = 5
"""Target domains that the page of a plan names."""
_FIRST = {"history": "1", "conflicts": "skip", "folders": "campaign"}


class ImportForm(NewImport):
    """The fields of the form: `key` is the token of the service, `columnnames` and `mapping` are lines of pairs."""

    key: Annotated[Paragraph, AfterValidator(str.strip)] | None = None
    mapping: Annotated[dict[str, str], BeforeValidator(hosts_of_lines)] | None = None
    columnnames: Paragraph | None = None


@pages.get("/dashboard/import")
def show_import(context: PageContext) -> Response:
    plan = context.read(lambda tx: plans.find(tx, context.account))
    if plan is None:
        return _first_page(context)
    fate: Fate | None = next((value for value in get_args(Fate) if value == context.query("fate")), None)
    window = context.page_request()
    page = context.read(lambda tx: plans.page(tx, context.account, window, fate))
    summary = context.read(lambda tx: plans.summary(tx, context.account, plan.id))
    links = context.read(lambda tx: plans.links(tx, context.account, [row.line for row in page.items]))
    hosts: Sequence[str] = ()
    own_address = without_scheme(context.settings.base)
    if plan.state == "planned" and not plan.is_busy:
        hosts = context.read(lambda tx: plans.target_hosts(tx, context.account, plan.id, _MAX_HOSTS + 1))
    return context.render_list(
        "imports/plan.html",
        page,
        plan=plan,
        summary=summary,
        links=links,
        target_hosts=[host or own_address for host in hosts[:_MAX_HOSTS]],
        has_more_hosts=len(hosts) > _MAX_HOSTS,
        own_address=own_address,
        fate=fate,
        labels=SOURCE_NAMES,
        kinds=_KINDS,
        error=_translated_error(context, plan.error),
        translated_reasons=_translated_reasons,
        translated_losses=_translated_losses,
        field_of=row_changes.field_of,
    )


@pages.get("/dashboard/import/new")
def show_form(context: PageContext) -> Response:
    return _first_page(context)


@pages.stream("/dashboard/import/new")
async def create_import(context: PageContext, parts: MultipartReader) -> Response:
    fields: dict[str, list[str]] = {}
    file: ImportFile | None = None
    try:
        while (part := await parts.next_part()) is not None:
            if part.filename is None:
                fields.setdefault(part.name, []).append(await part.text())
            elif part.filename and file is None:
                file = await anyio.to_thread.run_sync(uploads.begin, context, _declared_size(context))
                await _receive(part, file, context.settings.transfer_seconds)
        return await anyio.to_thread.run_sync(_start, context, fields, file)
    except Problem as problem:
        return await anyio.to_thread.run_sync(_failed, context, fields, problem, file)
    except BaseException:
        if file is not None:
            file.close()
        raise


@pages.get("/dashboard/import/rows.csv", snapshot=False)
def export_rows(context: PageContext) -> Response:
    plan = context.read(lambda tx: plans.current(tx, context.account))
    return downloads.csv_file(gettext("Import"), plans.report_csv(context.database, context.account, plan.id))


@pages.post("/dashboard/import/rows/{line:int}")
def correct_row(context: PageContext, line: int) -> Response:
    """Correct the alias, the destination or the expiry of a row that cannot be imported as it is."""
    values = {name: texts[-1] for name, texts in context.fields.items()}
    path = _same_rows(values)
    settings, zone = context.settings, context.time_zone
    try:
        row = context.write(lambda tx: row_changes.correct(tx, settings, context.account, line, values, zone))
    except Problem as problem:
        return context.redirect(path, message=_sentence(_described(problem.message)), tone="bad")
    if row.fate == "create":
        message = gettext("Row %(number)s is imported as %(alias)s.", number=line, alias=row.alias)
        return context.redirect(path, message=message)
    reason = gettext("Row %(number)s: %(reason)s", number=line, reason=_translated_reasons(row.reason))
    return context.redirect(path, message=reason, tone="good" if row.fate in ("there", "changed") else "bad")


def _same_rows(values: Mapping[str, str]) -> str:
    """Return the path of the plan with the rows that the user sees: those of a fate, and a page of them."""
    shown = {"fate": values.get("fate", "") if values.get("fate") in get_args(Fate) else ""}
    shown["page"] = values["page"] if values.get("page", "").isdecimal() and values["page"] != "1" else ""
    query = urlencode({name: value for name, value in shown.items() if value})
    return f"{_PATH}?{query}" if query else _PATH


@pages.post("/dashboard/import/apply")
def apply_import(context: PageContext) -> Response:
    return _changed(context, lambda: runner.start_applying(context, lambda _: ""))


@pages.get("/dashboard/import/undo", snapshot=False)
def confirm_undo(context: PageContext) -> Response:
    context.wait_for_ingest()
    preview = undo.preview(context.database, context.account)
    plan = context.read(lambda tx: plans.current(tx, context.account))
    return context.render("imports/undo.html", preview=preview, plan=plan)


@pages.post("/dashboard/import/undo")
def undo_import(context: PageContext) -> Response:
    return _changed(context, lambda: runner.start_undoing(context, lambda _: ""))


@pages.post("/dashboard/import/delete")
def delete_plan(context: PageContext) -> Response:
    return _changed(context, lambda: runner.remove(context, plan_removal.begin, str))


@pages.post("/dashboard/import/cancel")
def cancel_import(context: PageContext) -> Response:
    return _changed(context, lambda: runner.remove(context, plan_removal.cancel, str))


def _declared_size(context: PageContext) -> int:
    """Return the bytes of the file at least, from the length of the form; 0 if it is unknown."""
    declared = context.request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() and len(declared) <= _MAX_DIGITS else 0
    return max(0, size - _MAX_FIELDS_BYTES)


async def _receive(part: Part, file: ImportFile, seconds: float) -> None:
    """Write the bytes of the form's file. Raises TOO_LARGE, STORAGE_FULL, and TOO_SLOW."""
    pace = UploadPace(seconds, field="file")
    chunks = part.as_request().stream()
    while True:
        async with pace.waiting():
            chunk = await anext(chunks, b"")
        if not chunk:
            return
        pace.count(len(chunk))
        await anyio.to_thread.run_sync(file.write, chunk)


def _start(context: PageContext, fields: dict[str, list[str]], file: ImportFile | None) -> Response:
    form = _form(fields)
    new = form.read(ImportForm, context.time_zone, _SHAPE)
    options = replace(new.options, hosts=new.mapping or {})
    zone = ZoneInfo(new.timezone or "UTC")
    if new.service is not None:
        last_domain = context.quick_options.last_domain
        options = replace(options, hosts=with_shared_hosts(new.service, options.hosts, last_domain))
        trusted = trusted_hosts(context.settings)
        service_options = ServiceOptions(new.url or "", zone, bool(new.history), trusted)
        runner.read_service(context, new.service, new.key or "", service_options, options, _no_response)
    elif file is not None:
        columns, dates = _columns(new.columnnames or ""), new.dates or formats.date_order(context.region)
        runner.read_file(context, file, columns, zone, options, _no_response, dates=dates)
    else:
        raise Problem(Kind.INVALID, "Choose a file, or a service.", field="file")
    return context.redirect(_PATH)


def _columns(text: str) -> dict[str, str | None]:
    """Return the columns by field, from lines such as `url=Target`, and None for a line such as `tags=`.

    Raises INVALID.
    """
    pairs = [line.partition("=") for line in text.splitlines() if line.strip()]
    columns = {field.strip(): column.strip() or None for field, _, column in pairs}
    if not all(field.strip() in FIELDS and separator for field, separator, _ in pairs):
        message = f"Write a line such as url=Target for each column. The fields are {', '.join(FIELDS)}."
        raise invalid("columnnames", message)
    if columns.get("url", "") is None:
        raise invalid("columnnames", _NO_DESTINATION)
    return columns


def _failed(context: PageContext, fields: dict[str, list[str]], problem: Problem, file: ImportFile | None) -> Response:
    """Show the form again, with everything but the token and the file."""
    if file is not None:
        file.close()
    if problem.kind not in _FORM_ERRORS:
        raise problem
    form = _form({name: values for name, values in fields.items() if name != "key"})
    name = {"token": "key", "hosts": "mapping"}.get(problem.field or "", problem.field or "")
    form.errors[name if name in ImportForm.model_fields or name == "file" else ""] = problem.message
    return _form_page(context, form, status=problem.kind.status if problem.kind in _SIZES else 400)


def _first_page(context: PageContext) -> Response:
    dates = formats.date_order(context.region)
    return _form_page(context, Form({**_FIRST, "timezone": context.time_zone.key, "dates": dates}))


def _form(fields: dict[str, list[str]]) -> Form:
    return Form({**dict.fromkeys(_SHAPE.flags, ""), **forms.apply_shape(fields, _SHAPE)})


def _form_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    plan = context.read(lambda tx: plans.find(tx, context.account))
    options = context.quick_options
    return context.render(
        "imports/new.html",
        form=form,
        status=status,
        services=LABELS,
        fields=[(field, FIELDS[field], label) for field, label in _FIELD_LABELS.items()],
        self_hosted=SELF_HOSTED,
        hosts=[("", context.settings.own_host), *options.domains],
        last_domain=options.last_domain,
        has_plan=plan is not None,
        can_undo=plan is not None and plan.state == "applied",
    )


def _no_response(_tx: object) -> None:
    """Pages have no idempotency keys: nothing is stored."""


def _changed(context: PageContext, change: Callable[[], str]) -> Response:
    """Redirect to the plan, with the message that the change returns."""
    try:
        message = change()
    except Problem as problem:
        return context.redirect(_PATH, message=problem.message, tone="bad")
    return context.redirect(_PATH, message=message)


def _translated_error(context: PageContext, error: str) -> str:
    """Return the error of an import in the reader's language, with times in the zone of the account.

    The command's hint on columns is replaced by that of the form.
    """
    if error.startswith(f"{NO_DESTINATION} "):
        return gettext(_NO_DESTINATION)
    return _UTC_TIME.sub(
        lambda match: format_time(clock.local(clock.last_second(match[1]), context.time_zone)), gettext(error)
    )


def _translated_reasons(reasons: str) -> str:
    """Return the reasons of a row, which are lines, as sentences in the reader's language."""
    return " ".join(_sentence(_described(reason)) for reason in reasons.splitlines())


def _translated_losses(losses: str) -> str:
    """Return the losses of a row in the reader's language. A value with a semicolon keeps its part in English."""
    return "; ".join(map(_translated_loss, losses.split("; ")))


def _translated_loss(loss: str) -> str:
    name, left_out, reason = loss.partition(_LEFT_OUT)
    if not left_out:
        return _described(loss)
    label = gettext(_COLUMNS[name]) if name in _COLUMNS else gettext(name)
    return gettext(f"%(name)s{_LEFT_OUT}%(reason)s") % {"name": label, "reason": _described(reason)}


def _described(text: str) -> str:
    """Return a reason with the label of the column that it begins with instead of its name in the API."""
    if is_no_address(text):
        return gettext(forms.NO_ADDRESS)
    match = _COLUMN.match(text)
    if match is None or match["name"] not in _COLUMNS:
        return gettext(text)
    row = gettext("row %(number)s", number=int(match["number"]) + 1) if match["number"] else ""
    label = ", ".join(filter(None, (gettext(_COLUMNS[match["name"]]), row)))
    return label + forms.translate_after(match[0], text[match.end() :].lstrip())


def _sentence(text: str) -> str:
    """Return a reason as a sentence. A host at its beginning stays as it is."""
    first = text[:1] if "." in text.partition(" ")[0].rstrip(".") else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "…")) else ".")
