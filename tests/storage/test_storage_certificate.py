"""An S3 store whose certificate is not valid: `/readyz`, the log and `waypost doctor` say so."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.load import until
from tests.support.threads import in_thread
from waypost.admin import system_checks
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

_TIMEOUT_SECONDS = 30.0


class _Store(ThreadingHTTPServer):
    """A server with TLS. No request reaches it, because the client refuses its certificate."""

    daemon_threads = False  # closing waits for all threads

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), BaseHTTPRequestHandler)
        self._tls = tls

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        request.settimeout(_TIMEOUT_SECONDS)
        try:
            request = self._tls.wrap_socket(request, server_side=True)
        except OSError:
            request.close()  # the client refused the certificate
        else:
            super().process_request_thread(request, client_address)


@contextmanager
def _running_store(tls: ssl.SSLContext) -> Iterator[str]:
    store = _Store(tls)
    with in_thread(store):
        yield f"https://127.0.0.1:{store.server_port}"


def _unknown_issuer(tls: ssl.SSLContext, _folder: Path) -> str:
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    return "UnknownIssuer"


def _self_signed(tls: ssl.SSLContext, folder: Path) -> str:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "certificate.pem"))
    authority.private_key_pem.write_to_path(str(folder / "key.pem"))
    tls.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return "CaUsedAsEndEntity"


@ON_SQLITE
@pytest.mark.parametrize("certificate", [_unknown_issuer, _self_signed])
def test_invalid_certificate_of_the_store_is_named(
    certificate: Any, settings: Settings, database: Database, tmp_path: Path
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    kind = certificate(tls, tmp_path)
    with _running_store(tls) as endpoint:
        values: dict[str, Any] = {
            **settings.model_dump(),
            "storage_url": "s3://bucket",
            "storage_endpoint": endpoint,
            "storage_key": "key",
        }
        changed = Settings(
            **{**settings.model_dump(), **values, "storage_secret": "x", "metrics_networks": "127.0.0.1"}
        )
        with AsgiClient(build(changed, database), address="127.0.0.1") as client:
            until(lambda: client.get("/readyz").json()["storage"] != "ok")
            ready = client.get("/readyz")
            fault = "the certificate of the store is not valid"
            assert (ready.status_code, ready.json()["status"], ready.json()["storage"]) == (200, "degraded", fault)
        findings = [each for check in system_checks.of_installation(changed, database) for each in check.findings]
        assert [finding.id for finding in findings] == ["W030"]
        assert f"the certificate of the server is not valid ({kind})" in findings[0].text
