"""The `waypost deploy-files` command."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from waypost.cli import console
from waypost.core.errors import Kind, Problem

_PACKAGE = Path(__file__).resolve().parent.parent
_SOURCES = (_PACKAGE / "deploy", _PACKAGE.parent.parent / "deploy")
"""The folder in an installed package, and in the source."""
_SECRETS = ".env"  # the values of a compose file, in the source


def deploy_files(folder: Annotated[Path, typer.Argument(help="New folder for the files, such as deploy.")]) -> None:
    """Copy the files for deployment into a folder: systemd unit, containers, reverse proxies."""
    source = next(path for path in _SOURCES if path.is_dir())
    try:
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(_SECRETS))
    except FileExistsError:
        raise Problem(Kind.TAKEN, f"{folder} exists. Name a folder that does not exist yet.") from None
    except OSError as error:
        raise Problem(Kind.UNAVAILABLE, f"{folder} cannot be written: {error.strerror}.") from error
    console.stdout.print(f"{folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
