"""The templates of catalogs have the fields that the catalogs document, and fit the image and the settings."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from scripts import publication
from tests.support.source import ROOT
from waypost.core.settings import Settings

_CATALOGS = ROOT / "catalogs"
_COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.one.yaml").read_text())["services"]["waypost"]
_PORT, _DATA = 8000, "/data"
_TEXT: dict[str, Any] = {
    "type": "object",
    "required": ["en_us"],
    "additionalProperties": {"type": "string", "minLength": 1},
}
_DESCRIBED = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["container", "description"],
        "properties": {"container": {"type": "string"}, "description": _TEXT},
    },
}
_CASAOS_APP = {
    "type": "object",
    "required": ["architectures", "main", "author", "category", "description", "icon", "tagline", "title", "port_map"],
    "additionalProperties": False,
    "properties": {
        "architectures": {"type": "array", "minItems": 1, "items": {"enum": ["amd64", "arm64", "arm"]}},
        **{name: {"type": "string"} for name in ("main", "author", "developer", "category", "icon", "index")},
        **dict.fromkeys(("tagline", "description", "title"), _TEXT),
        "tips": {"type": "object", "additionalProperties": False, "properties": {"before_install": _TEXT}},
        "port_map": {"type": "string", "pattern": "^[0-9]+$"},
        "scheme": {"enum": ["http", "https"]},
    },
}
_CASAOS_SERVICE = {
    "type": "object",
    "required": ["envs", "ports", "volumes"],
    "additionalProperties": False,
    "properties": {"envs": _DESCRIBED, "ports": _DESCRIBED, "volumes": _DESCRIBED},
}


def _service(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a compose file and its only service."""
    compose: dict[str, Any] = yaml.safe_load((_CATALOGS / name).read_text())
    assert list(compose["services"]) == ["waypost"]
    return compose, compose["services"]["waypost"]


def _assert_settings(names: set[str]) -> None:
    assert {name.removeprefix("WAYPOST_").lower() for name in names} <= Settings.model_fields.keys()


@pytest.mark.parametrize("name", ["casaos.yaml", "coolify.yaml"])
def test_compose_template_runs_container_as_in_the_compose_file(name: str) -> None:
    compose, service = _service(name)
    same = ("image", "command", "read_only", "tmpfs", "cap_drop", "security_opt", "stop_grace_period")
    assert {key: service[key] for key in same} == {key: _COMPOSE[key] for key in same}
    (volume,) = service["volumes"]
    source, target = (volume["source"], volume["target"]) if isinstance(volume, dict) else volume.split(":")
    assert (source, target) == ("data", _DATA)
    assert source in compose.get("volumes", {"data": None})


def test_casaos_template_describes_application_and_everything_that_can_be_set() -> None:
    from jsonschema import Draft7Validator  # noqa: PLC0415  # takes more than a second, in each process

    compose, service = _service("casaos.yaml")
    app, described = compose["x-casaos"], service["x-casaos"]
    assert list(Draft7Validator(_CASAOS_APP).iter_errors(app)) == []
    assert list(Draft7Validator(_CASAOS_SERVICE).iter_errors(described)) == []
    assert app["main"] in compose["services"]
    assert [item["container"] for item in described["envs"]] == list(service["environment"])
    _assert_settings(set(service["environment"]))
    (port,) = service["ports"]
    assert (port["target"], port["published"]) == (_PORT, app["port_map"])
    assert [item["container"] for item in described["ports"]] == [str(_PORT)]
    assert [item["container"] for item in described["volumes"]] == [_DATA]


def test_coolify_template_has_its_header_and_the_address_that_coolify_sets() -> None:
    _, service = _service("coolify.yaml")
    header = dict(re.findall(r"^# ([a-z]+): (.+)$", (_CATALOGS / "coolify.yaml").read_text(), re.M))
    assert header.keys() == {"documentation", "slogan", "category", "tags", "logo", "port"}
    assert int(header["port"]) == _PORT
    names = [line.partition("=")[0] for line in service["environment"]]
    assert f"SERVICE_URL_WAYPOST_{_PORT}" in names
    assert "WAYPOST_BASE_URL=${SERVICE_URL_WAYPOST}" in service["environment"]
    _assert_settings({name for name in names if name.startswith("WAYPOST_")})
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    (check,) = re.findall(r"HEALTHCHECK[^\n]*\\\n +CMD (\[.+\])", dockerfile)
    assert service["healthcheck"]["test"] == ["CMD", *json.loads(check)]


def test_unraid_template_has_its_fields_and_runs_as_owner_of_the_folder() -> None:
    container = ET.parse(_CATALOGS / "unraid.xml").getroot()
    assert (container.tag, container.attrib) == ("Container", {"version": "2"})
    for name in ("Name", "Repository", "Network", "Privileged", "Overview", "Category", "WebUI"):
        assert container.findtext(name), name
    assert (container.findtext("Repository"), container.findtext("PostArgs")) == (_COMPOSE["image"], "serve")
    parameters = (container.findtext("ExtraParams") or "").split()
    assert {"--user=99:100", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true"} <= {*parameters}
    configs = container.findall("Config")
    fields = {"Name", "Target", "Default", "Mode", "Description", "Type", "Display", "Required", "Mask"}
    assert all(config.keys() == [*config.attrib] and {*config.attrib} == fields for config in configs)
    targets = {
        kind: {c.attrib["Target"] for c in configs if c.attrib["Type"] == kind} for kind in ("Port", "Path", "Variable")
    }
    assert (targets["Port"], targets["Path"]) == ({str(_PORT)}, {_DATA})
    assert f"[PORT:{_PORT}]" in (container.findtext("WebUI") or "")
    _assert_settings(targets["Variable"])


@pytest.mark.parametrize("image", ["registry.example.com:5000/waypost", "registry.example.com/team/links"])
def test_each_release_writes_its_image_into_every_template(tmp_path: Path, image: str) -> None:
    for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml", "client", "deploy", "charts", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(_CATALOGS, tmp_path / "catalogs")
    for version in ("1.2.3", "1.2.4"):
        written = publication.files(
            tmp_path, publication.Publication(version, "https://code.example.com/waypost", image)
        )
        for path in (tmp_path / "catalogs").iterdir():
            if path.name == "yunohost":
                continue  # installs the wheel: test_yunohost_package.py
            path.write_text(written[path])
            assert path.read_text().count(f"{image}:{version}") == 1, path.name
