"""Update the message catalogs (.po) of the pages for visitors and of the dashboard from the sources: `make messages`.

Texts of the pages for visitors are those of their templates, and in Python the arguments of `translatable`.
Texts of the dashboard are those of its templates, and in Python the texts that `scripts/python_messages.py` finds.
"""

import runpy
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po

from waypost.http import media_types

_MARKER = {"translatable": None}
_TEMPLATE_KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2)}
_python_messages = runpy.run_path(str(Path(__file__).with_name("python_messages.py")))["python_messages"]


def extracted_messages(root: Path) -> Catalog:
    """Return the texts for visitors of the checkout at `root`."""
    package = root / "src" / "waypost"
    catalog = Catalog()
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        if b"translatable(" in content:
            _add(catalog, "python", content, _MARKER)
    for path in sorted((package / "visits" / "templates").rglob("*.html")):
        _add(catalog, "jinja2", path.read_bytes(), _TEMPLATE_KEYWORDS)
    for text in media_types.ALL_DESCRIPTIONS:
        catalog.add(text)
    return catalog


def dashboard_messages(root: Path) -> Catalog:
    """Return the texts of the dashboard of the checkout at `root`."""
    package = root / "src" / "waypost"
    catalog = Catalog()
    for path in sorted((package / "dashboard" / "templates").rglob("*.html")):
        _add(catalog, "jinja2", path.read_bytes(), _TEMPLATE_KEYWORDS)
    for text in media_types.ALL_DESCRIPTIONS:
        catalog.add(text)
    for message in _python_messages(package):
        catalog.add(message)
    return catalog


def updated_catalog(po: str, messages: Catalog) -> str:
    """Return a catalog with exactly these messages. Its header and its translations stay; new texts have none.

    That of a variant, such as `pt_PT`, has only its translations: other texts are those of the language.
    """
    header, _, _ = po.partition("\n\n")
    catalog = read_po(BytesIO(po.encode()))
    catalog.update(messages, no_fuzzy_matching=True)
    if catalog.locale and catalog.locale.territory:
        for message in [message for message in catalog if message.id and not "".join(message.string or "")]:
            catalog.delete(message.id)
    output = BytesIO()
    write_po(output, catalog, width=0, no_location=True, omit_header=True, ignore_obsolete=True)
    return f"{header}\n\n{output.getvalue().decode().strip()}\n"


def catalogs(root: Path, package: str = "visits") -> list[Path]:
    """Return the files of the catalogs of a package."""
    return sorted((root / "src" / "waypost" / package / "locales").glob("*/LC_MESSAGES/*.po"))


def _add(catalog: Catalog, method: str, content: bytes, keywords: dict[str, tuple[int, ...] | None]) -> None:
    for _, message, _, _ in extract(method, BytesIO(content), keywords):
        catalog.add(message)


if __name__ == "__main__":
    checkout = Path(__file__).resolve().parent.parent
    for package, messages in (("visits", extracted_messages(checkout)), ("dashboard", dashboard_messages(checkout))):
        for file in catalogs(checkout, package):
            file.write_text(updated_catalog(file.read_text(), messages))
