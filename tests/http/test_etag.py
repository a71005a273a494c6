"""Conditional requests: the If-None-Match header."""

import pytest

from waypost.http import etag


@pytest.mark.parametrize(
    ("header", "is_match"),
    [
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ('"b", W/"a"', True),
        ("*", True),
        ('"b"', False),
        ("", False),
    ],
)
def test_if_none_match_is_compared_weakly(header: str, *, is_match: bool) -> None:
    assert etag.matches(header, '"a"') is is_match
