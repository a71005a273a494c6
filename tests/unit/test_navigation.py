"""The entry of the navigation that a page belongs to."""

import pytest

from waypost.dashboard.navigation import active_path


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("/dashboard", "/dashboard"),
        ("/dashboard/links/7/stats", "/dashboard/links"),
        ("/dashboard/account/keys", "/dashboard/account/keys"),
        ("/dashboard/import", "/dashboard/links"),
        ("/dashboard/import/undo", "/dashboard/links"),
        ("/dashboard/shares/link/15", "/dashboard/statistics"),
        ("/dashboard/importer", ""),
        ("/dashboard/search", ""),
    ],
)
def test_page_belongs_to_entry(path: str, entry: str) -> None:
    assert active_path(path) == entry
