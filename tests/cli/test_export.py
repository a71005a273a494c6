"""`waypost export`: to a file, to standard output, and links for other services."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.cli import ANA, RunCommand, call


def test_export_writes_private_archive(run_migrated: RunCommand, working_folder: Path) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    call(key, "POST", "/api/url/add", json={"url": "https://example.com/", "custom": "spring"})
    result = run_migrated("export", "--account", "ana", "ana.zip")
    assert result.code == 0, result.err
    assert "rows and 0 files exported" in result.err
    with zipfile.ZipFile(working_folder / "ana.zip") as opened:
        assert b'"alias": "spring"' in opened.read("links.jsonl")
    assert (working_folder / "ana.zip").stat().st_mode & 0o777 == 0o600
    assert not list(working_folder.glob("*.partial"))


def test_export_to_standard_output(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    command = [sys.executable, "-m", "waypost", "export", "--account", "ana", "-"]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60, env=dict(os.environ)).stdout
    with zipfile.ZipFile(io.BytesIO(output)) as opened:
        assert opened.testzip() is None
        assert opened.namelist()[-1] == "manifest.json"


def test_export_of_links_for_another_service(run_migrated: RunCommand, working_folder: Path) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    call(key, "POST", "/api/url/add", json={"url": "https://example.com/", "custom": "spring"})
    assert run_migrated("export", "--account", "ana", "links.csv", "--links-as", "shlink").code == 0
    lines = (working_folder / "links.csv").read_text().splitlines()
    assert lines[1] == '"https://example.com/","","","spring",""'
    assert run_migrated("export", "--account", "ana", "links.csv", "--links-as", "bitly").code == 2


def test_export_that_cannot_be_written_names_the_file(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    result = run_migrated("export", "--account", "ana", "missing/ana.zip")
    assert (result.code, "missing/ana.zip cannot be written" in result.err.replace("\n", " ")) == (2, True)
    assert run_migrated("export", "--account", "ben", "ben.zip").code == 1


def test_archive_is_not_written_to_csv_file(run_migrated: RunCommand, working_folder: Path) -> None:
    run_migrated(*ANA)
    result = run_migrated("export", "--account", "ana", "links.CSV")
    assert (result.code, "--links-as" in result.err) == (2, True)
    assert not (working_folder / "links.CSV").exists()


def test_dub_export_is_read_by_import(run_migrated: RunCommand, working_folder: Path) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    run_migrated("account", "add", "--email", "ben@example.com", "--username", "ben")
    call(key, "POST", "/api/url/add", json={"url": "https://example.com/", "custom": "spring"})
    for service in ("dub", "shlink"):
        assert run_migrated("export", "--account", "ana", f"{service}.csv", "--links-as", service).code == 0
        result = run_migrated("import", "ana", f"{service}.csv", "--conflicts", "suffix", "--json")
        assert result.json["impossible"] == 0, result.out
