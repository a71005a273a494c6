"""The message catalogs of the dashboard and of the pages for visitors have every text, and nothing else."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.support.source import ROOT
from waypost.core.languages import LANGUAGES, SOURCE_LANGUAGE

_BUILDER: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "build_messages.py"))
_UPDATER: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "update_messages.py"))


@pytest.mark.parametrize(
    ("package", "extract"), [("visits", "extracted_messages"), ("dashboard", "dashboard_messages")]
)
def test_updating_messages_changes_nothing(package: str, extract: str) -> None:
    messages = _UPDATER[extract](ROOT)
    assert len(messages) > 100
    files = _UPDATER["catalogs"](ROOT, package)
    assert [file.parts[-3] for file in files] == sorted(
        code.replace("-", "_") for code in LANGUAGES if code != SOURCE_LANGUAGE
    )
    for file in files:
        assert _UPDATER["updated_catalog"](file.read_text(), messages) == file.read_text(), file


def test_only_texts_for_visitors_are_extracted() -> None:
    messages = {str(message.id) for message in _UPDATER["extracted_messages"](ROOT)}
    assert {"Link preview", "PDF document", "Not found"} <= messages
    assert not {"username", "SELECT count(*) FROM accounts", "The file was uploaded."} & messages


def test_texts_without_translation_into_a_variant_are_those_of_the_language(tmp_path: Path) -> None:
    texts = {"pt": (("File", "Arquivo"), ("Account", "Conta")), "pt_PT": (("File", "Ficheiro"), ("Account", ""))}
    for language, entries in texts.items():
        folder = tmp_path / "locales" / language / "LC_MESSAGES"
        folder.mkdir(parents=True)
        header = f'msgid ""\nmsgstr "Language: {language}\\n"\n'
        messages = "".join(f'\nmsgid "{text}"\nmsgstr "{translation}"\n' for text, translation in entries)
        (folder / "messages.po").write_text(header + messages)
    catalog = _BUILDER["complete_catalog"](tmp_path / "locales" / "pt_PT" / "LC_MESSAGES" / "messages.po")
    assert {message.id: message.string for message in catalog if message.id} == {"File": "Ficheiro", "Account": "Conta"}
    po = (tmp_path / "locales" / "pt_PT" / "LC_MESSAGES" / "messages.po").read_text()
    assert '"Account"' not in _UPDATER["updated_catalog"](po, catalog)
