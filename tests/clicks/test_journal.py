"""The click journal: one complete line on disk for every click, also with a full disk."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.support.databases import ON_SQLITE
from tests.support.protocol import ProtocolClient, protocol_client
from waypost.clicks.ingest import read_barrier
from waypost.clicks.ingest.coordination import WAKE_PIPE, wake_ingester
from waypost.clicks.journal import HEAD, LATE, PREFETCH, SCAN, Journal, format_line, item_fields
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database

LINK = item_fields(3, "link", 7)
CUT = b"\t".join((b"x" * 512, b"y" * 1024, b"z" * 64))
GET = b"GET /spring HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _segments(folder: Path) -> list[bytes]:
    """The content of the segments, oldest first."""
    return [path.read_bytes() for path in sorted(folder.glob("*.log"))]


def _is_free(path: Path) -> bool:
    """Return whether the segment has no writer."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@pytest.mark.parametrize(
    ("flags", "country", "words", "message"),
    [
        (b"", b"", (b"", b"", b""), b"\t\t1.2.3.4\t\t\t\t\n"),
        (HEAD + LATE, b"DE", (b"a", b"b", b"c"), b"\thl\t1.2.3.4\tDE\ta\tb\tc\n"),
        (PREFETCH + SCAN, b"XYZ", (b"a b", b"", b""), b"\tpq\t1.2.3.4\tXY\ta b\t\t\n"),
        (b"", b"", (b"x" * 513, b"y" * 1025, b"z" * 65), b"\t\t1.2.3.4\t\t" + CUT + b"\n"),
        (b"", b"\t", (b"\t" * 600, b"\ta", b"b\t"), b"\t\t1.2.3.4\t \t%b\t a\tb \n" % (b" " * 512)),
        (b"", b"", (b"\xff\x00", b"\x7f", b"\x80"), b"\t\t1.2.3.4\t\t\xff\x00\t\x7f\t\x80\n"),
    ],
)  # fmt: skip
def test_click_is_one_bounded_line_of_ten_fields(
    flags: bytes, country: bytes, words: tuple[bytes, bytes, bytes], message: bytes
) -> None:
    written = format_line(LINK, 1_800_000_000_123, flags, b"1.2.3.4", country, words)
    assert written == b"1800000000123\t3\tlink\t7" + message
    assert (written.count(b"\t"), written.count(b"\n")) == (9, 1)


def test_segment_is_closed_when_old_or_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Journal(tmp_path)
    kept.rotate()
    assert _segments(tmp_path) == []  # nothing is made before there is a click
    for entry in (b"1\n", b"2\n"):
        assert kept.write(entry)
        kept.rotate()
    assert _segments(tmp_path) == [b"1\n2\n"]
    kept._opened_at -= 4
    kept.rotate()
    kept.write(b"3\n4\n")
    assert _segments(tmp_path) == [b"1\n2\n", b"3\n4\n"]
    monkeypatch.setattr("waypost.clicks.journal._MAX_BYTES", 3)
    kept.rotate()
    kept.write(b"5\n")
    kept.close()
    kept.close()
    assert _segments(tmp_path) == [b"1\n2\n", b"3\n4\n", b"5\n"]
    assert kept.lost == 0
    assert not list(tmp_path.glob("*.new"))


def test_segment_is_locked_until_closed(tmp_path: Path) -> None:
    one, two = Journal(tmp_path), Journal(tmp_path)
    one.write(b"1\n")
    two.write(b"2\n")
    first, second = sorted(tmp_path.glob("*.log"))
    assert (_is_free(first), _is_free(second)) == (False, False)
    one.close()
    assert (_is_free(first), _is_free(second)) == (True, False)
    assert (first.stat().st_mode & 0o777, _segments(tmp_path)) == (0o600, [b"1\n", b"2\n"])
    two.close()


