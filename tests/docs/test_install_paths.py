"""The ways to install: each line of the documents in an empty environment, without a container engine."""

import json
import os
import re
import runpy
import shutil
import ssl
import subprocess
import sys
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from scripts import publication
from tests.support.locked_packages import locked_index
from tests.support.newcomer import shell_blocks
from tests.support.source import ROOT
from tests.support.threads import in_thread

_REGISTRY = re.compile(r"uvx waypost|pip install (?:--\S+ )*'?waypost(?!-….whl|-[\d.]+-py3)|github\.com/[^/]+/waypost")
_RELEASED = publication.Publication(publication.FIRST, "https://code.example.com/waypost")
_MARKS = re.compile(r"^ *<!-- install: .*?^ *<!-- end of install -->\n", re.M | re.S)
# Stands for docker compose: interpolates the file from the environment and the .env of its folder, for every command.
_DOCKER = r"""
import os, pathlib, re, sys
assert sys.argv[1:3] == ["compose", "-f"], sys.argv
file = pathlib.Path(sys.argv[3])
assert file.is_file(), file
lines = (file.parent / ".env").read_text().splitlines() if (file.parent / ".env").exists() else []
values = dict(line.partition("=")[::2] for line in lines if "=" in line and not line.startswith("#"))
values |= os.environ
for name, rule, message in re.findall(r"\$\{(\w+)(:\?)([^}]*)\}", file.read_text()):
    if not values.get(name):
        sys.exit(f'required variable {name} is missing a value: {message}')
"""


def _tree(folder: Path) -> None:
    """Copy the files of the source, without what a build leaves."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def test_setup_without_uv_installs_with_pip(tmp_path: Path) -> None:
    source, tools = tmp_path / "Größe x", tmp_path / "tools"
    tools.mkdir()
    _tree(source)
    static = "src/waypost/dashboard/static"  # built already, so that the test needs no npm registry
    shutil.copytree(ROOT / static, source / static)
    (tools / "uv").write_text("#!/bin/sh\nexit 1\n")
    (tools / "uv").chmod(0o755)
    index = locked_index(tmp_path / "index")
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": os.environ["HOME"],
        "PIP_INDEX_URL": index,
        "PIP_COMPILE": "0",
        "LC_ALL": "C",  # with it, Python reads .pth files as ASCII
    }
    command = ["make", "install", f"PYTHON={sys.executable}"]
    completed = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert "Setup with uv failed; trying venv and pip." in completed.stderr
    assert completed.returncode == 0, completed.stderr
    waypost = source / ".venv" / "bin" / "waypost"
    printed = subprocess.run([waypost, "version"], env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout == f"{publication.read(ROOT).version}\n"


@pytest.mark.parametrize("dev", [False, True])
def test_requirements_for_pip_are_those_of_uv(*, dev: bool) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "setup.py"))
    lines = script["requirements"]((ROOT / "uv.lock").read_text(), dev)
    uv = shutil.which("uv") or ROOT / ".tools" / "bin" / "uv"
    export = [uv, "export", "--quiet", "--frozen", "--no-emit-local", "--no-hashes", "--no-annotate", "--no-header"]
    exported = subprocess.run(
        [*export, *([] if dev else ["--no-dev"])], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {line.split()[0] for line in lines} == {line.split()[0] for line in exported.stdout.splitlines()}
    assert [line for line in lines if "--hash=sha256:" not in line] == []


class _Quiet(BaseHTTPRequestHandler):
    """Answers every request like a registry."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


def test_npm_trusts_certificates_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "system.pem"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))  # the place of the system's certificates
    monkeypatch.delenv("NODE_EXTRA_CA_CERTS", raising=False)
    script = runpy.run_path(str(ROOT / "scripts" / "build_web.py"))
    node, npm = script["_node"]()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Quiet)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with in_thread(server):
        registry = f"--registry=https://localhost:{server.server_port}/"
        command = [node, npm, "ping", registry, "--fetch-retries=0", f"--cache={tmp_path / 'cache'}"]
        environment = {**script["_environment"](), "no_proxy": "*", "npm_config_cafile": ""}
        completed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr


