"""`waypost settings`: the values in effect, and where each comes from."""

import os
import tomllib
from typing import Any

from pydantic import SecretStr

from waypost.cli import access, console
from waypost.cli.console import AsJson
from waypost.core import setting_urls
from waypost.core.settings import SECRETS, Settings, config_file, secret_variable

_PREFIX = "WAYPOST_"
_HIDDEN = "***"


def list_settings(*, json: AsJson = False) -> None:
    """List all settings: the value in effect, and the place that sets it. Secrets are hidden."""
    settings = access.settings()
    variables = {name.upper() for name in os.environ}
    in_file = _names_in_file()
    rows = [
        {
            "setting": f"{_PREFIX}{name.upper()}",
            "value": _shown(name, settings),
            "source": _source(name, variables, in_file),
        }
        for name in Settings.model_fields
    ]
    console.print_rows(rows, ("setting", "value", "source"), json=json)


def _names_in_file() -> set[str]:
    file = config_file()
    return set(tomllib.loads(file.read_text("utf-8"))) if file.is_file() else set()


def _source(name: str, variables: set[str], in_file: set[str]) -> str:
    """Return the place with the highest precedence that has the setting."""
    if name in SECRETS and (path := os.environ.get(secret_variable(name))):
        return path
    if f"{_PREFIX}{name.upper()}" in variables:
        return "environment"
    return str(config_file()) if name in in_file else "default"


def _shown(name: str, settings: Settings) -> str:
    value: Any = getattr(settings, name)
    text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    if name == "database_url" and text:
        return setting_urls.without_password(text)
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(map(str, value))
    return _HIDDEN if name in SECRETS and text else text
