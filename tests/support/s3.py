"""A real S3 server for tests: OpenStack Swift with s3api, on one device."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from getpass import getuser
from pathlib import Path
from typing import Any

import httpx2
import obstore
from obstore.store import S3Store

_KINDS = ("object", "container", "account")
_PIPELINE = "catch_errors listing_formats bulk s3api tempauth copy slo dlo versioned_writes symlink"
_BUILD = """
import json, sys
from swift.common.ring import RingBuilder
folder, ports = sys.argv[1], json.loads(sys.argv[2])
for kind, port in ports.items():
    ring = RingBuilder(2, 1, 0)
    address = {"ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1", "replication_port": port}
    ring.add_dev({"id": 0, "region": 1, "zone": 1, "device": "disk", "weight": 1.0, "meta": "", **address})
    ring.rebalance()
    ring.get_ring().save(f"{folder}/{kind}.ring.gz")
"""
_OPTIONS = {
    "s3api": "s3_acl = false\ncheck_bucket_owner = false\nlocation = us-east-1\nmin_segment_size = 5242880",
    "tempauth": "user_test_tester = testing .admin",
    "versioned_writes": "allow_versioned_writes = true\nallow_object_versioning = true",
}


@dataclass(frozen=True)
class Bucket:
    """A bucket of the server in `folder`, with the settings of a service that uses it."""

    endpoint: str
    folder: Path
    name: str

    @property
    def settings(self) -> dict[str, str]:
        return {
            "storage_url": f"s3://{self.name}/waypost",
            "storage_endpoint": self.endpoint,
            "storage_region": "us-east-1",
            "storage_key": "test:tester",
            "storage_secret": "testing",
        }

    def objects(self) -> list[str]:
        """Return the names of all objects."""
        return [meta["path"] for page in obstore.list(self._store(self.name)) for meta in page]

    def parts(self) -> int:
        """Return the number of stored parts, those of unfinished uploads included."""
        return sum(1 for _ in (self.folder / "disks").rglob("*.data"))

    def create(self) -> None:
        """Create the bucket."""
        url = obstore.sign(self._store(self.name), "PUT", "", timedelta(seconds=60))
        assert httpx2.put(url, trust_env=False, timeout=60, verify=False).status_code == 200

    def _store(self, name: str) -> S3Store:
        keys: Any = {"access_key_id": "test:tester", "secret_access_key": "testing", "region": "us-east-1"}
        return S3Store(name, endpoint=self.endpoint, client_options={"allow_http": True}, **keys)


@contextmanager
def running_s3(bucket: str) -> Iterator[Bucket]:
    """Start a server with one bucket."""
    with tempfile.TemporaryDirectory(prefix="waypost-s3-") as name:
        folder = Path(name)
        ports = dict(zip((*_KINDS, "proxy"), _free_ports(4), strict=True))
        _configure(folder, ports)
        build: list[str | Path] = [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            _BUILD,
            folder,
            json.dumps({k: ports[k] for k in _KINDS}),
        ]
        subprocess.run(build, check=True, capture_output=True)
        processes = [_start(folder, kind) for kind in ports]
        try:
            for port in ports.values():
                _wait_for(port, folder)
            created = Bucket(f"http://127.0.0.1:{ports['proxy']}", folder, bucket)
            created.create()
            yield created
        finally:
            for process in processes:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _configure(folder: Path, ports: dict[str, int]) -> None:
    (folder / "disks" / "disk").mkdir(parents=True)
    (folder / "cache").mkdir()
    hashes = "[swift-hash]\nswift_hash_path_prefix = t\nswift_hash_path_suffix = t\n"
    (folder / "swift.conf").write_text(f"{hashes}[storage-policy:0]\nname = p\ndefault = yes\n")
    common = f"""\
        user = {getuser()}
        swift_dir = {folder}
        workers = 0
        bind_ip = 127.0.0.1
        log_level = ERROR
        log_address = {folder}/nolog
        devices = {folder}/disks
        mount_check = false
        recon_cache_path = {folder}/cache
        fallocate_reserve = 0
    """
    for kind in _KINDS:
        app = f"[pipeline:main]\npipeline = {kind}-server\n[app:{kind}-server]\nuse = egg:swift#{kind}\n"
        text = f"[DEFAULT]\n{textwrap.dedent(common)}bind_port = {ports[kind]}\n{app}"
        (folder / f"{kind}.conf").write_text(text)
    filters = "".join(
        f"[filter:{name}]\nuse = egg:swift#{name}\n{_OPTIONS.get(name, '')}\n" for name in _PIPELINE.split()
    )
    app = "[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\nallow_account_management = true\n"
    text = f"[DEFAULT]\n{textwrap.dedent(common)}bind_port = {ports['proxy']}\n"
    (folder / "proxy.conf").write_text(f"{text}[pipeline:main]\npipeline = {_PIPELINE} proxy-server\n{filters}{app}")


def _start(folder: Path, kind: str) -> "subprocess.Popen[bytes]":
    command = Path(sys.executable).with_name(f"swift-{kind}-server")
    with (folder / f"{kind}.log").open("wb") as log:
        command_line: list[str | Path] = [sys.executable, "-W", "ignore", command, folder / f"{kind}.conf"]
        return subprocess.Popen(command_line, stdout=log, stderr=log, start_new_session=True)


def _wait_for(port: int, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline:
                logs = "\n".join(path.read_text() for path in folder.glob("*.log"))
                raise RuntimeError(f"the S3 server did not start:\n{logs}") from None
            time.sleep(0.05)
        else:
            return


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
