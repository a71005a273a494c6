"""Imports in the background, for the API and the dashboard. Only the thread has the token of the service.

A few imports work at a time in a process, and those that wait for another server block none.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeVar
from zoneinfo import ZoneInfo

import structlog
from sqlalchemy import Connection

from waypost.api.context import Change, RequestContext
from waypost.core.actor import acting
from waypost.core.errors import Kind, Problem, invalid, not_found
from waypost.core.formats import DateOrder
from waypost.storage.store import ObjectNotFound
from waypost.transfer.imports import apply, plan_removal, planner, plans, undo, uploads
from waypost.transfer.imports.archives.staging import Staging
from waypost.transfer.imports.batches import Cancellation
from waypost.transfer.imports.file_source import open_file
from waypost.transfer.imports.plan_removal import Removal
from waypost.transfer.imports.planner import Options, Source
from waypost.transfer.imports.plans import Plan, State, canceled
from waypost.transfer.imports.sources import registry
from waypost.transfer.imports.sources.http_reader import Patience
from waypost.transfer.imports.sources.registry import Service, ServiceOptions
from waypost.transfer.imports.uploads import ImportFile

_MAX_WORKING = 8
_MAX_RUNNING = 32
_POLL_SECONDS = 1.0
_FILE_SECONDS, _SECONDS_PER_MIB = 600, 4
_log = structlog.get_logger("imports")
OpenSource = Callable[[], AbstractContextManager[Source]]
Work = Callable[[int], object]
R = TypeVar("R")
Respond = Callable[[Connection], R]


class Job:
    """An import in the background. It works in a turn, and gives the turn back while it waits for another server."""

    def __init__(self, require: Callable[[], object]) -> None:
        """`require` is called before every batch, and can raise to stop."""
        self.cancellation = Cancellation(require)
        self.patience = Patience()
        self.plan = 0
        self.is_waiting = False
        self._has_turn = False

    @contextmanager
    def working(self) -> Iterator[None]:
        """Wait for a turn, and take it. Raises the reason if the import is canceled."""
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Give the turn to another import in this context. Raises the reason if the import is canceled."""
        self._give()
        self.is_waiting = True
        try:
            yield
        finally:
            self.is_waiting = False
            self._take()

    def _take(self) -> None:
        self.cancellation.check()
        while not _turns.acquire(timeout=_POLL_SECONDS):
            self.cancellation.check()
        self._has_turn = True

    def _give(self) -> None:
        if self._has_turn:
            self._has_turn = False
            _turns.release()


