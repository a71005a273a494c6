"""API keys: authorization forms, scopes and errors (decisions 3 and 7)."""

import hashlib
import re
from typing import Any

import psycopg
import pytest
import time_machine
from sqlalchemy import make_url, select
from structlog.testing import capture_logs

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES, ON_POSTGRESQL
from waypost.auth import api_keys as auth_api_keys
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import api_keys
from waypost.items.accounts import ops
from waypost.server.app import build

REFUSAL = {"error": 1, "message": "A valid API key is required to use this service.", "code": "api_key_required"}
RATE_HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
WRITES: tuple[tuple[str, str, Any], ...] = (
    ("PUT", "/account/update", {"email": "else@example.com"}),
    ("POST", "/channel/add", {"name": "New"}),
    ("POST", "/channel/1/assign/links/1", None),
    ("PUT", "/channel/1/update", {"name": "Else"}),
    ("DELETE", "/channel/1/delete", None),
)


def _key(person: Person, **options: Any) -> str:
    key: str = person.write(lambda tx: auth_api_keys.add(tx, person.account, name="another", **options))
    return key


def _call_with_key(person: Person, key: str, method: str = "GET", path: str = "/account", body: Any = None) -> Any:
    return Person(person.account, person.username, key, person.client, person.database).call(method, path, body)


def _get_account(person: Person, authorization: str | bytes) -> Any:
    return person.client.get("/api/account", headers=[(b"authorization", _bytes(authorization))])


def _bytes(header: str | bytes) -> bytes:
    return header if isinstance(header, bytes) else header.encode()


def test_key_is_accepted_in_every_authorization_form(ana: Person) -> None:
    forms = ("Bearer {}", "Token {}", "{}", "bearer {}", "BEARER {}", "tOKEN {}", "Bearer   {}", " Bearer {} ", " {}")
    for form in forms:
        response = _get_account(ana, form.format(ana.key))
        assert response.status_code == 200, form
        assert response.json()["data"]["username"] == "ana"


def test_unknown_key_is_rejected_with_same_message(ana: Person) -> None:
    digest = hashlib.sha256(ana.key.encode()).hexdigest()
    forms: tuple[str | bytes, ...] = (
        *("", " ", "Bearer", "Token", "Bearer ", "wp_", "Bearer wp_unknown", "0", "null"),
        *(f"Bearer {ana.key[:-1]}", f"Bearer {ana.key}x", f"Bearer {ana.key} x", f"Bearer,{ana.key}"),
        *(f"Basic {ana.key}", f"Bearer Token {ana.key}", f"Key={ana.key}", f'"{ana.key}"'),
        *(ana.key.swapcase(), digest, f"Bearer {digest}", ana.key[:8], f"Bearer {'x' * 4000}"),
        *(b"Bearer \xff\xfe", "Bearer ключ", "' OR 1=1 --"),
    )
    for form in forms:
        response = _get_account(ana, form)
        assert (response.status_code, response.json()) == (401, REFUSAL), form
        assert response.headers["www-authenticate"] == "Bearer"
        assert not response.headers.keys() & set(RATE_HEADERS)


