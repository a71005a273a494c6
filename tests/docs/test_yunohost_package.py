"""The package for YunoHost: manifest, configuration, and scripts with functions in place of those of YunoHost."""

import getpass
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scripts import publication
from tests.support.cli import create_installation
from tests.support.source import ROOT
from tests.support.system_packages import program
from waypost import __version__
from waypost.core.settings import Settings

_PACKAGE = ROOT / "catalogs" / "yunohost"
_SCRIPTS = ("install", "remove", "upgrade", "backup", "restore", "change_url")
_NAME, _SIZE = {"type": "string", "minLength": 1}, {"type": "string", "pattern": "^[0-9]+[KMG]$"}
_TEXTS = {
    "type": "object",
    "required": ["en"],
    "patternProperties": {"^[a-z]{2}$": _NAME},
    "additionalProperties": False,
}


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


_INTEGRATION = _closed(
    ["yunohost", "helpers_version", "architectures", "multi_instance", "ldap", "sso", "disk", "ram"],
    yunohost={"type": "string", "pattern": r"^>= [0-9]+(\.[0-9]+)*$"},
    helpers_version={"const": "2.1"},
    architectures={"type": "array", "items": {"enum": ["amd64", "arm64"]}},
    **{name: {"type": "boolean"} for name in ("multi_instance", "ldap", "sso")},
    disk=_SIZE,
    ram=_closed(["build", "runtime"], build=_SIZE, runtime=_SIZE),
)
_RESOURCES = _closed(
    ["system_user", "install_dir", "data_dir", "permissions", "ports", "apt"],
    system_user=_closed([]),
    install_dir=_closed([]),
    data_dir=_closed([], owner=_NAME, group=_NAME),
    permissions=_closed(["main"], main=_closed(["url"], url={"const": "/"}, auth_header={"const": False})),
    ports=_closed(["main"], main=_closed(["default"], default={"type": "integer"})),
    apt=_closed(["packages"], packages=_NAME),
)
_QUESTIONS = {name: _closed(["type"], type={"const": kind}) for name, kind in (("domain", "domain"), ("admin", "user"))}
_QUESTIONS["init_main_permission"] = _closed(["type"], type={"const": "group"}, default={"const": "visitors"})
_MANIFEST = _closed(
    ["packaging_format", "id", "name", "description", "version", "maintainers", "upstream", "integration", "install"],
    packaging_format={"const": 2},
    id={"const": "waypost"},
    name=_NAME,
    description=_TEXTS,
    version={"type": "string", "pattern": r"^[0-9a-z]+([.+-][0-9a-z]+)*~ynh[0-9]+$"},
    maintainers={"type": "array", "items": _NAME},
    upstream=_closed(["license"], license=_NAME),
    integration=_INTEGRATION,
    install=_closed([*_QUESTIONS], **_QUESTIONS),
    resources=_RESOURCES,
)
_HELPERS = """
install_environment() { mkdir -p "$install_dir" && ln -sfn "$environment" "$install_dir/venv"; }
ynh_config_add() {
    local template="${1#*=}" destination="${2#*=}" name
    cp "$YNH_APP_BASEDIR/conf/$template" "$destination"
    for name in $(grep -oE '__[A-Z_]+__' "$destination" | sort -u); do
        local variable="${name//__/}"
        variable="${variable,,}"
        [[ -v "$variable" ]] || { echo "$variable is not set" >&2; exit 1; }
        sed -i "s|$name|${!variable}|g" "$destination"
    done
}
ynh_config_add_nginx() { echo nginx >> "$calls"; }
ynh_config_change_url_nginx() { echo nginx >> "$calls"; }
ynh_config_add_systemd() { echo systemd >> "$calls"; }
ynh_config_remove_nginx() { echo "remove nginx" >> "$calls"; }
ynh_config_remove_systemd() { echo "remove systemd" >> "$calls"; }
ynh_app_setting_set() { echo "set $1 $2" >> "$calls"; }
ynh_user_get_info() { echo "$admin@example.com"; }
ynh_systemctl() { echo "$*" >> "$calls"; }
ynh_exec_as_app() { "$@"; }
ynh_hide_warnings() { "$@"; }
ynh_script_progression() { :; }
ynh_print_info() { :; }
ynh_print_warn() { echo "warn $1" >> "$calls"; }
ynh_backup() { echo "backup $1" >> "$calls"; }
ynh_restore() { echo "restore $1" >> "$calls"; }
yunohost() { echo "yunohost $*" >> "$calls"; }
systemctl() { :; }
"""


