"""Logs for terminals: control characters of strangers are escaped."""

import subprocess
import sys

from waypost.core.text_folding import escape_control_characters

HOSTILE = "\x1b[31mred\x07 \x9b2J\r\nforged line\u202etxt.exe\u200b\x00"


_SCRIPT = f"""
import logging, structlog
from waypost.core.logging import configure
from waypost.core.settings import Settings
configure(Settings(log_format="text", log_level="info"))
hostile = {HOSTILE!a}
structlog.get_logger("test").info(hostile, path=hostile, nested=dict(name=hostile), **{{hostile: 1}})
logging.getLogger("library").warning("from a library: %s", hostile)
structlog.get_logger("test").error("failed", exc_info=ValueError(hostile))
"""


def test_text_log_escapes_control_characters() -> None:
    # A process of its own: the configuration of logs is global.
    completed = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, check=True, timeout=60)
    text = completed.stderr.decode()
    for character in ("\x1b[31mred", "\x07", "\x9b", "\r", "\u202e", "\u200b", "\x00"):
        assert character not in text, ascii(character)
    assert text.count("\\x1b[31mred") >= 5
    assert "\nforged line" not in text.partition("failed")[0]


_REQUEST = """
import httpx2
from waypost.core.logging import configure
from waypost.core.settings import Settings
configure(Settings(log_level="info"))
transport = httpx2.MockTransport(lambda request: httpx2.Response(200))
httpx2.Client(transport=transport).get("http://store.example/bucket?prefix=files")
"""


def test_requests_to_other_servers_are_not_logged() -> None:
    completed = subprocess.run([sys.executable, "-c", _REQUEST], capture_output=True, check=True, timeout=60)
    assert completed.stderr == b""


def test_escaped_text_keeps_printable_characters() -> None:
    assert escape_control_characters("Grüße, 世界 🙂") == "Grüße, 世界 🙂"
    assert escape_control_characters("a\x1b[2Jb\u202ec") == "a\\x1b[2Jb\\u202ec"
    assert escape_control_characters("a\nb\x1b", keep="\n") == "a\nb\\x1b"
