"""The message catalogs of the dashboard and of the pages for visitors have every text, and nothing else."""

import runpy
from typing import Any

import pytest

from tests.support.source import ROOT

_UPDATER: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "update_messages.py"))


@pytest.mark.parametrize(
    ("package", "extract"), [("visits", "extracted_messages"), ("dashboard", "dashboard_messages")]
)
def test_updating_messages_changes_nothing(package: str, extract: str) -> None:
    messages = _UPDATER[extract](ROOT)
    assert len(messages) > 100
    files = _UPDATER["catalogs"](ROOT, package)
    assert [file.parts[-3] for file in files] == ["de", "es", "fr", "pt", "pt_PT"]
    for file in files:
        assert _UPDATER["updated_catalog"](file.read_text(), messages) == file.read_text(), file


def test_only_texts_for_visitors_are_extracted() -> None:
    messages = {str(message.id) for message in _UPDATER["extracted_messages"](ROOT)}
    assert {"Link preview", "PDF document", "Not found"} <= messages
    assert not {"username", "SELECT count(*) FROM accounts", "The file was uploaded."} & messages