@pytest.mark.parametrize("name", ["README.md", "docs/containers.md"])
def test_lines_for_docker_work_one_by_one(name: str, tmp_path: Path) -> None:
    source, tools = tmp_path / "source", tmp_path / "tools"
    shutil.copytree(ROOT / "deploy", source / "deploy", ignore=shutil.ignore_patterns(".env"))
    tools.mkdir()
    (tools / "docker").write_text(f"#!{sys.executable}\n{_DOCKER}")
    (tools / "docker").chmod(0o755)
    blocks = [block for block in shell_blocks(ROOT / name) if "deploy/" in block]
    lines = "".join(blocks).replace("||\n", "||").splitlines()
    assert any("docker compose" in line for line in lines)
    environment = {"PATH": f"{tools}:{os.defpath}"}
    without_file = subprocess.run([tools / "docker", *_last(lines)], cwd=source, env=environment, check=False)
    assert without_file.returncode == 1
    for line in lines:  # each in a shell of its own
        completed = subprocess.run(
            ["sh", "-c", line], cwd=source, env=environment, capture_output=True, text=True, check=False
        )
        assert completed.returncode == 0, (line, completed.stderr)
    assert (source / "deploy" / ".env").stat().st_mode & 0o777 == 0o600


def _last(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("docker")][-1].split()[1:]


@cache
def _commands_of_compose() -> list[tuple[str, str]]:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "deploy").glob("compose*")]
    return [
        (page.name, command) for page in pages for command in re.findall(r"docker compose [^`\n]*", page.read_text())
    ]


def test_every_command_of_compose_names_its_file() -> None:
    """Without -f, compose finds no file, and no .env."""
    assert _commands_of_compose()
    assert [line for line in _commands_of_compose() if " -f deploy/compose." not in line[1]] == []


def test_secrets_of_compose_are_in_no_package(tmp_path: Path) -> None:
    assert "deploy/.env" in (ROOT / ".dockerignore").read_text().splitlines()
    assert "/deploy/.env" in (ROOT / ".gitignore").read_text().splitlines()
    wheel: dict[str, Any] = {"force_include": {}}
    hook = runpy.run_path(str(ROOT / "scripts" / "build_web.py"))["FrontEnd"]
    (tmp_path / "deploy").mkdir()
    for name in (".env", "Caddyfile"):
        (tmp_path / "deploy" / name).write_text("secret")
    hook.pack_deployment(tmp_path, wheel)
    assert list(wheel["force_include"].values()) == ["waypost/deploy/Caddyfile"]


def test_lines_that_need_a_registry_are_written_by_the_publication() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        assert _REGISTRY.findall(_MARKS.sub("", page.read_text())) == [], page.name


def test_release_turns_on_lines_for_registries_and_addresses() -> None:
    unreleased = publication.files(ROOT, publication.Publication(publication.FIRST, ""))
    released = publication.files(ROOT, _RELEASED)
    remark = f"rom release {publication.FIRST} on"
    pages = ("index", "systemd", "upgrading", "mcp", "monitoring", "remote", "client")
    for name in ("README.md", *(f"docs/{page}.md" for page in pages)):
        assert remark in unreleased[ROOT / name], name
        assert remark not in released[ROOT / name], name
    guides = ("README.md", "docs/index.md", "docs/systemd.md", "docs/containers.md", "CONTRIBUTING.md")
    for name in (*guides, "pyproject.toml", "client/pyproject.toml", "deploy/Dockerfile"):
        assert _RELEASED.repository in released[ROOT / name], name
        assert _RELEASED.repository not in unreleased[ROOT / name], name
    assert re.search(r"^git clone https://code.example.com/waypost waypost$", released[ROOT / "README.md"], re.M)


def test_documents_begin_with_the_source(tmp_path: Path) -> None:
    for name in ("README.md", "docs/index.md"):
        assert shell_blocks(ROOT / name)[0].splitlines()[-1].startswith("make run")


def test_site_links_to_the_repository_of_the_release() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "build_site.py"))
    assert json.dumps(_RELEASED.repository) in script["project_settings"](_RELEASED)
    assert "repo_url" not in script["project_settings"](publication.Publication("1.0.0", ""))
