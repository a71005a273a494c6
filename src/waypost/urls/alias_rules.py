"""Rules for aliases: validation, reserved words, random generation."""

import re
import secrets
import unicodedata

from waypost.core.errors import invalid
from waypost.core.text_folding import first_refused
from waypost.core.uris import LIKE_DELIMITERS

RESERVED = frozenset(
    """
    about abuse account accounts admin api app apple-app-site-association assetlinks assets auth avatar billing bio
    bios bulk campaign campaigns channel channels contact dashboard docs domain domains download downloads error faq
    favicon file files forgot health healthz help home humans images index legal link links login logout manifest
    mcp me metrics new oauth oidc openapi overlay overlays p page pages password ping pixel pixels plan plans
    preview pricing privacy public qr qrs r ready readyz register report robots root s saml search security
    service-worker sessions settings setup signin signout signup sitemap splash sso static stats status support
    system tag tags team teams terms tls u upload uploads url urls user users verify waypost webhook webhooks
    welcome well-known www
    """.split()
)
"""First path segments that the service uses or may use in the future: reserved on its own host (decision 19)."""

MAX_LENGTH = 190
MAX_OWN_LENGTH = 50
_OWN = re.compile(r"[A-Za-z0-9_-]{1,50}\Z")
_SLUG = re.compile(r"[A-Za-z0-9_-]{3,50}\Z")
_DOMAIN_ASCII = re.compile(r"[A-Za-z0-9_.~-]+(?:/[A-Za-z0-9_.~-]+)*\Z")
_RESERVED_ON_DOMAINS = re.compile(r"(\.well-known(/.*)?|robots\.txt|favicon\.ico|pixel/consent|overlay/[^/]+)\Z")
_PUNCTUATION = "-_.~"
_OWN_PUNCTUATION = "-_"
_MAX_APPENDED = 64
# Symbols that surround addresses in texts, and invisible characters of other categories.
_APPENDED = frozenset("<>|~^`\u00b4\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\ufffd\U0001d159") | {
    chr(code) for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F)) for code in range(first, last + 1)
}
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_TAGS = frozenset(map(chr, range(0xE0020, 0xE0080)))  # they make flags of regions
_JOINER = "\u200d"
_KEYCAP = "\u20e3"
# They select the style of the symbol before them. Programs add and remove them.
_STYLE = re.compile("[\ufe0e\ufe0f]+")
# No vowels, so that no words appear; no characters that look alike. 49^6 is 14 billion aliases.
_LETTERS = "BCDFGHJKLMNPQRSTVWXYZbcdfghjkmnpqrstvwxyz23456789"


def normalize(alias: str, host: str) -> str:
    """Return the alias in the Unicode form in which the aliases of a host are stored: NFC, symbols without a style."""
    if not host or alias.isascii():
        return alias
    return _STYLE.sub(_without_style, unicodedata.normalize("NFC", alias))


def fold_case(alias: str) -> str:
    """Return the alias as a domain that ignores case stores it. It does not become longer."""
    lower = alias.replace("\u0130", "i").lower()  # \u0130 becomes two characters
    return unicodedata.normalize("NFC", lower.replace("\u03c2", "\u03c3"))  # a capital sigma ends a word as either


def check(alias: str, *, host: str = "", field: str) -> str:
    """Return the normalized alias if it is valid on a host; "" is the service's own. Raises INVALID on `field`.

    On a branded domain almost every path is an alias; on the service's own host, few are (decision 61).
    """
    alias = normalize(alias, host)
    if not is_valid(alias, host=host):
        refuse_characters(alias, host, field)
        if host:
            message = f"{field} must be 1 to 190 letters, digits, emoji, _, -, . or ~, with / between parts."
            raise invalid(field, message)
        raise invalid(field, f"{field} must be 1 to 50 characters from A-Z, a-z, 0-9, _ and -.")
    if is_reserved(alias, host=host):
        raise invalid(field, f"{field} is reserved by this service. Choose another one.")
    return alias


