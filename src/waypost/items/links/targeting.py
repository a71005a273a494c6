"""The countries, devices and languages of a link's rules: their names, as visits are classified.

A rule with any other name would never match, so it is refused. Rules saved earlier stay as they are.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from waypost.clicks.classify.label_tables import LANGUAGES
from waypost.clicks.classify.language_names import LANGUAGE_NAMES
from waypost.clicks.classify.user_agents import DEVICES, SYSTEM_PARTS, SYSTEMS
from waypost.clicks.geo.countries import NAMES

# Other English names, and common abbreviations.
_COUNTRY_VARIANTS = {
    "america": "US", "bolivia, plurinational state of": "BO", "bosnia": "BA", "brunei darussalam": "BN",
    "burma": "MM", "cabo verde": "CV", "congo, democratic republic of the": "CD", "cote d'ivoire": "CI",
    "côte d'ivoire": "CI", "czech republic": "CZ", "democratic republic of the congo": "CD",
    "east timor": "TL", "england": "GB", "great britain": "GB", "holland": "NL", "holy see": "VA",
    "iran, islamic republic of": "IR", "islamic republic of iran": "IR", "ivory coast": "CI",
    "korea, democratic people's republic of": "KP", "korea, republic of": "KR",
    "lao people's democratic republic": "LA",
    "macau": "MO", "macedonia": "MK", "micronesia, federated states of": "FM", "moldova, republic of": "MD",
    "palestine, state of": "PS", "palestinian territory": "PS", "republic of korea": "KR", "republic of moldova": "MD",
    "russian federation": "RU", "swaziland": "SZ", "syrian arab republic": "SY", "taiwan, province of china": "TW",
    "tanzania, united republic of": "TZ", "the netherlands": "NL", "turkiye": "TR", "türkiye": "TR", "uae": "AE",
    "uk": "GB", "united states of america": "US", "usa": "US", "vatican": "VA",
    "venezuela, bolivarian republic of": "VE", "viet nam": "VN",
}  # fmt: skip
_DEVICE_VARIANTS = {"phone": "Mobile", "computer": "Desktop", "osx": "macOS", "os x": "macOS", "mac os": "macOS"}

DEVICE_NAMES: Sequence[str] = (
    *("iPhone", "iPad", "Mac"),
    *sorted({*SYSTEMS.values(), *SYSTEM_PARTS.values()}),
    *dict.fromkeys(device for device, _ in DEVICES if device != "Other"),
)
"""Products of Apple, operating systems and types of devices."""

_REGION = re.compile(r"(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?(?:-[A-Za-z0-9]{4,8})*")
"""Script, region and variants of a language tag (RFC 5646)."""
_KNOWN_COUNTRIES = {name.casefold() for pair in NAMES.items() for name in pair}
_KNOWN_DEVICES = {name.casefold() for name in DEVICE_NAMES}
_CODE_BY_LANGUAGE = {name.casefold(): LANGUAGES.get(code, code) for code, name in LANGUAGE_NAMES.items()}


def read_country(value: str) -> str:
    """Return a name or code that visits have, and their name for other names of a country. Raises ValueError."""
    text = unicodedata.normalize("NFC", " ".join(value.split()))
    if text.casefold() in _KNOWN_COUNTRIES:
        return text
    code = _COUNTRY_VARIANTS.get(text.casefold().replace("\u2019", "'"))
    if code is None:
        raise ValueError("must be the English name or two-letter code of a country, such as Germany or DE")
    return NAMES[code]


def read_device(value: str) -> str:
    """Return a device, system or type that visits have, or their name for it. Raises ValueError."""
    text = unicodedata.normalize("NFC", " ".join(value.split()))
    if text.casefold() in _KNOWN_DEVICES:
        return text
    name = _DEVICE_VARIANTS.get(text.casefold())
    if name is None:
        raise ValueError("is not a known device: use a device, system or type, such as iPhone, Windows or Tablet")
    return name


def read_language(value: str) -> str:
    """Return the tag of a language, perhaps with script and region, from a tag or a name. Raises ValueError."""
    text = value.strip()
    code, hyphen, region = text.replace("_", "-").partition("-")
    is_tag = _REGION.fullmatch(hyphen + region)
    if is_tag and (known := LANGUAGES.get(code.casefold(), code)).casefold() in LANGUAGE_NAMES:
        return known + hyphen + region
    if (code_of_name := _CODE_BY_LANGUAGE.get(text.casefold())) is None:
        raise ValueError("is not a language: use its two-letter code, such as de")
    return code_of_name


READERS = {"geotarget": read_country, "devicetarget": read_device, "languagetarget": read_language}
_CONDITIONS = {"geotarget": "location", "devicetarget": "device", "languagetarget": "language"}


def unknown_conditions(field: str, rules: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the conditions of stored rules that never match."""
    unknown = []
    for rule in rules:
        condition = rule.get(_CONDITIONS[field], "")
        try:
            READERS[field](condition)
        except ValueError:
            unknown += [condition] if condition else []
    return unknown
