"""Compile the message catalogs (.po) into the files that gettext reads (.mo)."""

from datetime import UTC, datetime
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

_TIME = datetime(2020, 1, 1, tzinfo=UTC)
"""Written instead of the time of the build, so that two builds are identical."""


def compile_catalogs(root: Path) -> None:
    """Compile every catalog of the checkout at `root`."""
    for source in sorted((root / "src" / "waypost").glob("*/locales/*/LC_MESSAGES/*.po")):
        with source.open("rb") as po, source.with_suffix(".mo").open("wb") as mo:
            catalog = read_po(po)
            catalog.creation_date = catalog.revision_date = _TIME
            write_mo(mo, catalog)


if __name__ == "__main__":
    compile_catalogs(Path(__file__).resolve().parent.parent)
