"""The `waypost remote` commands: those of the package waypost-client, if it is installed."""

from typing import Any

import typer

from waypost.cli import console
from waypost.core import module_loading


def _missing() -> None:
    """Operations of a remote service."""
    console.complain("This needs the package waypost-client in the same environment.", "See docs/remote.md.")
    raise typer.Exit(2)


def _load() -> Any:
    try:
        return module_loading.load("waypost_client.cli.main").app
    except ModuleNotFoundError:
        return _missing


remote = _load()
