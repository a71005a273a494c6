"""Record a release in tests/db/releases, so that every later version is tested with its data.

usage: python -m scripts.record_release [FOLDER]

Writes VERSION.db.gz, the database of an installation with sample content and visits, and VERSION.sha256, the hashes of
its migrations, which must never change again. `make release` refuses a tag without them.
"""

import gzip
import hashlib
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from waypost import __version__
from waypost.admin import installation, new_accounts
from waypost.clicks.ingest.ingester import Ingester
from waypost.core.settings import Settings
from waypost.demo import content, visits

ROOT = Path(__file__).resolve().parent.parent
MIGRATIONS = "src/waypost/db/migrations/versions"
RELEASES = "tests/db/releases"


def main() -> None:
    """Write the files of this version."""
    for path in record(ROOT, Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / RELEASES):
        print(path)


def record(root: Path, folder: Path) -> tuple[Path, Path]:
    """Write the database and the hashes of this version into a folder. Return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    hashes = folder / f"{__version__}.sha256"
    hashes.write_text("".join(f"{digest}  {name}\n" for name, digest in _hashes(root).items()))
    return _database(folder / f"{__version__}.db.gz"), hashes


def changed_migrations(root: Path, folder: Path) -> list[str]:
    """Return the migrations of releases that were changed or removed."""
    now = _hashes(root)
    lines = [line for path in sorted(folder.glob("*.sha256")) for line in path.read_text().splitlines()]
    return sorted({name for digest, name in (line.split("  ") for line in lines) if now.get(name) != digest})


def _hashes(root: Path) -> dict[str, str]:
    files = sorted((root / MIGRATIONS).glob("[0-9]*"))  # modules, and the SQL that they execute
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _database(target: Path) -> Path:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data", domain_check="off", database_url="", storage_url="")
        with closing(installation.open_database(settings)) as database:
            owner = new_accounts.create_first_account(settings, database)
            assert owner is not None  # the folder was empty
            targets = database.write(lambda tx: content.add(tx, owner.id, settings))
            visits.write(settings.journal_dir, owner.id, targets)
            ingester = Ingester(settings, database)
            while ingester.step() > 0:
                pass
        copy = Path(folder) / "copy.db"
        with closing(sqlite3.connect(settings.data_dir / "waypost.db")) as opened:
            opened.execute("VACUUM INTO ?", (str(copy),))
        target.write_bytes(gzip.compress(copy.read_bytes(), mtime=0))
    return target


if __name__ == "__main__":
    main()
