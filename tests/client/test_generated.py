"""The generated parts of the client are current and complete."""

import inspect
import subprocess
import sys
import tomllib

import pytest
from waypost_client import AsyncWaypost, Waypost
from waypost_client.aio.operations import AsyncOperations
from waypost_client.aio.requests import AsyncRequests
from waypost_client.errors import CODES
from waypost_client.sync.operations import Operations
from waypost_client.sync.requests import Requests

from client.generator.files import DOCUMENT, PACKAGE, generated_files, generated_paths
from scripts.generate_client import client_document
from waypost import __version__
from waypost.core.errors import Kind
from waypost.core.settings import Settings
from waypost.server.routers import api_document


def test_document_of_the_client_is_current() -> None:
    assert DOCUMENT.read_text() == client_document(), "run make docs"


def test_generated_files_are_current() -> None:
    files = generated_files()
    assert generated_paths() == files.keys()
    assert [path for path in files if path.read_text() != files[path]] == []


def test_files_are_generated_alike_in_every_locale() -> None:
    code = "from client.generator.files import generated_files; generated_files()"
    options = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning")
    subprocess.run([sys.executable, *options, "-c", code], cwd=DOCUMENT.parents[1], check=True)


@pytest.mark.parametrize(("kind", "base"), [(Operations, Requests), (AsyncOperations, AsyncRequests)])
def test_each_operation_has_one_method(kind: type, base: type) -> None:
    methods = [
        name
        for each in kind.__mro__
        if issubclass(each, base) and each is not base
        for name in vars(each)
        if not name.startswith("_")
    ]
    document = api_document(Settings())
    operations = {method["operationId"] for path in document["paths"].values() for method in path.values()}
    iterators = {name.removeprefix("list_") for name in operations if name.startswith("list_")}
    assert sorted(methods) == sorted(operations | iterators)


def test_both_clients_have_the_same_methods() -> None:
    sync, asynchronous = (
        {
            name: inspect.signature(getattr(kind, name)).parameters.keys()
            for name in dir(kind)
            if not name.startswith("_")
        }
        for kind in (Waypost, AsyncWaypost)
    )
    assert {**asynchronous, "close": asynchronous["aclose"]} == {**sync, "aclose": sync["close"]}


def test_each_code_of_the_api_has_an_error_class() -> None:
    assert {kind.code for kind in Kind} == CODES.keys()


def test_client_has_the_version_of_the_service() -> None:
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]
    assert (project["version"], project["dependencies"]) == (__version__, ["httpx>=0.27"])
