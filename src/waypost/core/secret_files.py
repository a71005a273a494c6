"""Secrets from files, as containers and systemd pass them: WAYPOST_SMTP_URL_FILE names the file of WAYPOST_SMTP_URL."""

import os
from pathlib import Path

SECRETS = ("database_url", "storage_key", "storage_secret", "smtp_url")
"""The settings that can be in a file of their own."""


class SecretFileError(ValueError):
    """A file cannot be used. The message begins with the name of the variable."""


def variable(setting: str) -> str:
    """Return the environment variable with the path of a setting's file."""
    return f"WAYPOST_{setting.upper()}_FILE"


def read() -> dict[str, str]:
    """Return the settings whose variables name a file, without the line break at the end. Raises SecretFileError."""
    return {setting: _content(setting) for setting in SECRETS if os.environ.get(variable(setting))}


def _content(setting: str) -> str:
    name = variable(setting)
    if f"WAYPOST_{setting.upper()}" in os.environ:
        raise SecretFileError(f"{name}: WAYPOST_{setting.upper()} is set too. Remove one of them")
    try:
        text = Path(os.environ[name]).read_text("utf-8").rstrip("\r\n")
    except OSError as error:
        raise SecretFileError(f"{name}: {os.environ[name]} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SecretFileError(f"{name}: {os.environ[name]} is not a text file in UTF-8") from error
    if not text or not text.isprintable():
        raise SecretFileError(f"{name}: {os.environ[name]} must contain one line with the value of the setting")
    return text
