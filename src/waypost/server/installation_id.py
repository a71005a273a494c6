"""The id of an installation, in its database and in each data folder: a node never counts into another installation."""

import secrets

from sqlalchemy import Connection, select

from waypost.db.database import Database, upsert
from waypost.db.schema import installation
from waypost.errors import Kind, Problem
from waypost.ownership import inherit_owner
from waypost.settings import Settings

FILE = "installation-id"
_NAME = "id"


def bind(settings: Settings, database: Database) -> None:
    """Store the id in the data folder. Raises UNAVAILABLE if the folder belongs to another installation."""
    in_folder = _of_folder(settings)
    in_database = database.read(_read) or database.write(lambda tx: _create(tx, in_folder))
    path = settings.data_dir / FILE
    if not in_folder:
        path.write_text(f"{in_database}\n", "utf-8")
        inherit_owner(path)
    elif in_folder != in_database:
        text = f"The data folder {settings.data_dir} belongs to another installation than the database."
        repair = "Correct WAYPOST_DATA_DIR or WAYPOST_DATABASE_URL."
        raise Problem(Kind.UNAVAILABLE, f"{text} {repair}")


def _of_folder(settings: Settings) -> str:
    try:
        return (settings.data_dir / FILE).read_text("utf-8").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Problem(Kind.UNAVAILABLE, f"{settings.data_dir / FILE} cannot be read: {error.strerror}.") from error


def _read(tx: Connection) -> str:
    value = tx.execute(select(installation.c.value).where(installation.c.name == _NAME)).scalar_one_or_none()
    return bytes(value).decode() if value else ""


def _create(tx: Connection, known: str) -> str:
    """Store an id, that of the folder if it has one, and return the stored one: another node may be faster."""
    row = upsert(tx, installation).values(name=_NAME, value=(known or secrets.token_hex(16)).encode())
    tx.execute(row.on_conflict_do_nothing())
    return _read(tx)
