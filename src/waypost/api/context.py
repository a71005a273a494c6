"""The context of an authenticated request, which an endpoint gets, its budget, and the change of data that it returns.

All items of a request share its budget for slow work (decision 79).
"""

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Annotated, Any, Generic, TypeVar, get_args

from fastapi import Depends
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, NoResultFound, SQLAlchemyError

from waypost.api.idempotency import Claim
from waypost.auth.attempt_limits import RateLimiter
from waypost.clicks.ingest import read_barrier
from waypost.clicks.stats import reports
from waypost.core.actor import SYSTEM, GetActor, acting
from waypost.core.errors import Kind, Problem, account_deleted, invalid
from waypost.core.languages import SOURCE_LANGUAGE
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.db import account_rows, change_log
from waypost.db.database import Database
from waypost.db.maintenance import MaintenanceMode
from waypost.http.mail import Mailer
from waypost.http.safe_client import FetchSlots
from waypost.media.branding import store as brands
from waypost.media.branding.brand import NO_BRAND, PRODUCT, Brand
from waypost.storage.cleanup import StorageCleaner
from waypost.storage.store import Store
from waypost.urls.short_urls import Addressed, short_url

T = TypeVar("T")
MAX_FETCHES = 20
MAX_FETCH_SECONDS = 30.0
_MAX_CODES = 500
_MAX_COPIED_BYTES = 16 * 1024 * 1024
_MAX_ITEM_SECONDS = 120  # less than the claim of an idempotency key lasts


class RequestBudget:
    """Counters of the slow work of one request, for any number of items.

    They are of requests to other servers and the time spent waiting for them, QR codes that are drawn, and copies of
    pictures. A request whose client has disconnected does nothing more.
    """

    def __init__(self, *, max_fetches: int = MAX_FETCHES, max_fetch_seconds: float = MAX_FETCH_SECONDS) -> None:
        self.fetches = 0
        self.is_abandoned = False
        """True after the client has disconnected; the event loop sets it."""
        self._began = time.monotonic()
        self._max_fetches = max_fetches
        self._max_fetch_seconds = max_fetch_seconds
        self._waited = 0.0
        self._codes = 0
        self._copied_bytes = 0
        self._loaded: dict[str, dict[Hashable, Any]] = {}

    @contextmanager
    def fetch(self, field: str, seconds: float) -> Iterator[float]:
        """Count a request to another server, and the time that the block takes.

        The value is the time that the request can take, at most `seconds`. Raises INVALID on the field when no request
        or no time is left.
        """
        self.require_client()
        left = self._max_fetch_seconds - self._waited
        if self.fetches >= self._max_fetches:
            most = f"at most {self._max_fetches} requests to other servers"
            raise invalid(field, f"{field}: one request or import can make {most}. Send the rest separately.")
        if left <= 0:
            most = f"at most {self._max_fetch_seconds:.0f} seconds for other servers"
            raise invalid(field, f"{field}: one request or import can wait {most}. Send the rest separately.")
        self.fetches += 1
        began = time.monotonic()
        try:
            yield min(seconds, left)
        finally:
            self._waited += time.monotonic() - began

    def load_once(self, kind: str, source: Hashable, load: Callable[[], T], *, most: int, refusal: Problem) -> T:
        """Return what `load` returns for a source. It is called once: its problem is raised again.

        Raises `refusal` for more than `most` sources of a kind.
        """
        known = self._loaded.setdefault(kind, {})
        if source not in known:
            if len(known) >= most:
                raise refusal
            try:
                known[source] = load()
            except Problem as problem:
                known[source] = problem
        result: T | Problem = known[source]  # `load` of the same kind returned it
        if isinstance(result, Problem):
            raise result
        return result

    def draw_code(self) -> None:
        """Count a QR code that is drawn and decoded. Raises INVALID on `data`."""
        self.require_client()
        if self._codes >= _MAX_CODES:
            raise invalid(
                "data", f"data: one request can draw at most {_MAX_CODES} QR codes. Send the rest in another."
            )
        self._codes += 1

    def keep_copy(self, field: str, size: int) -> None:
        """Count the bytes of a copy of a picture, which are kept until the end. Raises INVALID on the field."""
        self.require_client()
        if self._copied_bytes + size > _MAX_COPIED_BYTES:
            most = f"at most {_MAX_COPIED_BYTES} bytes of copies of pictures"
            raise invalid(field, f"{field}: one request can make {most}. Send fewer or smaller pictures.")
        self._copied_bytes += size

    def begin_item(self) -> None:
        """Raise UNAVAILABLE if the items of the request have taken too long to begin another one."""
        self.require_client()
        if time.monotonic() - self._began > _MAX_ITEM_SECONDS:
            message = (
                f"This request has taken {_MAX_ITEM_SECONDS} seconds, the most. Send this item in another request."
            )
            raise Problem(Kind.UNAVAILABLE, message)

    def require_client(self) -> None:
        """Raise Abandoned if the client has disconnected."""
        if self.is_abandoned:
            raise Abandoned


