"""Credentials of the first start: printed to a terminal only, otherwise kept in a file until the first sign-in."""

import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.load import until
from tests.support.server import Server, free_port, serving
from tests.support.threads import join
from waypost.admin import installation
from waypost.auth import sessions
from waypost.core.credentials import hash_password
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.accounts import first_sign_in, ops
from waypost.server.app import build

_COMMAND = Path(sys.executable).with_name("waypost")


def _secrets(text: str) -> list[str]:
    """Return the password, the API key and the token of the sign-in link."""
    return [re.findall(pattern, text)[0] for pattern in (r"password +(\S+)", r"API key +(wp_\S+)", r"pass=(\S+)")]


def _sign_in(server: Server, name: str, password: str) -> int:
    page = server.client.get("/dashboard/signin")
    token = page.text.partition('name="token" value="')[2].partition('"')[0]
    form = {"token": token, "name": name, "password": password}
    return int(server.client.post("/dashboard/signin", data=form, headers={"Origin": server.url}).status_code)


def test_first_start_of_a_service_stores_credentials_until_the_first_sign_in(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        file = tmp_path / "first-sign-in-1.txt"
        assert (str(file) in server.output(), file.stat().st_mode & 0o777) == (True, 0o600)
        password, key, token = _secrets(server.welcome)
        assert not [secret for secret in (password, key, token) if secret in server.output()]
        assert server.call("GET", "/api/account", key=key).status_code == 200
        first = server.client.get(f"/dashboard/reset?pass={token}").text
        assert "<h1>Welcome. Choose your password</h1>" in first
        assert "revoke" not in first
        assert file.exists(), "only a sign-in deletes it"
        assert _sign_in(server, "owner", "wrong") == 400
        assert file.exists()
        assert _sign_in(server, "owner", password) == 303
        assert not file.exists()


def test_first_start_in_a_terminal_prints_credentials_and_stores_none(tmp_path: Path) -> None:
    port, (reader, writer) = free_port(), pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    environment |= {"WAYPOST_PORT": str(port), "WAYPOST_DATA_DIR": str(tmp_path)}
    process = subprocess.Popen([_COMMAND, "serve"], cwd=tmp_path, env=environment, stdout=writer, stderr=writer)
    os.close(writer)
    output = bytearray()

    def read() -> None:
        while True:
            try:
                output.extend(os.read(reader, 65_536))
            except OSError:  # the process has ended
                return

    thread = threading.Thread(target=read)
    thread.start()
    try:
        until(lambda: b" serves " in output)
        password, key, token = _secrets(output.decode())
        assert (len(password), key.startswith("wp_"), bool(token)) == (20, True, True)
        assert len(re.findall(r"curl .*/api/account", output.decode())) == 1
        assert not list(tmp_path.glob("first-sign-in-*"))
    finally:
        process.terminate()
        process.wait(60)
        join(thread)
        os.close(reader)


def test_start_reports_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "first-sign-in-1.txt").mkdir()
    with serving(tmp_path) as server:
        assert "waypost account reset owner" in server.output()
        assert "wp_" not in server.output()
        assert httpx2.get(f"{server.url}/healthz", trust_env=False, verify=False).status_code == 200


@pytest.mark.parametrize("use", ["sign-in on another node", "new password", "deletion", "none"])
def test_file_is_deleted_once_the_account_was_used(database: Database, settings: Settings, use: str) -> None:
    account = database.write(lambda tx: ops.add(tx, email="a@example.com", username="owner", password="x")).id
    path = first_sign_in.write(settings, account, "secret")
    first_sign_in.delete_used(settings, database)
    assert path.exists()
    if use == "sign-in on another node":
        database.write(lambda tx: sessions.begin(tx, account, agent="Firefox"))
    elif use == "new password":
        database.write(lambda tx: ops.suspend(tx, account, suspended=True))
    elif use == "deletion":
        path = path.rename(path.with_name("first-sign-in-99.txt"))
    first_sign_in.delete_used(settings, database)
    assert path.exists() == (use == "none")


def test_sign_in_of_another_account_keeps_the_file(database: Database, settings: Settings) -> None:
    hashed = hash_password("a long password")
    owner = database.write(lambda tx: ops.add(tx, email="a@example.com", username="owner", password=hashed)).id
    database.write(lambda tx: ops.add(tx, email="b@example.com", username="ben", password=hashed))
    path = first_sign_in.write(settings, owner, "secret")
    with AsgiClient(build(settings, database)) as client:
        assert Browser(client).sign_in("ben", "a long password").status_code == 303
        assert path.exists()
        assert Browser(client.another()).sign_in("owner", "a long password").status_code == 303
    assert not path.exists()


def test_access_of_other_users_to_the_file_is_removed(settings: Settings) -> None:
    path = first_sign_in.write(settings, 1, "secret")
    path.chmod(0o644)
    assert path in installation.exposed_files(settings)
    installation.protect_files(settings)
    assert path.stat().st_mode & 0o777 == 0o600
