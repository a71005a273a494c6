"""`waypost-cli`: operations of a remote service. Exit codes: 0 success, 1 problem, 2 usage, 3 access, 4 not found,
5 connection, 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from waypost_client import Waypost, WaypostError, __version__
from waypost_client.calls import check_base_url, check_key
from waypost_client.cli import commands, output, profiles
from waypost_client.cli.profiles import Profile, ProfileError, Profiles
from waypost_client.errors import AccessError, ApiError, BulkInterruptedError, ConnectionLostError, NotFoundError


class _Commands(TyperGroup):
    """Prints errors as one sentence, also below another command."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except WaypostError as error:
            output.complain(_sentence(error))
            raise typer.Exit(_exit_code(error)) from None
        except (ProfileError, ValueError, OSError) as error:
            output.complain(str(error))
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=_Commands, no_args_is_help=True, help="Operations of a remote service.", pretty_exceptions_enable=False
)
profile = typer.Typer(no_args_is_help=True, help="URLs and API keys of services.")
app.add_typer(profile, name="profile", rich_help_panel="Profiles")
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the profile.")]


def main() -> None:
    """Run the command line."""
    output.escape_unknown_characters()
    app(prog_name="waypost-cli")


def _print_version(is_given: bool) -> None:  # noqa: FBT001  # Typer passes the value of an option so
    if is_given:
        output.stdout().print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    ctx: typer.Context,
    profile: Annotated[
        str | None, typer.Option(help="Profile to use. Default: the environment, or the default.")
    ] = None,
    version: Annotated[  # noqa: ARG001  # its callback has run
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    ctx.obj = profile


def _client(ctx: typer.Context) -> Waypost:
    selected = profiles.choose(cast("str | None", ctx.obj))
    return Waypost(selected.url, selected.key)


@profile.command("add")
def add_profile(
    name: _NameArgument,
    url: Annotated[str, typer.Option(help="URL of the service, such as https://go.example.com.")],
) -> None:
    """Add or replace a profile. The API key is read from a prompt, or from standard input if it is no terminal."""
    address = check_base_url(url)
    is_terminal = sys.stdin.isatty()
    key = check_key(
        (typer.prompt("API key", hide_input=True, err=True) if is_terminal else sys.stdin.readline()).strip()
    )
    known = profiles.load()
    profiles.save(Profiles({**known.by_name, name: Profile(address, key)}, known.default or name))
    output.stdout().print(f"Profile {name} is in {profiles.path()}.", soft_wrap=True)


@profile.command("list")
def list_profiles(json: _Json = False) -> None:
    """List the profiles, without their API keys."""
    known = profiles.load()
    rows = [{"name": n, "url": p.url, "default": n == known.default} for n, p in known.by_name.items()]
    output.show(rows, as_json=json)


@profile.command("use")
def use_profile(name: _NameArgument) -> None:
    """Make a profile the default."""
    profiles.choose(name)
    profiles.save(Profiles(profiles.load().by_name, name))
    output.stdout().print(f"{name} is the default.")


@profile.command("remove")
def remove_profile(name: _NameArgument) -> None:
    """Remove a profile. Its API key stays valid until it is revoked."""
    profiles.choose(name)
    known = profiles.load()
    left = {each: profile for each, profile in known.by_name.items() if each != name}
    profiles.save(Profiles(left, "" if known.default == name else known.default))
    output.stdout().print(f"Profile {name} is removed.")


@app.command("download", rich_help_panel="Files")
def download(
    ctx: typer.Context,
    id: Annotated[int, typer.Argument(help="Id of a file of the account.")],
    file: Annotated[Path, typer.Argument(help="File to write.")],
    json: _Json = False,
) -> None:
    """Download a file of the account and verify its digest. If interrupted, run it again to resume."""
    with _client(ctx) as wp, output.progress(file.name) as report:
        done = wp.download_file(id, file, progress=report)
    output.show(done, as_json=json)


@app.command("bulk", rich_help_panel="Bulk")
def bulk(
    ctx: typer.Context,
    file: Annotated[typer.FileText, typer.Argument(help="JSON objects, one on each line; - for standard input.")],
    json_: _Json = False,
) -> None:
    """Make any number of changes, in requests of up to 1,000. Exit code 1 if one of them fails."""
    changes = (cast("dict[str, Any]", json.loads(line)) for line in file if line.strip())
    with _client(ctx) as wp, output.progress("Changes", in_bytes=False) as report:
        results = wp.bulk(changes, progress=report)
    output.show(results, as_json=json_)
    if not all(result.ok for result in results):
        raise typer.Exit(1)


def _sentence(error: WaypostError) -> str:
    if not isinstance(error, ApiError):
        return str(error)
    field = f"{error.field}: " if error.field and not error.message.startswith(error.field) else ""
    return f"{field}{error}"


def _exit_code(error: WaypostError) -> int:
    if isinstance(error, BulkInterruptedError):
        return 1
    codes = ((AccessError, 3), (NotFoundError, 4), (ConnectionLostError, 5))
    return next((code for kind, code in codes if isinstance(error, kind)), 1)


for _operation in commands.operations():
    app.command(_operation.command, rich_help_panel=_operation.group)(commands.function(_operation, _client))