def check_slug(slug: str, *, field: str) -> str:
    """Return a campaign's slug if it is valid. Raises INVALID on `field`."""
    if not _SLUG.match(slug):
        refuse_characters(slug, "", field)
        raise invalid(field, f"{field} must be 3 to 50 characters from A-Z, a-z, 0-9, _ and -.")
    return check(slug, field=field)


def refuse_characters(alias: str, host: str, field: str) -> None:
    """Raise INVALID that names the first character that no alias of this host can have."""
    shown = first_refused(alias, lambda character: _can_be_in_alias(character, host))
    if shown and host:
        message = f'{field} cannot have "{shown}". Use letters, digits, emoji, _, -, . and ~, with / between parts.'
        raise invalid(field, message)
    if shown:
        raise invalid(field, f'{field} cannot have "{shown}". Use only A-Z, a-z, 0-9, _ and -.')


def _can_be_in_alias(character: str, host: str) -> bool:
    if not host:
        return _OWN.match(character) is not None
    return character in ("/", _KEYCAP) or _kind(character) != ""


def is_valid(alias: str, *, host: str = "") -> bool:
    """Return whether a normalized alias has a valid format on a host."""
    if not host:
        return _OWN.match(alias) is not None
    if not 1 <= len(alias) <= MAX_LENGTH:
        return False
    parts = alias.split("/")
    if "." in parts or ".." in parts:
        return False
    return _DOMAIN_ASCII.match(alias) is not None or (not alias.isascii() and all(map(_is_part, parts)))


def is_reserved(alias: str, *, host: str = "") -> bool:
    """Return whether the service needs this alias on a host."""
    return bool(_RESERVED_ON_DOMAINS.match(alias)) if host else alias.lower() in RESERVED


def without_appended(path: str, *, host: str | None = None) -> str:
    """Return a path without what programs append to an address: `/`, punctuation, blanks, invisible characters.

    `host`: keep what can end an alias on this host. The `+` of a preview always stays.
    """
    kept = "" if host is None else _PUNCTUATION if host else _OWN_PUNCTUATION
    end = len(path)
    while end > len(path) - _MAX_APPENDED and end and path[end - 1] not in kept and _is_appended(path[end - 1]):
        end -= 1
    return path[:end]


def _is_appended(character: str) -> bool:
    return character in _APPENDED or unicodedata.category(character)[0] in "PZC"


def _is_part(text: str) -> bool:
    """Return whether the text is of letters and digits with their marks, symbols such as emoji, and punctuation."""
    previous = ""
    for position, character in enumerate(text):
        kind = _kind(character)
        is_mark = (kind == "M" and previous in ("L", "M")) or (character == _KEYCAP and previous == "N")
        is_joined = kind == "J" and previous == "S" and _kind(text[position + 1 : position + 2]) == "S"
        if kind not in ("L", "N", "S", "P") and not is_mark and not is_joined:
            return False
        previous = "S" if kind == "S" or character == _KEYCAP else kind
    return bool(text)


def _kind(character: str) -> str:
    """Return the main category of Unicode: L, M, N (digits only) or S (visible symbols only).

    Or P for punctuation that aliases may have, J for the joiner of emoji, and "" for every other character.
    """
    if character in _PUNCTUATION:
        return "P"
    if character in _SKIN_TONES or character in _TAGS:
        return "S"
    category = unicodedata.category(character) if character else ""
    if category[:1] == "S":
        is_shown = category != "Sk" and not character.isascii() and character not in _APPENDED
        return "S" if is_shown and character not in LIKE_DELIMITERS else ""
    if character == _JOINER:
        return "J"
    return category[:1] if category[:1] in ("L", "M") or category == "Nd" else ""


def _without_style(match: re.Match[str]) -> str:
    """Keep the character where it selects a variant of a character of a script."""
    before = match.string[max(0, match.start() - 1) : match.start()]
    return match[0] if before and unicodedata.category(before)[0] in "LM" else ""


def generate(length: int = 6) -> str:
    """Return a random valid alias."""
    while True:
        alias = "".join(secrets.choice(_LETTERS) for _ in range(length))
        if alias.lower() not in RESERVED:  # short ones can be
            return alias
