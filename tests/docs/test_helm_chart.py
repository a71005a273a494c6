"""The Helm chart fits the image, the compose file and the settings. Helm itself is not needed.

The templates use a few expressions only, which `_render` evaluates.
"""

import json
import re
from typing import Any

import pytest
import yaml

from tests.support.source import ROOT
from waypost import __version__
from waypost.core.settings import Settings

_CHART = ROOT / "charts" / "waypost"
_EXPRESSION = re.compile(r'\{\{ (?:printf "([^"]*%s[^"]*)" )?\.(Values|Release)\.([\w.]+)( \| quote)? \}\}')
_GIVEN = {"site": "go.example.com", "trustedProxies": "10.42.3.0/24"}
_VALUES: dict[str, Any] = yaml.safe_load((_CHART / "values.yaml").read_text()) | _GIVEN


def _value(path: str, values: Any) -> Any:
    for name in path.split("."):
        values = values[name]
    return values


def _render(name: str) -> dict[str, Any]:
    """Return the object of a template with the values of the chart."""

    def evaluate(match: re.Match[str]) -> str:
        pattern, source, path, quoted = match.groups()
        value = _value(path, {"Values": _VALUES, "Release": {"Name": "links"}}[source])
        value = pattern.replace("%s", value) if pattern else value
        return json.dumps(str(value)) if quoted else json.dumps(value)

    text = _EXPRESSION.sub(evaluate, (_CHART / "templates" / name).read_text())
    assert "{{" not in text
    rendered: dict[str, Any] = yaml.safe_load(text)
    return rendered


def _paths(values: dict[str, Any], start: str = "") -> set[str]:
    """Return the paths of all values that are no objects."""
    nested = (
        _paths(value, f"{start}{key}.") if isinstance(value, dict) else {f"{start}{key}"}
        for key, value in values.items()
    )
    return set().union(*nested)


def _pod() -> dict[str, Any]:
    pod: dict[str, Any] = _render("statefulset.yaml")["spec"]["template"]["spec"]
    return pod


def test_chart_has_the_version_of_the_service() -> None:
    chart = yaml.safe_load((_CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"], _VALUES["image"]) == (
        __version__,
        __version__,
        f"waypost:{__version__}",
    )


@pytest.fixture(scope="module")
def schema() -> Any:
    """The validator of the chart's values."""
    from jsonschema import Draft7Validator  # noqa: PLC0415  # takes more than a second, in each process

    return Draft7Validator(json.loads((_CHART / "values.schema.json").read_text()))


def test_each_value_is_used_and_in_the_schema(schema: Any) -> None:
    templates = "".join(path.read_text() for path in (_CHART / "templates").iterdir())
    assert set(re.findall(r"\.Values\.([\w.]+)", templates)) == _paths(_VALUES)
    assert list(schema.iter_errors(_VALUES)) == []
    assert schema.schema["properties"].keys() == _VALUES.keys() == set(schema.schema["required"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"site": ""},
        {"site": "https://go.example.com"},
        {"trustedProxies": ""},
        {"replicas": 0},
        {"image": "waypost"},
        {"volume": {"class": "standard", "size": "10"}},
        {"unknown": 1},
    ],
)
def test_wrong_value_is_refused_by_the_schema(wrong: dict[str, Any], schema: Any) -> None:
    assert list(schema.iter_errors({**_VALUES, **wrong}))


def test_container_runs_as_in_the_compose_file() -> None:
    pod, compose = _pod(), yaml.safe_load((ROOT / "deploy" / "compose.one.yaml").read_text())["services"]["waypost"]
    (container,) = pod["containers"]
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    user = int(re.findall(r"^USER (\d+)", dockerfile, re.M)[0])
    security = {**pod["securityContext"], **container["securityContext"]}
    assert {security["runAsUser"], security["runAsGroup"], security["fsGroup"]} == {user}
    assert security["readOnlyRootFilesystem"] is compose["read_only"] is True
    assert security["capabilities"] == {"drop": compose["cap_drop"]}
    assert security["allowPrivilegeEscalation"] is False
    assert (container["args"], container["image"]) == (compose["command"], compose["image"])
    assert f"{pod['terminationGracePeriodSeconds']}s" == compose["stop_grace_period"]
    assert pod["enableServiceLinks"] is False  # they would set WAYPOST_PORT
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert mounts.keys() == {re.findall(r"^VOLUME (\S+)", dockerfile, re.M)[0], *compose["tmpfs"]}
    (claim,) = _render("statefulset.yaml")["spec"]["volumeClaimTemplates"]
    assert set(mounts.values()) == {claim["metadata"]["name"], *(volume["name"] for volume in pod["volumes"])}
    assert container["ports"][0]["containerPort"] == int(re.findall(r"^EXPOSE (\d+)", dockerfile, re.M)[0])


def test_environment_consists_of_valid_settings() -> None:
    (container,) = _pod()["containers"]
    environment = {item["name"].removeprefix("WAYPOST_").lower(): item["value"] for item in container["env"]}
    assert environment.keys() <= Settings.model_fields.keys()
    settings = Settings(**environment)
    assert (settings.base_url, len(settings.proxies)) == ("https://go.example.com", 1)
    assert environment["data_dir"].startswith(f"{container['volumeMounts'][0]['mountPath']}/")


def test_probes_and_ingress_lead_to_the_container() -> None:
    stateful, service, ingress = (_render(f"{name}.yaml") for name in ("statefulset", "service", "ingress"))
    template = stateful["spec"]["template"]
    (container,) = template["spec"]["containers"]
    paths = {probe: container[f"{probe}Probe"]["httpGet"] for probe in ("liveness", "startup", "readiness")}
    assert {probe: target["path"] for probe, target in paths.items()} == {
        "liveness": "/healthz",
        "startup": "/healthz",
        "readiness": "/healthz",
    }
    ports = {target["port"] for target in paths.values()} | {service["spec"]["ports"][0]["targetPort"]}
    assert ports == {container["ports"][0]["name"]}
    assert service["spec"]["selector"] == template["metadata"]["labels"] == stateful["spec"]["selector"]["matchLabels"]
    assert stateful["spec"]["serviceName"] == service["metadata"]["name"]
    (rule,) = ingress["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert (rule["host"], path["backend"]["service"]["name"]) == ("go.example.com", service["metadata"]["name"])
    assert path["backend"]["service"]["port"]["name"] == service["spec"]["ports"][0]["name"]
