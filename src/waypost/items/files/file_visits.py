"""The outcome of a visit to a file, and what its page and small downloads take and read in the database."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.files import download_grants, file_server
from waypost.items.files.download_grants import DownloadEnd, DownloadGrant, Visitor
from waypost.items.files.file_server import VISITOR_COOKIE
from waypost.items.files.public import has_preview, is_expired, late_outcome, page_outcome, show_file, shows_page
from waypost.storage.store import ObjectNotFound, Store
from waypost.urls.blocklist import Blocklist
from waypost.visits.batcher import Batcher
from waypost.visits.outcome import Content, Deferred, NeedsRequest, Outcome
from waypost.visits.record_queries import FileView
from waypost.visits.request import VisitRequest
from waypost.visits.visit import VisitService
from waypost.visits.visitor_services import InstallationSigner

_MAX_BYTES = 32 * 1024  # of a file: a batch of them is in memory
_DOWNLOAD = "download=1"


class _Download(NamedTuple):
    file: FileView
    visitor: Visitor


class _BrokenDownload(NamedTuple):
    file: FileView
    grant: DownloadGrant


class _FileKey(NamedTuple):
    account: int
    id: int


class FileVisits:
    """Works for all visits of one turn of the event loop at once.

    It reads the files and takes their downloads in one transaction, and reads for pages how many downloads are left.
    Runs on the event loop of one worker.
    """

    def __init__(self, settings: Settings, database: Database, store: Store, signer: InstallationSigner) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._signer = signer
        self._downloads: Batcher[_Download, Content | None] = Batcher(self._deliver_all, thread_name="downloads")
        self._broken: Batcher[_BrokenDownload, None] = Batcher(self._finish_all, thread_name="broken downloads")
        self._left: Batcher[_FileKey, int | None] = Batcher(
            self._read_all_left, thread_name="downloads left", is_quick=database.is_sqlite
        )

    def outcome(self, _: VisitService, visit: VisitRequest, file: FileView, _blocked: Blocklist) -> Outcome:
        """Return the outcome of a visit: the page or the bytes.

        Passwords, unusual queries, and pictures, whose size is in their bytes, need the request.
        """
        if is_expired(file, clock.now()):
            return late_outcome(file)
        show = partial(show_file, file=file)
        if file.password is not None or visit.query not in ("", _DOWNLOAD):
            return NeedsRequest(show)
        if shows_page(visit, is_download=visit.query == _DOWNLOAD):
            return NeedsRequest(show) if has_preview(file) else self._page(visit, file)
        return NeedsRequest(show, content=partial(self._download, visit, file))

    def close(self) -> None:
        """Stop the threads."""
        self._downloads.close()
        self._broken.close()
        self._left.close()

    def _page(self, visit: VisitRequest, file: FileView) -> Outcome:
        """Return the page. With a download limit, it shows how many downloads are left, which is read first."""
        if file.maxdownloads is None:
            return page_outcome(visit, file, self._settings, None)

        def begin(done: Callable[[Outcome | BaseException], None]) -> None:
            def finish(left: int | BaseException | None) -> None:
                done(left if isinstance(left, BaseException) else page_outcome(visit, file, self._settings, left))

            self._left.submit(_FileKey(file.account, file.id), finish)

        return Deferred(begin, self._left.is_overloaded)

    def _read_all_left(self, files: Sequence[_FileKey]) -> list[int | None]:
        def work(tx: Connection) -> dict[_FileKey, int | None]:
            return {file: download_grants.downloads_left(tx, file.account, file.id) for file in set(files)}

        left = self._database.read(work, autocommit=True)
        return [left[file] for file in files]

    def _download(self, visit: VisitRequest, file: FileView) -> Deferred | None:
        """Return the download of a small local file, if the visitor has none to resume."""
        signer, is_small = self._signer.loaded, file.size <= _MAX_BYTES and self._store.is_local
        if signer is None or not is_small or visit.byte_range or VISITOR_COOKIE.encode() in visit.cookie:
            return None
        download = _Download(file, file_server.new_visitor(visit, file, signer))
        return Deferred(partial(self._take, download), self._downloads.is_overloaded)

    def _take(self, download: _Download, done: Callable[[Outcome | BaseException], None]) -> None:
        needs_request = NeedsRequest(partial(show_file, file=download.file))
        self._downloads.submit(download, lambda content: done(needs_request if content is None else content))

    def _deliver_all(self, downloads: Sequence[_Download]) -> list[Content | None]:
        # Before the grants: what cannot be sent must not cost a download.
        responses = [self._response(download) for download in downloads]
        # One order, so that no two nodes deadlock.
        order = sorted((d.file.account, d.file.id, n) for n, d in enumerate(downloads) if responses[n] is not None)

        def work(tx: Connection) -> dict[int, DownloadGrant | None]:
            now = clock.now()
            return {index: _take_grant(tx, downloads[index], now) for _, _, index in order}

        is_single = len(order) == 1
        grants = self._database.write(work, durability="process", autocommit=is_single, once=is_single)
        return [
            self._content(download.file, response, grants.get(index))
            for index, (download, response) in enumerate(zip(downloads, responses, strict=True))
        ]

    def _finish_all(self, broken: Sequence[_BrokenDownload]) -> list[None]:
        """Let downloads be started again whose clients have not read them (decision 68)."""
        order = sorted(broken, key=lambda download: (download.file.account, download.grant.id))

        def work(tx: Connection) -> None:
            for file, grant in order:
                end = DownloadEnd(unsent=0, unread=file.size, delivered=0, is_broken=True)
                download_grants.finish(tx, file, grant, end, clock.now())

        self._database.write(work, durability="process")
        return [None] * len(broken)

    def _response(self, download: _Download) -> Response | None:
        """Return the response with the file's bytes; None if some are missing, which the slow path reports."""
        file, visitor = download
        try:
            _, chunks = self._store.load(file.object)
        except ObjectNotFound:
            return None
        content = b"".join(chunks)
        if len(content) != file.size:
            return None
        response = Response(content, headers=file_server.content_headers(file))
        file_server.set_visitor_cookie(response, visitor, file, self._settings)
        return response

    def _content(self, file: FileView, response: Response | None, grant: DownloadGrant | None) -> Content | None:
        if response is None or grant is None:
            return None
        return Content(response, file_server.journal_fields(file, grant), partial(self._record_broken, file, grant))

    def _record_broken(self, file: FileView, grant: DownloadGrant) -> None:
        self._broken.submit(_BrokenDownload(file, grant), lambda _: None)


def _take_grant(tx: Connection, download: _Download, now: int) -> DownloadGrant | None:
    file, visitor = download
    return download_grants.retry_or_take(tx, file, visitor, served=file.size, now=now)
