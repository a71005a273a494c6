"""Payloads of QR codes by type: validated data, and the text that a scanner reads. Pure.

Sources: RFC 2426 (vCard 3.0), RFC 5545 (iCalendar), RFC 6068 (mailto), RFC 3966 (tel), RFC 5724 (sms), RFC 5870 (geo),
BIP 21 (bitcoin), and ZXing's WIFI: and SMSTO:.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlsplit

from waypost.core.errors import invalid
from waypost.core.settings import Settings
from waypost.core.uris import with_query
from waypost.media.qrcode import addresses, payload_fields, vcard
from waypost.urls.blocklist import find_urls

Type = Literal["text", "vcard", "link", "email", "phone", "sms", "wifi", "event", "geo", "whatsapp", "app", "crypto"]
TYPES: tuple[Type, ...] = get_args(Type)
TRACKED = frozenset({"link", "vcard", "email", "phone", "sms", "event", "whatsapp", "app"})
"""The types whose picture holds our own address unless `dynamic` says otherwise (decision 31)."""
Data = str | Mapping[str, Any]


@dataclass(frozen=True)
class Content:
    """Checked data. `text` is what a scanner reads from a code that is not tracked.

    A visit of a tracked code gets `file` (a card, an event) or goes to `uri`: `apple` on iOS, `google` on Android where
    those are set. Without any of them it gets a page that shows `rows`, or `text`. `messages` are the texts in `uri`.
    `data` is what there is to keep. `fault` says why a phone cannot use it, and the repair; only codes that were stored
    before the rule can have one.
    """

    type: Type
    text: str
    uri: str = ""
    apple: str = ""
    google: str = ""
    file: str = ""
    name: str = ""
    rows: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    data: Data = ""
    fault: str = ""

    def urls(self) -> list[str]:
        """Return every URL that a scan can open."""
        texts = vcard.readings(self.file) if self.file else self.messages if self.uri else (self.text,)
        return [*filter(None, (self.uri, self.apple, self.google)), *chain.from_iterable(map(find_urls, texts))]


def read_new(type: Type, data: Data, settings: Settings) -> Content:
    """The content of a code that is not stored yet. Raises INVALID on `data` if no phone can use it (decision 73)."""
    content = read(type, data, settings)
    if content.fault:
        raise invalid("data", content.fault)
    return content


def read(type: Type, data: Data, settings: Settings) -> Content:
    """The content that the data means. Raises INVALID on `data` (decision 32)."""
    read_string, read_object = _READERS[type]
    if isinstance(data, str):
        payload_fields.must_be_text(data)
        if not data.strip():
            raise invalid("data", "data must not be empty.")
        return replace(read_string(data, settings), data=data)
    fields = payload_fields.Fields(type, data)
    content = read_object(fields, settings)
    fields.refuse_unknown()
    return replace(content, data=fields.used)


def _text(data: str, _settings: Settings) -> Content:
    return Content("text", data)


def _text_object(data: payload_fields.Fields, settings: Settings) -> Content:
    return _text(data.needed("text", lines=True), settings)


def _link(data: str, settings: Settings) -> Content:
    uri, fault = addresses.url(data, settings)
    return Content("link", uri, uri=uri, fault=fault)


def _link_object(data: payload_fields.Fields, settings: Settings) -> Content:
    uri, fault = addresses.url(data.needed("link"), settings, field="data.link")
    return Content("link", uri, uri=uri, fault=fault)


def _email(data: str, _settings: Settings) -> Content:
    return _mail(data, "", "")


def _email_object(data: payload_fields.Fields, _settings: Settings) -> Content:
    return _mail(data.needed("email"), data.text("subject"), data.text("body", lines=True))


def _mail(typed: str, subject: str, body: str) -> Content:
    fields, recipients = addresses.mailto(typed, subject, body)
    uri = addresses.mailto_uri(fields)
    return Content("email", uri, uri=uri, name=", ".join(recipients), messages=(fields["subject"], fields["body"]))


def _phone(data: str, _settings: Settings) -> Content:
    number = payload_fields.phone(data)
    return Content("phone", number.uri, uri=number.uri, name=number.text, fault=number.fault)


def _phone_object(data: payload_fields.Fields, settings: Settings) -> Content:
    return _phone(data.needed("phone"), settings)


def _sms(data: str, _settings: Settings) -> Content:
    """A number, or what another maker's code says: `SMSTO:number:message`, `sms:number?body=message`."""
    return _message(*payload_fields.sms_parts(data))


