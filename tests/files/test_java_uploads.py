"""Java programs upload files as forms and streams, get the reason of a refusal, and download by the short URL."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.file_server import FileServer, new_file_server
from tests.support.load import until
from tests.support.system_packages import program

_UPLOAD = Path(__file__).parents[1] / "support" / "java" / "Upload.java"
_LIMIT = 1_000_000
_WAYS = [
    *("form", "form-expect", "form-chunked", "form-chunked-expect"),
    *("connection-chunked", "connection-chunked-expect", "connection-fixed", "connection-fixed-expect"),
]


@pytest.fixture(scope="module")
def small_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileServer]:
    """A server whose accounts may upload files of a megabyte."""
    server = new_file_server(tmp_path_factory.mktemp("disk"), upload_limit=_LIMIT)
    with server.running():
        yield server


def _upload(server: FileServer, file: Path, *ways: str) -> list[str]:
    """Return the lines that the program prints, each beginning with a way."""
    java = program("java", "default-jdk-headless")
    program("javac", "default-jdk-headless")  # a runtime alone cannot run a source file
    command = [java, str(_UPLOAD), server.server.url, server.key, str(file), *ways]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.splitlines()


def test_java_program_uploads_file_and_downloads_it_by_short_url(small_server: FileServer, tmp_path: Path) -> None:
    file = tmp_path / "content.bin"
    file.write_bytes(os.urandom(300_000))
    lines = _upload(small_server, file, *_WAYS)
    assert [line.split("{")[0] for line in lines] == [text for way in _WAYS for text in (f"{way} 200 ", f"{way} true")]


def test_java_program_gets_reason_of_refusal_before_end_of_body(small_server: FileServer, tmp_path: Path) -> None:
    files, objects = small_server.row_counts()[0], small_server.object_count()
    file = tmp_path / "large.bin"
    file.write_bytes(os.urandom(3 * _LIMIT))
    ways = [*_WAYS, "connection-fixed-slow"]
    lines = _upload(small_server, file, *ways)
    assert [line.split("{")[0] for line in lines] == [f"{way} 413 " for way in ways]
    silent = "connection-fixed-expect"  # the Java library hides the body of a response that it gets instead of 100
    reasons = [line for line in lines if f"your plan allows {_LIMIT} bytes" in line]
    assert [line for line in lines if line not in reasons] == [f"{silent} 413 "]
    until(lambda: small_server.row_counts() == (files, 0) and small_server.object_count() == objects)
