"""Structured logs on standard error: one JSON object a line, or readable text on a terminal."""

import logging
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

from waypost.core.settings import Settings
from waypost.core.text_folding import escape_control_characters


def configure(settings: Settings) -> None:
    """Format our events and those of libraries in the same way."""
    as_json = settings.log_format == "json" or (settings.log_format == "auto" and not sys.stderr.isatty())
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderers: list[Processor] = [structlog.processors.JSONRenderer()]
    if not as_json:
        console = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        renderers = [_escape_values, console]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            *renderers,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for library in ("alembic", "mcp", "httpx2"):  # httpx2 logs the whole URL of each request
        logging.getLogger(library).setLevel(logging.WARNING)


def _escape_values(_logger: Any, _method: str, event: EventDict) -> EventDict:
    return {
        escape_control_characters(name): _escaped(value, keep="\n\t" if name == "exception" else "")
        for name, value in event.items()
    }


def _escaped(value: Any, keep: str) -> Any:
    """Escape text; other values are logged by their `repr`, which escapes."""
    return escape_control_characters(value, keep) if isinstance(value, str) else value
