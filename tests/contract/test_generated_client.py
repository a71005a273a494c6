"""A client that is generated from the OpenAPI document can change one field of a resource."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest

from tests.conftest import BASE, Person
from tests.contract.resource import Resource
from tests.contract.resources import RESOURCES
from tests.support.databases import ON_SQLITE
from waypost.core.settings import Settings
from waypost.server.routers import api_document

_PACKAGE = "generated_client"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return api_document(Settings(base_url=BASE))


@pytest.fixture(scope="module")
def package(document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Generate a client and make it importable."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "openapi.json").write_text(json.dumps(document))
    generator = Path(sys.executable).with_name("openapi-python-client")
    options = ["--path", "openapi.json", "--meta", "none", "--output-path", _PACKAGE]
    subprocess.run([generator, "generate", *options], cwd=folder, check=True, capture_output=True)
    sys.path.insert(0, str(folder))
    yield _PACKAGE
    sys.path.remove(str(folder))


def test_openapi_document_is_valid(document: dict[str, Any]) -> None:
    from openapi_spec_validator import validate  # noqa: PLC0415  # takes more than a second, in each process

    validate(document)


@ON_SQLITE
@pytest.mark.parametrize("resource", RESOURCES, ids=str)
def test_generated_client_updates_one_field(
    resource: Resource, document: dict[str, Any], package: str, ana: Person
) -> None:
    item = ana.call("POST", f"{resource.path}/add", resource.body()).json()["id"]
    operation = document["paths"][f"/api{resource.path}/{{id}}/update"]["put"]
    model = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    tag = operation["tags"][0].lower().replace(" ", "_")
    update = import_module(f"{package}.api.{tag}.{operation['operationId']}").asyncio_detailed
    client = import_module(package).AuthenticatedClient(
        base_url=BASE, token=ana.key, httpx_args={"transport": httpx.ASGITransport(ana.client.app)}
    )
    required = {name: resource.body()[name] for name in resource.required_in_update}
    for name, value in resource.update.items():
        body = _construct(getattr(import_module(f"{package}.models"), model), {**required, name: value})
        response = asyncio.run(update(item, client=client, body=body))
        assert response.status_code == 200, (name, response.content)


def _construct(model: Any, fields: dict[str, Any]) -> Any:
    """Call the constructor as a program does: fields that are not given get the defaults of the model."""
    parsed = attrs.asdict(model.from_dict(fields), recurse=False)
    given = {name: parsed[name] for name in parsed if name.removesuffix("_") in fields}
    return model(**given)
