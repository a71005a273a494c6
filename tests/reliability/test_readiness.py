"""`/readyz` and `/metrics` report a database that refuses a statement; they do not depend on it themselves."""

import pytest

from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE, damage_table
from tests.support.load import until
from waypost.core.settings import Settings
from waypost.db import maintenance
from waypost.db.database import Database
from waypost.server import asgi
from waypost.server.app import build

_INDEX = "sqlite_autoindex_installation_1"
_READ_BY_CHECKS = ("installation", _INDEX, "alembic_version")


@ON_SQLITE
@pytest.mark.parametrize("table", [*_READ_BY_CHECKS, "links", "aliases", "click_times", "orphan_objects"])
def test_damage_of_any_table_is_no_internal_error_of_the_checks(
    table: str, settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert database.path is not None
    monkeypatch.setattr(maintenance, "FOLLOW_SECONDS", 0)
    monkeypatch.setattr(asgi, "_WRITE_CHECK_SECONDS", 0.05)
    changed = settings.model_copy(update={"metrics_networks": "127.0.0.1"})
    with AsgiClient(build(changed, database), address="127.0.0.1", raises=False) as client:
        assert client.get("/readyz").json()["status"] == "ok"
        damage_table(database.path, table)
        if table in _READ_BY_CHECKS:
            until(lambda: client.get("/readyz").status_code != 200)
            ready = client.get("/readyz").json()
            assert (ready["status"], ready["database"]) == ("unavailable", "damaged")
            assert "waypost_database_up 0.0" in client.get("/metrics").text
        else:
            assert client.get("/readyz").status_code in (200, 503)
            assert client.get("/metrics").status_code == 200
