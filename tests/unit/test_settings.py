"""Sources of settings, and errors for invalid ones."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.cli import RunCommand
from waypost.admin.system_checks import unknown_variables
from waypost.core.settings import Settings

SETTINGS = {
    "WAYPOST_PORT": ("0", "99999", "x", ""),
    "WAYPOST_WORKERS": ("0", "65", "1.5"),
    "WAYPOST_BASE_URL": (
        "go.example.com",
        "ftp://go.example.com",
        "https://go.example.com/path",
        "https://",
        "http://[::",
        *("https://go example.com", "https://go,example.com", "https://go..example.com", "https://ana@go.example.com"),
    ),
    "WAYPOST_ROOT_REDIRECT": ("www.example.com", "https://www example.com/", "http://GO.localhost./"),
    "WAYPOST_DASHBOARD_URL": (
        *("dash.example.com", "ftp://dash.example.com", "https://dash.example.com/path"),
        *("http://go.localhost", "http://GO.localhost:9000", "https://go.localhost."),
    ),
    "WAYPOST_DATABASE_URL": (
        *(
            "nonsense",
            "postgresql+asyncpg://a:b@c/d",
            "postgresql://a:my@secret@c/d",
            "mysql://localhost/x",
            "postgresql://localhost",
            "sqlite://",
            "sqlite:///",
        ),
        *("postgresql://db1:5432,db2:5432/waypost", "postgresql:///waypost?host=db1&host=db2&port=1&port=2"),
    ),
    "WAYPOST_TRUSTED_PROXIES": ("everybody", "10.0.0.0/33", "127.0.0.1,[/x]"),
    "WAYPOST_DOMAIN_CHECK": ("maybe", ""),
    "WAYPOST_FORMER_HOSTS": ("https://old.example", "old.example/", "old.example:8000", "a b", "new.example,[::1]"),
    "WAYPOST_LINK_SCHEMES": ("javascript", "mailto,DATA", "9x", "[/x]"),
    "WAYPOST_LOG_LEVEL": ("loud",),
    "WAYPOST_COUNTRY_HEADER": ("CF IPCountry", "CF-IPCountry:"),
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


def test_choices_ignore_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_LOG_LEVEL", "INFO")
    monkeypatch.setenv("WAYPOST_MCP", "On")
    settings = Settings()
    assert (settings.log_level, settings.mcp) == ("info", "on")


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


def test_secrets_are_read_from_files(working_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "DATABASE_URL": "postgresql://waypost:p%40ss@db/waypost",
        "STORAGE_KEY": "key",
        "STORAGE_SECRET": "ends with a space ",
        "SMTP_URL": "smtps://user:password@mail.example.com",
    }
    (working_folder / "waypost.toml").write_text('storage_key = "of the file of settings"\n')
    for name, value in secrets.items():
        (working_folder / name).write_text(f"{value}\n")
        monkeypatch.setenv(f"WAYPOST_{name}_FILE", name)
    settings = Settings()
    assert unknown_variables() == {}
    assert (settings.database_url, settings.storage_key) == (secrets["DATABASE_URL"], "key")
    assert settings.storage_secret.get_secret_value() == "ends with a space "
    assert settings.smtp_url.get_secret_value() == secrets["SMTP_URL"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "secret cannot be read: No such file or directory."),
        (b"", "secret must contain one line with the value of the setting."),
        (b"\n", "secret must contain one line with the value of the setting."),
        (b"smtp://a\nsmtp://b\n", "secret must contain one line with the value of the setting."),
        (b"\xff\n", "secret is not a text file in UTF-8."),
    ],
)
def test_unusable_secret_file_is_reported(
    content: bytes | None, message: str, run: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is not None:
        (working_folder / "secret").write_bytes(content)
    monkeypatch.setenv("WAYPOST_SMTP_URL_FILE", "secret")
    for command in ("doctor", "serve"):
        completed = run(command)
        assert (completed.code, completed.out) == (2, "")
        assert completed.err == f"W000 WAYPOST_SMTP_URL_FILE: {message}\n"


def test_secret_in_file_and_environment_is_reported(
    run: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (working_folder / "secret").write_text("smtp://mail.example.com")
    monkeypatch.setenv("WAYPOST_SMTP_URL_FILE", "secret")
    monkeypatch.setenv("WAYPOST_SMTP_URL", "smtp://other.example.com")
    message = "WAYPOST_SMTP_URL_FILE: WAYPOST_SMTP_URL is set too. Remove one of them."
    assert run("doctor").err == f"W000 {message}\n"


def test_invalid_value_in_secret_file_names_the_setting_and_not_the_value(
    run: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (working_folder / "secret").write_text("imap://user:hidden@mail.example.com")
    monkeypatch.setenv("WAYPOST_SMTP_URL_FILE", "secret")
    completed = run("doctor")
    assert completed.err.startswith("W000 WAYPOST_SMTP_URL: must be smtp://")
    assert "hidden" not in completed.err


@pytest.mark.parametrize("name", ["storage_endpoint", "traces_url"])
@pytest.mark.parametrize("rest", ["user@s3.example", "user:word@s3.example", "s3.example/#part", "s3.example/?a=b"])
def test_address_of_server_with_more_than_a_path_is_refused(name: str, rest: str) -> None:
    with pytest.raises(ValidationError, match="without a user name, query or fragment"):
        Settings.model_validate({name: f"https://{rest}"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SMTP_URL", "smtp://user:pa/hidden@mail.example.com:587"),
        ("SMTP_URL", "smtp://user:hidden#pa@mail.example.com:587"),
        ("SMTP_URL", "smtp://user:hidden[@mail.example.com"),
        ("STORAGE_ENDPOINT", "https://s3.example.com:hidden"),
        ("TRACES_URL", "http://collector.example.com:hidden/v1/traces"),
        ("BASE_URL", "https://go.example.com:hidden"),
        ("DASHBOARD_URL", "https://dash.example.com:0"),
        ("ROOT_REDIRECT", "https://www.example.com:hidden/"),
        ("IMPORT_HOSTS", "shlink.internal:hidden"),
    ],
)
def test_url_that_cannot_be_split_is_refused_without_a_part_of_it(
    name: str, value: str, run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"WAYPOST_{name}", value)
    completed = run("doctor")
    assert completed.code == 2
    message = f"W000 WAYPOST_{name}: must have a valid host, and a port from 1 to 65535 or none"
    assert completed.err.startswith(message)
    assert "hidden" not in completed.err
    assert ("%2F" in completed.err) == (name == "SMTP_URL")


def test_mail_server_with_more_than_a_host_is_refused() -> None:
    with pytest.raises(ValueError, match="must be smtp:// or smtps:// and a host"):
        Settings.model_validate({"smtp_url": "smtp://user:25#password@mail.example.com"})