def _sms_object(data: payload_fields.Fields, _settings: Settings) -> Content:
    return _message(data.needed("phone"), data.text("message", lines=True))


def _message(number: str, message: str) -> Content:
    recipient = payload_fields.message_number(number)
    number = recipient.dialed
    uri = with_query(f"sms:{number}", body=message)
    # iOS wants the text behind an ampersand: what follows a question mark becomes part of the number.
    apple = uri.replace("?", "&", 1)
    text = f"SMSTO:{number}:{message}"
    return Content("sms", text, uri=uri, apple=apple, name=number, messages=(message,), fault=recipient.fault)


def _wifi(data: str, _settings: Settings) -> Content:
    """The name of an open network, or a whole `WIFI:` text."""
    ssid, password, encryption, hidden = payload_fields.wifi_parts(data)
    network = _network(ssid, password, encryption, hidden=bool(hidden))
    return replace(network, fault=payload_fields.wifi_accounts_fault(data) or network.fault)


def _wifi_object(data: payload_fields.Fields, _settings: Settings) -> Content:
    ssid, password = data.exact("ssid", needed=True), data.exact("pass")
    return _network(ssid, password, data.text("encryption"), hidden=data.flag("hidden"))


_ENCRYPTIONS = {
    **dict.fromkeys(("wpa", "wpa2", "wpa3", "wpa/wpa2", "wpa2/wpa3", "wpa/wpa2/wpa3"), "WPA"),
    **dict.fromkeys(("nopass", "none", "open"), "nopass"),
    "wep": "WEP",
}


def _network(ssid: str, password: str, encryption: str, *, hidden: bool = False) -> Content:
    named = encryption.strip().lower() or ("wpa" if password else "nopass")
    kind = _ENCRYPTIONS.get(named)
    if kind is None:
        raise invalid("data", "data.encryption must be WPA, WEP or nopass.")
    if len(ssid.encode()) > 32:
        raise invalid("data", "data.ssid must be at most 32 bytes: no network has a longer name.")
    if kind != "nopass" and not password:
        raise invalid("data", f"data.pass is required for {kind}; an open network has the encryption nopass.")
    secret = "" if kind == "nopass" else f"P:{payload_fields.wifi_escaped(password)};"
    text = f"WIFI:T:{kind};S:{payload_fields.wifi_escaped(ssid)};{secret}{'H:true;' if hidden else ''};"
    rows = {"Network": ssid, **({} if kind == "nopass" else {"Password": password}), "Security": kind}
    return Content("wifi", text, name=ssid, rows=rows, fault=payload_fields.wifi_fault(kind, password))


def _vcard(data: str, _settings: Settings) -> Content:
    card = vcard.whole_card(data) or vcard.vcard(vcard.named(payload_fields.line(data)))
    return Content("vcard", card, file=card, name=vcard.name_in(card), fault=vcard.card_fault(data))


def _vcard_object(data: payload_fields.Fields, _settings: Settings) -> Content:
    data.alias("homephone", "phone2")
    values = {name: data.text(name, lines=name in vcard.MULTILINE_FIELDS) for name in vcard.CARD_FIELDS}
    card = vcard.vcard(values)
    faults = [vcard.checked(name, values[name])[1] for name in vcard.CHECKED_FIELDS if values[name]]
    fault = next(filter(None, [*faults, _web_fault(values["site"], "data.site")]), "")
    return Content("vcard", card, file=card, name=vcard.name_in(card), fault=fault)


def _event(data: str, _settings: Settings) -> Content:
    calendar = vcard.whole_calendar(data)
    return Content("event", calendar, file=calendar, name="event", fault=vcard.calendar_fault(calendar))


def _event_object(data: payload_fields.Fields, _settings: Settings) -> Content:
    title = data.needed("title")
    text = {name: data.text(name, lines=name == "description") for name in ("location", "description", "url")}
    calendar = vcard.calendar(title, data.needed("start"), data.text("end"), text)
    return Content("event", calendar, file=calendar, name=title, fault=_web_fault(text["url"], "data.url"))


