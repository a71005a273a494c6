"""Data of every release is upgraded by this version, and migrations of a release never change."""

import gzip
import shutil
from pathlib import Path

import pytest

from scripts import record_release
from tests.support.cli import RunCommand, opened
from tests.support.source import ROOT
from waypost import __version__
from waypost.db import upgrade

_FOLDER = ROOT / record_release.RELEASES


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all releases, and with this version as if it were one."""
    folder = tmp_path_factory.mktemp("recorded") / "releases"
    if _FOLDER.is_dir():
        shutil.copytree(_FOLDER, folder)
    record_release.record(ROOT, folder)
    return folder


def test_data_of_every_release_is_upgraded_and_served(
    recorded: Path, run: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    releases = sorted(recorded.glob("*.db.gz"))
    assert f"{__version__}.db.gz" in {path.name for path in releases}
    for release in releases:
        data = working_folder / release.name
        data.mkdir()
        (data / "waypost.db").write_bytes(gzip.decompress(release.read_bytes()))
        monkeypatch.setenv("WAYPOST_DATA_DIR", str(data))
        links = run("link", "list", "owner", "--json").json
        assert sum(link["clicks"] for link in links) > 1000, release.name
        verified = run("clicks", "verify")
        assert (verified.code, "0 differences" in verified.out) == (0, True), verified.out
        with opened() as client:
            visit = client.request("GET", "/menu", headers={"Host": "go.juniper.example"})
            assert visit.headers["location"].startswith("https://shop.juniper.example/cafe/menu"), release.name


def test_migrations_of_releases_are_unchanged() -> None:
    assert record_release.changed_migrations(ROOT, _FOLDER) == [], "write a new migration instead"


def test_changed_and_removed_migrations_are_found(recorded: Path, tmp_path: Path) -> None:
    migrations = tmp_path / record_release.MIGRATIONS
    shutil.copytree(ROOT / record_release.MIGRATIONS, migrations)
    assert record_release.changed_migrations(tmp_path, recorded) == []
    first = sorted(path.name for path in migrations.glob(f"{min(upgrade.known_revisions())}_initial.*"))
    assert [Path(name).suffixes for name in first] == [[".postgresql", ".sql"], [".py"], [".sqlite", ".sql"]]
    for name in first:
        (migrations / name).write_text("-- another schema\n")
    assert record_release.changed_migrations(tmp_path, recorded) == first
    for name in first:
        (migrations / name).unlink()
    assert record_release.changed_migrations(tmp_path, recorded) == first
