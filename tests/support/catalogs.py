"""The message catalogs as they are compiled: that of a variant has the texts of its language, too."""

import runpy
from typing import cast

from babel.messages.catalog import Catalog

from tests.support.source import ROOT, SOURCE

_complete_catalog = runpy.run_path(str(ROOT / "scripts" / "build_messages.py"))["complete_catalog"]


def complete_catalog(language: str, package: str = "visits") -> Catalog:
    """Return all texts of a package in a language, such as `pt-PT`."""
    folder = SOURCE / package / "locales" / language.replace("-", "_")
    return cast("Catalog", _complete_catalog(folder / "LC_MESSAGES" / "messages.po"))