def _run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    start = "import os, resource, sys\nfrom pathlib import Path\nfrom waypost.clicks.journal import Journal\n"
    command = [sys.executable, "-c", f"{start}journal = Journal(Path(sys.argv[1]))\n{code}", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_segment_of_killed_writer_is_released(tmp_path: Path) -> None:
    completed = _run("journal.write(b'1\\n')\nos.kill(os.getpid(), 9)", tmp_path)
    assert completed.returncode == -9
    assert _segments(tmp_path) == [b"1\n"]
    assert _is_free(next(tmp_path.glob("*.log")))


def test_lost_clicks_are_logged_with_their_number_over_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Journal(tmp_path / "journal")
    with capture_logs() as logged:
        for _ in range(3):
            kept._fd = os.open("/dev/full", os.O_WRONLY)
            kept.write(b"1\n")
        monkeypatch.setattr(kept, "_reported_until", 0.0)  # a minute later
        kept._report_lost()
    assert [(entry["lost"], entry["new"], entry["reason"]) for entry in logged if "lost" in entry] == [
        (1, 1, "No space left on device"),
        (3, 2, "No space left on device"),
    ]


def test_segment_without_lines_stays_open(tmp_path: Path) -> None:
    kept = Journal(tmp_path)
    kept._open()
    kept._opened_at -= 60
    kept.rotate()
    assert kept.write(b"1\n")
    assert _segments(tmp_path) == [b"1\n"]
    kept.close()


def test_full_disk_loses_only_clicks_that_do_not_fit(tmp_path: Path) -> None:
    completed = _run(
        """
told = [journal.write(b"123456789\\n")]
resource.setrlimit(resource.RLIMIT_FSIZE, (45, resource.RLIM_INFINITY))
told.append(journal.write(b"abcdefghi\\n" * 6))  # three and a half of them fit
told.append(journal.write(b"lost at all\\n"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
told.append(journal.write(b"good again\\n"))
print(told, journal.lost)
""",
        tmp_path,
    )
    assert completed.stdout.splitlines()[-1] == "[True, False, False, True] 4"
    assert "clicks are lost" in completed.stdout + completed.stderr
    assert _segments(tmp_path) == [b"123456789\n" + b"abcdefghi\n" * 3 + b"good again\n"]


@ON_SQLITE
class TestOfAService:
    """Behavior while the journal cannot be written."""

    @pytest.fixture
    def client(self, settings: Settings, database: Database) -> Iterator[ProtocolClient]:
        monitored = settings.model_copy(update={"metrics_networks": "127.0.0.1"})
        with protocol_client(monitored, database) as client:
            client.add_link("spring")
            client.request(GET)
            yield client

    def test_redirects_continue_and_loss_is_reported(self, client: ProtocolClient, settings: Settings) -> None:
        folder = settings.journal_dir
        client.worker_state.journal.close()
        shutil.rmtree(folder)
        folder.touch()  # so that no segment can be made there
        cold = GET.replace(b"Host", b"Connection: close\r\nHost")
        for number, request in enumerate((GET, cold, GET, cold), 1):
            assert client.request(request)[9:12] == b"302"
            assert self._ready(client) == {
                "status": "degraded",
                "database": "ok",
                "storage": "ok",
                "clicks_lost": number,
                "journal": "missing",
                "maintenance": False,
            }
        folder.unlink()
        folder.mkdir()
        assert client.request(GET)[9:12] == b"302"
        assert (len(client.new_journal_lines()), self._ready(client)["clicks_lost"]) == (1, 4)
        assert self._ready(client)["status"] == "ok"

    def test_segment_that_cannot_be_synced_is_abandoned_and_clicks_continue(self, client: ProtocolClient) -> None:
        kept = client.worker_state.journal
        os.close(kept._fd)
        kept._fd = os.open("/dev/full", os.O_WRONLY)  # every write fails: no space left
        assert client.request(GET)[9:12] == b"302"
        assert kept.lost == 1
        kept._is_unsynced = True
        kept.sync()
        assert client.request(GET)[9:12] == b"302"
        assert kept.lost == 1

    @pytest.mark.parametrize("path", ["/api/url/1", "/api/urls", "/api/stats"])
    def test_reads_say_that_numbers_are_old_while_clicks_cannot_be_counted(
        self, client: ProtocolClient, monkeypatch: pytest.MonkeyPatch, path: str
    ) -> None:
        monkeypatch.setattr(read_barrier, "_STALL_SECONDS", 0.01)  # no ingester runs
        response = client.request(client.api_request("GET", path))
        assert response[9:12] == b"200", response
        assert re.search(rb"\r\nx-statistics-age: [1-9]\d*\r\n", response)

    def test_new_click_limit_returns_503_while_clicks_cannot_be_counted(
        self, client: ProtocolClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(read_barrier, "_TIMEOUT_SECONDS", 0.01)  # no ingester runs
        response = client.request(client.api_request("PUT", "/api/url/1/update", b'{"clicklimit": 5}'))
        assert response[9:12] == b"503"
        assert b"retry-after: 5\r\n" in response

    def test_clicks_that_wait_long_degrade_the_readiness(self, client: ProtocolClient) -> None:
        old = format_line(LINK, clock.now_ms() - 60_000, b"", b"1.2.3.4", b"", (b"", b"", b""))
        client.worker_state.journal.close()
        client.worker_state.journal.write(old)
        status = self._ready(client)
        assert (status["status"], status["counting"]) == ("degraded", "behind")
        metrics = client.request(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        age = re.search(rb"\nwaypost_oldest_uncounted_seconds (\S+)", metrics)
        assert age is not None
        assert float(age[1]) >= 60

    def test_segment_that_was_removed_is_written_again(self, client: ProtocolClient, settings: Settings) -> None:
        kept = client.worker_state.journal
        shutil.rmtree(settings.journal_dir)
        assert client.request(GET)[9:12] == b"302"
        with capture_logs() as logged:
            kept.rotate()
        assert [entry["event"] for entry in logged] == ["a segment of the click journal was removed"]
        assert client.request(GET)[9:12] == b"302"
        (segment,) = _segments(settings.journal_dir)
        assert (segment.count(b"\n"), kept.lost) == (3, 0)

    def _ready(self, client: ProtocolClient) -> dict[str, object]:
        response = client.request(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        status: dict[str, object] = json.loads(response.partition(b"\r\n\r\n")[2])
        return status


def test_wakeup_of_stopping_ingester_is_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / WAKE_PIPE)
    reader = os.open(tmp_path / WAKE_PIPE, os.O_RDONLY | os.O_NONBLOCK)
    opened: list[int] = []

    def open_too_late(path: Path, flags: int) -> int:
        opened.append(really(path, flags))
        os.close(reader)
        return opened[0]

    really = os.open
    monkeypatch.setattr(os, "open", open_too_late)
    wake_ingester(tmp_path)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


def test_fault_ends_without_a_click_when_the_journal_can_be_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    journal = Journal(folder)
    folder.rmdir()
    folder.touch()
    assert not journal.write(b"a line\n")
    journal.rotate()
    assert journal.fault
    folder.unlink()
    journal.rotate()
    assert (journal.fault, journal.lost) == ("", 1)
    assert [*folder.iterdir()] == []
