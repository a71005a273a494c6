"""The guide docs/importing.md: it names every source, and the fields that come along are those that the code reads."""

import re

from tests.support.imports import EXPORTS
from tests.support.source import ROOT
from waypost.imports.sources import registry

_SOURCES = ROOT / "src" / "waypost" / "imports" / "sources"
_GUIDE = (ROOT / "docs" / "importing.md").read_text().partition("## From each service")[2]
_TABLE = {
    name.lower(): (how, fields.lower())
    for name, how, fields in re.findall(r"^\| ([A-Z].*?) \| (.*?) \| (.*?) \|$", _GUIDE, re.MULTILINE)
}
_MODULES = {
    "bitly": ("bitly",),
    "chhoto url": ("chhoto",),
    "dub": ("dub",),
    "kutt": ("kutt", "sqlite_files"),
    "linkstack": ("linkstack",),
    "rebrandly": ("rebrandly",),
    "shlink": ("shlink",),
    "short.io": ("short_io",),
    "yourls": ("yourls", "yourls_dump"),
}
_CODE = {
    "tags": "record.tags",
    "colors": "record.colors",
    "title": "record.title",
    "description": "record.description",
    "notes": "record.description",
    "expiry": "record.expiry",
    "click limit": "record.clicklimit",
    "country": "geotarget",
    "device": "devicetarget",
    "language": "languagetarget",
    "password": "record.password",
    "cloaking": '"frame"',
    "archived": '"private"',
    "folder": "record.folder",
    "group": "folder=group",
    "visits": "record.history",
    "by day": "record.history",
    "by hour": "record.history",
    "clicks": "clicks",
}
"""The code that reads a field, by a word of the table."""


def test_every_source_is_in_the_guide() -> None:
    assert _TABLE.keys() - {"from"} == _MODULES.keys()
    assert {label.lower() for label in registry.LABELS.values()} <= _TABLE.keys()
    assert {name.replace("chhoto", "chhoto url") for name in EXPORTS} - {"tiny.cc"} <= _TABLE.keys()
    for service, label in registry.LABELS.items():
        how = _TABLE[label.lower()][0]
        assert f"--from {service}" in how
        assert ("--url" in how) == (service in registry.SELF_HOSTED)


def test_fields_of_the_guide_are_those_that_the_code_reads() -> None:
    for name, modules in _MODULES.items():
        code = "".join((_SOURCES / f"{module}.py").read_text() for module in modules)
        fields = _TABLE[name][1]
        for word, reads in _CODE.items():
            if word in fields:
                assert reads in code, (name, word)
        for reads in ("record.tags", "record.expiry", "record.clicklimit", "geotarget", "record.history", '"frame"'):
            words = [word for word, code_of_word in _CODE.items() if code_of_word == reads]
            if reads in code:
                assert any(word in fields for word in words), (name, reads)
