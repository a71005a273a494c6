"""The packages of a release: built twice, and installed by a user without Node, compiler or clone."""

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import closing
from email.parser import Parser
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cyclonedx.schema import SchemaVersion

from scripts import publication, record_release
from tests.support.newcomer import shell_blocks
from tests.support.server import free_port
from waypost import __version__

ROOT = Path(__file__).resolve().parents[2]
UV = shutil.which("uv") or str(ROOT / ".tools" / "bin" / "uv")
_AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.com")
_NUMBERED_BY_YEAR = {"argon2-cffi", "structlog", "tzdata"}
_LICENSES = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "OFL-1.1",
    "PSF-2.0", "Python-2.0", "Zlib",
    "Unlicense",
    "License :: OSI Approved :: Apache Software License", "License :: OSI Approved :: BSD License",
    "LGPL-3.0-only", "MPL-2.0",  # libraries that are installed unchanged, next to waypost
}  # fmt: skip
_PYTHONS = ("311", "312", "313")
_UNDECLARED = {"htmx.org": "0BSD"}  # web/package-lock.json has no license of it; its LICENSE file has this one
_REPOSITORY = "https://code.example.com/waypost"
_CLIENT = f"waypost_client-{__version__}-py3-none-any.whl"
_WHEEL = f"waypost-{__version__}-py3-none-any.whl"


def _run(*command: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=250
    )


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with the current files in one commit, the address of the repository, and a tag."""
    folder = tmp_path_factory.mktemp("clone")
    listed = _run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder=ROOT).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    settings = folder / "pyproject.toml"
    settings.write_text(settings.read_text().replace('repository = ""', f'repository = "{_REPOSITORY}"'))
    for path, text in publication.files(folder, publication.read(folder)).items():
        path.write_text(text)
    record_release.record(folder, folder / record_release.RELEASES)
    commands = (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "all"), ("tag", f"v{__version__}"))
    assert all(_run("git", *_AUTHOR, *command, folder=folder).returncode == 0 for command in commands)
    return folder


@pytest.fixture(scope="module")
def release(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the files of a release."""
    folder = tmp_path_factory.mktemp("release")
    assert (_release(clone, folder).returncode, len(list(folder.glob("waypost*")))) == (0, 4)
    return folder