def _web_fault(address: str, field: str) -> str:
    return addresses.web(address, field=field)[1] if address else ""


def _geo(data: str, _settings: Settings) -> Content:
    """`52.52,13.4`, or a geo: URI."""
    latitude, longitude, name, fault = payload_fields.geo_parts(data)
    return replace(_place(latitude, longitude, name), fault=fault)


def _geo_object(data: payload_fields.Fields, _settings: Settings) -> Content:
    return _place(data.number("lat"), data.number("lng"), data.text("name"))


def _place(latitude: str, longitude: str, name: str) -> Content:
    north, east = payload_fields.degrees(latitude, 90, "latitude"), payload_fields.degrees(longitude, 180, "longitude")
    at = f"{north},{east}"
    apple = with_query("https://maps.apple.com/", ll=at, q=name or at)
    google = with_query(f"geo:{at}", q=f"{at}({name})" if name else at)
    web = f"https://www.openstreetmap.org/?mlat={north}&mlon={east}#map=16/{north}/{east}"
    return Content("geo", f"geo:{at}", uri=web, apple=apple, google=google, name=name or at, messages=(name,))


def _whatsapp(data: str, _settings: Settings) -> Content:
    return _chat(data, "")


def _whatsapp_object(data: payload_fields.Fields, _settings: Settings) -> Content:
    data.alias("message", "body")
    return _chat(data.needed("phone"), data.text("message", lines=True))


def _chat(number: str, message: str) -> Content:
    digits, fault = payload_fields.chat_number(number)
    uri = with_query(f"https://wa.me/{digits}", text=message)
    return Content("whatsapp", uri, uri=uri, name=f"+{digits}", messages=(message,), fault=fault)


def _app(data: str, settings: Settings) -> Content:
    uri, fault = addresses.url(data, settings)
    return Content("app", uri, uri=uri, fault=fault)


def _app_object(data: payload_fields.Fields, settings: Settings) -> Content:
    """Return the URL per device: its app store, otherwise `url`, otherwise any URL."""
    typed = {name: data.text(name) for name in ("apple", "google", "url")}
    read = [addresses.url(text, settings, field=f"data.{name}") if text else ("", "") for name, text in typed.items()]
    apple, google, url = (uri for uri, _ in read)
    if not (apple or google or url):
        raise invalid("data", "data must have apple, google or url: the page of the app in a store.")
    uri = url or apple or google
    fault = next(filter(None, (fault for _, fault in read)), "")
    return Content("app", uri, uri=uri, apple=apple or uri, google=google or uri, fault=fault)


def _crypto(data: str, _settings: Settings) -> Content:
    """An address alone is one of Bitcoin; else a whole URI, such as `litecoin:address?amount=1`."""
    uri = payload_fields.coin_uri(data)
    fault = payload_fields.coin_fault(uri, field="data")
    messages = tuple(value for _, value in parse_qsl(urlsplit(uri).query))
    return Content("crypto", uri, uri=uri, messages=messages, fault=fault)


def _crypto_object(data: payload_fields.Fields, _settings: Settings) -> Content:
    data.alias("address", "wallet")
    parameters = {"amount": data.number("amount"), "label": data.text("label"), "message": data.text("message")}
    uri = payload_fields.coin(data.text("currency") or "bitcoin", data.needed("address"), parameters)
    fault = payload_fields.coin_fault(uri, field="data.address")
    return Content("crypto", uri, uri=uri, messages=(parameters["label"], parameters["message"]), fault=fault)


# Readers of each type: of a string, and of an object.
_READERS: Mapping[
    Type, tuple[Callable[[str, Settings], Content], Callable[[payload_fields.Fields, Settings], Content]]
] = {
    "text": (_text, _text_object),
    "vcard": (_vcard, _vcard_object),
    "link": (_link, _link_object),
    "email": (_email, _email_object),
    "phone": (_phone, _phone_object),
    "sms": (_sms, _sms_object),
    "wifi": (_wifi, _wifi_object),
    "event": (_event, _event_object),
    "geo": (_geo, _geo_object),
    "whatsapp": (_whatsapp, _whatsapp_object),
    "app": (_app, _app_object),
    "crypto": (_crypto, _crypto_object),
}
