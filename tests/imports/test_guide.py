"""The guide docs/importing.md: it names every source, and exactly the fields that the records of its fixtures set."""

import re
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.support import import_records
from tests.support.archives import export, fill
from tests.support.asgi_client import AsgiClient
from tests.support.import_records import API, FILE, PLUGIN, Variants
from tests.support.imports import EXPORTS
from tests.support.source import ROOT
from waypost.core.settings import Settings
from waypost.dashboard import presets
from waypost.transfer.imports.archives import parts
from waypost.transfer.imports.archives.kinds import shapes
from waypost.transfer.imports.archives.source import ArchiveSource
from waypost.transfer.imports.sources import registry

_GUIDE = (ROOT / "docs" / "importing.md").read_text().partition("## From each service")[2]
_TABLE = {
    name.lower(): (how, fields.lower())
    for name, how, fields in re.findall(r"^\| ([A-Z].*?|waypost) \| (.*?) \| (.*?) \|$", _GUIDE, re.MULTILINE)
}
_HOSTED, _SELF_HOSTED, _BIO_PAGES = "hosted_services", "self_hosted_services", "bio_page_services"
_SOURCES = {
    "bitly": {"BitlySource": _HOSTED},
    "chhoto url": {"ChhotoSource": _SELF_HOSTED},
    "dub": {"DubSource": _HOSTED},
    "kutt": {"KuttSource": _SELF_HOSTED},
    "linkstack": {"LinkStackSource": _BIO_PAGES},
    "linktree": {"LinktreeSource": _BIO_PAGES},
    "rebrandly": {"RebrandlySource": _HOSTED},
    "shlink": {"ShlinkSource": _SELF_HOSTED},
    "short.io": {"ShortIoSource": _HOSTED},
    "yourls": {"YourlsSource": _SELF_HOSTED, "YourlsDumpSource": "yourls_dump"},
}
"""The classes that read each source, and their modules."""
_WAYS = {
    "with the api ": {API, PLUGIN},
    "from the file ": {FILE},
    "from a dump or with shlink's plugin ": {FILE, PLUGIN},
}
"""The beginnings of parts of a row that are not about every way to read the source."""
_PHRASES = {
    "all back-halves with their hosts": {"alias", "host"},
    "the host": {"host"},
    "destination with utm parameters": {"destination"},
    "expiry with its destination": {"expiry", "destination after expiry"},
    "texts": {"title", "description"},
    "notes": {"description"},
    "tags with colors": {"tags", "colors"},
    "group": {"folder"},
}
"""The words of phrases that are no words themselves; see `import_records`."""
_PHRASES_OF_PAGE = {"the page as a bio page: links": {"page", "links"}}
_RULES = re.compile(r"rules by (device, language and country|country and device|device)")
_KINDS = {
    "campaigns": "campaign",
    "channels": "channel",
    "qr codes with logo and style": "qr",
    "bio pages": "bio",
    "files": "file",
    "branded domains": "domain",
    "splash pages": "splash",
    "overlays with their responses": "overlay",
    "pixels": "pixel",
    "utm templates": "utm",
}


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> Variants:
    """The records of the fixtures."""
    return import_records.read_all(tmp_path_factory.mktemp("fixtures"))


def _words_of_row(name: str, way: str) -> set[str]:
    """Return the words of the parts of a row that are about one way to read the source."""
    words: set[str] = set()
    for part in _TABLE[name][1].split("; "):
        start = next((start for start in _WAYS if part.startswith(start)), "")
        if start and way not in _WAYS[start]:
            continue
        for rules in _RULES.findall(part):
            words |= set(re.split(r", | and ", rules))
        phrases = _RULES.sub("", part.removeprefix(start)).split(", ")
        of_source = _PHRASES_OF_PAGE if name in ("linkstack", "linktree") else _PHRASES
        words |= {word for phrase in filter(None, phrases) for word in of_source.get(phrase, {phrase})}
    return words


def test_every_source_is_in_the_guide(variants: Variants) -> None:
    assert _TABLE.keys() - {"from", "waypost"} == _SOURCES.keys()
    assert {label.lower() for label in registry.LABELS.values()} <= _TABLE.keys()
    assert {name.replace("chhoto", "chhoto url") for name in EXPORTS} - {"tiny.cc"} <= _TABLE.keys()
    assert {name.replace("chhoto", "chhoto url") for name, _ in variants} == _SOURCES.keys()
    for service, label in registry.LABELS.items():
        how = _TABLE[label.lower()][0]
        assert f"--from {service}" in how
        assert ("--url" in how) == (service in registry.SELF_HOSTED)


def test_guide_names_exactly_the_fields_that_each_source_sets(variants: Variants) -> None:
    for (name, way), records in variants.items():
        of_guide = _words_of_row(name.replace("chhoto", "chhoto url"), way)
        assert of_guide == import_records.words(records) - {"creation"}, (name, way)


def test_guide_tells_which_source_has_no_date_of_creation(variants: Variants) -> None:
    without = {name for (name, _), records in variants.items() if "creation" not in import_records.words(records)}
    assert without == {"chhoto"}
    assert "All of them bring the date of creation, except for Chhoto URL." in _GUIDE


def test_fixtures_set_every_field_that_the_code_of_a_source_can_set(variants: Variants) -> None:
    for name, sources in _SOURCES.items():
        records = [record for (source, _), read in variants.items() if name.startswith(source) for record in read]
        for source, module in sources.items():
            assert import_records.assigned(module, source) <= import_records.attributes(records), source
    of_files = [record for name in ("kutt", "chhoto") for record in variants[name, FILE]]
    assert import_records.assigned("sqlite_files", "SqliteSource") <= import_records.attributes(of_files)


def test_guide_names_every_kind_of_item_of_an_archive(
    ana: Person, service: AsgiClient, settings: Settings, tmp_path: Path
) -> None:
    fill(ana, service)
    ana.get("/urls")  # waits until all clicks are counted
    ana.post("/share/add", {"type": "link", "itemid": 1})
    ana.write(lambda tx: presets.save(tx, ana.account, "links", "Mine", {"q": "shop"}))
    with export(ana, settings, tmp_path / "ana.zip").open("rb") as file:
        source = ArchiveSource(file, shapes())
        kinds = {record.kind for record in source}
        shares = list(source.reader.rows("shares"))
        filled = {sheet for sheet in parts.SHEETS if next(source.reader.rows(sheet), None)}
    assert filled == set(parts.SHEETS)
    assert (len(shares), "Share links of statistics are not imported" in _GUIDE) == (1, True)
    sentence = re.search(r"Links come along with (.*?): in an empty account", _GUIDE.replace("\n", " "))
    assert sentence is not None
    rules, *phrases = re.split(
        r", and |, ", sentence[1].lower().replace("campaigns and rotators", "campaigns, rotators")
    )
    others = {"rotators", "all statistics", "saved views and styles"}
    assert (rules, set(phrases) - _KINDS.keys()) == ("all rules and references", others)
    assert {"link", *(_KINDS[phrase] for phrase in phrases if phrase in _KINDS)} == kinds  # "Links come along with …"
    assert _TABLE["waypost"][1] == "everything in it; see below"


def test_guide_names_services_without_clicks(variants: Variants) -> None:
    clicks = {"clicks", "history", "blocks"}
    without = {name for (name, _), read in variants.items() if clicks.isdisjoint(import_records.attributes(read))}
    assert without == {"short.io"}
    assert "Short.io does not list clicks: its links start at zero." in _GUIDE


def test_guide_names_the_workspace_of_rebrandly() -> None:
    assert "Rebrandly is read from the default workspace" in _GUIDE
