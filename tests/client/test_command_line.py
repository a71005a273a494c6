"""The remote command line against a running service."""

import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from waypost_client.cli import commands
from waypost_client.cli.main import main

from tests.client.conftest import Service
from tests.support.threads import in_thread
from waypost.core.settings import Settings
from waypost.server.routers import api_document

_URL = "https://example.com/page"
Run = Callable[..., Any]


@dataclass(frozen=True)
class Completed:
    """Exit code and output of a command."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs `waypost-cli` in process, with a key in the environment."""

    def run(*arguments: object, **variables: str) -> Completed:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name, value in _environment(service, tmp_path, variables).items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["waypost-cli", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO(variables.get("STDIN", "")))
            with pytest.raises(SystemExit) as ended:
                main()
        code = ended.value.code
        assert isinstance(code, int)
        completed = Completed(code, *capsys.readouterr())
        assert service.ana not in completed.stdout + completed.stderr
        return completed

    return run


@pytest.fixture
def run_installed(service: Service, tmp_path: Path) -> Run:
    """A function that runs the installed `waypost-cli` in a process of its own, with a key in the environment."""

    def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        completed = subprocess.run(
            [str(Path(sys.executable).parent / "waypost-cli"), *map(str, arguments)],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], **_environment(service, tmp_path, variables)},
            input=variables.get("STDIN", ""),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert service.ana not in completed.stdout + completed.stderr
        return completed

    return run


def _environment(service: Service, home: Path, variables: Mapping[str, str]) -> dict[str, str]:
    key = {"WAYPOST_URL": service.url, "WAYPOST_API_KEY": service.ana}
    return {"HOME": str(home), "COLUMNS": "200", **key, **variables}


def _json(completed: Completed) -> Any:
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def test_each_operation_has_one_command() -> None:
    methods = [item for path in api_document(Settings())["paths"].values() for item in path.values()]
    names = [operation.name for operation in commands.operations()]
    assert sorted(names) == sorted(method["operationId"] for method in methods)
    assert len({operation.command for operation in commands.operations()}) == len(names)


def test_installed_command_reads_environment_and_standard_input(
    run_installed: Run, service: Service, tmp_path: Path
) -> None:
    nothing = {"WAYPOST_URL": "", "WAYPOST_API_KEY": ""}
    added = run_installed("profile", "add", "work", "--url", service.url, STDIN=f"{service.ben}\n", **nothing)
    assert added.returncode == 0, added.stderr
    assert _json(run_installed("read-account", "--json", **nothing))["username"] == "ben"
    assert _json(run_installed("read-account", "--json"))["username"] == "ana"
    (tmp_path / "changes").write_text(json.dumps({"noun": "url", "action": "create", "fields": {"url": _URL}}))
    (result,) = _json(run_installed("bulk", "changes", "--json"))
    link = result["id"]
    assert _json(run_installed("update-link", link, "--title", "Spring", "--json"))["error"] == 0
    assert "Spring" in run_installed("list-links").stdout
    assert run_installed("delete-link", link).returncode == 0
    missing = run_installed("read-link", link)
    assert (missing.returncode, missing.stdout, "Traceback" in missing.stderr) == (4, "", False)


def test_link_is_created_listed_changed_and_deleted(run: Run) -> None:
    geotarget = json.dumps([{"location": "France", "link": _URL}])
    link = _json(run("create-link", "--url", _URL, "--custom", "remote", "--geotarget", geotarget, "--json"))["id"]
    assert [each["id"] for each in _json(run("list-links", "--q", "remote", "--all", "--json"))] == [link]
    table = run("list-links").stdout
    assert "/remote" in table
    assert _json(run("update-link", link, "--title", "Spring", "--clicklimit", 5, "--json"))["error"] == 0
    assert _json(run("update-link", link, "--clear", "clicklimit", "--json"))["error"] == 0
    details = _json(run("read-link", link, "--json"))["details"]
    assert (details["title"], details["clicklimit"], len(details["geotarget"])) == ("Spring", None, 1)
    assert run("delete-link", link).returncode == 0
    assert run("read-link", link).returncode == 4


def test_file_is_uploaded_and_downloaded(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"content")
    file = _json(run("upload-file", "a.txt", "--as", "b.txt", "--json"))["id"]
    assert _json(run("download", file, "copy.txt", "--json"))["size"] == 7
    assert (tmp_path / "copy.txt").read_bytes() == b"content"
    assert _json(run("export-visits", "visits.csv", "--json"))["size"] > 0
    assert "b.txt" in run("read-file", file).stdout
    run("delete-file", file)