class Jobs:
    """The running imports of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Job] = set()

    def add(self, job: Job) -> None:
        """Add an import. If too many run, it replaces the one whose server has kept it waiting for the longest time.

        Raises UNAVAILABLE if none of them waits for another server.
        """
        with self._lock:
            if len(self._running) >= _MAX_RUNNING:
                waiting = [other for other in self._running if other.is_waiting]
                if not waiting:
                    message = "Other imports are running. Please try again later."
                    raise Problem(Kind.UNAVAILABLE, message, retry_after=60)
                slowest = max(waiting, key=lambda other: other.patience.spent)
                slowest.cancellation.cancel(_too_slow())
                self._running.discard(slowest)
            self._running.add(job)

    def remove(self, job: Job) -> None:
        """Remove an import that has ended."""
        with self._lock:
            self._running.discard(job)

    def cancel(self, plan: int) -> None:
        """Cancel the import with this plan at once, if it runs in this process."""
        with self._lock:
            canceled_jobs = [job for job in self._running if job.plan == plan]
        for job in canceled_jobs:
            job.cancellation.cancel(canceled())


def _too_slow() -> Problem:
    message = "The other server was slow, and more imports waited than this service can run. Please try again later."
    return Problem(Kind.UNAVAILABLE, message)


_turns = threading.BoundedSemaphore(_MAX_WORKING)
running = Jobs()


def read_service(
    context: RequestContext,
    service: Service,
    token: str,
    service_options: ServiceOptions,
    options: Options,
    respond: Respond[R],
) -> R:
    """Start to read the API of a service. Raises INVALID on `url` or `token`, and as `start_reading`."""
    job = _job(context)
    waits = {"sleep": job.cancellation.sleep, "check": job.cancellation.check, "waiting": job.waiting}
    reader = {**service_options.reader, **waits, "patience": job.patience}
    source = registry.of_service(service, token, replace(service_options, reader=reader))
    return start_reading(context, job, source.name, lambda: nullcontext(source), options, respond)


def read_stored_file(
    context: RequestContext,
    name: str,
    columns: Mapping[str, str | None],
    zone: ZoneInfo,
    options: Options,
    respond: Respond[R],
    *,
    dates: DateOrder,
) -> R:
    """Start to read an object of the storage. Raises NOT_FOUND, and as `start_reading`."""
    size = context.store.size(name)
    if size is None:
        raise not_found("file")
    if size > uploads.MAX_BYTES:
        raise uploads.too_large()
    job = _job(context)

    def load() -> Iterator[bytes]:
        try:
            _, chunks = context.store.load(name)
        except ObjectNotFound:
            raise not_found("file") from None
        for chunk in chunks:
            job.cancellation.check()
            yield chunk

    @contextmanager
    def open_copy() -> Iterator[Source]:
        copy = uploads.copy(context.settings.data_dir, context.account, size, load)
        with copy, open_file(copy.path, columns, zone, _staging(context), job.cancellation, dates=dates) as source:
            yield source

    return start_reading(context, job, "file", _limited(open_copy, job, size), options, respond)


def read_file(
    context: RequestContext,
    file: ImportFile,
    columns: Mapping[str, str | None],
    zone: ZoneInfo,
    options: Options,
    respond: Respond[R],
    *,
    dates: DateOrder,
) -> R:
    """Start to read an uploaded file, which is deleted at the end. Raises as `start_reading`."""
    job = _job(context)

    @contextmanager
    def open_upload() -> Iterator[Source]:
        with file, open_file(file.path, columns, zone, _staging(context), job.cancellation, dates=dates) as source:
            yield source

    try:
        return start_reading(
            context, job, "file", _limited(open_upload, job, file.size), options, respond, close=file.close
        )
    except BaseException:
        file.close()
        raise


def start_reading(
    context: RequestContext,
    job: Job,
    name: str,
    open_source: OpenSource,
    options: Options,
    respond: Respond[R],
    close: Callable[[], object] = lambda: None,
) -> R:
    """Start to make a plan; return the response. `name` is that of the source, `close` is called at the end.

    Raises IMPORT_STATE while another import of the account runs, UNAVAILABLE while too many of others run.
    """
    context.write(lambda _: None)  # refuses read-only keys, and everything in maintenance

    def work(plan: int) -> None:
        with open_source() as source:
            check = job.cancellation.check
            planner.read(context.database, context.settings, context.account, plan, source, options, check)

    with acting(context.actor):
        plan_removal.clear(context.database, context.account)
    add = partial(plans.add, account=context.account, source=name, conflicts=options.conflicts)
    return _start(context, job, add, work, respond, close)


def start_applying(context: RequestContext, respond: Respond[R]) -> R:
    """Start to apply the plan, or resume it; return the response. Raises as `apply.apply` and `start_reading`."""
    plan = _plan(context)
    apply.require_state(plan)
    job = _job(context)

    def work(plan: int) -> None:
        apply.run(context.database, context.account, plan, context.settings, job.cancellation.check)

    return _start(context, job, _acquiring(context, plan, "applying"), work, respond)


def start_undoing(context: RequestContext, respond: Respond[R]) -> R:
    """Start to undo the import, or resume it; return the response. Raises as `undo.undo` and `start_reading`."""
    plan = _plan(context)
    undo.require_unedited(plan, undo.preview(context.database, context.account))
    job = _job(context)

    def work(plan: int) -> None:
        undo.run(context.database, context.account, plan, job.cancellation.check)

    return _start(context, job, _acquiring(context, plan, "undoing"), work, respond)


def remove(context: RequestContext, begin: Callable[[Connection, int], Removal], respond: Callable[[str], R]) -> R:
    """Delete the plan of the account, and cancel its reading; `respond` gets the message. Its links stay.

    A process that applies or undoes it is asked to stop, and the plan stays. `begin` is `plan_removal.begin`, or
    `cancel` for a running import only. Raises as it does.
    """
    removal = context.write(lambda tx: begin(tx, context.account))
    running.cancel(removal.plan)
    if not removal.is_stopped_only:
        plan_removal.empty(context.database, context.account, removal.plan)

    def work(tx: Connection) -> Removal:
        if not removal.is_stopped_only:
            plan_removal.drop(tx, context.account, removal.plan)
        return removal

    return context.run(Change(work, lambda removed: respond(removed.message)))


def _acquiring(context: RequestContext, plan: Plan, state: State) -> Callable[[Connection], int]:
    """Return a change that begins work on the plan, and returns its id. It raises IMPORT_STATE as `plans.acquire`."""

    def begin(tx: Connection) -> int:
        plans.acquire(tx, context.account, plan.id, state)
        return plan.id

    return begin


def _staging(context: RequestContext) -> Staging:
    return Staging(context.database, context.store, context.settings, context.account)


def _job(context: RequestContext) -> Job:
    return Job(context.resources.maintenance.require_off)


def _limited(open_source: OpenSource, job: Job, size: int) -> OpenSource:
    """Return a function that opens a file of `size` bytes, and cancels the import if reading takes too long."""
    seconds = _FILE_SECONDS + size // (1 << 20) * _SECONDS_PER_MIB
    message = f"The file could not be read within {seconds // 60} minutes. Split it, or use the command waypost import."

    @contextmanager
    def open_limited() -> Iterator[Source]:
        timer = threading.Timer(seconds, job.cancellation.cancel, [invalid("file", message)])
        timer.daemon = True
        timer.start()
        try:
            with open_source() as source:
                yield source
        finally:
            timer.cancel()

    return open_limited


def _plan(context: RequestContext) -> Plan:
    plan = context.read(lambda tx: plans.find(tx, context.account))
    if plan is None:
        raise not_found("import")
    return plan


def _start(
    context: RequestContext,
    job: Job,
    begin: Callable[[Connection], int],
    work: Work,
    respond: Respond[R],
    close: Callable[[], object] = lambda: None,
) -> R:
    """Change the plan with `begin` and store the response, in one transaction; then run `work` with its id in a thread.

    A problem of the thread is noted in the plan. Raises UNAVAILABLE while too many imports run.
    """
    running.add(job)
    try:
        job.plan, response = context.write(lambda tx: (begin(tx), context.answer(tx, respond(tx))))
    except BaseException:
        running.remove(job)
        raise
    threading.Thread(target=_run, args=(context, job, work, close), name="import", daemon=True).start()
    return response


def _run(context: RequestContext, job: Job, work: Work, close: Callable[[], object]) -> None:
    """Work on the plan: the body of a thread."""
    try:
        actor = replace(context.actor(), origin="import")
        busy = plans.busy(context.database, context.account, job.plan, job.cancellation)
        with acting(lambda: actor), busy, job.working():
            _explain_os_errors(lambda: work(job.plan))
    except Problem:
        pass  # noted in the plan; without a database, the plan counts as interrupted after a minute
    except Exception:  # noqa: BLE001  # a thread has no caller
        _log.exception("import failed", account=context.account)
    finally:
        running.remove(job)
        close()


def _explain_os_errors(work: Callable[[], object]) -> None:
    try:
        work()
    except OSError as error:
        raise invalid("file", f"The file cannot be read: {error.strerror}.") from error
