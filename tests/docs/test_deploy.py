"""Files in deploy/ fit the service; no container engine is needed."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.load import until
from tests.support.nodes import database_copy
from tests.support.server import free_port, serving
from tests.support.system_packages import program
from waypost import __version__
from waypost.core.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = ("compose.one.yaml", "compose.many.yaml")
_GIVEN = {"WAYPOST_SITE": "go.example.com", "POSTGRES_PASSWORD": "secret", "STORAGE_SECRET": "testing"}


def _compose(name: str) -> dict[str, Any]:
    """The compose file with required variables filled in; each must be explained in a comment."""
    text = re.sub(r"\$\{(\w+):\?[^}]+\}", lambda variable: _GIVEN[variable[1]], (DEPLOY / name).read_text())
    assert "${" not in text
    compose: dict[str, Any] = yaml.safe_load(text)
    return compose


def _nodes(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        name: service for name, service in compose["services"].items() if service["image"] == f"waypost:{__version__}"
    }


def _instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) of the Dockerfile."""
    lines = (line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if not line.startswith("#"))
    text = "\n".join(lines).replace("\\\n", " ")
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines() if line.strip())]


def _last(name: str) -> str:
    return dict(_instructions())[name].strip()


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_file_is_complete(name: str) -> None:
    compose = _compose(name)
    services, volumes, networks = compose["services"], set(compose["volumes"]), set(compose["networks"])
    used: list[str] = []
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        assert set(service["networks"]) <= networks
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            used += [] if source.startswith(".") else [source]
            assert source in volumes or (DEPLOY / source).is_file()
    assert sorted(used) == sorted(volumes)  # each by one: no two nodes write into the same folder
    for node in _nodes(compose).values():
        assert node["read_only"] is True
        assert (node["cap_drop"], node["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
        assert (DEPLOY / node["build"]["context"] / node["build"]["dockerfile"]).samefile(DEPLOY / "Dockerfile")
        environment = node["environment"].items()
        settings = {key[8:].lower(): value for key, value in environment if key.startswith("WAYPOST_")}
        assert Settings(**settings).proxies
        assert settings["trusted_proxies"].split(", ") == list(services["caddy"]["networks"]["inside"].values())
    assert compose["networks"]["inside"]["enable_ipv6"] is True  # else IPv6 visitors share an address
    addresses = services["caddy"]["networks"]["inside"].values()
    for address, network in zip(addresses, compose["networks"]["inside"]["ipam"]["config"], strict=True):
        of_caddy, subnet, others = ip_address(address), ip_network(network["subnet"]), ip_network(network["ip_range"])
        assert of_caddy in subnet
        assert others.subnet_of(subnet)  # type: ignore[arg-type]  # both have the same version
        assert of_caddy not in others  # else Docker gives it to a container that starts before Caddy
        assert ip_address(network["gateway"]) not in others
    pinned = [service["image"] for service in services.values() if not service["image"].startswith("waypost:")]
    assert [image for image in pinned if not re.search(r":\d+\.\d+", image)] == []
    assert [name for name, service in services.items() if "max-size" not in service["logging"]["options"]] == []
    assert services["caddy"]["ports"] == ["80:80", "443:443", "443:443/udp"]
    environment = services["caddy"]["environment"]
    assert set(re.findall(r"\{\$(\w+):", (DEPLOY / "Caddyfile").read_text())) == set(environment)
    assert environment["WAYPOST_NODES"].split() == [f"{node}:8000" for node in _nodes(compose)]
    assert environment["WAYPOST_ASK"] == f"http://{next(iter(_nodes(compose)))}:8000/tls/ask"


def test_image_copies_existing_files_and_runs_unprivileged() -> None:
    names = "FROM RUN COPY WORKDIR ENV LABEL USER VOLUME EXPOSE HEALTHCHECK ENTRYPOINT CMD"
    assert {name for name, _ in _instructions()} == set(names.split())
    included = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name, arguments in _instructions():
        if name == "COPY" and "--from" not in arguments:
            *sources, _target = arguments.split()
            assert all((ROOT / source).exists() for source in sources)
            assert all(
                any(fnmatch.fnmatch(source.removeprefix("./"), pattern) for pattern in included) for source in sources
            )
    assert int(_last("USER")) > 0
    settings = dict(re.findall(r"WAYPOST_(\w+)=(\S+)", _last("ENV")))
    assert settings == {"DATA_DIR": _last("VOLUME"), "HOST": "0.0.0.0", "PORT": _last("EXPOSE")}


def test_image_is_pinned_and_keeps_data_private() -> None:
    images = {arguments.partition(" ")[0] for name, arguments in _instructions() if name == "FROM"}
    assert len(images) == 1
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", images.pop())
    assert f"install -d -o waypost -g waypost -m 0700 {_last('VOLUME')}" in " ".join(
        arguments for name, arguments in _instructions() if name == "RUN"
    )


_WEED = """#!/bin/sh
# Stands for the shell of SeaweedFS: fails once, as while the store starts; then creates and lists buckets.
read command
echo "$command" >> "$0.log"
[ "$(wc -l < "$0.log")" -gt 2 ] || { echo "connection refused" >&2; exit 1; }
case "$command" in
  "s3.bucket.create -name "*) echo "${command##* }" >> "$0.buckets" ;;
  s3.bucket.list) [ ! -f "$0.buckets" ] || sed "s/^/  /" "$0.buckets" ;;
esac
"""


def test_bucket_is_created_once_before_nodes_start(tmp_path: Path) -> None:
    compose = _compose("compose.many.yaml")
    service = compose["services"]["bucket"]
    for node in _nodes(compose).values():
        assert node["depends_on"]["bucket"] == {"condition": "service_completed_successfully"}
        assert node["environment"]["WAYPOST_STORAGE_URL"].startswith("s3://waypost/")
    assert service["image"] == compose["services"]["store"]["image"]
    (tmp_path / "weed").write_text(_WEED)
    (tmp_path / "weed").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.defpath}"}
    for _ in range(2):
        command = [*service["entrypoint"], *service["command"]]
        completed = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=30)
        assert completed.returncode == 0
    assert (tmp_path / "weed.buckets").read_text() == "waypost\n"


