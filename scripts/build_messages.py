"""Compile the message catalogs of the pages for visitors (.po) into the files that gettext reads (.mo)."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po


def compile_catalogs(root: Path) -> None:
    """Compile every catalog of the checkout at `root`."""
    for source in sorted((root / "src" / "waypost" / "visits" / "locales").glob("*/LC_MESSAGES/*.po")):
        with source.open("rb") as po, source.with_suffix(".mo").open("wb") as mo:
            write_mo(mo, read_po(po))


if __name__ == "__main__":
    compile_catalogs(Path(__file__).resolve().parent.parent)
