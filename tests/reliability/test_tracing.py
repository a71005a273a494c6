"""OpenTelemetry traces: requests of the API and the dashboard with their transactions, and a collector that is down."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.load import add_ana, until
from tests.support.server import Server, free_port, serving
from tests.support.threads import in_thread
from waypost.admin import system_checks
from waypost.core.settings import Settings
from waypost.db.database import Database

_TRACE = "0af7651916cd43dd8448eb211c80319c"


class _Collector(ThreadingHTTPServer):
    """An OTLP receiver that keeps all spans."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.exports: list[ExportTraceServiceRequest] = []

    @property
    def spans(self) -> list[Span]:
        scopes = (scope for export in self.exports for spans in export.resource_spans for scope in spans.scope_spans)
        return [span for scope in scopes for span in scope.spans]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


class _Receiver(BaseHTTPRequestHandler):
    server: _Collector

    def do_POST(self) -> None:
        export = ExportTraceServiceRequest()
        export.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.exports.append(export)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _collector() -> Iterator[tuple[_Collector, str]]:
    server = _Collector()
    with in_thread(server):
        yield server, f"http://127.0.0.1:{server.server_port}/v1/traces"


def _attributes(span: Span) -> dict[str, object]:
    return {item.key: item.value.string_value or item.value.int_value for item in span.attributes}


def _add_ana(url: str) -> str:
    database = Database(url)
    try:
        return database.write(add_ana)
    finally:
        database.close()


def _send_requests(node: Server, key: str) -> None:
    traceparent = {"traceparent": f"00-{_TRACE}-b7ad6b7169203331-01"}
    body = {"url": "https://example.com/secret", "custom": "traced"}
    assert node.call("POST", "/api/url/add", key=key, json=body, headers=traceparent).status_code == 200
    assert node.call("GET", "/api/url/999?token=secret", key=key).status_code == 404
    unknown = {"url": "https://example.com/", "domain": "https://secret.example"}
    assert node.call("POST", "/api/url/add", key=key, json=unknown).status_code == 400
    assert node.call("GET", "/dashboard/signin").status_code == 200
    assert node.call("GET", "/traced", follow_redirects=False).status_code == 302
    assert node.call("GET", "/api/nothing/here", key=key).status_code == 404


def test_requests_and_their_transactions_are_traced(database_url: str, tmp_path: Path) -> None:
    with _collector() as (collector, traces_url):
        with serving(tmp_path, database_url=database_url, traces_url=traces_url) as node:
            _send_requests(node, _add_ana(database_url))
        add, read, page = (
            collector.named(name)[0] for name in ("POST /api/url/add", "GET /api/url/{id}", "GET /dashboard/signin")
        )
        assert add.trace_id.hex() == _TRACE
        assert (add.kind, read.status.code) == (Span.SPAN_KIND_SERVER, 0)
        assert _attributes(read) == {
            "http.request.method": "GET",
            "http.response.status_code": 404,
            "http.route": "/api/url/{id}",
            "url.scheme": "http",
        }
        writes = [span for span in collector.named("database write") if span.parent_span_id == add.span_id]
        system = "postgresql" if database_url.startswith("postgresql") else "sqlite"
        assert {_attributes(write)["db.system.name"] for write in writes} == {system}
        (refused,) = [span for span in collector.named("database write") if "error.type" in _attributes(span)]
        assert (_attributes(refused)["error.type"], len(refused.events)) == ("Problem", 0)
        transactions = [span for span in collector.spans if span.name.startswith("database ")]
        assert {span.parent_span_id for span in transactions} >= {add.span_id, read.span_id}
        assert page.parent_span_id == b""
        assert len(collector.named("GET")) == 1  # the unknown path
        assert len([span for span in collector.spans if span.kind == Span.SPAN_KIND_SERVER]) == 5  # none of the visit
        assert b"secret" not in b"".join(export.SerializeToString() for export in collector.exports)


def test_collector_that_is_down_delays_neither_requests_nor_the_stop(tmp_path: Path) -> None:
    with serving(tmp_path, traces_url=f"http://127.0.0.1:{free_port()}/v1/traces") as node:
        key = _add_ana(f"sqlite:///{tmp_path / 'waypost.db'}")
        for _ in range(50):
            assert node.call("GET", "/api/account", key=key).status_code == 200
        until(lambda: "export" in node.output())
        began = time.monotonic()
    assert time.monotonic() - began < 15  # far below the time after which workers are killed
    assert "Traceback" not in node.output()


def test_missing_package_is_an_error_with_the_repair(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    settings = Settings(traces_url="http://localhost:4318/v1/traces", data_dir=tmp_path)
    (finding,) = [finding for finding in system_checks.run(settings) if finding.id == "W042"]
    assert (finding.level, "Install the extra otel" in finding.hint) == ("error", True)
    assert "opentelemetry-sdk" in finding.text
