"""Endpoints of webhooks: where events of an account are sent, which ones, and the secrets that sign them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from waypost.core import clock
from waypost.core.errors import Kind, Problem, invalid, not_found
from waypost.core.settings import Settings
from waypost.db import account_rows, audit_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import campaigns, channels, links, webhook_endpoints, webhook_messages
from waypost.urls import blocklist, validation
from waypost.webhooks import catalog, formats, signature
from waypost.webhooks.signature import Kind as SignatureKind

MAX_ENDPOINTS = 10
"""Endpoints of one account."""
SCOPES: Mapping[str, Table] = {"campaign": campaigns, "channel": channels, "link": links}
"""The columns that limit an endpoint to the events of one item."""
BATCH = 5000
"""Messages that one statement changes: each has little time."""
ROTATION_SECONDS = 86_400
"""After a rotation, messages are signed with the previous secret too for so long."""
_c = webhook_endpoints.c
_OF_ANY = ("title", "enabled")
"""The fields that can be set on the endpoint of an overlay."""
_OF_OVERLAY = "This webhook belongs to overlay {}. Change or remove the URL in the field webhook of the overlay."

_NOT_SIGNED = "signature must be hmac: messages in the format {} are not signed."


@dataclass(frozen=True)
class Endpoint:
    """An endpoint without its secrets. `failing` is the first failure since the last success; times are seconds.

    `publickey` is that of ed25519; "" with a secret.
    """

    id: int
    account: int
    title: str
    url: str
    format: formats.Name
    site: str
    events: Sequence[str]
    campaign: int | None
    channel: int | None
    link: int | None
    overlay: int | None
    enabled: bool
    disabledreason: str
    failing: int | None
    created: int
    publickey: str

    @property
    def signature(self) -> SignatureKind:
        return "ed25519" if self.publickey else "hmac"

    @property
    def state(self) -> str:
        """`active`, `failing`, or `disabled` with or without the reason `gone` or `failing`."""
        if not self.enabled:
            return "disabled"
        return "active" if self.failing is None else "failing"

    def __hash__(self) -> int:
        return self.id


class Fields(TypedDict, total=False):
    """The settable fields; `None` is the default of a field."""

    title: str | None
    url: str
    format: formats.Name | None
    site: str | None
    credential: str | None
    events: Sequence[str] | None
    campaign: int | None
    channel: int | None
    link: int | None
    enabled: bool | None


class NewFields(Fields, total=False):
    """The fields of a new endpoint."""

    signature: SignatureKind | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Endpoint]:
    """Return a page of the account's endpoints, newest first."""
    query = crud.select_columns(webhook_endpoints, Endpoint).where(_c.account == account)
    return crud.counted_page(tx, query.order_by(_c.id.desc()), window, Endpoint)


def get_owned(tx: Connection, account: int, endpoint: int) -> Endpoint:
    """One endpoint."""
    return crud.get_owned(tx, webhook_endpoints, account, endpoint, Endpoint)


def add(tx: Connection, account: int, *, settings: Settings, **fields: Unpack[NewFields]) -> tuple[Endpoint, str]:
    """Create an endpoint. Return it with its secret, which is not shown again; "" with a key pair.

    Raises INVALID on the invalid field.
    """
    account_rows.lock(tx, account)
    own = (_c.account == account, _c.overlay.is_(None))
    count = select(func.count()).select_from(webhook_endpoints).where(*own)
    if tx.execute(count).scalar_one() >= MAX_ENDPOINTS:
        message = f"This account has {MAX_ENDPOINTS} webhooks already. Delete one first."
        raise Problem(Kind.INVALID, message)
    kind = fields.pop("signature", None) or "hmac"
    values = _values(tx, account, fields, settings)
    _check_scope(values)
    if "events" not in values and formats.FORMATS[values.get("format", formats.STANDARD)].is_analytics:
        values |= {"events": sorted(catalog.VISITS.values()), "visits": True}
    _check_format(values)
    if kind != "hmac" and values.get("format", formats.STANDARD) != formats.STANDARD:
        raise invalid("signature", _NOT_SIGNED.format(values["format"]))
    keys = _new_keys(kind)
    row = {"account": account, "created": clock.now(), **keys, **values}
    endpoint = tx.execute(insert(webhook_endpoints).values(row).returning(_c.id)).scalar_one()
    audit_log.item_created(tx, webhook_endpoints, account, endpoint, row)
    return _with_secret(tx, account, endpoint, keys)


def change(tx: Connection, account: int, endpoint: int, *, settings: Settings, **fields: Unpack[Fields]) -> Endpoint:
    """Set the given fields. Raises INVALID on the invalid field, and on one that the endpoint has from its overlay.

    Another URL, and enabling, forget earlier failures. Messages that wait for a disabled endpoint become failed ones,
    which can be sent again.
    """
    crud.lock_row(tx, webhook_endpoints, account, endpoint)
    stored, values = get_owned(tx, account, endpoint), _values(tx, account, fields, settings)
    if stored.overlay is not None:
        _refuse_of_overlay(stored, {name: value for name, value in values.items() if name not in _OF_ANY})
    _check_scope({**{name: getattr(stored, name) for name in SCOPES}, **values})
    credential = tx.execute(select(_c.credential).where(_c.id == endpoint, _c.account == account)).scalar_one()
    as_stored = {"format": stored.format, "site": stored.site, "credential": credential, "events": stored.events}
    _check_new_format(stored.format, values.get("format", stored.format))
    _check_format({**as_stored, **values})
    crud.change(tx, webhook_endpoints, account, endpoint, values)
    if values.get("enabled") or values.get("url", stored.url) != stored.url:
        forgotten = {"failing": None, "warned": None, "disabledreason": ""}
        tx.execute(update(webhook_endpoints).where(_c.id == endpoint, _c.account == account).values(forgotten))
    if values.get("enabled") is False:
        fail_waiting(tx, account, endpoint)
    return get_owned(tx, account, endpoint)


