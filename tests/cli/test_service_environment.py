"""Commands of the administrator use the settings of the systemd unit."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from scripts import publication
from tests.support.load import add_ana
from tests.support.source import ROOT
from waypost.cli import service_environment
from waypost.db.database import Database
from waypost.db.upgrade import upgrade

_WAYPOST = Path(sys.executable).parent / "waypost"
_SETTINGS = """# settings of the unit
WAYPOST_BASE_URL=https://go.example.com
WAYPOST_DATA_DIR="{data}"
; another comment
WAYPOST_ROOT_REDIRECT='https://www.example.com/#top'
"""


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """A folder that commands see as /etc, with the settings of a unit that has an installation."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount another /etc")
    etc, state = tmp_path / "etc", tmp_path / "state"
    for folder in (etc, state):
        folder.mkdir()
    for name in ("passwd", "group", "ld.so.cache"):
        shutil.copy(Path("/etc") / name, etc)
    (etc / "waypost.env").write_text(_SETTINGS.format(data=state))
    with closing(Database(f"sqlite:///{state / 'waypost.db'}")) as database:
        upgrade(database)
        database.write(add_ana)
    return etc


def _run(etc: Path, folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command as root of a machine with this /etc."""
    folder.mkdir(exist_ok=True)
    mounted = ["unshare", "--mount", "sh", "-c", f'mount --bind {etc} /etc && exec "$@"', "sh", str(_WAYPOST), *words]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "200", **settings}
    return subprocess.run(mounted, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_command_of_root_uses_settings_of_the_unit(unit: Path, tmp_path: Path) -> None:
    reset = _run(unit, tmp_path / "anywhere", "account", "reset", "ana")
    assert reset.returncode == 0, reset.stderr
    assert "https://go.example.com/dashboard/reset?" in reset.stdout
    listed = _run(unit, tmp_path / "anywhere", "settings").stdout
    assert "https://www.example.com/#top" in listed
    assert list((tmp_path / "anywhere").iterdir()) == []


def test_default_data_folder_is_that_of_the_unit(unit: Path, tmp_path: Path) -> None:
    (unit / "waypost.env").write_text("WAYPOST_BASE_URL=https://go.example.com\n")
    completed = _run(unit, tmp_path / "anywhere", "account", "list")
    assert (completed.returncode, "No installation found in /var/lib/waypost" in completed.stderr) == (2, True)


def test_own_settings_of_a_command_replace_those_of_the_unit(unit: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    completed = _run(unit, own, "account", "list", WAYPOST_PORT="9000")
    assert f"No installation found in {own}/data" in completed.stderr
    (own / "data").mkdir()
    assert f"No installation found in {own}/data" in _run(unit, own, "account", "list").stderr
    (own / "data").rmdir()
    (own / "waypost.toml").write_text("port = 9000\n")
    assert f"No installation found in {own}/data" in _run(unit, own, "account", "list").stderr


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (r"A=pass\word", "password"),
        (r"A=pass\\word", r"pass\word"),
        (r'A="pass\$word\x"', r"pass$word\x"),
        (r"A='pass\$word'", r"pass\$word"),
        ("A=it's", "it's"),
        ("A='a' \"b\"", "ab"),
        ("A=a \\\n b", "a  b"),
        ('A="a\nb"', "a\nb"),
        ('A="a\\\nb"', "ab"),
        ('A="not closed', "not closed"),
        (r"A=a\ ", "a "),
        ("A = a # b ", "a # b"),
        ("A=", ""),
        ("A=\\", ""),
    ],
)
def test_values_are_those_that_systemd_reads(line: str, value: str) -> None:
    assert list(service_environment._settings(line)) == [("A", value)]
    assert list(service_environment._settings(f"# it's\nexport B=1\nno value\n  {line}\n"))[:1] == [
        ("A", value + "\n" if line == 'A="not closed' else value)
    ]


def test_file_that_is_not_utf8_sets_nothing(unit: Path, tmp_path: Path) -> None:
    (unit / "waypost.env").write_bytes(b"WAYPOST_BRAND_NAME=\xe4\n")
    completed = _run(unit, tmp_path / "anywhere", "account", "list")
    assert (completed.returncode, "No installation found" in completed.stderr) == (2, True), completed.stderr


def test_unit_and_commands_name_the_same_files() -> None:
    text = (ROOT / "deploy" / "waypost.service").read_text()
    assert f"EnvironmentFile=-{service_environment.UNIT_FILE}\n" in text
    assert f"Environment=WAYPOST_DATA_DIR={service_environment.UNIT_DATA}\n" in text
    guide = (ROOT / "docs" / "systemd.md").read_text()
    assert f"/opt/waypost/.venv/bin/pip install dist/{publication.read(ROOT).wheel}" in guide
    assert "ExecStart=/opt/waypost/.venv/bin/waypost serve" in text
    assert "make install" not in text + guide
