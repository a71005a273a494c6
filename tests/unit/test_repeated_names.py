"""Names of a source that it sends again are known, within bounded memory."""

import pytest

from waypost.transfer.imports.sources import fields
from waypost.transfer.imports.sources.fields import RecentNames


def test_name_is_new_once() -> None:
    names = RecentNames()
    assert [names.add(name) for name in ("a", "b", "a", "b", "c")] == [True, True, False, False, True]


def test_oldest_names_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "_MAX", 2)
    names = RecentNames()
    assert [names.add(name) for name in ("a", "b", "c", "b", "a")] == [True, True, True, False, True]
