"""Which forms count as sent by a page of this service, by their Origin and Host headers."""

import pytest
from starlette.requests import Request

from waypost.dashboard.resubmitted_forms import is_own_form


@pytest.mark.parametrize(
    ("secure", "origin", "host", "is_own"),
    [
        (False, "http://go.example:8000", "go.example:8000", True),
        (False, "https://go.example", "go.example", True),
        (True, "https://go.example:8443", "go.example", True),  # behind a proxy that drops the port
        (True, "http://go.example", "go.example", False),
        (False, "https://evil.example", "go.example", False),
        (False, "http://[", "go.example", False),
        (False, "http://[", "[", False),
        (False, "", "", False),
        (False, "null", "null", False),
    ],
)
def test_own_forms(*, secure: bool, origin: str, host: str, is_own: bool) -> None:
    headers = [(b"origin", origin.encode()), (b"host", host.encode())]
    assert is_own_form(Request({"type": "http", "headers": headers}), secure=secure) is is_own
