"""Sources of settings, and errors for invalid ones."""

from pathlib import Path

import pytest

from tests.support.cli import RunCommand

SETTINGS = {
    "WAYPOST_PORT": ("0", "99999", "x", ""),
    "WAYPOST_WORKERS": ("0", "65", "1.5"),
    "WAYPOST_BASE_URL": (
        "go.example.com",
        "ftp://go.example.com",
        "https://go.example.com/path",
        "https://",
        "http://[::",
    ),
    "WAYPOST_DASHBOARD_URL": (
        *("dash.example.com", "ftp://dash.example.com", "https://dash.example.com/path"),
        *("http://go.localhost", "http://GO.localhost:9000", "https://go.localhost."),
    ),
    "WAYPOST_DATABASE_URL": (
        *("nonsense", "mysql://localhost/x", "postgresql://localhost", "sqlite://", "sqlite:///"),
        *("postgresql://db1:5432,db2:5432/waypost", "postgresql:///waypost?host=db1&host=db2&port=1&port=2"),
    ),
    "WAYPOST_TRUSTED_PROXIES": ("everybody", "10.0.0.0/33", "127.0.0.1,[/x]"),
    "WAYPOST_DOMAIN_CHECK": ("maybe", ""),
    "WAYPOST_LINK_SCHEMES": ("javascript", "mailto,DATA", "9x", "[/x]"),
    "WAYPOST_LOG_LEVEL": ("loud",),
    "WAYPOST_LOG_FORMAT": ("xml",),
    "WAYPOST_SHUTDOWN_SECONDS": ("-1",),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_invalid_setting_is_reported_before_anything_is_created(
    name: str, run: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in SETTINGS[name]:
        monkeypatch.setenv(name, value)
        for arguments in (("doctor",), ("serve",), ("account", "list")):
            completed = run(*arguments)
            assert (completed.code, completed.out) == (2, ""), value
            assert completed.err.startswith(f"W000 {name}: "), completed.err
            assert completed.err.count("\n") == 1, completed.err
            assert "Value error" not in completed.err
    assert list(working_folder.iterdir()) == []


def test_settings_are_read_from_file_and_environment(
    run: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (working_folder / "waypost.toml").write_text('data_dir = "here"\nlink_schemes = "mailto"\nport = 9000\n')
    (working_folder / "other.toml").write_text('data_dir = "there"\n')
    monkeypatch.delenv("WAYPOST_BASE_URL")
    assert f"No installation found in {working_folder / 'here'}." in run("account", "list").err
    assert run("openapi").json["servers"] == [{"url": "http://localhost:9000"}]
    monkeypatch.setenv("WAYPOST_PORT", "9001")  # the environment comes first
    assert run("openapi").json["servers"] == [{"url": "http://localhost:9001"}]
    monkeypatch.setenv("WAYPOST_CONFIG", "other.toml")
    assert f"No installation found in {working_folder / 'there'}." in run("account", "list").err


FILES = {
    "port = 'x'\n": "W000 WAYPOST_PORT: ",
    "prot = 9000\n": "W000 WAYPOST_PROT: there is no such setting.\n",
    "port = \n": "W000 waypost.toml: Invalid value",
    "\x00": "W000 waypost.toml: ",
}


def test_invalid_settings_file_is_reported(
    run: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content, message in FILES.items():
        (working_folder / "waypost.toml").write_text(content)
        completed = run("doctor")
        assert (completed.code, completed.out) == (2, ""), content
        assert completed.err.startswith(message), completed.err
    monkeypatch.setenv("WAYPOST_CONFIG", "nowhere.toml")
    assert run("doctor").err == "W000 nowhere.toml: there is no such file.\n"
