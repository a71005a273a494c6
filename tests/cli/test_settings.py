"""`waypost settings`, and the groups of `waypost --help`."""

from pathlib import Path

import pytest

from tests.support.cli import RunCommand
from waypost.core.settings import Settings


def test_settings_have_value_and_source(run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "PORT": "9001",
        "SMTP_URL": "smtp://user:hidden-1@mail.example:25",
        "DATABASE_URL": "postgresql://ana:hidden-2@db.example/waypost",
    }.items():
        monkeypatch.setenv(f"WAYPOST_{name}", value)
    (tmp_path / "secret").write_text("hidden-3\n")
    monkeypatch.setenv("WAYPOST_STORAGE_SECRET_FILE", str(tmp_path / "secret"))
    (tmp_path / "waypost.toml").write_text('host = "0.0.0.0"\nport = 9000\n')
    completed = run("settings", "--json")
    rows = {row["setting"].removeprefix("WAYPOST_").lower(): (row["value"], row["source"]) for row in completed.json}
    assert rows.keys() == Settings.model_fields.keys()
    assert rows["port"] == ("9001", "environment")
    assert rows["host"][0] == "0.0.0.0"
    assert rows["host"][1].endswith("waypost.toml")
    assert rows["workers"] == ("1", "default")
    assert rows["smtp_url"] == ("***", "environment")
    assert rows["storage_secret"] == ("***", str(tmp_path / "secret"))
    assert rows["database_url"] == ("postgresql://ana:***@db.example/waypost", "environment")
    assert "hidden" not in completed.out
    assert "hidden" not in run("settings").out


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql:///app?host=127.0.0.1&port=1&password=hidden", "postgresql:///app?host=127.0.0.1&port=1"),
        ("postgresql://ana:hidden@127.0.0.1:1/app?sslpassword=hidden", "postgresql://ana:***@127.0.0.1:1/app"),
    ],
)
def test_password_among_parameters_of_database_is_hidden(
    url: str, shown: str, run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_DATABASE_URL", url)
    for command in ("settings", "doctor"):
        completed = run(command)
        assert "hidden" not in completed.out + completed.err
        assert shown in completed.out


def test_help_has_all_commands_in_groups(run: RunCommand) -> None:
    text = run("--help").out
    groups = ("Run the service", "Keep and move data", "Accounts and plans", "Moderation", "Deploy and connect")
    positions = [text.index(group) for group in groups]
    assert positions == sorted(positions)
    assert text.index("serve") < positions[1] < text.index("backup") < positions[2] < text.index("│ account ")