def _refusal(clone: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the message with which the script of a clone ends."""
    script = runpy.run_path(str(clone / "scripts" / "release.py"))
    monkeypatch.setattr(sys, "argv", ["release", UV, "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        script["main"]()
    return str(ended.value.code)


def _release(clone: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return _run(sys.executable, "-m", "scripts.release", UV, "--out", out, folder=clone)


def test_second_build_of_release_is_identical(clone: Path, release: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(clone, moved)
    (moved / "not-committed").write_text("not part of the release")
    assert _release(moved, tmp_path / "out").returncode == 0
    packages = (_WHEEL, f"waypost-{__version__}.tar.gz", _CLIENT)
    files = ("SHA256SUMS", *packages, f"waypost-{__version__}.cdx.json")
    for name in files:
        assert (release / name).read_bytes() == (tmp_path / "out" / name).read_bytes(), name
    for line in (release / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest
    assert [line.partition("  ")[2] for line in (release / "SHA256SUMS").read_text().splitlines()] == sorted(files[1:])


def test_release_without_matching_tag_is_refused(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(clone, copy)
    _run("git", "tag", "-d", f"v{__version__}", folder=copy)
    assert "git tag -a v1.0.0" in _refusal(copy, tmp_path / "out", monkeypatch)
    _run("git", "tag", "v0.0.9", folder=copy)
    assert "The tag is v0.0.9, but src/waypost/__init__.py has another version." in _refusal(
        copy, tmp_path / "out", monkeypatch
    )
    assert not (tmp_path / "out").exists()


def test_release_without_address_of_repository_is_refused(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(clone, copy)
    settings = (copy / "pyproject.toml").read_text()
    for value, reason in (
        ("", "Set `repository` in the table tool.waypost"),
        ("https://a.example.com", "Run make docs"),
    ):
        (copy / "pyproject.toml").write_text(
            settings.replace(f'repository = "{_REPOSITORY}"', f'repository = "{value}"')
        )
        _run("git", *_AUTHOR, "commit", "-q", "-a", "-m", "change", folder=copy)
        _run("git", "tag", "-f", f"v{__version__}", folder=copy)
        assert reason in _refusal(copy, tmp_path / "out", monkeypatch)
    assert not (tmp_path / "out").exists()


def test_release_without_record_of_its_migrations_is_refused(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(clone, copy)
    migration = copy / record_release.MIGRATIONS / "0001_initial.py"
    migration.write_text(f"{migration.read_text()}# changed\n")
    _run("git", *_AUTHOR, "commit", "-q", "-a", "-m", "change", folder=copy)
    _run("git", "tag", "-f", f"v{__version__}", folder=copy)
    assert "Run python -m scripts.record_release" in _refusal(copy, tmp_path / "out", monkeypatch)


def test_wheel_contains_assets_messages_and_deployment_files(release: Path) -> None:
    with zipfile.ZipFile(release / _WHEEL) as wheel:
        names = set(wheel.namelist())
        (metadata_file,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(wheel.read(metadata_file).decode())
    assert {f"waypost/deploy/{path.name}" for path in (ROOT / "deploy").iterdir()} <= names
    assert "waypost/dashboard/static/manifest.json" in names
    assert "waypost/visits/locales/de/LC_MESSAGES/messages.mo" in names
    assert {"waypost/media/qrcode/font/roboto-bold.ttf", "waypost/media/qrcode/font/LICENSE.txt"} <= names
    for database in ("sqlite", "postgresql"):
        assert f"waypost/db/migrations/versions/0001_initial.{database}.sql" in names
    assert [name for name in names if name.endswith(".po")] == []
    fields = (
        "Summary",
        "Author",
        "License-Expression",
        "License-File",
        "Keywords",
        "Requires-Python",
        "Description-Content-Type",
    )
    assert [name for name in fields if not metadata[name]] == []
    assert (metadata["Version"], metadata["Requires-Python"]) == (__version__, ">=3.11")
    assert any(line.startswith("Topic ::") for line in metadata.get_all("Classifier", []))
    assert f"Repository, {_REPOSITORY}" in metadata.get_all("Project-URL", [])


def test_client_is_installed_into_an_empty_environment(release: Path, tmp_path: Path) -> None:
    python = tmp_path / "environment" / "bin" / "python"
    assert _run(UV, "venv", "--quiet", "environment", folder=tmp_path).returncode == 0
    assert _run(UV, "pip", "install", "--quiet", "--python", python, release / _CLIENT, folder=tmp_path).returncode == 0
    listed = _run(UV, "pip", "freeze", "--python", python, folder=tmp_path).stdout
    assert {line.partition("==")[0] for line in listed.splitlines()} >= {"httpx"}
    assert "pydantic" not in listed
    script = "from waypost_client import Waypost, __version__; print(__version__, Waypost('http://localhost', 'key'))"
    assert _run(python, "-c", script, folder=tmp_path).stdout == f"{__version__} Waypost('http://localhost')\n"


def test_source_distribution_contains_no_built_files(release: Path) -> None:
    with tarfile.open(release / f"waypost-{__version__}.tar.gz") as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {"LICENSE", "web/package-lock.json", "deploy/Dockerfile", "scripts/build_web.py"} <= set(names)
    assert [name for name in names if "/static/" in name or name.endswith((".mo", ".ttf"))] == []


def test_bill_of_materials_lists_every_component(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415  # takes more than a second, in each process
    from jsonschema import Draft7Validator  # noqa: PLC0415  # takes more than a second, in each process

    # Each URI reference is an IRI reference, and is checked in a hundredth of the time.
    checkers = Draft7Validator.FORMAT_CHECKER.checkers
    monkeypatch.setitem(checkers, "iri-reference", checkers["uri-reference"])
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    text = (release / f"waypost-{__version__}.cdx.json").read_text()
    assert validator.validate_str(text) is None
    assert validator.validate_str(text.replace('"url": "https://', '"url": "https:// ', 1)) is not None
    bom = json.loads(text)
    assert (bom["metadata"]["component"]["name"], bom["metadata"]["component"]["version"]) == ("waypost", __version__)
    listed = {component["name"].lower().replace("_", "-") for component in bom["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    python = {_name(requirement) for requirement in project["dependencies"]}
    web = json.loads((ROOT / "web" / "package.json").read_text())["dependencies"].keys()
    assert python | web | {"font-roboto"} <= listed  # the font is in the wheel


def test_license_of_every_component_permits_distribution(release: Path) -> None:
    bom = json.loads((release / f"waypost-{__version__}.cdx.json").read_text())
    refused = {}
    for component in bom["components"]:
        entries = component.get("licenses") or [{"expression": _UNDECLARED.get(component["name"], "")}]
        names = [entry.get("expression") or entry["license"].get("id") or entry["license"]["name"] for entry in entries]
        words = {word.strip("() ") for name in names for word in re.split(r" (?:AND|OR) ", name)}
        if not words or words - _LICENSES:
            refused[component["name"]] = words - _LICENSES
    assert refused == {}


def _name(requirement: str) -> str:
    return requirement.partition(">")[0].partition("[")[0]


def test_dependency_on_next_major_version_is_excluded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    unbounded = {_name(requirement) for requirement in project["dependencies"] if "<" not in requirement}
    assert unbounded == _NUMBERED_BY_YEAR


def test_every_package_of_an_installation_has_a_wheel_for_each_python_and_machine() -> None:
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    needed, pending = set[str](), ["waypost"]
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        needed.add(name)
        for package in (package for package in locked if package["name"] == name):
            extras = package.get("optional-dependencies", {}).values()
            edges = [*package.get("dependencies", ()), *(edge for extra in extras for edge in extra)]
            pending += [edge["name"] for edge in edges if "win32" not in edge.get("marker", "")]
    built = {
        (package["name"], python, machine)
        for package in locked
        if package["name"] in needed - {"waypost"}
        for python in _PYTHONS
        for machine in ("x86_64", "aarch64")
        if not any(_fits(wheel["url"], python, machine) for wheel in _of_all_versions(locked, package["name"]))
    }
    assert "fonttools" in needed
    assert built == set()


def _of_all_versions(locked: list[dict[str, Any]], name: str) -> Iterator[dict[str, str]]:
    """Yield the wheels of a package, which can have several versions in the lock file."""
    for package in locked:
        if package["name"] == name:
            yield from package.get("wheels", ())


def _fits(url: str, python: str, machine: str) -> bool:
    """Return whether a wheel is for a version of Python, such as "311", on Linux with glibc on this machine."""
    pythons, abi, platforms = url.rpartition("/")[2].removesuffix(".whl").split("-")[-3:]
    is_python = f"cp{python}" in pythons or "py3" in pythons or (abi == "abi3" and int(pythons[2:]) <= int(python))
    return is_python and (platforms == "any" or ("manylinux" in platforms and machine in platforms))


def _other_pythons() -> dict[str, Path]:
    """Return the supported interpreters of this machine by version, such as "312", without the running one."""
    pythons = {}
    for version in _PYTHONS:
        name = f"python{version[0]}.{version[1:]}"
        places = [*Path.home().glob(f".pyenv/versions/*/bin/{name}"), *map(Path, filter(None, [shutil.which(name)]))]
        working = [path for path in places if _run(path, "-c", "import ssl, sqlite3", folder=ROOT).returncode == 0]
        if working and f"{sys.version_info.major}{sys.version_info.minor}" != version:
            pythons[version] = working[0]
    return pythons


def _installations() -> dict[str, tuple[str, Path]]:
    """Return pip with the running Python, and uvx with each other one of this machine; with this one if it is alone."""
    others = _other_pythons() or {"running": Path(sys.executable)}
    return {"pip": ("pip", Path(sys.executable)), **{f"uvx-{name}": ("uvx", path) for name, path in others.items()}}


@pytest.mark.parametrize(("installer", "python"), _installations().values(), ids=_installations())
def test_installed_wheel_serves_in_empty_folder_without_node_and_compiler(
    release: Path, tmp_path: Path, installer: str, python: Path
) -> None:
    folder, tools = tmp_path / "empty", tmp_path / "tools"
    folder.mkdir()
    tools.mkdir()
    for name in ("dirname", "realpath", "sh"):  # uv's scripts start with them
        (tools / name).symlink_to(str(shutil.which(name)))
    environment = {"PATH": str(tools), "PIP_COMPILE": "0"}  # only modules that run are compiled
    if installer == "pip":
        shutil.copy(release / _WHEEL, folder)
        (tools / "python3").symlink_to(sys.executable)
        (block,) = (block for block in shell_blocks(ROOT / "README.md") if _WHEEL in block)
        *install, serve = block.splitlines()
        for line in install:
            completed = _run(*line.split(), folder=folder, **environment)
            assert completed.returncode == 0, completed.stderr
        assert serve == ".venv/bin/waypost serve"
        waypost: tuple[str | Path, ...] = (folder / ".venv" / "bin" / "waypost",)
    else:
        waypost = (UV, "tool", "run", "--quiet", "--python", python, "--from", release / _WHEEL, "waypost")
    printed = _run(*waypost, "version", folder=folder, **environment)
    assert (printed.stdout, printed.stderr) == (f"{__version__}\n", "")
    _run(*waypost, "deploy-files", tmp_path / "copied", folder=folder, **environment)
    assert {path.name for path in (tmp_path / "copied").iterdir()} == {
        path.name for path in (ROOT / "deploy").iterdir()
    }
    _serve_and_visit(waypost, folder, environment)
    assert {path.name for path in folder.iterdir()} - {".venv", _WHEEL} == {"data"}


def test_classifiers_are_the_tested_pythons() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = [line.rpartition(" ")[2].replace(".", "") for line in classifiers if ":: Python :: 3." in line]
    assert versions == [*_PYTHONS]


def _serve_and_visit(waypost: tuple[str | Path, ...], folder: Path, environment: dict[str, str]) -> None:
    """Start the service and request pages that need the compiled assets and messages."""
    port = free_port()
    settings = {"WAYPOST_PORT": str(port), "WAYPOST_DATA_DIR": "data"}
    log = folder.parent / "serve.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*waypost, "serve"], cwd=folder, env={**os.environ, **environment, **settings}, stdout=out, stderr=out
        )
    try:
        with closing(httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60)) as client:
            _wait_for(client, process, log)
            key = (folder / "data" / "first-sign-in-1.txt").read_text().partition("API key")[2].split()[0]
            authorization = {"Authorization": f"Bearer {key}"}
            assert client.get("/api/account", headers=authorization).json()["error"] == 0
            link = {"url": "https://example.com/", "custom": "spring"}
            assert client.post("/api/url/add", headers=authorization, json=link).json()["error"] == 0
            assert client.get("/spring").headers["location"] == link["url"]
            login = client.get("/dashboard/login", follow_redirects=True)
            style = login.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
            assert client.get(style).status_code == 200
            missing = client.get("/missing", headers={"Accept": "text/html", "Accept-Language": "de"})
            assert (missing.status_code, 'lang="de"' in missing.text) == (404, True)
    finally:
        process.terminate()
        process.wait(60)


def _wait_for(client: httpx2.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        try:
            client.get("/healthz")
        except httpx2.TransportError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(log.read_text())
