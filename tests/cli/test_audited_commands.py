"""Every command that changes something records it, with the origin `command`."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from tests.support.cli import ANA, RunCommand, call
from waypost.admin.installation import open_database
from waypost.auth import sessions
from waypost.cli import main
from waypost.core.settings import Settings

_RECORD_NOTHING = {
    *("serve", "demo", "doctor", "settings", "version", "openapi", "deploy-files", "brand show", "maintenance status"),
    *("clicks export", "clicks verify", "geo update", "geo status", "audit checkpoint", "audit verify", "audit export"),
    *("account list", "account show", "account key list", "account session list", "domain list", "plan list"),
    *("link list", "link show", "qr list", "qr show", "file list", "file show", "block list", "reports list"),
    # They copy data as a whole.
    *("backup", "restore", "migrate-database", "migrate-storage", "distribute"),
}
_PLAN = ("--rate-limit", 9, "--upload-limit", 1000)
_BEN = ("account", "add", "--email", "ben@example.com", "--username", "ben")
_HOST, _OTHER_HOST = "go.brand.example", "new.brand.example"
_STEPS: Sequence[tuple[Sequence[object], Sequence[str]]] = (
    (_BEN, ["account.created", "key.created"]),
    (("account", "rename", "ben", "benjamin"), ["account.updated"]),
    (("account", "rename", "benjamin", "benjamin"), []),
    (("account", "email", "benjamin", "benjamin@example.com"), ["account.updated"]),
    (("account", "limit", "benjamin", 7), ["account.updated"]),
    (("account", "limit", "benjamin", 7), []),
    (("plan", "add", "Club", *_PLAN), ["plan.created"]),
    (("plan", "change", "Club", "--rate-limit", 10), ["plan.updated"]),
    (("plan", "change", "Club", "--rate-limit", 10), []),
    (("account", "plan", "benjamin", "Club"), ["account.updated"]),
    (("account", "plan", "benjamin", "free"), ["account.updated"]),
    (("plan", "delete", "Club"), ["plan.deleted"]),
    (("account", "suspend", "benjamin"), ["account.suspended"]),
    (("account", "suspend", "benjamin"), []),
    (("account", "suspend", "benjamin", "--undo"), ["account.resumed"]),
    (("account", "admin", "benjamin"), ["account.updated"]),
    (("account", "operator", "benjamin", "--undo"), ["account.updated"]),
    (("account", "reset", "benjamin"), ["account.reset_link_created"]),
    (("account", "key", "add", "ana", "--name", "K"), ["key.created"]),
    (("account", "key", "revoke", "ana", 3), ["key.deleted"]),
    (("account", "move-links", "ana", "benjamin", "moved", "--yes"), ["link.deleted", "link.created"]),
    (("link", "disable", "ana", 1), ["link.updated"]),
    (("link", "disable", "ana", 1), []),
    (("link", "enable", "ana", 1), ["link.updated"]),
    (("domain", "move-links", "ana", _HOST, _OTHER_HOST), ["link.updated"]),
    (("domain", "move", _HOST, "benjamin"), ["domain.deleted", "domain.created"]),
    (("domain", "delete", _HOST, "--yes"), ["domain.deleted"]),
    (("link", "delete", "ana", 1, "--yes"), ["link.deleted"]),
    (("qr", "delete", "ana", 1, "--yes"), ["qr.deleted"]),
    (("file", "delete", "ana", 1, "--yes"), ["file.deleted"]),
    (("block", "add", "bad.example"), ["block.created"]),
    (("block", "add", "bad.example"), []),
    (("block", "remove", "bad.example"), ["block.deleted"]),
    (("brand", "set", "--name", "Acme"), ["brand.updated"]),
    (("brand", "set", "--name", "Acme"), []),
    (("brand", "remove"), ["brand.updated"]),
    (("maintenance", "on"), ["maintenance.started"]),
    (("maintenance", "on"), []),
    (("maintenance", "off"), ["maintenance.ended"]),
    (("import", "ana", "links.csv"), ["import.created"]),
    (("export", "out.zip", "--account", "ana"), ["account.exported"]),
    (("account", "delete", "benjamin", "--yes"), ["account.deletion_scheduled"]),
    (("account", "delete", "benjamin", "--yes"), []),
    (("account", "delete", "benjamin", "--cancel"), ["account.deletion_canceled"]),
    (("account", "session", "end", "ana", "--all"), ["session.ended"]),
    (("reports", "close", 1), ["report.closed"]),
    (("account", "delete", "benjamin", "--now", "--yes"), ["account.deleted"]),
)


def _commands(command: Any, words: Sequence[str]) -> Iterator[str]:
    loaded = command.load() if isinstance(command, main.LazyCommand) else command
    if isinstance(loaded, TyperGroup):
        for name, part in loaded.commands.items():
            yield from _commands(part, [*words, name])
    else:
        yield " ".join(words)


def test_every_command_is_tried_or_records_nothing() -> None:
    commands = {name for command in main._COMMANDS for name in _commands(command, [str(command.name)])}
    local = {name for name in commands if not name.startswith("remote ")}  # those call the API
    tried = {name for name in local for words, _ in _STEPS if " ".join(map(str, words)).startswith(name)}
    assert local - tried == _RECORD_NOTHING


def _add_items(key: str, file: Path) -> None:
    """Create the items of the steps, and a report."""
    url = "https://example.com/"
    for host in (_HOST, _OTHER_HOST):
        call(key, "POST", "/api/domain/add", json={"domain": f"https://{host}"})
    call(key, "POST", "/api/url/add", json={"url": url, "custom": "stays"})
    call(key, "POST", "/api/url/add", json={"url": url, "custom": "moved"})
    call(key, "POST", "/api/url/add", json={"url": url, "custom": "branded", "domain": f"https://{_HOST}"})
    call(key, "POST", "/api/qr/add", json={"type": "text", "data": "words"})
    call(key, "POST", "/api/files/upload/a.bin", content=b"content")
    with closing(sqlite3.connect(file)) as connection:
        columns = "host, alias, reason, comment, reporter, created"
        connection.execute(f"INSERT INTO reports ({columns}) VALUES ('', 'stays', 'spam', '', x'00', 1)")
        connection.commit()


def _events(file: Path, after: int) -> list[tuple[int, str, str]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT id, name, origin FROM audit WHERE id > ? ORDER BY id", (after,)).fetchall()


def test_each_command_records_its_change(
    run_migrated: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_DOMAIN_CHECK", "off")
    file = working_folder / "data" / "waypost.db"
    _add_items(str(run_migrated(*ANA, "--json").json["apikey"]), file)
    with closing(open_database(Settings())) as database:
        database.write(lambda tx: sessions.begin(tx, 1, agent="a browser"))
    (working_folder / "links.csv").write_text("alias,url\nimported,https://example.com/\n")
    last = _events(file, 0)[-1][0]
    for words, names in _STEPS:
        result = run_migrated(*words)
        assert result.code == 0, (words, result.err)
        events = _events(file, last)
        last = max([last, *(event for event, _, _ in events)])
        assert [name for _, name, _ in events] == list(names), words
        assert {origin for _, _, origin in events} <= {"command"}, (words, events)