def test_bulk_changes_report_each_result(run: Run, tmp_path: Path) -> None:
    changes = [{"noun": "url", "action": "create", "fields": {"url": url}} for url in (_URL, "nonsense")]
    (tmp_path / "changes").write_text("\n".join(map(json.dumps, changes)))
    completed = run("bulk", "changes", "--json")
    assert completed.returncode == 1
    results = json.loads(completed.stdout)
    assert [result["error"] for result in results] == [0, 1]
    run("delete-link", results[0]["id"])


def test_errors_name_field_and_have_exit_codes(run: Run) -> None:
    invalid = run("create-link", "--url", _URL, "--clicklimit", -1)
    assert (invalid.returncode, "clicklimit" in invalid.stderr, invalid.stderr.count("Traceback")) == (1, True, 0)
    assert run("read-account", WAYPOST_API_KEY="wp_unknown").returncode == 3
    assert run("read-account", WAYPOST_URL="http://127.0.0.1:1").returncode == 5
    assert run("create-link").returncode == 2
    assert run("create-link", "--url", _URL, "--geotarget", "{").returncode == 2
    assert run("update-link", 1, "--clear", "nonsense").returncode == 2


def test_profile_file_is_private_and_key_is_read_from_standard_input(
    run: Run, service: Service, tmp_path: Path
) -> None:
    nothing = {"WAYPOST_URL": "", "WAYPOST_API_KEY": ""}
    assert run("profile", "add", "work", "--url", service.url, STDIN=f"{service.ben}\n", **nothing).returncode == 0
    file = tmp_path / ".config" / "waypost" / "profiles.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert _json(run("read-account", "--json", **nothing))["username"] == "ben"
    assert _json(run("read-account", "--json"))["username"] == "ana"
    assert _json(run("--profile", "work", "read-account", "--json"))["username"] == "ben"
    listed = run("profile", "list", "--json", **nothing)
    assert _json(listed) == [{"name": "work", "url": service.url, "default": True}]
    assert service.ben not in listed.stdout
    assert run("profile", "add", "x", "--url", "nonsense", STDIN="wp_key\n", **nothing).returncode == 1
    assert run("profile", "use", "x", **nothing).returncode == 1
    assert run("profile", "remove", "work", **nothing).returncode == 0
    assert "There is no profile." in run("read-account", **nothing).stderr


@pytest.mark.parametrize("missing", ["WAYPOST_URL", "WAYPOST_API_KEY"])
def test_key_of_a_profile_is_never_sent_to_another_url(run: Run, tmp_path: Path, missing: str) -> None:
    file = tmp_path / "profiles.json"
    content = {"default": "work", "profiles": {"work": {"url": "http://127.0.0.1:1", "key": "wp_of_work"}}}
    file.write_text(json.dumps(content))
    failed = run("read-account", WAYPOST_PROFILES=str(file), **{missing: ""})
    assert failed.returncode == 1
    assert "Set both WAYPOST_URL and WAYPOST_API_KEY, or neither." in failed.stderr


def test_damaged_profile_file_is_reported_without_content(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    file.write_text('{"profiles": {"work": {"key": "wp_secret"}}}')
    failed = run("read-account", WAYPOST_URL="", WAYPOST_API_KEY="", WAYPOST_PROFILES=str(file))
    assert (failed.returncode, "cannot be read as profiles" in failed.stderr) == (1, True)
    assert "wp_secret" not in failed.stderr


def test_unknown_and_absent_fields_of_another_release_are_tolerated(run: Run) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"error": 0, "data": {"urls": [{"id": 1, "future": "\x1b[31mred"}]}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    with in_thread(server):
        url = f"http://127.0.0.1:{server.server_port}"
        listed = _json(run("list-links", "--json", WAYPOST_URL=url))
        assert listed["urls"] == [{"id": 1, "future": "\x1b[31mred"}]
        table = run("list-links", WAYPOST_URL=url).stdout
    assert "future" in table
    assert "\x1b" not in table


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed(run: Run, shell: str) -> None:
    printed = run("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert printed.returncode == 0, printed.stderr
    assert "WAYPOST_CLI_COMPLETE" in printed.stdout.upper()


def test_waypost_remote_has_the_same_commands(service: Service, tmp_path: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "WAYPOST_URL": service.url, "WAYPOST_API_KEY": "wp_unknown"}
    command = [str(Path(sys.executable).parent / "waypost"), "remote", "read-account"]
    failed = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert (failed.returncode, "api_key_required" in failed.stderr) == (3, True), failed.stderr
    assert list(tmp_path.iterdir()) == []


def test_waypost_remote_without_client_names_the_package(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['waypost_client'] = None; sys.argv = ['waypost', 'remote'];"
        "from waypost.cli.main import main; main()"
    )
    failed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (failed.returncode, "See docs/remote.md." in failed.stderr) == (2, True), failed.stderr