def test_dockerfile_passes_hadolint() -> None:
    linter = Path(sys.executable).parent / "hadolint"
    completed = subprocess.run([linter, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stdout) == (0, "")


def test_build_context_contains_everything_for_the_package(tmp_path: Path) -> None:
    """The front end is that of the checkout. It is built again if a file of web/ differs or is missing."""
    context, static = tmp_path / "sent", Path("src/waypost/dashboard/static")
    shutil.copytree(ROOT / static, context / static)
    for arguments in (arguments for name, arguments in _instructions() if name == "COPY" and "--from" not in arguments):
        *sources, target = arguments.split()
        for source in sources:
            _send(Path(source), context / target)
    uv = shutil.which("uv") or ROOT / ".tools" / "bin" / "uv"
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", tmp_path, context], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    ours = (path for path in (ROOT / "src").rglob("*.*") if not {"static", "__pycache__"} & set(path.parts))
    assert {
        path.relative_to(ROOT / "src").as_posix() for path in ours if path.is_file() and path.suffix != ".po"
    } <= packed
    assert "waypost/dashboard/static/manifest.json" in packed


def _send(source: Path, target: Path) -> None:
    """Copy a file, or the content of a folder, as COPY does with .dockerignore."""
    excluded = [line for line in (ROOT / ".dockerignore").read_text().splitlines()[1:] if not line.startswith("!")]
    for path in [path for path in (ROOT / source).rglob("*") if path.is_file()] or [ROOT / source]:
        name = path.relative_to(ROOT)
        if not any(fnmatch.fnmatch(str(part), pattern) for part in (name, *name.parents) for pattern in excluded):
            place = target / name.relative_to(source if (ROOT / source).is_dir() else source.parent)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


def test_node_starts_like_its_container_and_is_healthy(postgres: str, tmp_path: Path) -> None:
    compose = _compose("compose.many.yaml")
    node = _nodes(compose)["waypost-1"]
    assert (json.loads(_last("ENTRYPOINT")), node["command"], json.loads(_last("CMD"))) == (
        ["waypost"],
        ["serve"],
        ["serve"],
    )
    settings = {
        key.removeprefix("WAYPOST_").lower(): value
        for key, value in node["environment"].items()
        if key.startswith("WAYPOST_")
    }
    port = free_port()
    check = json.loads(_last("HEALTHCHECK").partition("CMD")[2])
    assert check[0] == "python"
    requests = [sys.executable, *(word.replace(":8000/", f":{port}/") for word in check[1:])]

    def is_healthy() -> bool:
        return subprocess.run(requests, capture_output=True, check=False).returncode == 0

    assert not is_healthy()
    with database_copy(postgres, "template") as url, serving(tmp_path, port=port, **{**settings, "database_url": url}):
        until(is_healthy)


def test_systemd_unit_passes_verification(tmp_path: Path) -> None:
    unit = (DEPLOY / "waypost.service").read_text()
    command = re.search(r"^ExecStart=/opt/waypost/\.venv/bin/(\S+) (\S+)$", unit, re.M)
    assert command is not None
    assert command.groups() == ("waypost", "serve")
    analyze = program("systemd-analyze", "systemd")
    (tmp_path / "waypost.service").write_text(unit.replace("/opt/waypost/.venv/bin/waypost", sys.executable))
    completed = subprocess.run(
        [analyze, "verify", "--man=no", tmp_path / "waypost.service"], capture_output=True, text=True, check=False
    )
    warnings = [line for line in completed.stderr.splitlines() if "waypost.service" in line]
    assert (completed.returncode, warnings) == (0, [])
