"""The environment of the systemd unit, for commands that the administrator runs."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

UNIT_FILE = Path("/etc/waypost.env")
"""`EnvironmentFile` of deploy/waypost.service."""
UNIT_DATA = "/var/lib/waypost"
_PREFIX = "WAYPOST_"
_OWN_SETTINGS = ("waypost.toml", "data")  # a folder with one of them has an installation of its own
_NOT_OF_UNIT = ("serve", "demo")  # systemd starts the service; a demo has its own folder
_NAME = re.compile(r"^[ \t\r]*(?P<name>[^#;\s=][^=\n]*)=", re.MULTILINE)
_VALID_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # systemd ignores others
_QUOTED = re.compile(
    r"""[ \t\r]*(?:'(?P<single>[^']*)(?:'|\Z)|"(?P<double>(?:\\(?:.|\Z)|[^"\\])*+)(?:"|\Z))""", re.DOTALL
)
_PLAIN = re.compile(r"[ \t\r]*(?P<plain>(?:\\(?:.|\Z)|[^\\\s]|[ \t\r]+(?=\S))*+)", re.DOTALL)
_DOUBLE_ESCAPE = re.compile(r"""\\(?:\n|\Z|(["\\`$]))""")
_PLAIN_ESCAPE = re.compile(r"\\(?:\n|(.)|\Z)", re.DOTALL)


def load(arguments: list[str]) -> None:
    """Add the settings of the unit to the environment, if root runs a command without any settings of its own."""
    if os.geteuid() != 0 or arguments[:1] in [[name] for name in _NOT_OF_UNIT]:
        return
    if any(name.startswith(_PREFIX) for name in os.environ) or any(Path(name).exists() for name in _OWN_SETTINGS):
        return
    try:
        text = UNIT_FILE.read_text("utf-8")
    except (OSError, UnicodeDecodeError):  # there is no unit, or systemd ignores the file, too
        return
    os.environ.update({f"{_PREFIX}DATA_DIR": UNIT_DATA, **dict(_settings(text))})


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the variables of an environment file with the values that systemd gives the service."""
    position = 0
    while name := _NAME.search(text, position):
        value, position = _value(text, name.end())
        if _VALID_NAME.fullmatch(name["name"].rstrip()):
            yield name["name"].rstrip(), value


def _value(text: str, position: int) -> tuple[str, int]:
    """Return the value that begins at a position, and the position of its end."""
    parts = []
    while quoted := _QUOTED.match(text, position):
        parts.append(_DOUBLE_ESCAPE.sub(r"\1", quoted["double"]) if quoted["single"] is None else quoted["single"])
        position = quoted.end()
    plain = _PLAIN.match(text, position)
    assert plain is not None  # it matches nothing, too
    return "".join((*parts, _PLAIN_ESCAPE.sub(r"\1", plain["plain"]))), plain.end()
