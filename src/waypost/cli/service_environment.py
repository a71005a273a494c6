"""The environment of the systemd unit, for commands that the administrator runs."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

UNIT_FILE = Path("/etc/waypost.env")
"""`EnvironmentFile` of deploy/waypost.service."""
UNIT_DATA = "/var/lib/waypost"
_PREFIX = "WAYPOST_"
_OWN_SETTINGS = ("waypost.toml", "data")  # a folder with one of them has an installation of its own
_NOT_OF_UNIT = ("serve", "demo")  # systemd starts the service; a demo has its own folder


def load(arguments: list[str]) -> None:
    """Add the settings of the unit to the environment, if root runs a command without any settings of its own."""
    if os.geteuid() != 0 or arguments[:1] in [[name] for name in _NOT_OF_UNIT]:
        return
    if any(name.startswith(_PREFIX) for name in os.environ) or any(Path(name).exists() for name in _OWN_SETTINGS):
        return
    try:
        text = UNIT_FILE.read_text("utf-8")
    except OSError:  # there is no unit
        return
    os.environ.update({f"{_PREFIX}DATA_DIR": UNIT_DATA, **dict(_settings(text))})


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the variables of an environment file as systemd reads it: a line each, quoted or not."""
    for line in text.splitlines():
        name, separator, value = (part.strip() for part in line.strip().partition("="))
        if separator and not name.startswith(("#", ";")):
            yield name, shlex.split(value)[0] if value[:1] in ("'", '"') else value
