"""Compile the message catalogs (.po) into the files that gettext reads (.mo).

Those of the dashboard get the names of countries and languages, from the Unicode CLDR.
"""

import runpy
from datetime import UTC, datetime
from pathlib import Path

from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

_TIME = datetime(2020, 1, 1, tzinfo=UTC)
"""Written instead of the time of the build, so that two builds are identical."""


def compile_catalogs(root: Path) -> None:
    """Compile every catalog of the checkout at `root`."""
    for source in sorted((root / "src" / "waypost").glob("*/locales/*/LC_MESSAGES/*.po")):
        with source.with_suffix(".mo").open("wb") as mo:
            catalog = complete_catalog(source)
            if source.is_relative_to(root / "src" / "waypost" / "dashboard"):
                _add_names(root, catalog, Locale.parse(source.parts[-3]))
            catalog.creation_date = catalog.revision_date = _TIME
            write_mo(mo, catalog)


def complete_catalog(source: Path) -> Catalog:
    """Read a catalog. That of a variant, such as `pt_PT`, gets its missing texts from the language, such as `pt`."""
    with source.open("rb") as po:
        catalog = read_po(po)
    language, _, variant = source.parts[-3].partition("_")
    if variant:
        for message in complete_catalog(source.parents[2] / language / source.parent.name / source.name):
            own = catalog.get(message.id) or catalog.add(message.id)
            if message.id and not "".join(own.string or ""):
                own.string = message.string
    return catalog


def _add_names(root: Path, catalog: Catalog, locale: Locale) -> None:
    """Add the names of countries and languages, each kind in a context of its own."""
    clicks = root / "src" / "waypost" / "clicks"
    countries = runpy.run_path(str(clicks / "geo" / "countries.py"))["NAMES"]
    languages = runpy.run_path(str(clicks / "classify" / "language_names.py"))["LANGUAGE_NAMES"]
    for context, names, translated in (
        ("country", countries, locale.territories),
        ("language", languages, locale.languages),
    ):
        for code, name in names.items():
            text = translated.get(code, name)
            # In lists, names are capitalized in every language; CLDR has their form inside of sentences.
            catalog.add(name, text[:1].upper() + text[1:], context=context)


if __name__ == "__main__":
    compile_catalogs(Path(__file__).resolve().parent.parent)
