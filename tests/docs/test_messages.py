"""The message catalogs of the pages for visitors have every text, and nothing else."""

import runpy
from typing import Any

import pytest

from tests.support.source import ROOT

_UPDATER: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "update_messages.py"))


@pytest.mark.parametrize("file", _UPDATER["catalogs"](ROOT), ids=lambda file: file.parts[-3])
def test_updating_messages_changes_nothing(file: Any) -> None:
    messages = _UPDATER["extracted_messages"](ROOT)
    assert len(messages) > 100
    assert _UPDATER["updated_catalog"](file.read_text(), messages) == file.read_text()


def test_only_texts_for_visitors_are_extracted() -> None:
    messages = {str(message.id) for message in _UPDATER["extracted_messages"](ROOT)}
    assert {"Link preview", "PDF document", "Not found"} <= messages
    assert not {"username", "SELECT count(*) FROM accounts", "The file was uploaded."} & messages
