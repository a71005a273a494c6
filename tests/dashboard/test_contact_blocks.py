"""The contact block of the bio page builder: few fields at once, all of them without scripts."""

import re
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser, form_version
from tests.support.databases import ON_SQLITE
from tests.support.form_errors import only_error

pytestmark = ON_SQLITE
_MORE = ("street", "zip", "city", "state", "country", "fax")
_BLOCK: dict[str, Any] = {"order": ["x"], "x.type": "vcard", "x.fname": "Ana"}


def _folded(page: str, key: str) -> bool:
    """Return whether the further fields of the contact `key` are folded, and check that they are there."""
    section = re.search(
        r'<details class="schedule"( open)?>(?:(?!</details>).)*?name="KEY.fax"'.replace("KEY", key), page, re.S
    )
    assert section is not None
    for part in _MORE:
        assert f'name="{key}.{part}"' in section[0]
    for part in ("fname", "org", "phone", "email"):
        assert f'name="{key}.{part}"' not in section[0]
        assert f'name="{key}.{part}"' in page
    return section[1] is None


def test_further_fields_of_a_new_contact_are_folded(ana: Person, dashboard: Browser) -> None:
    assert _folded(dashboard.get("/bios/new").text, "KEY")
    page = dashboard.submit("/bios/new", name="Ana", alias="", base="default", do="add-vcard").text
    assert _folded(page, "b1")


@pytest.mark.parametrize("part", _MORE)
def test_further_fields_of_a_contact_with_a_value_are_open(ana: Person, dashboard: Browser, part: str) -> None:
    value = "+351 21 123 45 67" if part == "fax" else "Lisbon"
    bio = ana.add("bio", name="Ana", alias="ana-page", blocks=[{"type": "vcard", "fname": "Ana", part: value}])
    page = dashboard.get(f"/bios/{bio}")
    assert not _folded(page.text, "b1")
    version = form_version(page, f"/bios/{bio}")
    fields = {"name": "Ana", "alias": "ana-page", "base": "default", "version": version}
    assert dashboard.submit(f"/bios/{bio}", **_BLOCK, **fields).status_code == 303
    assert _folded(dashboard.get(f"/bios/{bio}").text, "b1")


def test_further_fields_of_a_contact_with_an_error_are_open(ana: Person, dashboard: Browser) -> None:
    fields = {"name": "Ana", "alias": "", "base": "default", "x.city": "y" * 9000}
    response = dashboard.submit("/bios/new", **_BLOCK, **fields)
    assert response.status_code == 400
    error = only_error(response.text)
    assert error
    assert error[0] == "b1.city"
    assert not _folded(response.text, "b1")
