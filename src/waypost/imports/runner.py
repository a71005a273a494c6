"""Imports in the background, for the API and the dashboard. Only the thread has the token of the service."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO
from zoneinfo import ZoneInfo

import structlog

from waypost.api.context import RequestContext
from waypost.errors import Kind, Problem, not_found
from waypost.imports import apply, planner, plans, undo
from waypost.imports.archives.staging import Staging
from waypost.imports.planner import Options, Source
from waypost.imports.plans import Plan
from waypost.imports.sources import registry
from waypost.imports.sources.registry import Service, ServiceOptions

MAX_FILE_BYTES = 1 << 30
_MOST_RUNNING = 8
_OLD_SECONDS = 86_400
_PREFIX = "import-"
_running = threading.BoundedSemaphore(_MOST_RUNNING)
_log = structlog.get_logger("imports")
OpenSource = Callable[[], AbstractContextManager[Source]]


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
    context: RequestContext, service: Service, token: str, service_options: ServiceOptions, options: Options
) -> None:
    """Start to read the API of a service. Raises INVALID on `url` or `token`, and as `start_reading`."""
    source = registry.of_service(service, token, service_options)
    start_reading(context, source.name, lambda: nullcontext(source), options)


def read_stored_file(
    context: RequestContext, chunks: Iterable[bytes], columns: Mapping[str, str], zone: ZoneInfo, options: Options
) -> None:
    """Start to read a file of the storage. Raises as `start_reading`."""

    @contextmanager
    def open_copy() -> Iterator[Source]:
        copy = copy_file(context.settings.data_dir, chunks)
        with _closing(copy, registry.of_file(Path(copy.name), columns, zone, _staging(context))) as source:
            yield source

    start_reading(context, "file", open_copy, options)


def read_file(
    context: RequestContext, file: IO[bytes], columns: Mapping[str, str], zone: ZoneInfo, options: Options
) -> None:
    """Start to read a temporary file, which is deleted at the end. Raises as `start_reading`."""
    try:
        start_reading(
            context,
            "file",
            lambda: _closing(file, registry.of_file(Path(file.name), columns, zone, _staging(context))),
            options,
        )
    except BaseException:
        file.close()
        raise


def start_reading(context: RequestContext, name: str, open_source: OpenSource, options: Options) -> int:
    """Start to make a plan; return its id. `name` is that of the source.

    Raises IMPORT_STATE while another import of the account runs, UNAVAILABLE while too many of others run.
    """
    context.write(lambda _: None)  # refuses read-only keys, and everything in maintenance
    plan = plans.start(context.database, context.account, name, conflicts=options.conflicts)

    def work() -> None:
        with open_source() as source:
            check = context.resources.maintenance.require_off
            planner.read(context.database, context.settings, context.account, plan, source, options, check)

    _start(context, plan, work)
    return plan


def start_applying(context: RequestContext) -> None:
    """Start to apply the plan, or resume it. Raises as `apply.apply`, and UNAVAILABLE as `start_reading`."""
    plan = _plan(context)
    apply.require_state(plan)
    context.write(lambda tx: plans.acquire(tx, context.account, plan.id, "applying"))
    check = context.resources.maintenance.require_off
    _start(context, plan.id, lambda: apply.apply(context.database, context.account, context.settings, check))


def start_undoing(context: RequestContext) -> None:
    """Start to undo the import, or resume it. Raises as `undo.undo`, and UNAVAILABLE as `start_reading`."""
    plan = _plan(context)
    undo.require_unedited(plan, undo.preview(context.database, context.account))
    context.write(lambda tx: plans.acquire(tx, context.account, plan.id, "undoing"))
    check = context.resources.maintenance.require_off
    _start(context, plan.id, lambda: undo.undo(context.database, context.account, check))


def remove(context: RequestContext) -> None:
    """Delete the plan of the account. Its links stay. Raises NOT_FOUND, IMPORT_STATE while a process works on it."""
    plan = _plan(context)
    context.write(lambda tx: plans.acquire(tx, context.account, plan.id, plan.state))
    plans.remove(context.database, context.account, plan.id)


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


def _start(context: RequestContext, plan: int, work: Callable[[], object]) -> None:
    """Run `work` in a thread. A problem is noted in the plan."""
    database, account = context.database, context.account
    if not _running.acquire(blocking=False):
        problem = Problem(Kind.UNAVAILABLE, "Other imports are running. Please try again later.", retry_after=60)
        database.write(lambda tx: plans.fail(tx, account, plan, problem.message))
        raise problem

    def run() -> None:
        error = ""
        try:
            work()
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
