"""`waypost deploy-files`: the files for deployment, written to a new folder."""

from pathlib import Path

from tests.support.cli import RunCommand
from tests.support.source import ROOT


def test_deploy_files_are_copied_to_new_folder(run: RunCommand, working_folder: Path) -> None:
    completed = run("deploy-files", "copies")
    assert completed.code == 0
    sources = {path.name: path.read_bytes() for path in (ROOT / "deploy").iterdir()}
    assert {path.name: path.read_bytes() for path in (working_folder / "copies").iterdir()} == sources
    assert all(name in completed.out for name in sources)


def test_existing_or_unusable_folder_is_reported_and_unchanged(run: RunCommand, working_folder: Path) -> None:
    (working_folder / "mine").mkdir()
    (working_folder / "mine" / "Caddyfile").write_text("my own")
    (working_folder / "file").write_text("")
    completed = run("deploy-files", "mine")
    assert completed.code == 1
    assert "mine exists. Name a folder that does not exist yet." in completed.err
    assert [path.read_text() for path in (working_folder / "mine").iterdir()] == ["my own"]
    completed = run("deploy-files", "file/below")
    assert completed.code == 1
    assert "file/below cannot be written: Not a directory." in completed.err
