"""Cards and events as text: vCard 3.0 (RFC 2426) and iCalendar (RFC 5545). Pure. Raises INVALID on `data`."""

import hashlib
import quopri
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from waypost.core import clock
from waypost.core.errors import Problem, invalid
from waypost.media.qrcode.addresses import email, web
from waypost.media.qrcode.payload_fields import crlf, phone

NUMBERS = ("phone", "homephone", "cell", "fax")
CARD_FIELDS = (
    *("fname", "lname", "nickname", "org", "title", *NUMBERS, "email", "site"),
    *("street", "city", "state", "zip", "country", "birthday", "note"),
)
MULTILINE_FIELDS = frozenset({"street", "note"})
_TEXTS = {"nickname": "NICKNAME", "org": "ORG", "title": "TITLE"}
_CHECKED = {
    "phone": "TEL;TYPE=WORK,VOICE",
    "homephone": "TEL;TYPE=HOME,VOICE",
    "cell": "TEL;TYPE=CELL",
    "fax": "TEL;TYPE=FAX",
    "email": "EMAIL;TYPE=INTERNET",
    "birthday": "BDAY",
}
CHECKED_FIELDS = tuple(_CHECKED)
"""The fields that must be usable by a phone: see `checked`."""
_SPECIAL = re.compile(r"([\\;,])")
_FOLD = re.compile(r"\r?\n[ \t]")
_ESCAPED = re.compile(r"\\(.)")
_LONGEST_LINE = 75  # bytes
_NAME = re.compile(r"^FN[^:\r\n]*:([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_OTHER_CARD = re.compile(r"(MECARD|BIZCARD|N|FN):", re.IGNORECASE)
_VERSION = re.compile(r"^VERSION:[234]\.[0-9]\s*$", re.MULTILINE | re.IGNORECASE)
_TEL = re.compile(r'^(?:[A-Z0-9-]+\.)?TEL(?:;(?:"[^"\r\n]*"|[^":\r\n])*)?:([^\r\n]+)', re.MULTILINE | re.IGNORECASE)
_START = re.compile(
    r"^DTSTART(?:;(?:\"[^\"\r\n]*\"|[^\":\r\n])*)?:[0-9]{8}(?:T[0-9]{6}Z?)?\s*$", re.MULTILINE | re.IGNORECASE
)
_BYTE_ORDER_MARK = "\ufeff"
"""At the beginning of a text from a file."""
_YEARS = (1000, 9998)  # an event may end in the year after
_TIMES = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%SZ")


def vcard(fields: Mapping[str, str]) -> str:
    """A card of CARD_FIELDS; those that are absent or empty leave no line. Numbers can have a `fault`."""
    values = {name: fields.get(name, "").strip() for name in CARD_FIELDS}
    full = " ".join(part for part in (values["fname"], values["lname"]) if part) or values["org"]
    if not full:
        raise invalid("data", "data needs a first name, a last name or a company.")
    lines = [
        "BEGIN:VCARD",
        "VERSION:3.0",
        f"N:{escaped(values['lname'])};{escaped(values['fname'])};;;",
        f"FN:{escaped(full)}",
        *(f"{head}:{escaped(values[name])}" for name, head in _TEXTS.items() if values[name]),
        *(f"{head}:{escaped(checked(name, values[name])[0])}" for name, head in _CHECKED.items() if values[name]),
    ]
    if values["site"]:
        lines.append(f"URL:{web(values['site'], field='data.site')[0]}")
    address = [values[name] for name in ("street", "city", "state", "zip", "country")]
    if any(address):
        lines.append(f"ADR;TYPE=WORK:;;{';'.join(escaped(part) for part in address)}")
    if values["note"]:
        lines.append(f"NOTE:{escaped(values['note'])}")
    return _joined([*lines, "END:VCARD"])


def checked(name: str, value: str) -> tuple[str, str]:
    """Return a number, the e-mail address or the birthday as a card has it, and why no phone can use it (or "")."""
    if name in NUMBERS:
        number = phone(value, field=f"data.{name}")
        return number.text, number.fault
    return (email(value) if name == "email" else _birthday(value)), ""


def _birthday(value: str, *, field: str = "data.birthday") -> str:
    day = _day(value)
    if day is None:
        raise invalid("data", f"{field} must be a date, YYYY-MM-DD.")
    return day.isoformat()


def named(full: str) -> dict[str, str]:
    """A full name as fields: the last word is the family name."""
    first, _, last = full.rpartition(" ")
    return {"fname": first.strip(), "lname": last} if first else {"fname": last}


def whole_card(data: str) -> str | None:
    """The card, if the text is one; None when it is a name."""
    text = data.removeprefix(_BYTE_ORDER_MARK).strip()
    if not text.upper().startswith("BEGIN:VCARD"):
        return None
    if not text.upper().endswith("END:VCARD") or not _NAME.search(text):
        raise invalid("data", "data begins with BEGIN:VCARD but has no FN: line, or no END:VCARD at its end.")
    return crlf(text) + "\r\n"


def card_fault(data: str) -> str:
    """Return why no phone can use a text that is a name or a whole card: it has another format, for example; or ""."""
    if _OTHER_CARD.match(data.strip()):
        return (
            "data is a card in another format. Send an object with fname, lname and phone, or a card from BEGIN:VCARD."
        )
    card = _FOLD.sub("", whole_card(data) or "")
    if card and not _VERSION.search(card):
        return "data has no VERSION:, without which phones do not read a card. Add the line VERSION:3.0."
    return next(filter(None, map(_number_fault, _TEL.findall(card))), "")


def _number_fault(value: str) -> str:
    """Return why a number in a card cannot be dialed; "" if it can, or if it is a word, too."""
    try:
        return phone(_ESCAPED.sub(r"\1", value), field="data").fault
    except Problem:
        return ""


def readings(text: str) -> tuple[str, ...]:
    """Return a card or event as programs read it: as it is, unfolded, without backslashes, and decoded (vCard 2.1)."""
    unfolded = _FOLD.sub("", text)
    decoded = (
        quopri.decodestring(text.encode()).decode("utf-8", "replace") if "QUOTED-PRINTABLE" in text.upper() else ""
    )
    return text, unfolded, _ESCAPED.sub(r"\1", unfolded), decoded


def name_in(card: str) -> str:
    """The full name in a card."""
    match = _NAME.search(_FOLD.sub("", card))
    return _ESCAPED.sub(r"\1", match[1]) if match else "contact"


def calendar(title: str, start: str, end: str, fields: Mapping[str, str]) -> str:
    """An event. Times without an offset are UTC; a date is a whole day. Without an end it lasts an hour, or its day."""
    begins, is_day = _moment(start, "start")
    ends, end_is_day = _moment(end, "end") if end else (begins + timedelta(days=0 if is_day else 1 / 24), is_day)
    if is_day != end_is_day or ends < begins:
        raise invalid("data", "data.end must not be before data.start, and both dates or both times.")
    form = "%Y%m%d" if is_day else "%Y%m%dT%H%M%SZ"
    kind = ";VALUE=DATE" if is_day else ""
    after = ends + timedelta(days=1) if is_day else ends  # the last day belongs to it
    first, last = begins.strftime(form), after.strftime(form)
    uid = hashlib.sha256(f"{title}\n{first}\n{last}".encode()).hexdigest()[:24]
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//waypost//QR//EN", "BEGIN:VEVENT", f"UID:{uid}"]
    lines += [f"DTSTAMP:{begins:%Y%m%dT%H%M%SZ}", f"DTSTART{kind}:{first}", f"DTEND{kind}:{last}"]
    lines.append(f"SUMMARY:{escaped(title)}")
    for name, head in (("location", "LOCATION"), ("description", "DESCRIPTION")):
        if fields[name]:
            lines.append(f"{head}:{escaped(fields[name])}")
    if fields["url"]:
        lines.append(f"URL:{web(fields['url'], field='data.url')[0]}")
    return _joined([*lines, "END:VEVENT", "END:VCALENDAR"])


def whole_calendar(data: str) -> str:
    """A calendar or an event that was written elsewhere."""
    text = data.removeprefix(_BYTE_ORDER_MARK).strip()
    upper = text.upper()
    if upper.startswith("BEGIN:VEVENT") and upper.endswith("END:VEVENT"):
        text = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//waypost//QR//EN\r\n{text}\r\nEND:VCALENDAR"
    elif not (upper.startswith("BEGIN:VCALENDAR") and upper.endswith("END:VCALENDAR")):
        raise invalid("data", "data must be an object with title and start, or a whole text from BEGIN:VCALENDAR.")
    return crlf(text) + "\r\n"


def calendar_fault(calendar: str) -> str:
    """Return why no phone can add the event of a whole calendar; "" if one can."""
    text = _FOLD.sub("", calendar)
    if "BEGIN:VEVENT" in text.upper() and _START.search(text):
        return ""
    return "data needs an event with its start, such as DTSTART:20300501T090000Z."


def escaped(value: str) -> str:
    r"""Text as a value: backslash, semicolon and comma behind a backslash, a line end as `\n`."""
    return _SPECIAL.sub(r"\\\1", value).replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\\n")


def _moment(value: str, name: str) -> tuple[datetime, bool]:
    """A moment, and whether it is a whole day. Years of other than four digits cannot be written."""
    moment, is_day = _read(value, name)
    if not _YEARS[0] <= moment.year <= _YEARS[1]:
        raise invalid("data", f"data.{name} must be in a year from {_YEARS[0]} to {_YEARS[1]}.")
    return moment, is_day


def _read(value: str, name: str) -> tuple[datetime, bool]:
    text = value.strip()
    day = _day(text)
    if day is not None:
        return datetime(day.year, day.month, day.day), True
    for form in _TIMES:
        try:
            return datetime.strptime(text, form), False
        except ValueError:
            continue
    try:
        return datetime.fromtimestamp(clock.last_second(text), UTC).replace(tzinfo=None), False
    except ValueError:
        message = f"data.{name} must be YYYY-MM-DD, or YYYY-MM-DD HH:MM:SS in UTC or with an offset such as +02:00."
        raise invalid("data", message) from None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == len("2026-01-31") else None
    except ValueError:
        return None


def _joined(lines: list[str]) -> str:
    return "".join(f"{_folded(line)}\r\n" for line in lines)


def _folded(line: str) -> str:
    """With a line end and a blank after every 75 bytes, never inside a character."""
    pieces: list[bytes] = []
    piece = b""
    for letter in line:
        written = letter.encode()
        if len(piece) + len(written) > (_LONGEST_LINE if not pieces else _LONGEST_LINE - 1):
            pieces.append(piece)
            piece = b""
        piece += written
    return b"\r\n ".join([*pieces, piece]).decode()
