"""Logs for terminals: control characters of strangers are escaped."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from waypost.observability.logging import configure, escape_control_characters
from waypost.settings import Settings

HOSTILE = "\x1b[31mred\x07 \x9b2J\r\nforged line\u202etxt.exe\u200b\x00"


@pytest.fixture
def text_logs(capsys: pytest.CaptureFixture[str]) -> Iterator[pytest.CaptureFixture[str]]:
    """Logs as text on standard error, which is captured."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure(Settings(log_format="text", log_level="info"))
    yield capsys
    root.handlers[:] = handlers
    root.setLevel(level)


def test_text_log_escapes_control_characters(text_logs: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger("test").info(HOSTILE, path=HOSTILE, nested={"name": HOSTILE}, **{HOSTILE: 1})
    logging.getLogger("library").warning("from a library: %s", HOSTILE)
    structlog.get_logger("test").error("failed", exc_info=ValueError(HOSTILE))
    lines = text_logs.readouterr().err.replace("\x1b[0m", "").split("\n")
    text = "\n".join(lines)
    for character in ("\x1b[31mred", "\x07", "\x9b", "\r", "\u202e", "\u200b", "\x00"):
        assert character not in text, ascii(character)
    assert "\\x1b[31mred" in text
    assert not any(line.startswith("forged line") for line in lines[:2])


def test_escaped_text_keeps_printable_characters() -> None:
    assert escape_control_characters("Grüße, 世界 🙂") == "Grüße, 世界 🙂"
    assert escape_control_characters("a\x1b[2Jb\u202ec") == "a\\x1b[2Jb\\u202ec"
    assert escape_control_characters("a\nb\x1b", keep="\n") == "a\nb\\x1b"