class Abandoned(Exception):
    """The client has disconnected, so the request ends without a change. No problem of an item."""


R = TypeVar("R")
V = TypeVar("V")


class Change(Generic[R]):
    """The result of an endpoint that changes data. R is its response, also in the OpenAPI document.

    `work` runs in one transaction, which a bulk request shares with other changes. `respond` makes the response of what
    `work` returns.
    """

    def __init__(self, work: Callable[[Connection], T], respond: Callable[[T], R]) -> None:
        self.work: Callable[[Connection], Any] = work
        self.respond: Callable[[Any], R] = respond

    def run(self, commit: Callable[[], R]) -> R:
        """Return the response that `commit` returns: it makes the change in a transaction of its own."""
        return commit()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the response."""
        return handler.generate_schema(get_args(source)[0])


class JoinedChange(Change[R]):
    """A change that a bulk request joins with others of its endpoint: `work_each` makes many with few statements.

    Each is described by its `value`.
    """

    def __init__(
        self, work_each: Callable[[Connection, Sequence[V]], Sequence[T]], value: V, respond: Callable[[T], R]
    ) -> None:
        super().__init__(lambda tx: work_each(tx, [value])[0], respond)
        self.work_each: Callable[[Connection, Sequence[Any]], Sequence[Any]] = work_each
        self.value: Any = value


@dataclass(frozen=True, kw_only=True)
class WorkerResources:
    """The settings, data and services that the API and the dashboard share. Built once per worker process."""

    settings: Settings
    database: Database
    publish_changes: Callable[[Sequence[change_log.Change]], None]
    """Called with the changes of a committed transaction, before the response."""
    meter: Meter
    cleaner: StorageCleaner
    mailer: Mailer
    rate_limiter: RateLimiter
    maintenance: MaintenanceMode
    fetch_slots: FetchSlots = field(default_factory=FetchSlots)


@dataclass(frozen=True)
class RequestContext:
    """The authenticated account of a request and its access to the data."""

    account: int
    resources: WorkerResources
    can_change_login: bool
    """True if it may change the account's e-mail address and password; not every API key may."""
    can_write: bool = field(default=True, kw_only=True)
    """False if the API key is read-only."""

    claim: Claim | None = field(default=None, kw_only=True)
    """The claim of the request's idempotency key, if it has one."""

    take_requests: Callable[[int], None] = field(default=lambda _: None, kw_only=True)
    """Take further requests from the limit of the API key. Raises RATE_LIMITED if fewer are left."""

    report_uncounted: Callable[[int], None] = field(default=lambda _: None, kw_only=True)
    """Tell the client that numbers lack the clicks of so many seconds, because they cannot be counted now."""

    shared_budget: Callable[[], RequestBudget] = field(default_factory=lambda: cache(RequestBudget), kw_only=True)
    """Return the budget of the request, which is made when it is first needed. Copies of the context share it."""

    language: str = field(default=SOURCE_LANGUAGE, kw_only=True)
    """The language of the request."""

    actor: GetActor = field(default=lambda: SYSTEM, kw_only=True)
    """Return the author of the changes of the request."""

    @property
    def settings(self) -> Settings:
        """The settings of the installation."""
        return self.resources.settings

    @property
    def database(self) -> Database:
        """The database of the installation."""
        return self.resources.database

    @property
    def cleaner(self) -> StorageCleaner:
        """Deletes contents of files that no row needs."""
        return self.resources.cleaner

    @property
    def mailer(self) -> Mailer:
        """Sends e-mail."""
        return self.resources.mailer

    @property
    def rate_limiter(self) -> RateLimiter:
        """The rate limits of attempts."""
        return self.resources.rate_limiter

    @property
    def store(self) -> Store:
        """The storage of file contents."""
        return self.cleaner.store

    @property
    def budget(self) -> RequestBudget:
        """The budget of the request for slow work, which the items of a bulk request share."""
        return self.shared_budget()

    @cached_property
    def brand(self) -> Brand:
        """The brand of the installation; none while the database is unavailable."""
        try:
            return self.read(brands.of_installation, autocommit=True)
        except Problem:
            return NO_BRAND

    @property
    def service_name(self) -> str:
        """The name of the service for people."""
        return self.brand.name or PRODUCT

    def short_url(self, item: Addressed) -> str:
        """Return the short URL of a link or file."""
        return short_url(self.settings.base, item.host, item.scheme, item.alias)

    def read(self, work: Callable[[Connection], T], *, autocommit: bool = False) -> T:
        """Run `work` in a read transaction. Raises NOT_FOUND if the account was deleted.

        `autocommit`: for a single statement; saves PostgreSQL two round trips.
        """
        try:
            return self.database.read(work, autocommit=autocommit)
        except NoResultFound as error:
            self._require_account(error)
            raise

    def write(self, work: Callable[[Connection], T], *, in_maintenance: bool = False) -> T:
        """Run `work` in a write transaction and commit it. `in_maintenance`: also in maintenance mode.

        Raises READ_ONLY_KEY, NOT_FOUND if the account was deleted, and UNAVAILABLE in maintenance mode.
        """
        if not self.can_write:
            raise read_only_key()
        if not in_maintenance:
            self.resources.maintenance.require_off()
        changes: list[change_log.Change] = []

        def recording(tx: Connection) -> T:
            result = work(tx)
            changes[:] = change_log.recorded(tx)
            return result

        try:
            with acting(self.actor):
                result = self.database.write(recording)
        except (IntegrityError, NoResultFound) as error:
            self._require_account(error)
            raise
        if changes:
            self.resources.publish_changes(changes)
        return result

    def run(self, change: Change[R]) -> R:
        """Like `write`, for a change; return its response, with an idempotency key stored as well.

        Raises REQUEST_RUNNING.
        """
        return change.run(lambda: self.write(lambda tx: self.answer(tx, change.respond(change.work(tx)))))

    @contextmanager
    def fetch(self, field: str, *, seconds: float) -> Iterator[float]:
        """Send a request to another server in the block, for the number of seconds that is the value.

        The first one of a request is part of it; each further one takes a request from the limit of the API key.
        Raises INVALID on the field, RATE_LIMITED and UNAVAILABLE.
        """
        with self.resources.fetch_slots.hold(self.account), self.budget.fetch(field, seconds) as left:
            if self.budget.fetches > 1:
                self.take_requests(1)
            yield left

    def answer(self, tx: Connection, response: R) -> R:
        """Return the response of the request; with an idempotency key, store it in the transaction of the change."""
        if self.claim is not None:
            self.claim.store(tx, response)
        return response

    def _require_account(self, error: SQLAlchemyError) -> None:
        """Raise NOT_FOUND if an error is due to the deletion of the account."""
        if self.account and not self.database.read(lambda tx: account_rows.exists(tx, self.account)):
            raise account_deleted() from error

    def read_after_ingest(self, work: Callable[[Connection], T]) -> T:
        """Like `read`, but wait until all earlier clicks are counted (decision 48)."""
        self.wait_for_ingest()
        return self.read(work)

    def wait_for_ingest(self) -> None:
        """Wait until all earlier clicks are counted; if that is impossible now, the response says so."""
        if seconds := read_barrier.wait(self.settings.journal_dir, self.database):
            self.report_uncounted(seconds)

    def require_ingest(self) -> None:
        """Wait until all earlier clicks are counted, for a change that depends on their number. Raises UNAVAILABLE."""
        read_barrier.require(self.settings.journal_dir, self.database)

    def read_report(self, kind: str, item: int, span: reports.Span) -> reports.Report:
        """Click statistics of one item that belongs to the account."""
        return self.read_after_ingest(lambda tx: reports.report(tx, self.account, kind, item, span))


def authenticated() -> RequestContext:
    """Mark the parameter of an endpoint that gets the context. The edge passes it, and nothing calls this."""
    raise NotImplementedError


Context = Annotated[RequestContext, Depends(authenticated)]
"""The context of a request with a valid key."""


def key_required() -> Problem:
    """Return the 401 problem for a missing or unknown key (decision 3)."""
    return Problem(Kind.KEY_REQUIRED, "A valid API key is required to use this service.")


def read_only_key() -> Problem:
    """Return the 403 problem for a change with a read-only key (decision 62)."""
    return Problem(Kind.READ_ONLY_KEY, "This API key is read-only. Use a key with the scope write.")