def test_every_endpoint_requires_key(ana: Person) -> None:
    paths = ana.client.get("/api/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method in operations:
            response = ana.client.request(method, re.sub(r"{\w+}", "1", path), content=b"{not json")
            assert (response.status_code, response.json()) == (401, REFUSAL), (method, path)


@ON_BOTH_DATABASES
def test_revoked_key_is_rejected_at_once(ana: Person, ben: Person) -> None:
    extra = _key(ana)
    assert _call_with_key(ana, extra).status_code == 200
    (key, *_) = ana.database.read(lambda tx: auth_api_keys.of(tx, ana.account))
    ana.write(lambda tx: auth_api_keys.revoke(tx, ana.account, key.id))
    assert (_call_with_key(ana, extra).status_code, _call_with_key(ana, extra).json()) == (401, REFUSAL)
    assert ana.get("/account")
    assert ben.get("/account")


@ON_BOTH_DATABASES
def test_key_works_until_expiry(ana: Person) -> None:
    end = clock.now() + 1000
    brief = _key(ana, expires=end)
    with time_machine.travel(end - 1, tick=False):
        assert _call_with_key(ana, brief).status_code == 200
    with time_machine.travel(end, tick=False):
        response = _call_with_key(ana, brief)
        assert (response.status_code, response.json()) == (401, REFUSAL)
        assert response.headers["www-authenticate"] == "Bearer"
        assert ana.get("/account")


def test_key_is_random_and_stored_as_hash(ana: Person) -> None:
    keys = {_key(ana) for _ in range(24)}
    assert len(keys) == 24
    for key in keys:
        assert re.fullmatch(r"wp_[A-Za-z0-9_-]{32}", key)  # 32 characters of 6 bits: 192 bits
    stored = ana.database.read(lambda tx: tx.execute(select(api_keys)).mappings().all())
    by_digest = {bytes(row["digest"]): row for row in stored}
    for key in keys:
        row = by_digest[hashlib.sha256(key.encode()).digest()]
        assert row["hint"] == key[:8]
        assert key[8:] not in repr(dict(row))


def test_read_only_key_cannot_write(ana: Person) -> None:
    ana.post("/url/add", {"url": "https://example.com/"})
    ana.post("/channel/add", {"name": "Friends"})
    reader = _key(ana, scope="read")
    before = (ana.get("/account"), ana.get("/channels"), ana.get("/channel/1"))
    for method, path, body in WRITES:
        response = _call_with_key(ana, reader, method, path, body)
        assert response.status_code == 403, (method, path)
        assert response.json()["code"] == "read_only_key"
        assert set(RATE_HEADERS) <= response.headers.keys()
    for method, path in (("GET", "/account"), ("GET", "/channel/1"), ("HEAD", "/channels")):
        assert _call_with_key(ana, reader, method, path).status_code == 200, (method, path)
    assert (ana.get("/account"), ana.get("/channels"), ana.get("/channel/1")) == before


def test_suspended_account_is_rejected_until_unsuspended(ana: Person, ben: Person) -> None:
    ana.post("/channel/add", {"name": "Friends"})
    ana.write(lambda tx: ops.suspend(tx, ana.account, suspended=True))
    for method, path, body in (*WRITES, ("GET", "/account", None), ("GET", "/nothing", None)):
        response = ana.call(method, path, body)
        assert response.status_code == 403, (method, path)
        assert response.json()["error"] == 1
        assert response.json()["code"] == "account_suspended"
        assert set(RATE_HEADERS) <= response.headers.keys()
    assert ben.get("/account")
    ana.write(lambda tx: ops.suspend(tx, ana.account, suspended=False))
    assert [channel["name"] for channel in ana.get("/channels")["data"]["channels"]] == ["Friends"]


def test_internal_error_returns_request_id_only(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("secret words of the inside")

    for module, name in ((ops, "get"), (auth_api_keys, "claim")):  # behind the context, and in it
        with monkeypatch.context() as patch, capture_logs():  # a traceback is long
            patch.setattr(module, name, crash)
            response = ana.call("GET", "/account")
        body = response.json()
        assert response.status_code == 500
        assert body.keys() == {"error", "message", "code"}
        assert (body["error"], body["code"]) == (1, "internal")
        assert body["message"].startswith("Internal error")
        assert response.headers["x-request-id"] in body["message"]
        assert "secret" not in response.text
        assert "RuntimeError" not in response.text
    assert ana.get("/account")


@ON_POSTGRESQL
def test_unavailable_database_returns_503_with_retry_after(
    settings: Settings, database: Database, postgres: str
) -> None:
    name = make_url(settings.database).database
    client = AsgiClient(build(settings, database))
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        response = client.get("/api/account", headers={"Authorization": "wp_any"})
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    assert (response.status_code, response.headers["retry-after"]) == (503, "5")
    assert (response.json()["error"], response.json()["code"]) == (1, "unavailable")
    assert client.get("/api/account", headers={"Authorization": "wp_any"}).status_code == 401
