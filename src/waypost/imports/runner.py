"""Imports in the background, for the API and the dashboard. Only the thread has the token of the service.

Each start changes the plan in one transaction, which also stores the response for an idempotency key; `respond` makes
it. The thread starts after the commit, so a repeated request starts nothing twice.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TypeVar
from zoneinfo import ZoneInfo

import structlog
from sqlalchemy import Connection

from waypost.api.context import RequestContext
from waypost.errors import Kind, Problem, not_found
from waypost.imports import apply, plan_removal, planner, plans, undo
from waypost.imports.archives.staging import Staging
from waypost.imports.planner import Options, Source
from waypost.imports.plans import Plan, State
from waypost.imports.sources import registry
from waypost.imports.sources.registry import Service, ServiceOptions
from waypost.storage.store import ObjectNotFound

MAX_FILE_BYTES = 1 << 30
_MOST_RUNNING = 8
_OLD_SECONDS = 86_400
_PREFIX = "import-"
_running = threading.BoundedSemaphore(_MOST_RUNNING)
_log = structlog.get_logger("imports")
OpenSource = Callable[[], AbstractContextManager[Source]]
R = TypeVar("R")
Respond = Callable[[Connection], R]


def new_file(folder: Path) -> IO[bytes]:
    """Return an empty file that is deleted when it is closed. Deletes those of processes that were killed."""
    for path in folder.glob(f"{_PREFIX}*"):
        if path.stat().st_mtime < time.time() - _OLD_SECONDS:
            path.unlink(missing_ok=True)
    return NamedTemporaryFile(dir=folder, prefix=_PREFIX)  # closed when the plan is made


def copy_file(folder: Path, chunks: Iterable[bytes]) -> IO[bytes]:
    """Return a temporary file with this content. Raises TOO_LARGE."""
    copy, size = new_file(folder), 0
    for chunk in chunks:
        size += len(chunk)
        if size > MAX_FILE_BYTES:
            copy.close()
            raise too_large()
        copy.write(chunk)
    copy.flush()
    return copy


def too_large() -> Problem:
    """Return the TOO_LARGE problem of a file."""
    message = f"The file has more than {MAX_FILE_BYTES >> 30} GiB. Split it, or use the command waypost import."
    return Problem(Kind.TOO_LARGE, message, field="file")


def read_service(
    context: RequestContext,
    service: Service,
    token: str,
    service_options: ServiceOptions,
    options: Options,
    respond: Respond[R],
) -> R:
    """Start to read the API of a service. Raises INVALID on `url` or `token`, and as `start_reading`."""
    source = registry.of_service(service, token, service_options)
    return start_reading(context, source.name, lambda: nullcontext(source), options, respond)


def read_stored_file(
    context: RequestContext,
    name: str,
    columns: Mapping[str, str],
    zone: ZoneInfo,
    options: Options,
    respond: Respond[R],
) -> R:
    """Start to read an object of the storage. Raises NOT_FOUND, and as `start_reading`."""
    if context.store.size(name) is None:
        raise not_found("file")

    @contextmanager
    def open_copy() -> Iterator[Source]:
        try:
            _, chunks = context.store.load(name)
        except ObjectNotFound:
            raise not_found("file") from None
        copy = copy_file(context.settings.data_dir, chunks)
        with _closing(copy, registry.of_file(Path(copy.name), columns, zone, _staging(context))) as source:
            yield source

    return start_reading(context, "file", open_copy, options, respond)


def read_file(
    context: RequestContext,
    file: IO[bytes],
    columns: Mapping[str, str],
    zone: ZoneInfo,
    options: Options,
    respond: Respond[R],
) -> R:
    """Start to read a temporary file, which is deleted at the end. Raises as `start_reading`."""
    try:
        return start_reading(
            context,
            "file",
            lambda: _closing(file, registry.of_file(Path(file.name), columns, zone, _staging(context))),
            options,
            respond,
        )
    except BaseException:
        file.close()
        raise


def start_reading(
    context: RequestContext, name: str, open_source: OpenSource, options: Options, respond: Respond[R]
) -> R:
    """Start to make a plan; return the response. `name` is that of the source.

    Raises IMPORT_STATE while another import of the account runs, UNAVAILABLE while too many of others run.
    """
    context.write(lambda _: None)  # refuses read-only keys, and everything in maintenance

    def work(plan: int) -> None:
        with open_source() as source:
            check = context.resources.maintenance.require_off
            planner.read(context.database, context.settings, context.account, plan, source, options, check)

    with _thread_limit():
        plan_removal.clear(context.database, context.account)
        add = partial(plans.add, account=context.account, source=name, conflicts=options.conflicts)
        return _start(context, add, work, respond)


def start_applying(context: RequestContext, respond: Respond[R]) -> R:
    """Start to apply the plan, or resume it; return the response. Raises as `apply.apply` and `start_reading`."""
    plan = _plan(context)
    apply.require_state(plan)
    check = context.resources.maintenance.require_off

    def work(_plan: int) -> None:
        apply.apply(context.database, context.account, context.settings, check)

    with _thread_limit():
        return _start(context, _acquiring(context, plan, "applying"), work, respond)


def start_undoing(context: RequestContext, respond: Respond[R]) -> R:
    """Start to undo the import, or resume it; return the response. Raises as `undo.undo` and `start_reading`."""
    plan = _plan(context)
    undo.require_unedited(plan, undo.preview(context.database, context.account))
    check = context.resources.maintenance.require_off

    def work(_plan: int) -> None:
        undo.undo(context.database, context.account, check)

    with _thread_limit():
        return _start(context, _acquiring(context, plan, "undoing"), work, respond)


def remove(context: RequestContext, respond: Respond[R]) -> R:
    """Delete the plan of the account; return the response. Its links stay.

    Raises NOT_FOUND, IMPORT_STATE while a process works on it.
    """
    plan = _plan(context)
    context.write(_acquiring(context, plan, plan.state))
    plan_removal.empty(context.database, context.account, plan.id)

    def work(tx: Connection) -> R:
        plan_removal.drop(tx, context.account, plan.id)
        return respond(tx)

    return context.change(work, lambda response: response)


def _acquiring(context: RequestContext, plan: Plan, state: State) -> Callable[[Connection], int]:
    """Return a change that begins work on the plan, and returns its id. It raises IMPORT_STATE as `plans.acquire`."""

    def begin(tx: Connection) -> int:
        plans.acquire(tx, context.account, plan.id, state)
        return plan.id

    return begin


def _staging(context: RequestContext) -> Staging:
    return Staging(context.database, context.store, context.settings, context.account)


@contextmanager
def _closing(file: IO[bytes], source: AbstractContextManager[Source]) -> Iterator[Source]:
    """Delete the file when the source is closed."""
    with file, source as opened:
        yield opened


def _plan(context: RequestContext) -> Plan:
    plan = context.read(lambda tx: plans.find(tx, context.account))
    if plan is None:
        raise not_found("import")
    return plan


@contextmanager
def _thread_limit() -> Iterator[None]:
    """Take the right to start a thread, which returns it; without a thread, after an error, it is returned here.

    Raises UNAVAILABLE.
    """
    if not _running.acquire(blocking=False):
        raise Problem(Kind.UNAVAILABLE, "Other imports are running. Please try again later.", retry_after=60)
    try:
        yield
    except BaseException:
        _running.release()
        raise


def _start(
    context: RequestContext,
    begin: Callable[[Connection], int],
    work: Callable[[int], object],
    respond: Respond[R],
) -> R:
    """Change the plan with `begin` and store the response, in one transaction; then run `work` with its id in a thread.

    A problem of the thread is noted in the plan.
    """
    plan, response = context.write(lambda tx: (begin(tx), context.answer(tx, respond(tx))))
    database, account = context.database, context.account

    def run() -> None:
        error = ""
        try:
            work(plan)
        except Problem as problem:
            error = problem.message
        except OSError as problem:
            error = f"The file cannot be read: {problem.strerror}."
        except Exception:  # noqa: BLE001  # a thread has no caller
            _log.exception("import failed", account=account)
            error = plans.UNEXPECTED
        finally:
            _running.release()
        if error:
            with suppress(Problem):  # without a database the plan counts as interrupted after a minute
                database.write(lambda tx: plans.fail(tx, account, plan, error))

    threading.Thread(target=run, name="import", daemon=True).start()
    return response
