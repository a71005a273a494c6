"""Reasons of libraries as one line."""

import pytest

from waypost.core import reasons

_DUMP = """Generic S3 error: Error performing PUT http://127.0.0.1:9/b in 475 ms, after 4 retries - HTTP

Debug source:
Generic { store: "S3", source: RetryError(RetryErrorImpl { method: PUT, uri: Some(http://127.0.0.1:9/b) }) }"""


@pytest.mark.parametrize(
    ("reason", "cleaned"),
    [
        (_DUMP, "Generic S3 error: Error performing PUT http://127.0.0.1:9/b in 475 ms, after 4 retries - HTTP"),
        (
            "Is the server running\n\taccepting TCP/IP connections?",
            "Is the server running accepting TCP/IP connections",
        ),
        ("no such table: x\n(Background on this error at: https://sqlalche.me/e/20/e3q8)", "no such table: x"),
        ("broken - ", "broken"),
        ("word " * 100, "word " * 60 + "…"),
        ("", ""),
    ],
)
def test_reason_is_one_line_without_dump(reason: str, cleaned: str) -> None:
    assert reasons.clean(reason) == cleaned
