"""Caddy with the Caddyfile of docs/caddy.md: certificates for known branded domains only."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.support.caddy import https_get, running_caddy
from tests.support.databases import ON_SQLITE
from tests.support.server import free_port, serving
from waypost.auth import api_keys
from waypost.core import credentials
from waypost.db.database import Database
from waypost.items.accounts import ops


def _key(tx: Connection) -> str:
    password = credentials.hash_password("a password")
    account = ops.add(tx, email="ana@example.com", username="ana", password=password)
    return api_keys.add(tx, account.id, name="first key")


@ON_SQLITE
def test_branded_domain_gets_certificate_on_first_visit(tmp_path: Path, database: Database, database_url: str) -> None:
    port = free_port()
    key = database.write(_key)
    settings: dict[str, Any] = {
        "base_url": "https://go.example.com",
        "trusted_proxies": "127.0.0.1",
        "domain_check": "off",
    }
    with serving(tmp_path / "service", database_url=database_url, **settings) as server:
        brand = {"domain": "https://brand.example"}
        assert server.call("POST", "/api/domain/add", key=key, json=brand).status_code == 200
        link = {"url": "https://example.com/page", "custom": "spring", **brand}
        assert (
            server.call("POST", "/api/url/add", key=key, json=link).json()["shorturl"] == "https://brand.example/spring"
        )
        with running_caddy(tmp_path, int(server.url.rpartition(":")[2]), port) as root:
            response = https_get("brand.example", "/spring", port, root)
            assert (response.status, response.headers["location"]) == (302, "https://example.com/page")
            assert https_get("go.example.com", "/dashboard/signin", port, root).status == 200
            assert https_get("brand.example", "/unknown", port, root).status == 404
            with pytest.raises(ssl.SSLError):
                https_get("unknown.example", "/spring", port, root)