def remove(tx: Connection, account: int, endpoint: int) -> None:
    """Delete an endpoint with its messages. Raises INVALID if it belongs to an overlay."""
    if (stored := get_owned(tx, account, endpoint)).overlay is not None:
        raise Problem(Kind.INVALID, _OF_OVERLAY.format(stored.overlay))
    columns = audit_log.columns_of(webhook_endpoints)
    deletion = delete(webhook_endpoints).where(_c.id == endpoint, _c.account == account).returning(*columns)
    row = tx.execute(deletion).mappings().first()
    if row is None:
        raise not_found(crud.singular(webhook_endpoints))
    audit_log.item_deleted(tx, webhook_endpoints, account, endpoint, row)


def rotate(tx: Connection, account: int, endpoint: int) -> tuple[Endpoint, str]:
    """Give an endpoint a new secret or key pair, and return it as `add` does. The previous one signs too for a day."""
    crud.lock_row(tx, webhook_endpoints, account, endpoint)
    keys = _new_keys(get_owned(tx, account, endpoint).signature)
    new = {**keys, "oldsecret": _c.secret, "oldsecretend": clock.now() + ROTATION_SECONDS}
    tx.execute(update(webhook_endpoints).where(_c.id == endpoint, _c.account == account).values(new))
    rotated, secret = _with_secret(tx, account, endpoint, keys)
    audit_log.record(tx, account, "webhook.secret_rotated", endpoint, label=rotated.title)
    return rotated, secret


def _new_keys(kind: SignatureKind) -> Mapping[str, str]:
    """Return the columns of a new secret or key pair."""
    secret, public = (signature.new_secret(), "") if kind == "hmac" else signature.new_pair()
    return {"secret": secret, "publickey": public}


def _with_secret(tx: Connection, account: int, endpoint: int, keys: Mapping[str, str]) -> tuple[Endpoint, str]:
    """Return an endpoint with the secret to show; a private key is never shown."""
    return get_owned(tx, account, endpoint), "" if keys["publickey"] else keys["secret"]


def _refuse_of_overlay(stored: Endpoint, values: Mapping[str, Any]) -> None:
    """Raise INVALID if a value differs that the endpoint has from its overlay."""
    for name, value in values.items():
        if value != getattr(stored, name, value):
            raise invalid(name, _OF_OVERLAY.format(stored.overlay))


def fail_waiting(tx: Connection, account: int, endpoint: int) -> None:
    """Let a batch of the waiting messages of a disabled endpoint fail; the sender does it with others that are due."""
    m = webhook_messages.c
    is_waiting = (m.account == account, m.endpoint == endpoint, m.state == "waiting")
    batch = select(m.id).where(*is_waiting).limit(BATCH)
    tx.execute(update(webhook_messages).where(*is_waiting, m.id.in_(batch)).values(state="failed"))


def _values(tx: Connection, account: int, fields: Fields, settings: Settings) -> dict[str, Any]:
    """Return the columns of valid fields. Raises INVALID on the invalid field."""
    values = crud.with_defaults(webhook_endpoints, dict(fields))
    if "url" in fields:
        values["url"] = validation.web_url(fields["url"], field="url")
        validation.foreign_host(values["url"], field="url", settings=settings)
        blocklist.refuse(tx, [values["url"]], field="url")
    if "events" in values:
        values["events"] = catalog.checked(values["events"])
        values["visits"] = catalog.has_visits(values["events"])
    for name, table in SCOPES.items():
        if (item := values.get(name)) is not None:
            crud.require_reference(tx, table, account, item, field=name)
    return values


def _check_scope(values: Mapping[str, Any]) -> None:
    """Raise INVALID if more than one item limits the endpoint."""
    if len(limits := [name for name in SCOPES if values.get(name) is not None]) > 1:
        raise invalid(limits[1], f"{limits[1]} cannot be combined with {limits[0]}: select one of them.")


def _check_format(values: Mapping[str, Any]) -> None:
    """Raise INVALID if a field is missing that the format needs, or given that it does not have.

    Formats of analytics take visits only.
    """
    its_format = formats.FORMATS[values.get("format", formats.STANDARD)]
    for name in ("site", "credential"):
        if name in its_format.fields and not values.get(name):
            raise invalid(name, f"{name} must not be empty for {its_format.label}.")
        if name not in its_format.fields and values.get(name):
            raise invalid(name, f"{name} must be empty for {its_format.label}.")
    if its_format.is_analytics and not catalog.has_visits_only(values.get("events", [catalog.ALL])):
        allowed = ", ".join(catalog.VISITS.values())
        raise invalid("events", f"{its_format.label} takes visits only. Select some of {allowed}.")


def _check_new_format(old: formats.Name, new: formats.Name) -> None:
    """Raise INVALID if stored messages do not fit into the new format of their endpoint."""
    if new != old and (formats.FORMATS[old].is_analytics or formats.FORMATS[new].is_analytics):
        raise invalid("format", "format cannot change to or from analytics. Create another webhook.")