class _Server:
    """A server with YunoHost: the package, the folders of the app, and the calls of helpers."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data, self.program = folder, folder / "data", folder / "app"
        self.calls = folder / "calls"
        self.program.mkdir()
        shutil.copytree(_PACKAGE, folder / "settings")
        (folder / "helpers").write_text(_HELPERS)
        (folder / "work").mkdir()
        for script in (folder / "settings" / "scripts").iterdir():
            script.write_text(script.read_text().replace("/usr/share/yunohost/helpers", str(folder / "helpers")))

    def run(self, name: str, **variables: str) -> list[str]:
        """Run a script. Return the calls of helpers."""
        self.calls.write_text("")
        own = {"app": getpass.getuser(), "domain": "go.example.com"}
        own |= {"install_dir": str(self.program), "data_dir": str(self.data), "port": "8123", "admin": "ana"}
        own |= {"email": "ana@example.com", "environment": sys.prefix, "calls": str(self.calls)}
        environment = {**os.environ, "YNH_APP_BASEDIR": str(self.folder / "settings"), **own, **variables}
        folder = self.folder / ("work" if name in ("backup", "restore") else "settings/scripts")
        script = self.folder / "settings" / "scripts" / name
        subprocess.run(["bash", "-eu", str(script)], cwd=folder, env=environment, check=True, timeout=120)
        return self.calls.read_text().splitlines()

    @property
    def written(self) -> dict[str, Any]:
        return tomllib.loads((self.program / "waypost.toml").read_text())


@pytest.fixture
def server(tmp_path: Path, sqlite_template: Path) -> _Server:
    create_installation(tmp_path / "data", sqlite_template)
    return _Server(tmp_path)


def test_manifest_has_the_fields_of_format_2_and_the_version() -> None:
    from jsonschema import Draft7Validator  # noqa: PLC0415  # takes more than a second, in each process

    manifest = tomllib.loads((_PACKAGE / "manifest.toml").read_text())
    assert [error.message for error in Draft7Validator(_MANIFEST).iter_errors(manifest)] == []
    assert manifest["version"] == f"{__version__}~ynh1"
    assert manifest["upstream"]["license"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]


def test_each_release_writes_its_version_into_the_manifest() -> None:
    written = publication.files(ROOT, publication.Publication("1.2.3", "https://code.example.com/waypost"))
    assert tomllib.loads(written[_PACKAGE / "manifest.toml"])["version"] == "1.2.3~ynh1"


def test_package_has_every_script_and_shellcheck_finds_nothing() -> None:
    scripts = sorted(path.name for path in (_PACKAGE / "scripts").iterdir())
    assert scripts == sorted([*_SCRIPTS, "_common.sh"])
    command = [program("shellcheck", "shellcheck"), "--shell=bash", *scripts]
    subprocess.run(command, cwd=_PACKAGE / "scripts", check=True, timeout=60)


def test_unit_protects_the_system_as_the_unit_of_the_source() -> None:
    def lines(path: Path) -> set[str]:
        return {line for line in path.read_text().splitlines() if re.match(r"[A-Z]\w+=", line)}

    own = lines(_PACKAGE / "conf" / "systemd.service")
    missing = {line.partition("=")[0] for line in lines(ROOT / "deploy" / "waypost.service") - own}
    # These lines name the folders, the user and the environment, or a reload that the package does not use.
    folders = {"Environment", "EnvironmentFile", "StateDirectory", "StateDirectoryMode", "DynamicUser", "ProtectHome"}
    assert missing <= folders | {"Description", "ExecStart", "WorkingDirectory"}
    assert {"ProtectHome=tmpfs", "BindPaths=__DATA_DIR__", "User=__APP__"} <= own


def test_proxy_passes_requests_to_the_port_and_hides_metrics() -> None:
    text = (_PACKAGE / "conf" / "nginx.conf").read_text()
    assert re.findall(r"__\w+?__", text) == ["__PORT__"]
    assert re.search(r"location = /metrics \{\s+return 404;\s+\}", text)
    source = (ROOT / "deploy" / "nginx.conf").read_text()
    for name in ("client_max_body_size", "proxy_max_temp_file_size", "proxy_buffer_size", "proxy_buffers"):
        (value,) = re.findall(rf"{name} .+;", source)
        assert value in text


def test_installation_writes_settings_that_the_service_reads(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = server.run("install", email="")
    assert [call for call in calls if call.startswith("--")] == [f"--service={getpass.getuser()} --action=start"]
    monkeypatch.chdir(server.program)
    settings = Settings()
    assert (settings.base_url, settings.port, settings.data_dir) == ("https://go.example.com", 8123, server.data)
    assert (settings.owner_email, settings.trusted_proxies) == ("ana@example.com", "127.0.0.1")


def test_upgrade_stops_the_service_before_and_starts_it_after(server: _Server) -> None:
    calls = server.run("upgrade")
    assert [call.rpartition("=")[2] for call in calls if call.startswith("--")] == ["stop", "start"]


def test_new_domain_keeps_the_old_one_as_former_host(server: _Server) -> None:
    server.run("change_url", domain="new.example.com", old_domain="go.example.com")
    assert server.written["base_url"] == "https://new.example.com"
    assert server.written["former_hosts"] == "go.example.com"
    server.run("change_url", domain="go.example.com", old_domain="new.example.com", former_hosts="go.example.com")
    assert server.written["former_hosts"] == "new.example.com"


def test_backup_is_restored_and_data_that_was_there_is_kept(server: _Server) -> None:
    server.run("install", email="")
    calls = server.run("backup")
    archive = server.folder / "work" / "waypost.tar.gz"
    assert archive.stat().st_mode & 0o077 == 0
    saved = {call.partition(" ")[2] for call in calls if call.startswith("backup")}
    assert str(server.program / "waypost.toml") in saved
    (server.data / "written-later").touch()
    calls = server.run("restore")
    assert {call.partition(" ")[2] for call in calls if call.startswith("restore")} == saved
    with closing(sqlite3.connect(server.data / "waypost.db")) as database:
        assert database.execute("pragma quick_check").fetchall() == [("ok",)]
    (kept,) = server.folder.glob("data.*")
    assert (kept / "written-later").exists()
    assert any(str(kept) in call for call in calls if call.startswith("warn"))


def test_removal_leaves_the_data(server: _Server) -> None:
    server.run("install", email="")
    calls = server.run("remove")
    assert {"remove systemd", "remove nginx", f"yunohost service remove {getpass.getuser()}"} <= set(calls)
    assert (server.data / "waypost.db").exists()
