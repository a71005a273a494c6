"""Files on the fast path: pages, and downloads of small local files, if the visitor needs no password."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection
from starlette.responses import Response

from waypost import clock
from waypost.clicks.journal import entry
from waypost.files import download_grants, file_server
from waypost.files.download_grants import DownloadEnd, DownloadGrant, Visitor
from waypost.files.public import file_page, is_expired
from waypost.files.visitor_tokens import VISITOR_COOKIE
from waypost.storage.store import ObjectNotFound
from waypost.visits.batcher import Batcher
from waypost.visits.fast_outcomes import FastPage, FileDelivery, LimitedOutcome
from waypost.visits.lookup import FileView
from waypost.visits.request import VisitRequest
from waypost.visits.services import Services
from waypost.visits.visit import VisitService

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


class FastFiles:
    """Works for all visits of one turn of the event loop at once.

    It reads the files and takes their downloads in one transaction, and reads for pages how many downloads are left.
    Runs on the event loop of one worker.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._downloads: Batcher[_Download, FileDelivery | None] = Batcher(self._deliver_all, thread_name="downloads")
        self._broken: Batcher[_BrokenDownload, None] = Batcher(self._finish_all, thread_name="broken downloads")
        self._left: Batcher[_FileKey, int | None] = Batcher(
            self._read_all_left, thread_name="downloads left", is_quick=services.database.is_sqlite
        )

    def respond(self, _: VisitService, visit: VisitRequest, file: FileView) -> FastPage | LimitedOutcome | None:
        """Return the page or the download; None if the visit needs the slow path."""
        if file.password is not None or is_expired(file, clock.now()) or not visit.is_click:
            return None
        if visit.wants_page and not visit.query:
            return self._page(file)
        return self._download(visit, file) if visit.query in ("", _DOWNLOAD) else None

    def close(self) -> None:
        """Stop the threads."""
        self._downloads.close()
        self._broken.close()
        self._left.close()

    def _page(self, file: FileView) -> FastPage | LimitedOutcome | None:
        """Return the page. With a download limit, it shows how many downloads are left, which is read first."""
        if file.maxdownloads is None:
            return self._page_with(file, None)
        return None if self._left.is_overloaded else LimitedOutcome(partial(self._read_left, file))

    def _page_with(self, file: FileView, left: int | None) -> FastPage:
        """Return the page. It counts nothing."""
        render = partial(file_page, file=file, settings=self._services.settings, left=left)
        return FastPage(b"", render, expiry=file.expiry, is_for_browsers=True, left=left)

    def _read_left(self, file: FileView, done: Callable[[FastPage | None], None]) -> None:
        def finish(left: int | BaseException | None) -> None:
            # Without a download left, the visit is late. Without a limit, the record is outdated.
            done(self._page_with(file, left) if isinstance(left, int) and left > 0 else None)

        self._left.submit(_FileKey(file.account, file.id), finish)

    def _read_all_left(self, files: Sequence[_FileKey]) -> list[int | None]:
        def work(tx: Connection) -> dict[_FileKey, int | None]:
            return {file: download_grants.downloads_left(tx, file.account, file.id) for file in set(files)}

        left = self._services.database.read(work, autocommit=True)
        return [left[file] for file in files]

    def _download(self, visit: VisitRequest, file: FileView) -> LimitedOutcome | None:
        signer, is_small = self._services.signer.loaded, file.size <= _MAX_BYTES and self._services.store.is_local
        if signer is None or not is_small or visit.byte_range or VISITOR_COOKIE.encode() in visit.cookie:
            return None
        if self._downloads.is_overloaded:
            return None
        download = _Download(file, file_server.new_visitor(visit, file, signer))
        return LimitedOutcome(partial(self._take, download))

    def _take(self, download: _Download, done: Callable[[FileDelivery | None], None]) -> None:
        def finish(delivery: FileDelivery | BaseException | None) -> None:
            done(None if isinstance(delivery, BaseException) else delivery)

        self._downloads.submit(download, finish)

    def _deliver_all(self, downloads: Sequence[_Download]) -> list[FileDelivery | None]:
        contents = [self._read(download.file) for download in downloads]  # a missing file must not cost a download
        # One order, so that no two nodes deadlock.
        order = sorted((d.file.account, d.file.id, n) for n, d in enumerate(downloads) if contents[n] is not None)

        def work(tx: Connection) -> dict[int, DownloadGrant | None]:
            now = clock.now()
            return {index: _take_grant(tx, downloads[index], now) for _, _, index in order}

        is_single = len(order) == 1
        grants = self._services.database.write(work, durability="process", autocommit=is_single, once=is_single)
        return [
            self._delivery(download, content, grants.get(index))
            for index, (download, content) in enumerate(zip(downloads, contents, strict=True))
        ]

    def _finish_all(self, broken: Sequence[_BrokenDownload]) -> list[None]:
        """Let downloads be started again whose clients have not read them (decision 68)."""
        order = sorted(broken, key=lambda download: (download.file.account, download.grant.id))

        def work(tx: Connection) -> None:
            for file, grant in order:
                end = DownloadEnd(unsent=0, unread=file.size, delivered=0, is_broken=True)
                download_grants.finish(tx, file, grant, end, clock.now())

        self._services.database.write(work, durability="process")
        return [None] * len(broken)

    def _read(self, file: FileView) -> bytes | None:
        """Return the file's bytes; None if some are missing, which the slow path reports."""
        try:
            _, chunks = self._services.store.load(file.object)
        except ObjectNotFound:
            return None
        content = b"".join(chunks)
        return content if len(content) == file.size else None

    def _delivery(self, download: _Download, content: bytes | None, grant: DownloadGrant | None) -> FileDelivery | None:
        if content is None or grant is None:
            return None
        file, visitor = download
        response = Response(content, headers=file_server.content_headers(file))
        file_server.set_visitor_cookie(response, visitor, file, self._services.settings)
        target = b"" if grant.is_retry else entry.item_fields(file.account, "file", file.id)
        on_broken = partial(self._record_broken, file, grant)
        return FileDelivery(response, target, entry.TAKEN if grant.taken else b"", on_broken)

    def _record_broken(self, file: FileView, grant: DownloadGrant) -> None:
        self._broken.submit(_BrokenDownload(file, grant), lambda _: None)


def _take_grant(tx: Connection, download: _Download, now: int) -> DownloadGrant | None:
    file, visitor = download
    return download_grants.retry_or_take(tx, file, visitor, served=file.size, now=now)
