"""The service and its commands in the locales, time zones and folders of other machines."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.load import until
from tests.support.server import serving
from tests.support.system_packages import needed, program

_WAYPOST = Path(sys.executable).with_name("waypost")
_TITLE = "日本 😀 Übung"
_PLACES = {
    "no locale": {"LC_ALL": "C", "TZ": "America/Los_Angeles"},
    "Latin-1": {"LC_ALL": "de_DE.ISO-8859-1", "TZ": "Asia/Kathmandu"},
}


def _source_of_locale() -> str | None:
    path = Path("/usr/share/i18n/locales/de_DE")
    return str(path) if path.exists() else None


def _environment(place: str, folder: Path) -> dict[str, str]:
    """Return an environment without a home. Makes the locale if needed."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **_PLACES[place]}
    if place == "Latin-1":
        source = needed(_source_of_locale, "locales", "the sources of locales are not installed")
        locale = folder / "de_DE.ISO-8859-1"
        command = [program("localedef", "libc-bin"), "-i", source, "-f", "ISO-8859-1", str(locale)]
        subprocess.run(command, check=True, capture_output=True)
        environment["LOCPATH"] = str(folder)
    return environment


def _run(folder: Path, environment: Mapping[str, str], *arguments: str) -> bytes:
    """Return what a command prints. It reads no text file in the encoding of the locale."""
    command = [str(_WAYPOST), *arguments]
    variables = {**environment, "PYTHONWARNDEFAULTENCODING": "1", "PYTHONWARNINGS": "default::EncodingWarning"}
    completed = subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=False, timeout=120)
    assert completed.returncode == 0, completed.stderr
    assert b"/waypost/" not in completed.stderr, completed.stderr
    return completed.stdout


@pytest.mark.parametrize("place", _PLACES)
def test_service_works_in_every_locale(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment, folder = _environment(place, tmp_path), tmp_path / "Übungs Ordner"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith(("LC_", "LANG", "TZ"))]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    variables = {**environment, "WAYPOST_DATA_DIR": str(folder)}
    with serving(folder, command_prefix=["sh", "-c", 'umask 077 && exec "$@"', "sh"]) as server:
        key = server.owner_key
        link = {"url": "https://example.com/ä", "custom": "spring", "title": _TITLE}
        created = server.call("POST", "/api/url/add", key=key, json=link).json()
        assert created["error"] == 0, created
        assert server.call("GET", "/spring").headers["location"] == "https://example.com/%C3%A4"
        until(lambda: server.call("GET", f"/api/url/{created['id']}", key=key).json()["data"]["clicks"] == 1)
        missing = server.call("GET", "/missing", headers={"Accept": "text/html", "Accept-Language": "de"})
        assert "prüfen" in missing.text
        assert [item["title"] for item in json.loads(_run(folder, variables, "link", "list", "owner", "--json"))] == [
            _TITLE
        ]
        assert b"https://example.com/" in _run(folder, variables, "link", "list", "owner")
        assert b'"click"' in _run(folder, variables, "clicks", "export", "owner")
        _run(folder, variables, "backup", "Sicherung ü.tar.gz")
        assert "Traceback" not in server.output()
