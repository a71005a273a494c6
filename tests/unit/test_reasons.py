"""Reasons of libraries as one line."""

import pytest

from waypost.core import reasons

_DUMP = """Generic S3 error: Error performing PUT http://127.0.0.1:9/b in 475 ms, after 4 retries - HTTP

Debug source:
Generic { store: "S3", source: RetryError(RetryErrorImpl { method: PUT, uri: Some(http://127.0.0.1:9/b) }) }"""

_CERTIFICATE = """Generic S3 error: Error performing HEAD https://127.0.0.1:9/b - HTTP error: error sending request

Debug source:
Generic {
    store: "S3",
    source: Custom {
        kind: InvalidData,
        error: InvalidCertificate(
            UnknownIssuer,
        ),
    },
}"""
_REFUSED = """HTTP error: error sending request

Debug source:
ConnectError("tcp connect error", 127.0.0.1:9, Os { code: 111, message: "Connection refused" })"""


@pytest.mark.parametrize(
    ("reason", "cleaned"),
    [
        (_DUMP, "Generic S3 error: Error performing PUT http://127.0.0.1:9/b in 475 ms, after 4 retries - HTTP"),
        (
            "Is the server running\n\taccepting TCP/IP connections?",
            "Is the server running accepting TCP/IP connections",
        ),
        (
            "failed: Connection refused\n\tIs the server running?",
            "failed: Connection refused. Is the server running",
        ),
        (
            _CERTIFICATE,
            "Generic S3 error: Error performing HEAD https://127.0.0.1:9/b - HTTP error: error sending request: "
            "the certificate of the server is not valid (UnknownIssuer)",
        ),
        (
            _CERTIFICATE.replace("UnknownIssuer", "Other(\n  OtherError(\n CaUsedAsEndEntity"),
            "Generic S3 error: Error performing HEAD https://127.0.0.1:9/b - HTTP error: error sending request: "
            "the certificate of the server is not valid (CaUsedAsEndEntity)",
        ),
        (_REFUSED, "HTTP error: error sending request: Connection refused"),
        ("no such table: x\n(Background on this error at: https://sqlalche.me/e/20/e3q8)", "no such table: x"),
        ("broken - ", "broken"),
        ("word " * 100, "word " * 60 + "…"),
        ("", ""),
    ],
)
def test_reason_is_one_line_without_dump(reason: str, cleaned: str) -> None:
    assert reasons.clean(reason) == cleaned
