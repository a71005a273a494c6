"""Requests that are signed for S3: the examples of the documentation of AWS, and answers of stores that refuse them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from structlog.testing import capture_logs

from tests.support.threads import in_thread
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.storage.s3 import UnfinishedUploads, signed_headers


@pytest.mark.parametrize(
    ("query", "signature"),
    [
        ("lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)
def test_signature_equals_example_of_aws(query: str, signature: str) -> None:
    url = f"https://examplebucket.s3.amazonaws.com/?{query}"
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    now = datetime(2013, 5, 24, tzinfo=UTC)
    headers = signed_headers("GET", url, "us-east-1", "AKIAIOSFODNN7EXAMPLE", secret, now)
    assert headers["authorization"].endswith(f"Signature={signature}")


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """Run a store that answers every request with `status`; yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}"


def uploads(endpoint: str) -> UnfinishedUploads:
    keys = {"storage_key": "k", "storage_secret": "s"}
    return UnfinishedUploads(
        Settings.model_validate({"storage_url": "s3://bucket/prefix", "storage_endpoint": endpoint, **keys})
    )


@pytest.mark.parametrize("status", [403, 404, 405, 501])
def test_store_that_refuses_the_listing_is_only_logged(status: int) -> None:
    with answering(status, b"<Error/>") as endpoint, capture_logs() as logs:
        uploads(endpoint).abort("ab/cd")
    assert [(line["event"], line["status"]) for line in logs] == [("multipart uploads cannot be listed", status)]


@pytest.mark.parametrize(("status", "body"), [(500, b""), (503, b"<Error/>"), (200, b"<html>cut")])
def test_listing_that_fails_is_tried_again(status: int, body: bytes) -> None:
    with answering(status, body) as endpoint, pytest.raises(Problem) as raised:
        uploads(endpoint).abort("ab/cd")
    assert raised.value.kind is Kind.UNAVAILABLE


def test_store_that_is_away_is_tried_again() -> None:
    with answering(200, b"") as endpoint:
        pass
    with pytest.raises(Problem) as raised:
        uploads(endpoint).abort("ab/cd")
    assert raised.value.kind is Kind.UNAVAILABLE
